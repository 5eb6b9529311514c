//! `flemma check`: mistakes in the text of conversations.

use serde_json::{Value, json};

use super::{
    arguments::Place,
    desk,
    files::Found,
    names,
    report::{Exit, Failure, Report},
};
use crate::chat::{Diagnostic, Document, Severity};

/// Checks a conversation, or all of a folder.
///
/// # Errors
/// When there is no such file or folder.
pub(super) fn check(place: &Place) -> Result<Report, Failure> {
    let Found { files, mut unread } = Found::at(&place.path)?;
    let (mut lines, mut found) = (Vec::new(), Vec::new());
    let mut has_error = false;
    for file in files {
        let text = match desk::read(&file) {
            Ok((_, text)) => text,
            Err(failure) => {
                unread.push(failure.to_string());
                continue;
            }
        };
        let (name, true_name) = (names::path(&file), file.to_string_lossy());
        for diagnostic in Document::parse(&text).diagnostics(&text) {
            has_error |= diagnostic.severity == Severity::Error;
            let line = diagnostic.line + 1;
            let message = names::message(&diagnostic.message);
            lines.push(format!("{name}:{line}: {}: {message}", word(diagnostic.severity)));
            found.push(to_json(&true_name, &diagnostic));
        }
    }
    let json = json!({ "ok": !has_error && unread.is_empty(), "diagnostics": found, "errors": unread });
    let mut report = Report::with_errors(lines.join("\n"), json, unread);
    if has_error {
        report.exit = Exit::Failed;
    }
    Ok(report)
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn to_json(file: &str, diagnostic: &Diagnostic) -> Value {
    json!({
        "file": file,
        "line": diagnostic.line + 1,
        "severity": word(diagnostic.severity),
        "message": diagnostic.message,
    })
}
