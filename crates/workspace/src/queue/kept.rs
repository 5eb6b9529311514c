//! The outbox of a conversation, and what is known of its file in the state folder.

use std::{
    cell::{Cell, RefCell},
    path::{Path, PathBuf},
};

use crate::queue::outbox::{Outbox, QueuedMessage};

/// What is known of the file of an outbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OutboxState {
    /// Nothing: it may have messages that have to come back before it is written.
    #[default]
    Unknown,
    /// It is being read.
    Reading,
    /// What it had is in the outbox.
    Known,
    /// It cannot be read, and is not written either.
    Unreadable,
}

/// An outbox and its file.
#[derive(Debug, Default)]
pub struct KeptOutbox {
    outbox: RefCell<Outbox>,
    kept: Cell<OutboxState>,
    /// The conversation's file to which it belongs, if it has one.
    path: RefCell<Option<PathBuf>>,
}

impl KeptOutbox {
    /// Looks at the outbox.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&Outbox) -> R) -> R {
        look(&self.outbox.borrow())
    }

    /// Changes the outbox.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut Outbox) -> R) -> R {
        change(&mut self.outbox.borrow_mut())
    }

    /// What is known of its file.
    pub(crate) fn kept(&self) -> OutboxState {
        self.kept.get()
    }

    /// Sets what is known of its file.
    pub(crate) fn set_kept(&self, kept: OutboxState) {
        self.kept.set(kept);
    }

    /// The conversation's file to which it belongs.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.path.borrow().clone()
    }

    /// It belongs to this file from now on. Gives the one before; `None` where nothing has changed.
    pub(crate) fn move_to(&self, path: &Path) -> Option<Option<PathBuf>> {
        let path = path.is_absolute().then(|| path.to_owned());
        if *self.path.borrow() == path {
            return None;
        }
        self.kept.set(if path.is_some() { OutboxState::Unknown } else { OutboxState::Known });
        Some(self.path.replace(path))
    }

    /// The messages that wait, in the order in which they are sent.
    #[must_use]
    pub fn queued(&self) -> Vec<QueuedMessage> {
        self.with(|outbox| outbox.waiting().to_vec())
    }
}
