//! `flemma show`: where a conversation stands.

use std::fmt::Write;

use jiff::Timestamp;
use serde_json::json;

use super::{
    arguments::File,
    desk,
    report::{Failure, Report},
    waiting::{self, Waiting, plain},
};
use crate::{
    chat::{Document, Severity, Speaker},
    model::ToolInput,
};

/// Shows where a conversation stands.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn show(file: &File) -> Result<Report, Failure> {
    let (_, lines) = desk::read(&file.path)?;
    let document = Document::parse(&lines);
    let diagnostics = document.diagnostics(&lines);
    let errors = diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
    let warnings = diagnostics.len() - errors;
    let calls = waiting::in_document(&file.path, &document, &lines, Timestamp::now());
    let open = document.open_calls(&lines).len();
    let count = |speaker: Speaker| document.messages().iter().filter(|message| message.role == speaker).count();
    let (of_user, of_model) = (count(Speaker::You), count(Speaker::Assistant));

    let mut text = plain(&file.path.display().to_string());
    let _ = write!(
        text,
        "\n  messages  {of_user} of yours, {of_model} of the model\n  calls     {open} without a result, {} waiting\n  \
         mistakes  {errors} errors, {warnings} warnings",
        calls.len()
    );
    for call in &calls {
        let _ = write!(text, "\n\n{}\n{}", call.to_line(), input(call));
    }
    let json = json!({
        "ok": true,
        "file": file.path.display().to_string(),
        "messages": { "user": of_user, "assistant": of_model },
        "open": open,
        "errors": errors,
        "warnings": warnings,
        "pending": calls.iter().map(Waiting::to_json).collect::<Vec<_>>(),
    });
    Ok(Report::done(text, json))
}

/// The input of a call, indented. JSON escapes what could control a terminal.
fn input(call: &Waiting) -> String {
    let text = match &call.input {
        ToolInput::Json(value) => serde_json::to_string_pretty(value).unwrap_or_default(),
        ToolInput::Malformed(text) => text.lines().map(plain).collect::<Vec<_>>().join("\n"),
    };
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
