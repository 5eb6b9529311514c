//! The calls of one conversation that were interrupted, with what they have left in files.

use std::{cell::RefCell, collections::BTreeMap, path::PathBuf};

use crate::journal::CallKey;

/// What a call has left in files: each path, and whether there is a file now.
pub(super) type Left = Vec<(PathBuf, bool)>;

/// The calls of a conversation that were interrupted, and what they have left in files; `None` while that is not known.
#[derive(Default)]
pub(super) struct InterruptedCalls(RefCell<BTreeMap<CallKey, Option<Left>>>);

impl InterruptedCalls {
    /// All calls that were put here.
    pub(super) fn keys(&self) -> Vec<CallKey> {
        self.0.borrow().keys().cloned().collect()
    }

    /// What is known of a call.
    pub(super) fn left(&self, key: &CallKey) -> Option<Left> {
        self.0.borrow().get(key).cloned().flatten()
    }

    /// This is known of a call.
    pub(super) fn put(&self, key: CallKey, left: Option<Left>) {
        self.0.borrow_mut().insert(key, left);
    }
}
