//! `flemma pending`: the calls that wait.

use jiff::Timestamp;
use serde_json::json;

use super::{
    arguments::Place,
    files,
    report::{Failure, Report},
    waiting::{self, Waiting},
};

/// Lists the calls that wait in a conversation, or in all of a folder.
///
/// # Errors
/// When there is no such file or folder. A file that cannot be read is named, and does not keep the others from being listed.
pub(super) fn pending(place: &Place) -> Result<Report, Failure> {
    let (mut calls, mut unread) = (Vec::new(), Vec::new());
    for file in files::conversations(&place.path)? {
        match waiting::in_file(&file, Timestamp::now()) {
            Ok(found) => calls.extend(found),
            Err(failure) => unread.push(failure.to_string()),
        }
    }
    let lines: Vec<String> = calls.iter().map(Waiting::to_line).collect();
    let json = json!({
        "ok": unread.is_empty(),
        "pending": calls.iter().map(Waiting::to_json).collect::<Vec<_>>(),
        "errors": unread,
    });
    Ok(Report::with_errors(lines.join("\n"), json, unread))
}
