//! Work that blocks on the disk, and when it has to stop early: the user cancels it, or it times out.
//!
//! Long-running code calls [`Deadline::stopped`] as it goes, or reads its files through [`DeadlineReader`], which does so.

use std::{
    io::{self, Read},
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use crate::{Context, Outcome, seconds};
use flemma_model::ModelError;

/// How long a file tool may continue after it was cancelled.
const PATIENCE: Duration = Duration::from_secs(1);

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
    /// What the model is told. `narrower` says how to ask for less.
    pub(super) fn error(self, narrower: &str) -> ModelError {
        match self {
            Self::Cancelled => ModelError::new("Cancelled by the user."),
            Self::TimedOut(time) => ModelError::new(format!("Timed out after {}. {narrower}", seconds::in_words(time))),
        }
    }

    /// The failure of a search that found `partial` before it stopped.
    pub(super) fn outcome(self, partial: String, narrower: &str) -> Outcome {
        let output = (!partial.is_empty()).then(|| format!("Results up to then:\n\n{partial}"));
        Outcome::Failure { error: self.error(narrower), output }
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

/// Runs blocking work on a separate thread.
///
/// The work checks `context.cancel` and the call's timeout itself where it can stop
/// ([`Deadline`]), and so has something to show then. If it does not respond (because of a lost network
/// share, for example), it is abandoned [`PATIENCE`] later, so that it never blocks a conversation.
pub(super) fn blocking(
    context: Context,
    work: impl FnOnce(&Context) -> Outcome + Send + 'static,
) -> impl Future<Output = Outcome> {
    on_thread(context, Box::new(work))
}

/// The same for every kind of work, so that its code is there once.
async fn on_thread(context: Context, work: Box<dyn FnOnce(&Context) -> Outcome + Send>) -> Outcome {
    let (cancel, timeout, commitment) = (context.cancel.clone(), context.timeout, context.commitment.clone());
    // This panics if the system cannot start a thread.
    let work = move || {
        let outcome = work(&context);
        // Whatever it has found, the user has to decide first, unless files are changed already.
        match context.judged.as_ref().and_then(|judged| judged.strayed()) {
            Some(why) if !context.commitment.has_begun() => Outcome::Outdated(why.clone()),
            _ => outcome,
        }
    };
    let begun = catch_unwind(AssertUnwindSafe(|| tokio::task::spawn_blocking(work)));
    let Ok(mut task) = begun else {
        return Outcome::failure(ModelError::new(
            "The system could not start a thread, so the tool did not run. Try again later.",
        ));
    };
    let given_up = async {
        tokio::select! {
            () = tokio::time::sleep(timeout.saturating_add(PATIENCE)) => format!("within {}", seconds::in_words(timeout)),
            () = async { cancel.cancelled().await; tokio::time::sleep(PATIENCE).await } => "until it was cancelled".into(),
        }
    };
    tokio::select! {
        done = &mut task => match done {
            Ok(outcome) => outcome,
            Err(error) => Outcome::failure(ModelError::new(format!("The tool failed: {error}. This is a bug in Flemma."))),
        },
        when = given_up => {
            // What still runs changes nothing any more, unless it has begun to.
            let change = if commitment.bar() { "No file was changed." } else { "A change that the call has begun may still happen." };
            Outcome::failure(ModelError::new(format!("The file system did not answer {when}. {change}")))
        }
    }
}
