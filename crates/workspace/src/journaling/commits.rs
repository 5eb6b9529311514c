//! What waits for records that are on their way to the disk.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use crate::background::Job;

/// What waited for records that are on the disk now, or that could not be written. When the editor exits, it is done without
/// the rest of what background work has left.
#[derive(Clone, Default)]
pub(crate) struct Commits(Arc<Mutex<VecDeque<Job>>>);

impl Commits {
    /// Adds what is to be done now that its records are on the disk, or could not be written.
    pub(crate) fn push(&self, next: Job) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(next);
    }

    /// Takes what has waited longest.
    pub(crate) fn pop(&self) -> Option<Job> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}
