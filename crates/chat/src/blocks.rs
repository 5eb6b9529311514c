//! Writes blocks: the lines of tool uses, results and placeholders in Flemma's layout.
//!
//! Each one is a header, a blank line and a fence of backticks that its content cannot close.

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::{
    StatusBlock,
    syntax::{result_header, use_header},
};
use flemma_model::{CallId, ToolInput};
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
    pub const fn info(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Json => "json",
            Self::Diff => "diff",
        }
    }

    /// The language with this info string; plain text for any other.
    pub fn of(info: &str) -> Self {
        [Self::Json, Self::Diff].into_iter().find(|language| language.info() == info).unwrap_or_default()
    }
}

/// The maximum width of an input that is written on one line, in columns.
const COMPACT: usize = 80;

/// A block: its header, a blank line and its fence.
pub(super) fn block(header: String, info: &str, content: &str) -> Vec<String> {
    let mut lines = vec![header, String::new()];
    lines.extend(fenced(info, content));
    lines
}

/// A tool use.
pub(super) fn tool_use(name: &str, id: &CallId, input: &ToolInput) -> Vec<String> {
    let header = use_header(name, id, false);
    match input {
        ToolInput::Json(value) => block(header, "json", &json(value)),
        ToolInput::Malformed(text) => block(header, "", &normalise(text)),
    }
}

/// A tool result, whose fence has this info string.
pub(super) fn tool_result(id: &CallId, output: &str, is_error: bool, info: &str) -> Vec<String> {
    block(result_header(id, is_error, false), info, &normalise(output))
}

/// A placeholder.
pub(super) fn placeholder(id: &CallId, status: &StatusBlock) -> Vec<String> {
    block(result_header(id, false, false), &status.info(), "")
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
