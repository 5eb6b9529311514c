//! When a long-running call has to stop early: the user cancels it, or it times out.
//!
//! Long-running code calls [`Deadline::stopped`] as it goes, or reads its files through [`DeadlineReader`], which does so.

use std::{
    io::{self, Read},
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use crate::{Context, Outcome, seconds};
use flemma_model::ModelError;

/// The time limit of a call, and its cancellation by the user.
#[derive(Clone)]
pub(super) struct Deadline {
    cancel: CancellationToken,
    /// `None` if the limit is beyond what the clock can represent.
    end: Option<Instant>,
    timeout: Duration,
}

/// Why a call stopped early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The user cancelled it.
    Cancelled,
    /// The call timed out; the length of its timeout.
    TimedOut(Duration),
}

impl Deadline {
    /// The deadline of a call that begins now.
    pub(super) fn new(context: &Context) -> Self {
        let timeout = context.timeout;
        Self { cancel: context.cancel.clone(), end: Instant::now().checked_add(timeout), timeout }
    }

    /// The same deadline, but no later than `most` from now.
    pub(super) fn at_most(mut self, most: Duration) -> Self {
        if most < self.timeout {
            self.end = Instant::now().checked_add(most);
            self.timeout = most;
        }
        self
    }

    /// Why the call has to stop now; `None` if it may continue.
    pub(super) fn stopped(&self) -> Option<Stopped> {
        if self.cancel.is_cancelled() {
            return Some(Stopped::Cancelled);
        }
        self.end.is_some_and(|end| Instant::now() >= end).then_some(Stopped::TimedOut(self.timeout))
    }
}

impl Stopped {
    /// The failure of a search that found `partial` before it stopped. `narrower` says how to ask for less.
    pub(super) fn outcome(self, partial: String, narrower: &str) -> Outcome {
        let error = match self {
            Self::Cancelled => ModelError::new("Cancelled by the user."),
            Self::TimedOut(time) => ModelError::new(format!("Timed out after {}. {narrower}", seconds::in_words(time))),
        };
        let output = (!partial.is_empty()).then(|| format!("Results up to then:\n\n{partial}"));
        Outcome::Failure { error, output }
    }
}

/// A reader that fails once the deadline has passed.
pub(super) struct DeadlineReader<'a, R> {
    /// What is read.
    pub(super) reader: R,
    /// Asked before each piece.
    pub(super) deadline: &'a Deadline,
}

impl<R: Read> Read for DeadlineReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.deadline.stopped() {
            Some(_) => Err(io::Error::other("stopped")),
            None => self.reader.read(buffer),
        }
    }
}
