//! Edits: the smallest changes of text that bring a document from one state to the next.

/// A place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 0.
    pub line: usize,
    /// The byte in the line, from 0.
    pub column: usize,
}

/// Replaces the text from `start` to `end` (exclusive) by `lines`, in the terms of
/// `nvim_buf_set_text`: `lines` has at least one element; `[""]` deletes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    /// Where the replaced text begins.
    pub start: Position,
    /// Where it ends.
    pub end: Position,
    /// The new text.
    pub lines: Vec<String>,
}
