//! `flemma sweep`: the calls whose deadline has passed.

use jiff::Timestamp;
use serde_json::json;

use super::{
    arguments::Place,
    desk::{Desk, Opened},
    files,
    host::BUFFER,
    report::{Failure, Report},
    waiting::{self, plain},
};

/// Gives the calls of a conversation, or of all in a folder, whose deadline has passed their error result.
///
/// # Errors
/// When there is no such file or folder.
pub(super) fn sweep(place: &Place) -> Result<Report, Failure> {
    let (mut lines, mut expired, mut held, mut errors) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for file in files::conversations(&place.path)? {
        let name = file.display().to_string();
        let is_due = match waiting::in_file(&file, Timestamp::now()) {
            Ok(calls) => calls.iter().any(|call| call.is_overdue),
            Err(failure) => {
                errors.push(failure.to_string());
                continue;
            }
        };
        if !is_due {
            continue;
        }
        match Desk::open(&file) {
            Ok(Opened::Here(desk)) => match sweep_one(*desk) {
                Ok((calls, problems)) => {
                    lines.extend(calls.iter().map(|call| plain(&format!("{name}: {call} has expired"))));
                    expired.extend(calls.into_iter().map(|call| json!({ "file": name, "call": call })));
                    errors.extend(problems);
                }
                Err(failure) => errors.push(failure.to_string()),
            },
            // Whoever holds it watches its deadlines.
            Ok(Opened::Elsewhere(_)) => held.push(name),
            Err(failure) => errors.push(failure.to_string()),
        }
    }
    let json = json!({ "ok": errors.is_empty(), "expired": expired, "held": held, "errors": errors });
    Ok(Report::with_errors(lines.join("\n"), json, errors))
}

/// The calls that were expired, and what went wrong.
fn sweep_one(desk: Desk) -> Result<(Vec<String>, Vec<String>), Failure> {
    let due = desk.workspace().expire_overdue(BUFFER);
    let done = desk.settle();
    let left = desk.workspace().overdue(BUFFER);
    let calls = due.into_iter().filter(|call| !left.contains(call)).map(|call| call.0).collect();
    let (told, written) = desk.close();
    done?;
    Ok((calls, told.into_iter().chain(written.err().map(|failure| failure.to_string())).collect()))
}
