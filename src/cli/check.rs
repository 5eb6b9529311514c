//! `flemma check`: mistakes in the text of conversations.

use serde_json::{Value, json};

use super::{
    arguments::Place,
    desk, files,
    report::{Exit, Failure, Report},
    waiting::plain,
};
use crate::chat::{Diagnostic, Document, Severity};

/// Checks a conversation, or all of a folder.
///
/// # Errors
/// When there is no such file or folder.
pub(super) fn check(place: &Place) -> Result<Report, Failure> {
    let (mut lines, mut found, mut unread) = (Vec::new(), Vec::new(), Vec::new());
    let mut has_error = false;
    for file in files::conversations(&place.path)? {
        let text = match desk::read(&file) {
            Ok((_, text)) => text,
            Err(failure) => {
                unread.push(failure.to_string());
                continue;
            }
        };
        let name = file.display().to_string();
        for diagnostic in Document::parse(&text).diagnostics(&text) {
            has_error |= diagnostic.severity == Severity::Error;
            let line = diagnostic.line + 1;
            lines.push(plain(&format!("{name}:{line}: {}: {}", word(diagnostic.severity), diagnostic.message)));
            found.push(to_json(&name, &diagnostic));
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
