//! `flemma pending`: the calls that wait.

use serde_json::json;

use super::{
    arguments::Place,
    files::Found,
    report::{Failure, Report},
    waiting::{Call, Look},
};

/// Lists the calls that wait in a conversation, or in all of a folder.
///
/// # Errors
/// When there is no such file or folder. A file that cannot be read is named, and does not keep the others from being listed.
pub(super) fn pending(place: &Place) -> Result<Report, Failure> {
    let look = Look::new()?;
    let Found { files, unread } = Found::at(&place.path)?;
    let (mut calls, mut unread) = (Vec::new(), unread);
    for file in files {
        match look.at(&file) {
            Ok(found) => calls.extend(found.into_iter().filter(Call::is_waiting)),
            Err(failure) => unread.push(failure.to_string()),
        }
    }
    let lines: Vec<String> = calls.iter().map(Call::to_line).collect();
    let json = json!({
        "ok": unread.is_empty(),
        "pending": calls.iter().map(Call::to_json).collect::<Vec<_>>(),
        "errors": unread,
    });
    Ok(Report::with_errors(lines.join("\n"), json, unread))
}
