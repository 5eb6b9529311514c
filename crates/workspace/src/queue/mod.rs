//! What the user writes while a conversation is at work: it is queued, taken back, kept and brought back.
//!
//! Here the [`Outbox`](crate::Outbox) meets the world. Every change of it is noted for the disk at once and written on
//! another thread. If nothing is at work, what is queued is what a key would send: it takes the way of a key, past the
//! holder and the trust gate.

pub(crate) mod outbox;

use std::{io, path::PathBuf, time::Duration};

use crate::{
    Conversation, HostEffect,
    background::done_within,
    components::Queue,
    queue::outbox::{MessageId, OutboxState, QueuedMessage, Urgency},
    views::look::Chunk,
};
use flemma_agent::{Departure, Input, Level};
use flemma_chat::{self as chat, AwaitKind, OpenCall, Tail};
use flemma_runtime::OutboxContent;

/// How long the editor waits for the disk when it exits.
const PATIENCE: Duration = Duration::from_secs(3);

/// How many lines of a message are shown.
const LINES: usize = 3;

/// What a queued message waits for.
const NOTE: &str = "FlemmaQueueNote";
/// What it says.
const TEXT: &str = "FlemmaQueued";

impl Queue {
    /// Queues a message in the conversation of a buffer. If nothing is at work there, it is sent.
    ///
    /// Says whether it was queued; if not, the user was told why.
    pub fn queue(&self, buffer: i32, text: &str, urgency: Urgency) -> bool {
        let Some(conversation) = self.shared.conversation(buffer) else { return false };
        if self.ownership.is_refused(&conversation) {
            return false;
        }
        let since = conversation.since(text);
        let is_added = conversation.outbox.messages.borrow_mut().add(text, urgency, since).is_some();
        if is_added {
            self.outbox_changed(&conversation);
            let waits = self.outbox_waits_for(&conversation, urgency == Urgency::NextRequest);
            if let Some(waits) = waits.filter(|_| !conversation.holding.wanted.borrow().is_some()) {
                self.shared.host.notify(Level::Info, &format!("queued; {waits}"));
            }
        } else {
            self.shared.host.notify(Level::Info, "nothing was queued: the message is empty");
        }
        is_added
    }

    /// Takes a queued message back: the one at this place, from 1, or the last one. `None` if there is none, of which the user
    /// was told.
    pub fn unqueue(&self, buffer: i32, place: Option<usize>) -> Option<QueuedMessage> {
        let conversation = self.shared.conversation(buffer)?;
        let message = conversation.outbox.messages.borrow_mut().take_back(place);
        match (&message, place) {
            (Some(_), _) => self.outbox_changed(&conversation),
            (None, Some(place)) if !conversation.outbox.messages.borrow().waiting().is_empty() => {
                self.shared.host.notify(Level::Info, &format!("there is no queued message {place}"));
            }
            (None, _) => self.shared.host.notify(Level::Info, "nothing is queued"),
        }
        message
    }

    /// Everything that is queued goes out before the next request.
    pub fn steer_with_queued(&self, buffer: i32) {
        let Some(conversation) = self.shared.conversation(buffer) else { return };
        if conversation.outbox.messages.borrow().waiting().is_empty() {
            return self.shared.host.notify(Level::Info, "nothing is queued");
        }
        conversation.outbox.messages.borrow_mut().steer();
        self.outbox_changed(&conversation);
    }

    /// The user has changed what is queued.
    fn outbox_changed(&self, conversation: &Conversation) {
        self.keep_outbox(conversation);
        self.shared.host.perform(HostEffect::Refresh { buffer: conversation.buffer });
        let is_ready = conversation.outbox.messages.borrow().state().is_ready;
        let waits = || conversation.is_known() && !conversation.page.open_ids().is_empty();
        // A turn is about to begin.
        let is_wanted = conversation.holding.wanted.borrow().is_some() || conversation.gate.borrow_mut().is_waiting();
        if is_ready && !is_wanted && !conversation.is_busy() && !waits() {
            self.ownership.want_alone(conversation, Input::Outbox.into());
        }
    }

    /// Something has left the outbox and is in the buffer now.
    pub(crate) fn outbox_departed(&self, conversation: &Conversation, departure: Departure) {
        conversation.outbox.messages.borrow_mut().departed(departure);
        self.keep_outbox(conversation);
        self.shared.host.perform(HostEffect::Refresh { buffer: conversation.buffer });
        // What was queued must not be lost, and the reply may take minutes.
        self.journaling.write_soon(conversation);
    }

    /// The file of a conversation has these messages now.
    pub(crate) fn outbox_was_written(&self, conversation: &Conversation, ids: &[MessageId]) {
        if conversation.outbox.messages.borrow_mut().written(ids) {
            self.keep_outbox(conversation);
        }
    }

    /// Puts down what came back and is not in the document yet, when what happens now is over.
    pub(crate) fn put_down_later(&self, conversation: &Conversation) {
        if conversation.outbox.messages.borrow().has_returned() {
            self.background.post_for(conversation.id, |this, conversation| {
                this.shared.feed(conversation, [Input::PutDown]);
            });
        }
    }

    /// Reads what was queued in an earlier session, once for each file that the conversation has. A program that carries the
    /// conversation on has no use for it.
    pub(crate) fn read_outbox(&self, conversation: &Conversation) {
        let outbox = &conversation.outbox;
        let moved = outbox.move_to(self.shared.place(conversation).file.as_ref());
        let has_user = self.shared.host.carries_on() && self.shared.host.has_ui() && !conversation.drive.is_known();
        let is_wanted = has_user || !outbox.messages.borrow().kept().is_empty();
        let is_due = outbox.kept.get() == OutboxState::Unknown && is_wanted;
        let Some(path) = outbox.path.borrow().clone().filter(|_| is_due) else { return };
        outbox.kept.set(OutboxState::Unread);
        let (files, before, read) = (self.outboxes.clone(), moved.flatten(), path.clone());
        let then = move |this: &Self, conversation: &Conversation, read| {
            this.outbox_was_read(conversation, &path, before.as_ref(), read);
        };
        self.background.run_for(conversation.id, move || files.read(&read), then);
    }

    fn outbox_was_read(
        &self,
        conversation: &Conversation,
        path: &PathBuf,
        before: Option<&PathBuf>,
        read: io::Result<OutboxContent>,
    ) {
        let outbox = &conversation.outbox;
        if outbox.path.borrow().as_ref() != Some(path) {
            return;
        }
        if let Some(before) = before {
            self.outboxes.set(before, OutboxContent::default());
        }
        let kept = match read {
            Ok(kept) => kept,
            Err(error) => {
                return self.shared.warn(&format!(
                    "messages queued in an earlier session cannot be read, and new ones are not kept: {error}"
                ));
            }
        };
        outbox.kept.set(OutboxState::Known);
        let had_any = !kept.is_empty();
        let has_draft = !kept.draft.is_empty() && outbox.messages.borrow().draft().is_empty();
        conversation.page.with_document(|document, text| {
            outbox.messages.borrow_mut().take_kept(kept, |words, from| {
                chat::count_words(document.messages().get(from..).unwrap_or_default(), words, text)
            });
        });
        if had_any || before.is_some() || !outbox.messages.borrow().kept().is_empty() {
            self.keep_outbox(conversation);
        }
        if has_draft {
            let message = "a message that you were writing here was kept; `:Flemma queue` opens it";
            self.shared.host.notify(Level::Info, &self.shared.with_name(conversation, message));
            self.shared.host.perform(HostEffect::Refresh { buffer: conversation.buffer });
        }
        self.put_down_later(conversation);
    }

    /// What the user was writing in the input window of a conversation and has not queued.
    pub fn draft(&self, buffer: i32) -> String {
        let conversation = self.shared.conversation(buffer);
        conversation.map(|it| it.outbox.messages.borrow().draft().to_owned()).unwrap_or_default()
    }

    /// The user is writing this in the input window of a conversation. It is kept as what is queued is, and not sent.
    pub fn keep_draft(&self, buffer: i32, text: &str) {
        let Some(conversation) = self.shared.conversation(buffer) else { return };
        if conversation.outbox.messages.borrow_mut().set_draft(text) {
            self.keep_outbox(&conversation);
        }
    }

    /// Notes what is queued for the disk. It is written on another thread.
    pub(crate) fn keep_outbox(&self, conversation: &Conversation) {
        let outbox = &conversation.outbox;
        self.read_outbox(conversation);
        let is_known = outbox.kept.get() == OutboxState::Known;
        let Some(path) = outbox.path.borrow().clone().filter(|_| is_known) else { return };
        self.outboxes.set(&path, outbox.messages.borrow().kept());
        let files = self.outboxes.clone();
        let then = |this: &Self, written: io::Result<()>| {
            if let Err(error) = written {
                this.shared.warn(&format!("queued messages would be lost when the editor exits: {error}"));
            }
        };
        self.background.run(move || files.flush(), then);
    }

    /// The editor is about to exit: what was noted is written, but not for ever.
    pub(crate) fn settle_outboxes(&self) {
        let files = self.outboxes.clone();
        if !files.has_noted() {
            return;
        }
        if !matches!(done_within(PATIENCE, "flemma-outbox", move || files.flush()), Some(Ok(()))) {
            self.shared.log(Level::Warn, "queued messages could not be written before the editor exited");
        }
    }
}

/// What is shown of the outbox below the text of a conversation: when it goes out, and what it says.
impl Queue {
    /// The lines below the text: what steers and what is queued, each below what it waits for.
    pub fn outbox_view(&self, conversation: &Conversation) -> Vec<Vec<Chunk>> {
        let waiting = conversation.outbox.queued();
        let mut lines = Vec::new();
        for (at, message) in waiting.iter().enumerate() {
            // Those that steer come first.
            if at == 0 || waiting[at - 1].kept.steers != message.kept.steers {
                let waits = self.outbox_waits_for(conversation, message.kept.steers).unwrap_or_default();
                let note = format!("{}: {waits}", if message.kept.steers { "Steering" } else { "Queued" });
                lines.push(vec![Chunk { text: note, group: NOTE }]);
            }
            let number = if waiting.len() > 1 { format!("{} ", at + 1) } else { String::new() };
            lines.extend(message_lines(message, &number));
        }
        lines
    }

    /// What the messages wait for that steer or do not; `None` if there are none.
    pub(crate) fn outbox_waits_for(&self, conversation: &Conversation, steers: bool) -> Option<String> {
        let waiting = conversation.outbox.queued();
        waiting.iter().find(|message| message.kept.steers == steers)?;
        if conversation.is_busy() {
            let end = if steers { "before the next request" } else { "when the turn ends" };
            return Some(format!("sent {end}"));
        }
        let open = conversation.page.open_calls();
        let waits = |call: &&OpenCall| call.awaiting().is_some();
        if let Some(call) = open.iter().find(waits).or_else(|| open.first()) {
            let tool = &call.name;
            return Some(match self.calls.effective_kind(conversation, call) {
                AwaitKind::Approval => format!("it waits for your decision about `{tool}`"),
                AwaitKind::Elicitation => format!("it waits for your answer to `{tool}`"),
                AwaitKind::ClientExec => format!("it waits for the result of `{tool}`"),
            });
        }
        Some(match conversation.page.with_document(|document, text| Tail::of(document.messages(), text)) {
            Tail::Results => "it waits until the results are sent".to_owned(),
            _ => "it waits until you send".to_owned(),
        })
    }
}

/// The first lines of a message, behind its number.
fn message_lines(message: &QueuedMessage, number: &str) -> Vec<Vec<Chunk>> {
    let all: Vec<&str> = message.kept.text.lines().collect();
    let shown = if all.len() > LINES { LINES - 1 } else { all.len() };
    let mut texts: Vec<String> = all[..shown].iter().map(|line| (*line).to_owned()).collect();
    if shown < all.len() {
        texts.push(format!("… {} more lines", all.len() - shown));
    }
    let indent = " ".repeat(number.len());
    let line = |(at, text)| {
        let before = if at == 0 { number } else { &indent };
        vec![Chunk { text: format!("  {before}"), group: NOTE }, Chunk { text, group: TEXT }]
    };
    texts.into_iter().enumerate().map(line).collect()
}
