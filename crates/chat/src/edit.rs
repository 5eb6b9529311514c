//! Edits of text, in the form that an editor uses.

use std::ops::Range;

use super::{Change, Text};

/// A position in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 0.
    pub line: usize,
    /// The byte in the line, from 0.
    pub column: usize,
}

impl Position {
    /// The start of a line.
    pub(super) const fn start_of(line: usize) -> Self {
        Self { line, column: 0 }
    }

    /// The end of a line.
    pub(super) fn end_of(line: usize, text: &dyn Text) -> Self {
        Self { line, column: text.length(line) }
    }

    /// The end of a text.
    pub(super) fn end(text: &dyn Text) -> Self {
        Self::end_of(text.line_count().saturating_sub(1), text)
    }
}

/// Replaces the text from `start` to `end` (exclusive) by `lines`, like `nvim_buf_set_text`: `lines` has at least one
/// element; `[""]` deletes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    /// The start of the replaced text.
    pub start: Position,
    /// Its end.
    pub end: Position,
    /// The new text.
    pub lines: Vec<String>,
}

impl TextEdit {
    /// An insertion.
    pub const fn insert(at: Position, lines: Vec<String>) -> Self {
        Self { start: at, end: at, lines }
    }

    /// A replacement of some bytes of a line.
    pub(super) fn within(line: usize, columns: Range<usize>, with: String) -> Self {
        let at = |column| Position { line, column };
        Self { start: at(columns.start), end: at(columns.end), lines: vec![with] }
    }

    /// The lines that the edit changes, for [`update`](super::Document::update).
    pub fn change(&self) -> Change {
        let new_last = self.start.line + self.lines.len().max(1);
        Change { first: self.start.line, old_last: self.end.line + 1, new_last }
    }

    /// Applies the edit to plain lines. Positions past the end or within a character are moved back to the nearest
    /// valid position.
    pub fn apply(&self, text: &mut Vec<String>) {
        if text.is_empty() {
            text.push(String::new());
        }
        let last = text.len() - 1;
        let (first, end) = (self.start.line.min(last), self.end.line.min(last));
        let head = &text[first][..text[first].floor_char_boundary(self.start.column)];
        let tail = &text[end][text[end].floor_char_boundary(self.end.column)..];
        let mut lines = self.lines.clone();
        match lines.first_mut() {
            Some(line) => line.insert_str(0, head),
            None => lines.push(head.to_owned()),
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(tail);
        }
        text.splice(first..=end.max(first), lines);
    }
}
