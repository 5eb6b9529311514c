//! `flemma show`: where a conversation stands.

use std::fmt::Write;

use serde_json::json;

use super::{
    arguments::File,
    files, names,
    report::{Failure, Report, count},
    waiting::{Call, Look},
};
use flemma_chat::{Document, Severity, Speaker};

/// Shows where a conversation stands.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn show(file: &File) -> Result<Report, Failure> {
    let (_, lines) = files::read(&file.path)?;
    let document = Document::parse(&lines);
    let diagnostics = flemma_chat::diagnostics(&document, &lines);
    let errors = diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
    let warnings = diagnostics.len() - errors;
    let calls = Look::new()?.of(&file.path, &document, &lines)?;
    let (open, waiting) = (calls.len(), calls.iter().filter(|call| call.found.is_waiting()).count());
    let said = |speaker: Speaker| document.messages().iter().filter(|message| message.role == speaker).count();
    let (of_user, of_model) = (said(Speaker::You), said(Speaker::Assistant));

    let mut text = names::path(&file.path);
    let _ = write!(
        text,
        "\n  messages  {of_user} of yours, {of_model} of the model\n  calls     {open} without a result, {waiting} waiting\n  \
         mistakes  {}, {}",
        count(errors, "error"),
        count(warnings, "warning")
    );
    for call in &calls {
        let _ = write!(text, "\n\n{}\n{}", call.to_line(), call.input());
    }
    let json = json!({
        "ok": true,
        "file": file.path.to_string_lossy(),
        "messages": { "user": of_user, "assistant": of_model },
        "open": open,
        "errors": errors,
        "warnings": warnings,
        "pending": calls.iter().filter(|call| call.found.is_waiting()).map(Call::to_json).collect::<Vec<_>>(),
        "calls": calls.iter().map(Call::to_json).collect::<Vec<_>>(),
    });
    Ok(Report::done(text, json))
}
