//! Looking up on a worker what a judgement has to know of the disk.
//!
//! A verdict has to be there at once, and nobody may wait long for a disk. So the disk is asked on other threads, and waited for
//! for a moment ([`Patience`](crate::approval::patience::Patience)). What it has not said by then is missing in the judgement, which therefore asks the user. Nobody waits a
//! second time for what it is asked already: a network share that is gone holds up nothing but what is about it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::reviews::asking::Asking;
use flemma_model::ModelError;
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
            open.with(|open| open.entry(lookup.clone()).or_insert_with(Instant::now).to_owned());
            let (done, asked) = (open.clone(), lookup.clone());
            let answer = move || {
                let answer = asked.answer();
                done.with(|open| open.remove(&asked));
                answer
            };
            Asking::ask(answer, || ()).wait(left.min(PATIENCE))
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

/// The same for a model whose call could not be judged.
pub(crate) fn unanswered_for_model(silent: &Silent) -> ModelError {
    ModelError::new(format!("This call did not run: {silent}, so it is not known whether it is permitted."))
}
