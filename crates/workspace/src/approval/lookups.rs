//! Looking up on a worker what a judgement has to know of the disk.
//!
//! A verdict has to be there at once, and nobody may wait long for a disk. So the disk is asked on other threads, and waited for
//! for a moment ([`Patience`]). What it has not said by then is missing in the judgement, which therefore asks the user. Nobody waits a
//! second time for what it is asked already: a network share that is gone holds up nothing but what is about it.

use std::{
    cell::Cell,
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, mpsc},
    time::{Duration, Instant},
};

use tokio::task;

use flemma_tools::{Ask, Lookup, Silent};

/// The longest that a worker waits for one answer, so that there is time left for the others.
const PATIENCE: Duration = Duration::from_millis(250);

/// The lookups that the disk has not answered yet, each with when it was asked.
#[derive(Clone, Default)]
pub(crate) struct Lookups(Arc<Mutex<BTreeMap<Lookup, Instant>>>);

impl Lookups {
    /// How a worker asks that has this much time: each question on a thread of its own.
    pub(crate) fn ask(&self, patience: Duration) -> Arc<Ask> {
        let (open, deadline) = (self.clone(), Instant::now() + patience);
        Arc::new(move |lookup| {
            let known = open.with(|open| open.get(&lookup).copied());
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || known.is_some_and(|since| since.elapsed() >= PATIENCE) {
                return None;
            }
            open.with(|open| *open.entry(lookup.clone()).or_insert_with(Instant::now));
            let (done, (tell, told)) = (open.clone(), mpsc::channel());
            task::spawn_blocking(move || {
                let answer = lookup.answer();
                done.with(|open| open.remove(&lookup));
                let _ = tell.send(answer);
            });
            told.recv_timeout(left.min(PATIENCE)).ok()
        })
    }

    fn with<R>(&self, work: impl FnOnce(&mut BTreeMap<Lookup, Instant>) -> R) -> R {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Says who does not answer, so that it is not known what a judgement needs.
pub(crate) fn unanswered(silent: &Silent) -> String {
    format!("{silent}, so it is not known what your rules say of this call")
}

/// The longest that the main thread waits. A disk that works answers in a few milliseconds.
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
    /// For how long a disk is waited for now.
    pub(crate) fn now(&self) -> Duration {
        if self.failed.get().is_some_and(|at| at.elapsed() < SOON) { LEAST } else { MOST }
    }

    /// Waits for an answer. `wait` is given the longest that this may take, and says `None` if the answer is not there by then.
    pub(crate) fn wait<R>(&self, wait: impl FnOnce(Duration) -> Option<R>) -> Option<R> {
        let patience = self.now();
        let answer = wait(patience);
        if answer.is_none() && patience == MOST {
            self.failed.set(Some(Instant::now()));
        }
        answer
    }
}
