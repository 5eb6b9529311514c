//! The outbox of a conversation: what the user has written while it was at work, in the order in which it goes out.
//!
//! When something leaves is decided in [`crate::agent`]. A message stays here until the file is known to have it: it
//! *waits*, then it is *posted*, which means that the text of the buffer has it, and with the next write of the file it is
//! forgotten. What is kept on the disk ([`crate::runtime::OutboxFiles`]) is all of it, so that a kill at any moment loses
//! nothing. What comes back from there is *returned*: it becomes text under the prompt, and nobody sends it but the user.

use crate::{
    agent::{self, Departure},
    runtime::{KeptMessage, OutboxContent},
};

/// The number of a message within its conversation.
pub type MessageId = u64;

/// When a message goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// When the turn has ended.
    NextTurn,
    /// Before the next request, with the results of the tools that run.
    NextRequest,
}

/// A message that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedMessage {
    /// Its number.
    pub id: MessageId,
    /// What it says, in lines.
    pub text: String,
    /// What the user is changing it to and has not queued; `None` if it would say the same.
    pub change: Option<String>,
    /// Whether it goes out before the next request.
    pub steers: bool,
    /// Whether it is in the input window, which is open.
    pub is_open: bool,
    /// How many messages the conversation had when it was written, and how many of the last of them said the same.
    pub since: Since,
}

impl QueuedMessage {
    /// Whether the user is changing it, so that it does not go out: in the open window, or with a change that is kept there.
    #[must_use]
    pub const fn is_held(&self) -> bool {
        self.is_open || self.change.is_some()
    }

    /// What the user has written last.
    #[must_use]
    pub fn newest(&self) -> &str {
        self.change.as_ref().unwrap_or(&self.text)
    }

    /// The same with what the user has written last.
    fn settled(self) -> Self {
        let Self { text, change, .. } = self;
        Self { text: change.unwrap_or(text), change: None, ..self }
    }
}

/// A moment in the life of a conversation, for telling later whether a message was written into it after that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Since {
    /// The number of the message, from 0, that was the last one then.
    pub message: usize,
    /// How often the text was found from there on.
    pub found: usize,
}

/// The messages of a conversation that were not sent yet.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    last_id: MessageId,
    /// Those that steer come first.
    waiting: Vec<QueuedMessage>,
    /// What came back from an earlier session.
    returned: Vec<QueuedMessage>,
    /// What the buffer has, and the file may not have yet.
    posted: Vec<QueuedMessage>,
    /// What is being written and is not queued yet.
    draft: String,
}

impl Outbox {
    /// Adds a message. One that steers goes out before those that do not. Gives its number; `None` for a blank text.
    pub fn add(&mut self, text: &str, urgency: Urgency, since: Since) -> Option<MessageId> {
        let text = trimmed(text)?;
        self.last_id += 1;
        let (id, steers) = (self.last_id, urgency == Urgency::NextRequest);
        let message = QueuedMessage { id, text, change: None, steers, is_open: false, since };
        let at = if steers { self.steering() } else { self.waiting.len() };
        self.waiting.insert(at, message);
        Some(id)
    }

    /// Gives a message that waits another text, written at this moment, and releases it. A blank text takes it back. Says
    /// whether it was there.
    pub fn change(&mut self, id: MessageId, text: &str, since: Since) -> bool {
        let Some(at) = self.position(id) else { return false };
        match trimmed(text) {
            Some(text) => {
                let message = &mut self.waiting[at];
                *message = QueuedMessage { text, change: None, is_open: false, since, ..*message };
            }
            None => drop(self.waiting.remove(at)),
        }
        true
    }

    /// The user is changing a message to this, and has not queued it. The message does not go out with its old text. Says
    /// whether that is news; `None` if it is not here any more.
    pub fn keep_change(&mut self, id: MessageId, text: &str, since: Since) -> Option<bool> {
        let at = self.position(id)?;
        let message = &mut self.waiting[at];
        let change = trimmed(text).filter(|text| *text != message.text);
        let is_news = message.change != change;
        if is_news {
            message.since = since;
            message.change = change;
        }
        Some(is_news)
    }

    /// Takes a message back: the one at this place, from 1, or the last one.
    pub fn take_back(&mut self, place: Option<usize>) -> Option<QueuedMessage> {
        let at = place.unwrap_or(self.waiting.len()).checked_sub(1).filter(|at| *at < self.waiting.len())?;
        Some(self.waiting.remove(at))
    }

    /// The user opens a message to change it: it does not go out meanwhile. `None` if it is not here any more.
    pub fn hold(&mut self, id: MessageId) -> Option<QueuedMessage> {
        let at = self.position(id)?;
        self.waiting[at].is_open = true;
        Some(self.waiting[at].clone())
    }

    /// The user has left a message. With a change that is kept, it still does not go out. Says whether it was held and can
    /// go out now.
    pub fn release(&mut self, id: MessageId) -> bool {
        let Some(at) = self.position(id) else { return false };
        let message = &mut self.waiting[at];
        std::mem::take(&mut message.is_open) && !message.is_held()
    }

    /// Whether a message is here and does not go out because the user is changing it.
    #[must_use]
    pub fn is_held(&self, id: MessageId) -> bool {
        self.position(id).is_some_and(|at| self.waiting[at].is_held())
    }

    /// All messages steer from now on.
    pub fn steer(&mut self) {
        for message in &mut self.waiting {
            message.steers = true;
        }
    }

    /// What came back from the disk, unless the document has it since then. `found` says how often the document says a text
    /// from a message on.
    pub fn take_kept(&mut self, kept: OutboxContent, found: impl Fn(&str, usize) -> usize) {
        if self.draft.is_empty() {
            self.draft = kept.draft;
        }
        for KeptMessage { text, steers, message, found: before } in kept.messages {
            let since = Since { message, found: before };
            if found(&text, message) <= before {
                self.last_id += 1;
                self.returned.push(QueuedMessage {
                    id: self.last_id,
                    text,
                    change: None,
                    steers,
                    is_open: false,
                    since,
                });
            }
        }
    }

    /// What is being written and is not queued yet.
    #[must_use]
    pub fn draft(&self) -> &str {
        &self.draft
    }

    /// The user has written this, and has not queued it. Says whether that is news.
    pub fn set_draft(&mut self, text: &str) -> bool {
        let text = if text.trim().is_empty() { "" } else { text };
        let is_news = self.draft != text;
        text.clone_into(&mut self.draft);
        is_news
    }

    /// The messages that wait, in the order in which they go out.
    #[must_use]
    pub fn waiting(&self) -> &[QueuedMessage] {
        &self.waiting
    }

    /// Whether something came back that is not in the document yet.
    #[must_use]
    pub fn has_returned(&self) -> bool {
        !self.returned.is_empty()
    }

    /// What of it the state machine sees.
    #[must_use]
    pub fn state(&self) -> agent::Outbox {
        let next = self.waiting.first().filter(|message| !message.is_held());
        agent::Outbox {
            has_any: self.has_returned() || self.waiting.iter().any(|message| !message.is_open),
            is_ready: next.is_some(),
            steers: next.is_some_and(|message| message.steers),
        }
    }

    /// The texts that would leave.
    #[must_use]
    pub fn departing(&self, departure: Departure) -> Vec<String> {
        let texts = |messages: &[QueuedMessage]| messages.iter().map(|message| message.text.clone()).collect();
        match departure {
            Departure::Steering | Departure::Next => texts(&self.waiting[..self.leaving(departure)]),
            Departure::Returned => texts(&self.returned),
            Departure::Unsent => {
                // What the user has written last, also where it was not queued: nobody sends this but the user.
                let left = self.waiting.iter().filter(|message| !message.is_open);
                self.returned.iter().chain(left).map(|message| message.newest().to_owned()).collect()
            }
        }
    }

    /// These have left: the buffer has them.
    pub fn departed(&mut self, departure: Departure) {
        let leaving = self.leaving(departure);
        match departure {
            Departure::Steering | Departure::Next => self.posted.extend(self.waiting.drain(..leaving)),
            Departure::Returned => self.posted.append(&mut self.returned),
            Departure::Unsent => {
                self.posted.append(&mut self.returned);
                let left = self.waiting.extract_if(.., |message| !message.is_open);
                self.posted.extend(left.map(QueuedMessage::settled));
            }
        }
    }

    /// The numbers of the messages that the buffer has, and of which it is not known that the file has them.
    #[must_use]
    pub fn posted(&self) -> Vec<MessageId> {
        self.posted.iter().map(|message| message.id).collect()
    }

    /// The file has these messages. Says whether that is news.
    pub fn written(&mut self, ids: &[MessageId]) -> bool {
        let before = self.posted.len();
        self.posted.retain(|message| !ids.contains(&message.id));
        self.posted.len() < before
    }

    /// What has to be on the disk.
    #[must_use]
    pub fn kept(&self) -> OutboxContent {
        let all = self.returned.iter().chain(&self.posted).chain(&self.waiting);
        let keep = |message: &QueuedMessage| {
            let QueuedMessage { text, steers, since: Since { message, found }, .. } = message.clone().settled();
            KeptMessage { text, steers, message, found }
        };
        OutboxContent { messages: all.map(keep).collect(), draft: self.draft.clone() }
    }

    /// How many of the first messages leave together.
    fn leaving(&self, departure: Departure) -> usize {
        let free = self.waiting.iter().take_while(|message| !message.is_held());
        let steering = free.clone().take_while(|message| message.steers).count();
        match departure {
            Departure::Next if steering == 0 => free.take(1).count(),
            _ => steering,
        }
    }

    fn steering(&self) -> usize {
        self.waiting.iter().take_while(|message| message.steers).count()
    }

    fn position(&self, id: MessageId) -> Option<usize> {
        self.waiting.iter().position(|message| message.id == id)
    }
}

/// A text without blank lines at its ends; `None` if nothing is left.
fn trimmed(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let is_said = |line: &&str| !line.trim().is_empty();
    let (first, last) = (lines.iter().position(is_said)?, lines.iter().rposition(is_said)?);
    Some(lines[first..=last].join("\n"))
}
