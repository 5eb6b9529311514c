//! The whole of what a call would write, for the user to look at, and what they take of it.

use std::sync::Arc;

use crate::MadeFile;
use flemma_model::CallId;
use flemma_text::{hunk_places::HunkPlace, hunk_rows::HunkRows};

/// What the user looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reviewed {
    /// The call.
    pub call: CallId,
    /// Its tool.
    pub tool: String,
    /// The revision, for [`Reviews::accept`](crate::components::Reviews::accept).
    pub revision: String,
    /// Which of the changes it is that the call makes one after the other, if its tool asks for each.
    pub change: u64,
    /// The files.
    pub files: Vec<ReviewedFile>,
}

/// A file that the user looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewedFile {
    /// The file, with links resolved.
    pub path: String,
    /// Its name in the call.
    pub name: String,
    /// What it has, or would have after the calls above; `None` if there is no such file, or with a note.
    pub old: Option<Arc<Vec<u8>>>,
    /// What it would get; `None` if it would be deleted, or with a note.
    pub new: Option<Arc<Vec<u8>>>,
    /// How many bytes it has; `None` if there is no such file.
    pub old_size: Option<u64>,
    /// How many bytes it would get; `None` if it would be deleted.
    pub new_size: Option<u64>,
    /// The name that it would get, if that is another one.
    pub moved_to: Option<String>,
    /// Which call above has to write it first, in words; `None` if it is shown as it is.
    pub after: Option<String>,
    /// Why its contents are not here: `binary` or `too large`.
    pub note: Option<&'static str>,
    /// Whether its permissions let nobody write it.
    pub is_read_only: bool,
    /// Where the contents differ.
    pub hunks: Vec<HunkPlace>,
    /// What is said about a change of the line breaks of the whole file.
    pub line_breaks: Option<String>,
    /// What the user has made of it before.
    pub made: MadeFile,
}

/// What is drawn of hunks over a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrawnHunks {
    /// The hunks.
    pub places: Vec<HunkPlace>,
    /// The rows of each.
    pub rows: Vec<HunkRows>,
}

/// What the user takes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// What was proposed.
    Proposed,
    /// Nothing: it stays as it is.
    Left,
    /// This content.
    Content(Vec<u8>),
}
