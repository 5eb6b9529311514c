//! Looking up on workers what a judgement has to know of the disk.
//!
//! The main thread waits for no disk. It says what it has to know ([`PathQuestions`]), workers ask the disk, and the judgement is made
//! when they have come back, by what they bring ([`Known`]) and by nothing else. Each question has a thread of its own. What a disk
//! does not answer for seconds is missing in the judgement, which therefore asks the user. Nobody waits a second time for what does
//! not answer already: a network share that is gone holds up nothing but what is about it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, mpsc},
    time::{Duration, Instant},
};

use tokio::runtime::Handle;

use crate::{approval::questions::PathQuestions, background::WhenKnown};
use flemma_chat::OpenCall;
use flemma_model::CallId;
use flemma_runtime::blocking;
use flemma_tools::{Ask, Disk, Facts, Lookup, Silent};

/// The longest that a worker waits for one answer, from when somebody is about to give it.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest that it waits for all answers about one call. What comes later is missing.
const MOST: Duration = Duration::from_secs(10);

/// What disks have said about calls, when they were asked for this judgement.
#[derive(Default)]
pub(crate) struct Known(BTreeMap<CallId, Facts>);

impl Known {
    /// The disk, as far as it is known for judging a call.
    pub(crate) fn disk(&self, call: &CallId) -> Disk {
        Disk::known(self.0.get(call).cloned().unwrap_or_default())
    }

    /// Whether all these questions about a call were asked.
    pub(crate) fn covers(&self, call: &CallId, questions: &PathQuestions) -> bool {
        let disk = self.disk(call);
        questions.ask(&disk);
        !disk.has_unasked()
    }

    /// The same with what was found out since.
    pub(crate) fn with(mut self, found: Self) -> Self {
        self.0.extend(found.0);
        self
    }
}

/// Calls that are to be looked up, and what is done then.
pub(crate) type WantedLookup = (Vec<OpenCall>, WhenKnown);

/// The lookups that the disk has not answered yet, each with when somebody began to ask.
#[derive(Clone, Default)]
pub(crate) struct Lookups(Arc<Mutex<BTreeMap<Lookup, Instant>>>);

impl Lookups {
    /// Asks all questions about these calls. It blocks.
    pub(crate) fn answer(&self, asked: Vec<(CallId, PathQuestions)>) -> Known {
        let (tell, told) = mpsc::channel();
        for (call, questions) in asked {
            let (lookups, tell) = (self.clone(), tell.clone());
            let work = move || {
                let disk = lookups.disk();
                questions.ask(&disk);
                let _ = tell.send((call, disk.facts()));
            };
            match Handle::try_current() {
                Ok(threads) => blocking(&threads, Box::new(work)),
                Err(_) => work(),
            }
        }
        drop(tell);
        Known(told.into_iter().collect())
    }

    /// The disk for a worker, which waits for none that does not answer.
    pub(crate) fn disk(&self) -> Disk {
        Disk::recording(self.ask())
    }

    /// How a worker asks. Where there are no threads, nobody answers.
    fn ask(&self) -> Arc<Ask> {
        let (lookups, deadline) = (self.clone(), Instant::now() + MOST);
        Arc::new(move |lookup| {
            let left = deadline.saturating_duration_since(Instant::now());
            let since = lookups.with(|open| open.iter().find(|(other, _)| other.is_like(&lookup)).map(|(_, at)| *at));
            let waited = since.map_or(Duration::ZERO, |since| since.elapsed());
            let patience = left.min(PATIENCE.saturating_sub(waited));
            if patience.is_zero() {
                return None;
            }
            let (open, (tell, told)) = (lookups.clone(), mpsc::channel());
            let answer = move || {
                open.with(|open| open.entry(lookup.clone()).or_insert_with(Instant::now).to_owned());
                let _ = tell.send(None);
                let answer = lookup.answer();
                open.with(|open| open.remove(&lookup));
                let _ = tell.send(Some(answer));
            };
            blocking(&Handle::try_current().ok()?, Box::new(answer));
            told.recv_timeout(left).ok()?;
            told.recv_timeout(patience).ok().flatten()
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
