//! The calls of one conversation that were interrupted, with what they have left in files.

use std::{cell::RefCell, collections::BTreeMap, path::PathBuf};

use flemma_journal::{
    CallKey,
    changes::{FileState, History},
};
use flemma_runtime::backups::{Backups, LogKey};

/// What a call has left in files: each path, and whether there is a file now.
pub(crate) type Left = Vec<(PathBuf, bool)>;

/// Calls, each with what it has left in files; `None` while that is not known.
pub(crate) type Effects = BTreeMap<CallKey, Option<Left>>;

/// The calls of a conversation that were interrupted.
#[derive(Default)]
pub(crate) struct InterruptedCalls(RefCell<Effects>);

impl InterruptedCalls {
    /// Whether a call was put here.
    pub(crate) fn contains(&self, key: &CallKey) -> bool {
        self.0.borrow().contains_key(key)
    }

    /// What is known of a call.
    pub(crate) fn left(&self, key: &CallKey) -> Option<Left> {
        self.0.borrow().get(key).cloned().flatten()
    }

    /// This is known of calls.
    pub(crate) fn put_all(&self, effects: Effects) {
        self.0.borrow_mut().extend(effects);
    }

    /// Files are about to change: nothing is known of the calls until somebody has looked again. Gives the calls.
    pub(crate) fn doubt(&self) -> Vec<CallKey> {
        let mut effects = self.0.borrow_mut();
        effects.values_mut().for_each(|left| *left = None);
        effects.keys().cloned().collect()
    }
}

/// What these calls have left in files, as far as the log says it. It blocks on the disk.
pub(crate) fn effects(backups: &Backups, log: &LogKey, calls: Vec<CallKey>) -> Effects {
    let history = backups.history(log).ok().map(|(history, _)| history);
    calls.into_iter().map(|key| (key.clone(), history.as_ref().map(|history| left(history, &key)))).collect()
}

/// What stands of what a call has done.
pub(crate) fn left(history: &History, key: &CallKey) -> Left {
    let left = history.left_by_call(key).into_iter();
    left.map(|(path, state)| (path, state != FileState::Absent)).collect()
}
