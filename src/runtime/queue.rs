//! The one way from the tasks to the main thread.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{ConversationId, ExternalPaths, LeftOut, holder::Hold, trust::Trusted};
use crate::{
    agent::{Input, RequestId},
    model::{CallId, Event},
    provider::reply_limit,
    usage::Estimate,
};

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
    ExternalPaths(ExternalPaths),
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

/// The most replies of which one drain takes pieces. Each is a write to another buffer, and when many stream in at once, the
/// screen is drawn and keys are heard in between.
const SLICE_REPLIES: usize = 4;

/// How long the pieces of a reply are collected before they are written: the screen follows about thirty times a second,
/// whatever the pace of the model.
pub const PAUSE: Duration = Duration::from_millis(33);

/// When to drain again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// When the queue wakes the drain.
    Woken,
    /// At once: there is more.
    Now,
    /// After this pause. Pieces of replies that come meanwhile do not wake anybody.
    After(Duration),
}

/// Notices on their way to the main thread.
///
/// Those for one conversation are drained in the order in which they were pushed. The first piece of a reply wakes the
/// drain at once. What follows is collected, piece joined to piece, until a pause is over or something comes that cannot
/// wait: the end of the reply, a tool's result, an error.
pub struct Queue {
    waiting: Mutex<Waiting>,
    wake: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct Waiting {
    notices: VecDeque<Notice>,
    /// How many notices were drained before the first of `notices`.
    drained: u64,
    /// The number of each conversation's last notice, counted from the first that was ever pushed.
    last: HashMap<ConversationId, u64>,
    /// The number of the first notice that came after this round of drains began. What comes in between waits for the next
    /// round, or several fast replies would keep the drain busy without a pause.
    round: u64,
    /// Whether a drain is about to come, because it was woken or has more to do.
    is_woken: bool,
    /// Whether a drain comes after the pause.
    is_pausing: bool,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("waiting", &self.lock().notices.len()).finish_non_exhaustive()
    }
}

impl Queue {
    /// A queue that calls `wake` when a drain is due and none is on its way. `wake` may be called from any thread.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { waiting: Mutex::default(), wake: Box::new(wake) }
    }

    /// Adds a notice. A piece of text joins the piece before it, so that a fast stream costs a drain no more than a slow
    /// one.
    pub fn push(&self, notice: Notice) {
        let wakes = {
            let mut waiting = self.lock();
            let wakes = !(waiting.is_woken || waiting.is_pausing && is_patient(&notice));
            waiting.is_woken |= wakes;
            waiting.push(notice);
            wakes
        };
        if wakes {
            (self.wake)();
        }
    }

    /// Takes what is there, up to a bound, and says when to come back. Whoever drains must come back as it says, or the
    /// pieces of a reply stay where they are.
    pub fn drain(&self) -> (Vec<Notice>, Next) {
        let mut waiting = self.lock();
        let (mut bytes, mut count) = (0, 0);
        let mut replies: Vec<ConversationId> = Vec::new();
        if waiting.round <= waiting.drained {
            waiting.round = waiting.drained + waiting.notices.len() as u64;
        }
        let left = usize::try_from(waiting.round - waiting.drained).unwrap_or(usize::MAX);
        for notice in waiting.notices.iter().take(SLICE_NOTICES.min(left)) {
            if is_patient(notice) && !replies.contains(&notice.conversation) {
                if replies.len() == SLICE_REPLIES {
                    break;
                }
                replies.push(notice.conversation);
            }
            bytes += weight(notice);
            count += 1;
            if bytes > SLICE_BYTES {
                break;
            }
        }
        let slice: Vec<Notice> = waiting.notices.drain(..count).collect();
        waiting.drained += slice.len() as u64;
        let is_over = waiting.drained >= waiting.round;
        waiting.is_woken = !is_over || waiting.notices.iter().any(|notice| !is_patient(notice));
        waiting.is_pausing = !waiting.is_woken && slice.iter().chain(&waiting.notices).any(is_patient);
        if waiting.notices.is_empty() {
            waiting.last.clear();
        }
        let next = match (waiting.is_woken, waiting.is_pausing) {
            (true, _) => Next::Now,
            (false, true) => Next::After(PAUSE),
            (false, false) => Next::Woken,
        };
        (slice, next)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // A panic elsewhere leaves whole notices behind: each is pushed in one go.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn push(&mut self, notice: Notice) {
        let last = self.last.get(&notice.conversation).and_then(|number| number.checked_sub(self.drained));
        let last = last.and_then(|index| self.notices.get_mut(usize::try_from(index).ok()?));
        if last.is_some_and(|last| join(last, &notice)) {
            return;
        }
        self.last.insert(notice.conversation, self.drained + self.notices.len() as u64);
        self.notices.push_back(notice);
    }
}

/// The event of a notice, and its request.
fn event(notice: &Notice) -> Option<(RequestId, &Event)> {
    match &notice.report {
        Report::Input(Input::Event { request, event }) => Some((*request, event)),
        _ => None,
    }
}

/// Whether a notice may wait for the end of a pause: a piece of a reply, or a count that goes with the pieces.
fn is_patient(notice: &Notice) -> bool {
    matches!(
        event(notice),
        Some((_, Event::Text(_) | Event::Thinking(_) | Event::ToolUseProgress { .. } | Event::Usage(_)))
    )
}

/// Joins `next` to `last`, a notice for the same conversation. Two pieces of the same text become one that fits a slice;
/// a count takes the place of the one before it. Says whether that could be done.
fn join(last: &mut Notice, next: &Notice) -> bool {
    let Some((request, event)) = event(next) else { return false };
    let Report::Input(Input::Event { request: last_request, event: last }) = &mut last.report else { return false };
    if *last_request != request {
        return false;
    }
    match (last, event) {
        (Event::Text(last), Event::Text(text)) | (Event::Thinking(last), Event::Thinking(text)) => {
            let fits = reply_limit::weight(last) + reply_limit::weight(text) <= SLICE_BYTES;
            if fits {
                last.push_str(text);
            }
            fits
        }
        (Event::ToolUseProgress { name: last, bytes }, Event::ToolUseProgress { name, bytes: more }) => {
            let grows = last == name && *bytes <= *more;
            if grows {
                *bytes = *more;
            }
            grows
        }
        (Event::Usage(last), Event::Usage(usage)) => {
            *last = *usage;
            true
        }
        _ => false,
    }
}

fn weight(notice: &Notice) -> usize {
    match &notice.report {
        Report::Input(Input::Event { event: Event::Text(text) | Event::Thinking(text), .. }) => {
            reply_limit::weight(text)
        }
        Report::Input(Input::ToolFinished { answer, .. }) => answer.output.len(),
        _ => 64,
    }
}
