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
    let mut calls = Vec::new();
    let errors = Found::at(&place.path)?.each(|file| {
        calls.extend(look.at(file)?.into_iter().filter(|call| call.found.is_waiting()));
        Ok(())
    });
    let lines: Vec<String> = calls.iter().map(Call::to_line).collect();
    let json = json!({
        "ok": errors.is_empty(),
        "pending": calls.iter().map(Call::to_json).collect::<Vec<_>>(),
        "errors": errors,
    });
    Ok(Report::with_errors(lines.join("\n"), json, errors))
}
