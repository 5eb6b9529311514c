//! What the user has trusted, in memory and on the disk. See [`flemma_runtime::trust`] for the file.

use std::{
    cell::{Cell, RefCell},
    path::{Path, PathBuf},
};

use flemma_runtime::trust::Trusted;

/// The trust store.
#[derive(Debug)]
pub(super) struct TrustStore {
    path: PathBuf,
    /// `None` until it was read.
    trusted: RefCell<Option<Trusted>>,
    is_reading: Cell<bool>,
    /// Whether the user was told that it cannot be written.
    is_told: Cell<bool>,
}

impl TrustStore {
    /// A store in the file `path`, which need not be there.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, trusted: RefCell::default(), is_reading: Cell::new(false), is_told: Cell::new(false) }
    }

    /// Its file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it has been read.
    pub(super) fn is_read(&self) -> bool {
        self.trusted.borrow().is_some()
    }

    /// Whether this frontmatter is trusted in the conversation at `path`.
    pub(super) fn contains(&self, path: &str, code: &str) -> bool {
        self.trusted.borrow().as_ref().is_some_and(|trusted| trusted.contains(path, code))
    }

    /// Whether the conversation at `path` may show `file`.
    pub(super) fn contains_file(&self, path: &str, file: &Path) -> bool {
        self.trusted.borrow().as_ref().is_some_and(|trusted| trusted.contains_file(path, file))
    }

    /// Says whether it is to be read now: it has not been, and nobody is at it.
    pub(super) fn begin_reading(&self) -> bool {
        !self.is_read() && !self.is_reading.replace(true)
    }

    /// Takes what was read, unless it was read before.
    pub(super) fn take(&self, trusted: Trusted) {
        self.trusted.borrow_mut().get_or_insert(trusted);
    }

    /// Says whether this is the first time that the user is told that it cannot be written.
    pub(super) fn begin_telling(&self) -> bool {
        !self.is_told.replace(true)
    }

    /// Trusts something. Says whether that is news for the file: while it has not been read, everything is.
    pub(super) fn insert(&self, insert: impl FnOnce(&mut Trusted) -> bool) -> bool {
        self.trusted.borrow_mut().as_mut().is_none_or(insert)
    }
}
