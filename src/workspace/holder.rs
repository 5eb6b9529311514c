//! Who holds a conversation: this process, or another one.

use std::{cell::RefCell, collections::BTreeSet, path::PathBuf};

use super::wish::Wish;
use crate::runtime::holder::Held;

/// Who holds a conversation, as far as this process knows.
#[derive(Debug, Default)]
pub(super) enum Holder {
    /// Nobody has to: it has no file, or there are no locks on this system.
    #[default]
    Free,
    /// It is being found out.
    Unknown,
    /// This process, as long as this value lives.
    This { _held: Held },
    /// Another process.
    Other,
}

/// Who holds a conversation, and the user's wish that waits for the answer.
#[derive(Debug, Default)]
pub(super) struct Holding {
    pub(super) holder: RefCell<Holder>,
    /// The conversation's file.
    pub(super) path: RefCell<String>,
    pub(super) wanted: RefCell<Option<Wish>>,
}

/// The locks of this process, and what the user was told and has answered about the files of others.
pub(super) struct Locks {
    /// Where the locks are.
    pub(super) folder: PathBuf,
    /// Files that another process has open, and that the user goes on with here all the same.
    pub(super) shared: RefCell<BTreeSet<String>>,
    /// Files of which the user was told that another process has them open.
    pub(super) told: RefCell<BTreeSet<String>>,
}

impl Locks {
    /// Locks in `folder`, which need not be there.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, shared: RefCell::default(), told: RefCell::default() }
    }

    pub(super) fn is_shared(&self, path: &str) -> bool {
        self.shared.borrow().contains(path)
    }
}

impl Holding {
    pub(super) fn set(&self, holder: Holder) {
        *self.holder.borrow_mut() = holder;
    }

    /// Whether this process may go on without asking.
    pub(super) fn is_free(&self) -> bool {
        matches!(*self.holder.borrow(), Holder::Free | Holder::This { .. })
    }
}
