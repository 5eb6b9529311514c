//! The calls that wait, as a file says it.

use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{desk, report::Failure};
use crate::{
    chat::{AwaitKind, Document},
    model::ToolInput,
    text::one_line,
};

/// The longest piece of text on a line of the list, in characters.
const LONGEST: usize = 200;

/// A call that waits.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) file: String,
    /// The line of its block, from 1.
    pub(super) line: usize,
    pub(super) call: String,
    pub(super) tool: String,
    pub(super) kind: AwaitKind,
    pub(super) expires: Option<Timestamp>,
    pub(super) is_overdue: bool,
    pub(super) question: Option<String>,
    pub(super) input: ToolInput,
}

impl Waiting {
    /// For programs.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "file": self.file,
            "line": self.line,
            "call": self.call,
            "tool": self.tool,
            "kind": self.kind.as_str(),
            "expires": self.expires.map(|expires| expires.to_string()),
            "overdue": self.is_overdue,
            "question": self.question,
            "input": match &self.input {
                ToolInput::Json(value) => value.clone(),
                ToolInput::Malformed(_) => Value::Null,
            },
        })
    }

    /// For people: one line. What comes from the file cannot control the terminal.
    pub(super) fn to_line(&self) -> String {
        let mut line = format!("{}:{}: {} {} {}", self.file, self.line, self.call, self.tool, self.kind);
        if let Some(expires) = self.expires {
            let word = if self.is_overdue { "expired" } else { "expires" };
            line += &format!(", {word} {expires}");
        }
        if let Some(question) = &self.question {
            line += &format!(": {question}");
        }
        plain(&line)
    }
}

/// A text on one line, without what could control a terminal.
pub(super) fn plain(text: &str) -> String {
    let text: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    one_line(&text, LONGEST + text.len().min(LONGEST))
}

/// The calls that wait in a file.
///
/// # Errors
/// When it cannot be read.
pub(super) fn in_file(path: &Path, now: Timestamp) -> Result<Vec<Waiting>, Failure> {
    let (_, lines) = desk::read(path)?;
    let document = Document::parse(&lines);
    Ok(in_document(path, &document, &lines, now))
}

/// The calls that wait in a text.
pub(super) fn in_document(path: &Path, document: &Document, lines: &[String], now: Timestamp) -> Vec<Waiting> {
    let calls = document.open_calls(&lines).into_iter().filter(|call| !call.aborted);
    let waiting = calls.filter_map(|call| {
        let awaiting = call.awaiting()?;
        Some(Waiting {
            file: path.display().to_string(),
            line: call.placeholder.as_ref().map_or(call.line, |placeholder| placeholder.fence) + 1,
            call: call.id.0,
            tool: call.name,
            kind: awaiting.kind,
            expires: awaiting.expires,
            is_overdue: awaiting.is_over(now),
            question: awaiting.question,
            input: call.input,
        })
    });
    waiting.collect()
}
