//! What tools do to files is recorded, so that it can be taken back.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use flemma_journal::changes::{ChangeId, FileState};

/// A change that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct Upcoming<'a> {
    /// The file, with links resolved; absolute.
    pub path: &'a Path,
    /// What it becomes.
    pub new: &'a FileState,
    /// The folders that were made for it, outermost first.
    pub folders: &'a [PathBuf],
}

/// What earlier calls of a tool have left in files, by their paths with links resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftBefore {
    /// What those with the same input have left.
    pub same: BTreeMap<PathBuf, FileState>,
    /// What those with another input have left, of which none has taken a file away.
    pub others: BTreeMap<PathBuf, FileState>,
}

/// Keeps what files were before tools change them. It may wait for the disk.
pub trait Recorder: Send + Sync {
    /// A file is about to be changed. What it is now is safe on the disk when this returns, and so is the record of the
    /// change; `None` if nothing changes.
    ///
    /// # Errors
    /// In words for the user and the model, when that is not possible. The file must not be changed then.
    fn begin(&self, change: Upcoming<'_>) -> io::Result<Option<ChangeId>>;

    /// A change was made, or was not made. Not called if that is not known.
    fn end(&self, id: &ChangeId, is_made: bool);

    /// What calls of the same tool have left in files before, as far as that was not taken back. A call that was interrupted finds
    /// out with it what is left to do.
    fn left_before(&self) -> LeftBefore;
}
