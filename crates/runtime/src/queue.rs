//! The one way from the tasks to the main thread.

use std::{collections::VecDeque, sync::Mutex, time::Duration};

use super::disk::lock;
use flemma_agent::{Input, RequestId};
use flemma_model::Event;
use flemma_provider::reply_limit;

/// Names a conversation for as long as it is open; never used twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversationId(pub u64);

/// Something that a background task leaves for the main thread.
///
/// `J` is a job: what the main thread is to do with the result of a task. The layer above brings the type.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice<J> {
    /// An input for the state machine of a conversation.
    Input(ConversationId, Input),
    /// The rest of some work, for the main thread.
    Job(J),
}

/// The most text, in bytes, and the most notices that one drain takes: the main thread is never held for long.
const SLICE_BYTES: usize = 64 * 1024;
const SLICE_NOTICES: usize = 256;

/// The most replies of which one drain takes pieces. Each is a write to another buffer, and when many stream in at
/// once, the screen is drawn and keys are heard in between.
const SLICE_REPLIES: usize = 4;

/// How long the pieces of a reply are collected before they are written: the screen follows about thirty times a
/// second, however fast the model is.
pub const PAUSE: Duration = Duration::from_millis(33);

/// When to drain again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextDrain {
    /// When the queue wakes the drain.
    Woken,
    /// At once: there is more.
    Now,
    /// After this pause. Pieces of replies that come meanwhile do not wake anybody.
    After(Duration),
}

/// Notices on their way to the main thread.
///
/// They are drained in the order in which they were pushed. The first piece of a reply wakes the
/// drain at once. What follows is collected, piece joined to piece, until a pause is over or something comes that
/// cannot wait: the end of the reply, a tool's result, an error.
pub struct Queue<J> {
    waiting: Mutex<Waiting<J>>,
    wake: Box<dyn Fn() + Send + Sync>,
}

struct Waiting<J> {
    notices: VecDeque<Notice<J>>,
    /// How many of them belong to this round of drains. What comes meanwhile waits for the next round, or several fast replies
    /// would keep the drain busy without a pause.
    round: usize,
    /// Whether a drain is about to come, because it was woken or has more to do.
    is_woken: bool,
    /// Whether a drain comes after the pause.
    is_pausing: bool,
}

impl<J> Queue<J> {
    /// A queue that calls `wake` when a drain is due and none is on its way. `wake` may be called from any thread.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        let waiting = Waiting { notices: VecDeque::new(), round: 0, is_woken: false, is_pausing: false };
        Self { waiting: Mutex::new(waiting), wake: Box::new(wake) }
    }

    /// Adds a notice. A piece of text joins the piece before it, so that a fast stream costs a drain no more than a
    /// slow one.
    pub fn push(&self, notice: Notice<J>) {
        let wakes = {
            let mut waiting = lock(&self.waiting);
            let wakes = !(waiting.is_woken || waiting.is_pausing && is_patient(&notice));
            waiting.is_woken |= wakes;
            waiting.push(notice);
            wakes
        };
        if wakes {
            (self.wake)();
        }
    }

    /// Takes what is there, up to a bound, and says when to come back. The caller must come back as it says, or the
    /// pieces of a reply stay where they are.
    pub fn drain(&self) -> (Vec<Notice<J>>, NextDrain) {
        let mut waiting = lock(&self.waiting);
        let (mut bytes, mut count) = (0, 0);
        let mut replies: Vec<ConversationId> = Vec::new();
        if waiting.round == 0 {
            waiting.round = waiting.notices.len();
        }
        for notice in waiting.notices.iter().take(SLICE_NOTICES.min(waiting.round)) {
            if let Some(conversation) = reply_of(notice).filter(|conversation| !replies.contains(conversation)) {
                if replies.len() == SLICE_REPLIES {
                    break;
                }
                replies.push(conversation);
            }
            bytes += weight(notice);
            count += 1;
            if bytes > SLICE_BYTES {
                break;
            }
        }
        let slice: Vec<Notice<J>> = waiting.notices.drain(..count).collect();
        waiting.round -= slice.len();
        let is_over = waiting.round == 0;
        waiting.is_woken = !is_over || waiting.notices.iter().any(|notice| !is_patient(notice));
        waiting.is_pausing = !waiting.is_woken && slice.iter().chain(&waiting.notices).any(is_patient);
        let next = match (waiting.is_woken, waiting.is_pausing) {
            (true, _) => NextDrain::Now,
            (false, true) => NextDrain::After(PAUSE),
            (false, false) => NextDrain::Woken,
        };
        (slice, next)
    }

    /// Takes what is there of the reply to a request, which is stopped.
    pub fn take_reply(&self, conversation: ConversationId, request: RequestId) -> Vec<Event> {
        let mut waiting = lock(&self.waiting);
        let Waiting { notices, round, .. } = &mut *waiting;
        let is_of_it = |notice: &Notice<J>| match notice {
            Notice::Input(of, Input::Event { request: to, .. }) => *of == conversation && *to == request,
            _ => false,
        };
        *round -= notices.iter().take(*round).filter(|notice| is_of_it(notice)).count();
        let (reply, rest) = std::mem::take(notices).into_iter().partition(is_of_it);
        *notices = rest;
        let event = |notice| if let Notice::Input(_, Input::Event { event, .. }) = notice { Some(event) } else { None };
        VecDeque::into_iter(reply).filter_map(event).collect()
    }

    /// Gives the last notices of a slice back, for which there was no time. The caller comes back at once.
    pub fn give_back(&self, rest: Vec<Notice<J>>) {
        let mut waiting = lock(&self.waiting);
        waiting.round += rest.len();
        rest.into_iter().rev().for_each(|notice| waiting.notices.push_front(notice));
        (waiting.is_woken, waiting.is_pausing) = (true, false);
    }
}

impl<J> Waiting<J> {
    fn push(&mut self, notice: Notice<J>) {
        if let Notice::Input(conversation, input) = &notice {
            // A job may be about any conversation: nothing that comes after it may be taken before it.
            let mut behind = self.notices.iter_mut().rev().take_while(|notice| matches!(notice, Notice::Input(..)));
            let is_of_it = |notice: &&mut Notice<J>| matches!(notice, Notice::Input(other, _) if other == conversation);
            if behind.find(is_of_it).is_some_and(|last| join(last, input)) {
                return;
            }
        }
        self.notices.push_back(notice);
    }
}

/// The conversation whose reply this is a piece of, or a count that goes with the pieces.
fn reply_of<J>(notice: &Notice<J>) -> Option<ConversationId> {
    let Notice::Input(conversation, Input::Event { event, .. }) = notice else { return None };
    matches!(event, Event::Text(_) | Event::Thinking(_) | Event::ToolUseProgress { .. } | Event::Usage(_))
        .then_some(*conversation)
}

/// Whether a notice may wait for the end of a pause.
fn is_patient<J>(notice: &Notice<J>) -> bool {
    reply_of(notice).is_some()
}

/// Joins `next` to `last`, a notice for the same conversation. Two pieces of the same text become one that fits a
/// slice; a count takes the place of the one before it. Says whether that could be done.
fn join<J>(last: &mut Notice<J>, next: &Input) -> bool {
    let Input::Event { request, event } = next else { return false };
    let Notice::Input(_, Input::Event { request: last_request, event: last }) = last else { return false };
    if *last_request != *request {
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

fn weight<J>(notice: &Notice<J>) -> usize {
    match notice {
        Notice::Input(_, Input::Event { event: Event::Text(text) | Event::Thinking(text), .. }) => {
            reply_limit::weight(text)
        }
        Notice::Input(_, Input::ToolFinished { answer, .. }) => answer.output.len(),
        _ => 64,
    }
}
