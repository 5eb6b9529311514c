//! What the editor shows, as it is captured for a reference of the user's.

use std::path::PathBuf;

use flemma_chat::EditorSubject;
use flemma_model::UserError;

/// A reference to the editor, with the absolute path that it is limited to.
pub type LookedUp = (EditorSubject, Option<PathBuf>);

/// What the host has found for one reference, or why it has found nothing.
pub(crate) type Found = Result<EditorView, UserError>;

/// What the host has found for one reference to the editor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditorView {
    /// The absolute path of the file, or the name of the buffer; empty for a buffer without a name.
    pub name: PathBuf,
    /// Whether the buffer has changes that its file lacks.
    pub is_modified: bool,
    /// The number of the first of `lines`, from 1.
    pub first: usize,
    /// Lines of the buffer. The host may stop where no more would be sent.
    pub lines: Vec<String>,
    /// The number of lines of the buffer, or of the symbol.
    pub total: usize,
    /// The name of the symbol.
    pub symbol: String,
    /// Diagnostics, or entries of the quickfix list. The host may stop where no more would be sent.
    pub items: Vec<EditorItem>,
    /// How many items there are beyond those.
    pub more: usize,
}

/// A place in a file, and what is said about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditorItem {
    /// The absolute path of the file, or the name of the buffer.
    pub name: PathBuf,
    /// The line, from 1; 0 if it has none.
    pub line: usize,
    /// The column in characters, from 1; 0 if it has none.
    pub column: usize,
    /// What it is, like `error`.
    pub kind: String,
    /// What it says.
    pub text: String,
}
