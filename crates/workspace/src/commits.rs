//! What waits for records that are on their way to the disk.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use super::background::Continuation;

/// What waited for records that are on the disk now, or that could not be written. When the editor exits, it is done without
/// the rest of what background work has left.
pub(super) struct Commits<W>(Arc<Mutex<VecDeque<Continuation<W>>>>);

impl<W> Clone for Commits<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W> Default for Commits<W> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<W> Commits<W> {
    /// Adds what is to be done now that its records are on the disk, or could not be written.
    pub(super) fn push(&self, next: impl FnOnce(&W) + Send + 'static) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(Box::new(next));
    }

    /// Takes what has waited longest.
    pub(super) fn pop(&self) -> Option<Continuation<W>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}
