//! The outbox of a conversation: what the user has written while it was at work, in the order in which it goes out.
//!
//! When something leaves is decided in [`flemma_agent`]. A message stays here until the file is known to have it: it
//! *waits*, then it is *posted*, which means that the text of the buffer has it, and with the next write of the file it is
//! forgotten. What is kept on the disk ([`flemma_runtime::OutboxFiles`]) is all of it, so that a kill at any moment loses
//! nothing. What comes back from there is *returned*: it becomes text under the prompt, and nobody sends it but the user.

use std::{
    cell::{Cell, RefCell},
    path::{Path, PathBuf},
};

use flemma_agent::{self as agent, Departure};
use flemma_runtime::{KeptMessage, OutboxContent};

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
    /// What it says, in lines, when it goes out, and what the conversation was when it was written.
    pub kept: KeptMessage,
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
        let (text, steers, Since { message, found }) = (trimmed(text)?, urgency == Urgency::NextRequest, since);
        self.last_id += 1;
        let message = QueuedMessage { id: self.last_id, kept: KeptMessage { text, steers, message, found } };
        let at = if steers { self.steering() } else { self.waiting.len() };
        self.waiting.insert(at, message);
        Some(self.last_id)
    }

    /// Takes a message back: the one at this place, from 1, or the last one.
    pub fn take_back(&mut self, place: Option<usize>) -> Option<QueuedMessage> {
        let at = place.unwrap_or(self.waiting.len()).checked_sub(1).filter(|at| *at < self.waiting.len())?;
        Some(self.waiting.remove(at))
    }

    /// All messages steer from now on.
    pub fn steer(&mut self) {
        for message in &mut self.waiting {
            message.kept.steers = true;
        }
    }

    /// What came back from the disk, unless the document has it since then. `found` says how often the document says a text
    /// from a message on.
    pub fn take_kept(&mut self, kept: OutboxContent, found: impl Fn(&str, usize) -> usize) {
        if self.draft.is_empty() {
            self.draft = kept.draft;
        }
        for kept in kept.messages {
            if found(&kept.text, kept.message) <= kept.found {
                self.last_id += 1;
                self.returned.push(QueuedMessage { id: self.last_id, kept });
            }
        }
    }

    /// What is being written and is not queued yet.
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
    pub fn waiting(&self) -> &[QueuedMessage] {
        &self.waiting
    }

    /// Whether something came back that is not in the document yet.
    pub fn has_returned(&self) -> bool {
        !self.returned.is_empty()
    }

    /// What of it the state machine sees.
    pub fn state(&self) -> agent::Outbox {
        let next = self.waiting.first();
        agent::Outbox {
            has_any: self.has_returned() || next.is_some(),
            is_ready: next.is_some(),
            steers: next.is_some_and(|message| message.kept.steers),
        }
    }

    /// The texts that would leave.
    pub fn departing(&self, departure: Departure) -> Vec<String> {
        let texts = |messages: &[QueuedMessage]| messages.iter().map(|message| message.kept.text.clone()).collect();
        match departure {
            Departure::Steering | Departure::Next => texts(&self.waiting[..self.leaving(departure)]),
            Departure::Returned => texts(&self.returned),
            Departure::Unsent => texts(&self.returned).into_iter().chain(texts(&self.waiting)).collect(),
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
                self.posted.append(&mut self.waiting);
            }
        }
    }

    /// The numbers of the messages that the buffer has, and of which it is not known that the file has them.
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
    pub fn kept(&self) -> OutboxContent {
        let all = self.returned.iter().chain(&self.posted).chain(&self.waiting);
        OutboxContent { messages: all.map(|message| message.kept.clone()).collect(), draft: self.draft.clone() }
    }

    /// How many of the first messages leave together.
    fn leaving(&self, departure: Departure) -> usize {
        match departure {
            Departure::Next if self.steering() == 0 => self.waiting.len().min(1),
            _ => self.steering(),
        }
    }

    fn steering(&self) -> usize {
        self.waiting.iter().take_while(|message| message.kept.steers).count()
    }
}

/// A text without blank lines at its ends; `None` if nothing is left.
fn trimmed(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let is_said = |line: &&str| !line.trim().is_empty();
    let (first, last) = (lines.iter().position(is_said)?, lines.iter().rposition(is_said)?);
    Some(lines[first..=last].join("\n"))
}

/// What is known of the file of an outbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OutboxState {
    /// Nothing: it may have messages that have to come back before it is written.
    #[default]
    Unknown,
    /// It is being read, or cannot be read: then it is not written either.
    Unread,
    /// What it had is in the outbox.
    Known,
}

/// An outbox and its file.
#[derive(Debug, Default)]
pub struct KeptOutbox {
    pub(crate) messages: RefCell<Outbox>,
    /// What is known of its file.
    pub(crate) kept: Cell<OutboxState>,
    /// The conversation's file to which it belongs, if it has one.
    pub(crate) path: RefCell<Option<PathBuf>>,
}

impl KeptOutbox {
    /// It belongs to this file from now on. Gives the one before; `None` where nothing has changed.
    pub(crate) fn move_to(&self, path: &Path) -> Option<Option<PathBuf>> {
        let path = path.is_absolute().then(|| path.to_owned());
        if *self.path.borrow() == path {
            return None;
        }
        self.kept.set(if path.is_some() { OutboxState::Unknown } else { OutboxState::Known });
        Some(self.path.replace(path))
    }

    /// The messages that wait, in the order in which they are sent.
    pub fn queued(&self) -> Vec<QueuedMessage> {
        self.messages.borrow().waiting().to_vec()
    }
}
