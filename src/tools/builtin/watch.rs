//! When a search has to stop before it is through: the user cancels it, or its time is over.
//!
//! Whatever runs long asks [`Watch::over`] as it goes, or reads its files through [`Watched`], which asks for it.

use std::{
    io::{self, Read},
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use crate::tools::{Context, Outcome, seconds};

/// Looks at the clock and at the user.
#[derive(Clone)]
pub(super) struct Watch {
    cancel: CancellationToken,
    /// `None` if the time is longer than the clock can say.
    end: Option<Instant>,
    timeout: Duration,
}

/// Why a search stopped before it was through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The user cancelled it.
    Cancelled,
    /// The call's timeout is over; how long that was.
    TimedOut(Duration),
}

impl Watch {
    /// A watch over a call, which begins now.
    pub(super) fn new(context: &Context) -> Self {
        let timeout = context.timeout;
        Self { cancel: context.cancel.clone(), end: Instant::now().checked_add(timeout), timeout }
    }

    /// The same watch, but for `most` at the longest.
    pub(super) fn at_most(mut self, most: Duration) -> Self {
        if most < self.timeout {
            self.end = Instant::now().checked_add(most);
            self.timeout = most;
        }
        self
    }

    /// Why it has to stop now; `None` to go on.
    pub(super) fn over(&self) -> Option<Stopped> {
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
            Self::Cancelled => "Cancelled by the user.".to_owned(),
            Self::TimedOut(time) => format!("Timed out after {}. {narrower}", seconds::in_words(time)),
        };
        let output = (!partial.is_empty()).then(|| format!("What was found until then:\n\n{partial}"));
        Outcome::Failure { error, output }
    }
}

/// A reader that fails once the watch is over.
pub(super) struct Watched<'a, R> {
    /// What is read.
    pub(super) reader: R,
    /// Asked before each piece.
    pub(super) watch: &'a Watch,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.watch.over() {
            Some(_) => Err(io::Error::other("stopped")),
            None => self.reader.read(buffer),
        }
    }
}
