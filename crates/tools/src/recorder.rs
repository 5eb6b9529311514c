//! What tools do to files is recorded, so that it can be taken back, and so that the editor brings the buffers of the files up to date.

use std::{
    collections::{BTreeMap, BTreeSet},
    io, mem,
    path::{Path, PathBuf},
    sync::Mutex,
};

use super::lock;
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

/// What tools have done to files. All paths have their links resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The files that were written.
    pub files: BTreeSet<PathBuf>,
    /// The files that were moved, in this order: each with its old and its new path.
    pub moved: Vec<(PathBuf, PathBuf)>,
}

/// What was done since it was asked for last. Tools of all conversations share it: their files may be open.
static WRITTEN: Mutex<Written> = Mutex::new(Written { files: BTreeSet::new(), moved: Vec::new() });

/// A file was written.
pub(super) fn note_written(path: &Path) {
    lock(&WRITTEN).files.insert(path.to_owned());
}

/// A file was moved.
pub(super) fn note_moved(from: &Path, to: &Path) {
    let mut written = lock(&WRITTEN);
    written.files.remove(from);
    written.files.insert(to.to_owned());
    written.moved.push((from.to_owned(), to.to_owned()));
}

/// What tools have done since the last call.
pub fn take_written() -> Written {
    mem::take(&mut *lock(&WRITTEN))
}
