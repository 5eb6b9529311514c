//! A question that is answered on a thread of its own. Whoever asks waits for a while and then leaves: a disk that does not answer
//! holds up nobody else.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::task;

use crate::reviews::ready::Found;
use flemma_tools::{Earlier, Proposal};

/// A question, and what becomes of it.
pub(crate) struct Asking<T> {
    state: Mutex<State<T>>,
    has_answer: Condvar,
}

enum State<T> {
    /// Somebody may be waiting.
    Asked,
    /// Whoever has asked is gone.
    Left,
    Answered(T),
    Taken,
}

impl<T: Send + 'static> Asking<T> {
    /// Asks. `late` is called if the answer comes when nobody waits for it any more. It must be called on a thread of the runtime.
    /// An `answer` that panics is no answer, and nobody waits for it any longer.
    pub(crate) fn ask(answer: impl FnOnce() -> T + Send + 'static, late: impl FnOnce() + Send + 'static) -> Arc<Self> {
        let asking = Arc::new(Self { state: Mutex::new(State::Asked), has_answer: Condvar::new() });
        let asked = Arc::clone(&asking);
        task::spawn_blocking(move || {
            let answered = catch_unwind(AssertUnwindSafe(answer)).map_or(State::Taken, State::Answered);
            let before = mem::replace(&mut *asked.state(), answered);
            asked.has_answer.notify_all();
            if matches!(before, State::Left) {
                late();
            }
        });
        asking
    }

    /// The answer, which is given once; `None` if it does not come in this time.
    pub(crate) fn wait(&self, patience: Duration) -> Option<T> {
        let is_waiting = |state: &mut State<T>| matches!(state, State::Asked | State::Left);
        let waited = self.has_answer.wait_timeout_while(self.state(), patience, is_waiting);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match mem::replace(&mut *state, State::Left) {
            State::Answered(answer) => {
                *state = State::Taken;
                Some(answer)
            }
            State::Taken => {
                *state = State::Taken;
                None
            }
            State::Asked | State::Left => None,
        }
    }

    /// Whether the answer was not taken yet.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(*self.state(), State::Taken)
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A tool that was asked what a call would write.
#[derive(Clone)]
pub(crate) struct SurveyQuestion {
    pub(crate) asking: Arc<Asking<Answer>>,
    /// The files that the call may write, with links resolved, once that is known.
    pub(crate) places: Arc<Mutex<Vec<PathBuf>>>,
}

/// What the tool of a call says.
pub(crate) struct Answer {
    pub(crate) found: Found,
    /// The proposal with all its bytes; `None` if there is none.
    pub(crate) proposal: Option<Proposal>,
    /// What it was made from.
    pub(crate) seen: Earlier,
    /// Whether it is what was known of the call before.
    pub(crate) is_known: bool,
}
