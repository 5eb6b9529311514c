//! How long the main thread waits for a disk.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

/// The longest that it waits. A disk that works answers in a few milliseconds.
const MOST: Duration = Duration::from_millis(400);
/// The longest that it waits soon after a disk did not answer. Many questions in a row, such as the calls of one reply, must not add up
/// to seconds.
const LEAST: Duration = Duration::from_millis(50);
/// How long that counts as soon.
const SOON: Duration = Duration::from_secs(2);

/// Waits for disks, with less patience while one does not answer.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    /// When a disk did not answer.
    failed: Cell<Option<Instant>>,
}

impl Patience {
    /// Waits for an answer. `wait` is given the longest that this may take, and says `None` if the answer is not there by then.
    pub(crate) fn wait<R>(&self, wait: impl FnOnce(Duration) -> Option<R>) -> Option<R> {
        let is_soon = self.failed.get().is_some_and(|at| at.elapsed() < SOON);
        let answer = wait(if is_soon { LEAST } else { MOST });
        if answer.is_none() && !is_soon {
            self.failed.set(Some(Instant::now()));
        }
        answer
    }
}
