//! The files that tools have written or moved, so that the editor brings their buffers up to date.

use std::{
    collections::BTreeSet,
    mem,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

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
    WRITTEN.lock().unwrap_or_else(PoisonError::into_inner).files.insert(path.to_owned());
}

/// A file was moved.
pub(super) fn note_moved(from: &Path, to: &Path) {
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    written.files.remove(from);
    written.files.insert(to.to_owned());
    written.moved.push((from.to_owned(), to.to_owned()));
}

/// What tools have done since the last call.
#[must_use]
pub fn take_written() -> Written {
    mem::take(&mut *WRITTEN.lock().unwrap_or_else(PoisonError::into_inner))
}
