//! The one way from the tasks to the main thread.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{LeftOut, Outside, holder::Hold, trust::Trusted};
use crate::{
    agent::{Input, RequestId},
    provider::{CallId, Event, bounds},
    usage::Estimate,
};

/// Names a conversation for as long as it is open; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversationId(pub u64);

impl ConversationId {
    /// What is for no conversation in particular.
    pub const NONE: Self = Self(0);
}

/// Something that a task tells a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// The conversation.
    pub conversation: ConversationId,
    /// What happened.
    pub report: Report,
}

/// What a task reports.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// An input for the state machine.
    Input(Input),
    /// Something that the user should know.
    Warning(String),
    /// The time of a running tool is up.
    Expired {
        /// The call.
        call: CallId,
        /// Which run of it.
        run: u64,
        /// How long it had.
        limit: Duration,
    },
    /// A reply was cut off by somebody who changed the text; the document is to say so, now that it may be changed.
    CutOff,
    /// The files of the request that is on its way have been read; these were left out.
    LeftOut(Vec<LeftOut>),
    /// It was looked where files lead that the conversation names.
    Outside(Outside),
    /// What the conversation would use.
    Estimate(Estimate),
    /// What the user has trusted was read, or could not be: then it is nothing.
    Trust(Trusted),
    /// It was tried to hold a conversation.
    Hold {
        /// Its file.
        path: String,
        /// Who holds it; or why nobody can, in the system's words.
        hold: Result<Hold, String>,
    },
    /// A buffer's file was written, or not; for no conversation, since it may be closed meanwhile.
    Saved {
        /// The buffer.
        buffer: i32,
        /// Neovim's count of the buffer's changes when its text was taken.
        tick: i64,
        /// Why it was not written, as a sentence for the user.
        problem: Option<String>,
    },
    /// The models of a server, for whoever asked with this number; or why there are none, in words for the user.
    Models(u64, Result<Vec<String>, String>),
}

/// The most text, in bytes, and the most notices that one drain takes: the main thread is never held for long.
const SLICE_BYTES: usize = 64 * 1024;
const SLICE_NOTICES: usize = 256;

/// Notices on their way to the main thread, oldest first.
pub struct Queue {
    notices: Mutex<VecDeque<Notice>>,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("waiting", &self.lock().len()).finish_non_exhaustive()
    }
}

impl Queue {
    /// A queue that calls `wake` when it is no longer empty. `wake` may be called from any thread.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { notices: Mutex::default(), wake: Box::new(wake) }
    }

    /// Adds a notice. A piece of text joins the piece before it, so that a fast stream costs a drain no more
    /// than a slow one.
    pub fn push(&self, notice: Notice) {
        let was_empty = {
            let mut notices = self.lock();
            let was_empty = notices.is_empty();
            if let Some(notice) =
                notices.back_mut().and_then(|last| join(last, &notice)).map_or(Some(notice), |()| None)
            {
                notices.push_back(notice);
            }
            was_empty
        };
        if was_empty {
            (self.wake)();
        }
    }

    /// Takes what is there, up to a bound. The second value says whether more is left; the caller comes back for it.
    pub fn drain(&self) -> (Vec<Notice>, bool) {
        let mut notices = self.lock();
        let mut bytes = 0;
        let mut count = 0;
        for notice in notices.iter().take(SLICE_NOTICES) {
            bytes += weight(notice);
            count += 1;
            if bytes > SLICE_BYTES {
                break;
            }
        }
        let slice = notices.drain(..count).collect();
        (slice, !notices.is_empty())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Notice>> {
        // A panic elsewhere leaves whole notices behind: each is pushed in one go.
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text of a notice that is a piece of prose or of thinking, and its request.
fn piece(notice: &Notice) -> Option<(ConversationId, RequestId, bool, &str)> {
    match &notice.report {
        Report::Input(Input::Event { request, event: Event::Text(text) }) => {
            Some((notice.conversation, *request, false, text))
        }
        Report::Input(Input::Event { request, event: Event::Thinking(text) }) => {
            Some((notice.conversation, *request, true, text))
        }
        _ => None,
    }
}

/// Joins `next` to `last` if both are pieces of the same text, and the result stays within a slice.
fn join(last: &mut Notice, next: &Notice) -> Option<()> {
    let (conversation, request, thinking, text) = piece(next)?;
    let (last_conversation, last_request, last_thinking, last_text) = piece(last)?;
    let same = (conversation, request, thinking) == (last_conversation, last_request, last_thinking);
    if !same || bounds::weight(last_text) + bounds::weight(text) > SLICE_BYTES {
        return None;
    }
    if let Report::Input(Input::Event { event: Event::Text(into) | Event::Thinking(into), .. }) = &mut last.report {
        into.push_str(text);
    }
    Some(())
}

fn weight(notice: &Notice) -> usize {
    match &notice.report {
        Report::Input(Input::Event { event: Event::Text(text) | Event::Thinking(text), .. }) => bounds::weight(text),
        Report::Input(Input::ToolFinished { answer, .. }) => answer.output.len(),
        _ => 64,
    }
}
