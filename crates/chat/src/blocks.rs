//! Writes blocks: the lines of tool uses, results and placeholders in Flemma's layout.
//!
//! Each one is a header, a blank line and a fence of backticks that its content cannot close.

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::{
    StatusBlock, attachment,
    syntax::{result_header, use_header},
};
use flemma_model::{Attachment, CallId, ToolInput};
use flemma_text::Fence;

/// The language of a tool's output in the info string of its fence. It is for the reader of the file: the model gets
/// only the text inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Language {
    /// Plain text, without a language.
    #[default]
    Plain,
    /// A table.
    Json,
    /// A diff.
    Diff,
}

impl Language {
    /// The info string.
    #[must_use]
    pub const fn info(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Json => "json",
            Self::Diff => "diff",
        }
    }

    /// The language with this info string; plain text for any other.
    #[must_use]
    pub fn of(info: &str) -> Self {
        [Self::Json, Self::Diff].into_iter().find(|language| language.info() == info).unwrap_or_default()
    }
}

/// The maximum width of an input that is written on one line, in columns.
const COMPACT: usize = 80;

/// A tool use.
pub(super) fn tool_use(name: &str, id: &CallId, input: &ToolInput) -> Vec<String> {
    let mut lines = vec![use_header(name, id, false), String::new()];
    match input {
        ToolInput::Json(value) => lines.extend(fenced("json", &json(value))),
        ToolInput::Malformed(text) => lines.extend(fenced("", &normalise(text))),
    }
    lines
}

/// A tool result.
pub(super) fn tool_result(id: &CallId, output: &str, is_error: bool, language: Language) -> Vec<String> {
    let mut lines = vec![result_header(id, is_error, false), String::new()];
    lines.extend(output_fence(output, language));
    lines
}

/// A tool result with attachments.
pub(super) fn attached_result(id: &CallId, output: &str, is_error: bool, attachments: &[Attachment]) -> Vec<String> {
    let mut lines = vec![result_header(id, is_error, false), String::new()];
    lines.extend(attached_fence(output, attachments));
    lines
}

/// A placeholder.
pub(super) fn placeholder(id: &CallId, block: &StatusBlock) -> Vec<String> {
    let mut lines = vec![result_header(id, false, false), String::new()];
    lines.extend(fenced(&block.info(), ""));
    lines
}

/// The fence with a tool's output.
pub(super) fn output_fence(output: &str, language: Language) -> Vec<String> {
    fenced(language.info(), &normalise(output))
}

/// The fence with a tool's output and its attachments.
pub(super) fn attached_fence(output: &str, attachments: &[Attachment]) -> Vec<String> {
    fenced(&attachment::info(attachments), &normalise(output))
}

/// A fence around `content`. Empty content adds no line between the fences.
pub(super) fn fenced(info: &str, content: &str) -> Vec<String> {
    let marks = Fence::around(content).marks();
    let mut lines = vec![format!("{marks}{info}")];
    if !content.is_empty() {
        lines.extend(content.split('\n').map(str::to_owned));
    }
    lines.push(marks);
    lines
}

/// JSON on one line if it is short, otherwise on several. The order of the keys is preserved.
pub(super) fn json(value: &Value) -> String {
    let compact = value.to_string();
    if compact.width() <= COMPACT { compact } else { format!("{value:#}") }
}

/// Text with LF line breaks: carriage returns at the end of a line are dropped, as they are when the document is read.
pub(super) fn normalise(text: &str) -> String {
    if !text.contains('\r') {
        return text.to_owned();
    }
    let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
    lines.join("\n")
}
