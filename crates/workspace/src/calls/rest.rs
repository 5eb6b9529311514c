//! Why a conversation has come to rest, and telling the user who does not look at it.
//!
//! While a conversation is out of sight, its messages begin with its name ([`Shared::with_name`](crate::components::Shared::with_name)). A stop that no message has
//! explained gets one of its own.

use crate::{Conversation, PendingCall, components::OpenCalls};
use flemma_agent::Level;
use flemma_chat::{AwaitKind, Tail};
use flemma_text::one_line;

/// The longest question in a message, in characters.
const LONGEST: usize = 80;

/// What the user knows of the end that a turn came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// A message said that something is wrong.
    Told,
    /// They have stopped it themselves.
    Cancelled,
}

/// Why a conversation rests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rest {
    /// The model has replied, and nothing is left to do.
    Done,
    /// Calls wait for the user. The words say for what: `waits for your approval: bash`.
    Waits(String),
    /// It goes on with Ctrl-].
    Paused,
    /// Something went wrong, which the user was told.
    Failed,
    /// The user has stopped it.
    Cancelled,
}

impl Rest {
    /// What is said of it.
    pub fn words(&self) -> &str {
        match self {
            Self::Done => "is done",
            Self::Waits(words) => words,
            Self::Paused => "has paused; Ctrl-] goes on",
            Self::Failed => "has stopped",
            Self::Cancelled => "was cancelled",
        }
    }

    /// The word for Lua.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Waits(_) => "waits",
            Self::Paused => "paused",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl OpenCalls {
    /// Why a conversation rests; `None` while it is at work, or waits for the editor alone.
    pub fn rest(&self, conversation: &Conversation) -> Option<Rest> {
        if conversation.is_busy() {
            return None;
        }
        let known = conversation.ending.get();
        if known == Some(Known::Cancelled) {
            return Some(Rest::Cancelled);
        }
        let waiting = self.pending_calls(Some(conversation.buffer));
        let for_user: Vec<&PendingCall> = waiting.iter().filter(|call| call.kind != AwaitKind::ClientExec).collect();
        if let [first, others @ ..] = &for_user[..] {
            return Some(Rest::Waits(words(first, others.len())));
        } else if !waiting.is_empty() {
            return None;
        }
        if known == Some(Known::Told) || conversation.session.stop().is_some() {
            return Some(Rest::Failed);
        }
        let has_open_calls = !conversation.page.open_ids().is_empty();
        let tail = conversation.page.with_document(|document, text| Tail::of(document.messages(), text));
        Some(if has_open_calls || tail != Tail::Reply { Rest::Paused } else { Rest::Done })
    }

    /// A turn is over. Unless the next one begins at once, the user is told, if they do not look at the conversation.
    pub(crate) fn tell_rest_later(&self, conversation: &Conversation) {
        if self.shared.config().notify.stops && self.shared.has_editor(conversation) && !self.shared.is_leaving() {
            self.background.post_for(conversation.id, Self::tell_rest);
        }
    }

    fn tell_rest(&self, conversation: &Conversation) {
        if self.shared.host.is_in_sight(conversation.buffer) {
            return;
        }
        let Some(rest) = self.rest(conversation) else { return };
        let level = match rest {
            Rest::Done => Level::Info,
            Rest::Waits(_) | Rest::Paused => Level::Warn,
            Rest::Failed | Rest::Cancelled => return,
        };
        self.shared.host.notify(level, &format!("{} {}", self.shared.name(conversation), rest.words()));
    }
}

/// What a call waits for. `others` wait as well.
fn words(call: &PendingCall, others: usize) -> String {
    let question = call.question.as_deref().filter(|_| call.kind == AwaitKind::Elicitation);
    let words = match question {
        Some(question) => format!("asks: {}", one_line(question, LONGEST)),
        None if call.kind == AwaitKind::Elicitation => format!("waits for your answer: {}", call.tool),
        None => format!("waits for your approval: {}", call.tool),
    };
    match others {
        0 => words,
        1 => words + " (and 1 more call waits)",
        _ => format!("{words} (and {others} more calls wait)"),
    }
}
