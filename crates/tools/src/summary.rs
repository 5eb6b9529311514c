//! Summaries: what a call is about, in a few words for the card and the fold of a call.
//!
//! `read greet.py 4-6`, `bash cargo test`, `edit greet.py +12 -3`. A tool can say it itself ([`NativeTool::summary`](super::NativeTool::summary)); for
//! all others it is the preview without the label. The text is one line without control characters, and it is not cut to a
//! width: [`Summary::line`] does that.

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::{Definition, Executor, LineCounts, Runner, preview};
use flemma_model::ToolInput;
use flemma_text::truncate::prefix;

/// The maximum number of bytes of a summary.
const MAX_BYTES: usize = 512;

/// What a call is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The tool.
    pub tool: String,
    /// What it is about: a file, a command. It may be empty.
    pub what: String,
    /// How many lines the call adds and removes, if that follows from its input.
    pub changes: Option<LineCounts>,
    /// The model's words for the call; empty if there are none.
    pub label: String,
}

impl Summary {
    /// The summary of a call. `definition` is the tool's, if there is such a tool.
    pub fn of(definition: Option<&Definition>, name: &str, input: &ToolInput) -> Self {
        let mut summary = Self { tool: line(name), ..Self::default() };
        match input {
            ToolInput::Malformed(text) => summary.what = line(text),
            ToolInput::Json(input) => {
                let native = definition.and_then(|definition| match &definition.executor {
                    Executor::Server(Runner::Native(tool)) => Some((tool, definition.taken(input))),
                    _ => None,
                });
                summary.changes = native.as_ref().and_then(|(_, input)| LineCounts::of_replacing(input));
                let own = native.and_then(|(tool, input)| tool.summary(&input));
                summary.label = line(input.get("label").and_then(Value::as_str).unwrap_or_default());
                summary.what = line(&own.unwrap_or_else(|| {
                    let ToolInput::Json(input) = without_label(input) else { return String::new() };
                    let preview = preview::call(definition, "", &ToolInput::Json(input), MAX_BYTES);
                    preview.trim_start_matches(':').to_owned()
                }));
            }
        }
        summary
    }

    /// The tool, what the call is about, and the changed lines, in at most `width` cells.
    pub fn line(&self, width: usize) -> String {
        let (added, removed) = self.changes.map(LineCounts::words).unwrap_or_default();
        let counts: Vec<&str> = [&*added, &*removed].into_iter().filter(|word| !word.is_empty()).collect();
        let counts = counts.join(" ");
        // The counts are short, and say more than the end of a path.
        let room = width.saturating_sub(if counts.is_empty() { 0 } else { counts.width() + 1 });
        let words =
            [&*self.tool, &*self.what].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        let words = preview::clip(&words, room);
        if counts.is_empty() || words.is_empty() { words } else { format!("{words} {counts}") }
    }
}

/// The input without the label. What is cloned is bounded: long texts are cut.
fn without_label(input: &Value) -> ToolInput {
    let short = |value: &Value| match value {
        Value::String(text) => Value::String(prefix(text, 4 * MAX_BYTES).to_owned()),
        other => other.clone(),
    };
    ToolInput::Json(match input {
        Value::Object(object) => {
            let rest = object.iter().filter(|(key, _)| *key != "label");
            Value::Object(rest.map(|(key, value)| (key.clone(), short(value))).collect())
        }
        other => short(other),
    })
}

/// One line of at most [`MAX_BYTES`] bytes.
fn line(text: &str) -> String {
    let text = prefix(text.trim(), MAX_BYTES);
    preview::clip(text, MAX_BYTES)
}
