//! `flemma check`: mistakes in the text of conversations, and the agents that they choose.

use serde_json::{Value, json};

use super::{
    arguments::Place,
    files::{self, Found},
    names,
    report::{Exit, Failure, Report},
};
use flemma_chat::{Diagnostic, Document, Severity};

/// Checks a conversation, or all of a folder.
///
/// # Errors
/// When there is no such file or folder.
pub(super) fn check(place: &Place) -> Result<Report, Failure> {
    let (mut lines, mut found) = (Vec::new(), Vec::new());
    let (mut has_error, mut agents) = (false, Vec::new());
    let errors = Found::at(&place.path)?.each(|file| {
        let (_, text) = files::read(file)?;
        let (name, true_name) = (names::path(file), file.to_string_lossy());
        let document = Document::parse(&text);
        if let Some(agent) = agent(&document, &text) {
            lines.push(format!("{name}: agent: {}", names::message(&agent)));
            agents.push(json!({ "file": true_name, "agent": agent }));
        }
        for Diagnostic { line, severity, message } in flemma_chat::diagnostics(&document, &text) {
            has_error |= severity == Severity::Error;
            let (line, word) = (line + 1, word(severity));
            lines.push(format!("{name}:{line}: {word}: {}", names::message(&message)));
            found.push(json!({ "file": true_name, "line": line, "severity": word, "message": message }));
        }
        Ok(())
    });
    let json =
        json!({ "ok": !has_error && errors.is_empty(), "diagnostics": found, "agents": agents, "errors": errors });
    let mut report = Report::with_errors(lines.join("\n"), json, errors);
    if has_error {
        report.exit = Exit::Failed;
    }
    Ok(report)
}

/// The agent that a conversation chooses. Only JSON is read: Lua is not run here.
fn agent(document: &Document, lines: &[String]) -> Option<String> {
    let matter = document.frontmatter().filter(|matter| matter.closed && matter.language == "json")?;
    let options: Value = serde_json::from_str(&lines.get(1..matter.lines - 1)?.join("\n")).ok()?;
    options.get("agent")?.as_str().map(str::to_owned)
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}
