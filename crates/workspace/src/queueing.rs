//! What the user writes while a conversation is at work: it is queued, taken back, kept and brought back.
//!
//! Here the [`Outbox`](super::Outbox) meets the world. Every change of it is noted for the disk at once and written on
//! another thread. If nothing is at work, what is queued is what a key would send: it takes the way of a key, past the
//! holder and the trust gate.

use std::{io, path::PathBuf, sync::mpsc, thread, time::Duration};

use super::{
    Conversation, HostEffect, Workspace,
    kept_outbox::Kept,
    outbox::{MessageId, QueuedMessage, Since, Urgency},
};
use flemma_agent::{Departure, Input, Level};
use flemma_chat as chat;
use flemma_runtime::OutboxContent;

/// How long the editor waits for the disk when it exits.
const PATIENCE: Duration = Duration::from_secs(3);

impl Workspace {
    /// Queues a message in the conversation of a buffer. If nothing is at work there, it is sent.
    ///
    /// Says whether it was queued; if not, the user was told why.
    pub fn queue(&self, buffer: i32, text: &str, urgency: Urgency) -> bool {
        let Some(conversation) = self.conversation(buffer) else { return false };
        if self.is_refused(&conversation) {
            return false;
        }
        let since = conversation.since(text);
        let is_added = conversation.outbox().change(|outbox| outbox.add(text, urgency, since)).is_some();
        if is_added {
            self.outbox_changed(&conversation);
            let waits = self.outbox_waits_for(&conversation, urgency == Urgency::NextRequest);
            if let Some(waits) = waits.filter(|_| !conversation.holding().has_wish()) {
                self.host().notify(Level::Info, &format!("queued; {waits}"));
            }
        } else {
            self.host().notify(Level::Info, "nothing was queued: the message is empty");
        }
        is_added
    }

    /// Takes a queued message back: the one at this place, from 1, or the last one. `None` if there is none, of which the user
    /// was told.
    pub fn unqueue(&self, buffer: i32, place: Option<usize>) -> Option<QueuedMessage> {
        let conversation = self.conversation(buffer)?;
        let message = conversation.outbox().change(|outbox| outbox.take_back(place));
        match (&message, place) {
            (Some(_), _) => self.outbox_changed(&conversation),
            (None, Some(place)) if conversation.outbox().with(|outbox| !outbox.waiting().is_empty()) => {
                self.host().notify(Level::Info, &format!("there is no queued message {place}"));
            }
            (None, _) => self.host().notify(Level::Info, "nothing is queued"),
        }
        message
    }

    /// Everything that is queued goes out before the next request.
    pub fn steer_with_queued(&self, buffer: i32) {
        let Some(conversation) = self.conversation(buffer) else { return };
        if conversation.outbox().with(|outbox| outbox.waiting().is_empty()) {
            return self.host().notify(Level::Info, "nothing is queued");
        }
        conversation.outbox().change(super::outbox::Outbox::steer);
        self.outbox_changed(&conversation);
    }

    /// The user has changed what is queued.
    fn outbox_changed(&self, conversation: &Conversation) {
        self.keep_outbox(conversation);
        self.host().perform(HostEffect::Refresh { buffer: conversation.buffer() });
        let is_ready = conversation.outbox().with(|outbox| outbox.state().is_ready);
        let waits = || conversation.is_known() && !conversation.page().open_ids().is_empty();
        // A turn is about to begin.
        let is_wanted = conversation.holding().has_wish() || conversation.gate().is_waiting();
        if is_ready && !is_wanted && !conversation.is_busy() && !waits() {
            self.want_alone(conversation, Input::Outbox.into());
        }
    }

    /// Something has left the outbox and is in the buffer now.
    pub(super) fn outbox_departed(&self, conversation: &Conversation, departure: Departure) {
        conversation.outbox().change(|outbox| outbox.departed(departure));
        self.keep_outbox(conversation);
        self.host().perform(HostEffect::Refresh { buffer: conversation.buffer() });
        // What was queued must not be lost, and the reply may take minutes.
        self.write_soon(conversation);
    }

    /// The file of a conversation has these messages now.
    pub(super) fn outbox_was_written(&self, conversation: &Conversation, ids: &[MessageId]) {
        if conversation.outbox().change(|outbox| outbox.written(ids)) {
            self.keep_outbox(conversation);
        }
    }

    /// Puts down what came back and is not in the document yet, when what happens now is over.
    pub(super) fn put_down_later(&self, conversation: &Conversation) {
        if conversation.outbox().with(super::outbox::Outbox::has_returned) {
            self.post_for(conversation.id(), |workspace, conversation| {
                workspace.feed(conversation, [Input::PutDown]);
            });
        }
    }

    /// Everything was stopped from outside: what is queued must not wait for a turn that nobody sees the end of.
    pub(super) fn put_outbox_down_later(&self, conversation: &Conversation) {
        self.post_for(conversation.id(), |workspace, conversation| workspace.feed(conversation, [Input::Released]));
    }

    /// Reads what was queued in an earlier session, once for each file that the conversation has. A program that carries the
    /// conversation on has no use for it.
    pub(super) fn read_outbox(&self, conversation: &Conversation) {
        let outbox = conversation.outbox();
        let moved = outbox.move_to(self.place(conversation).file.as_ref());
        let has_user = self.host().carries_on() && self.host().has_ui() && !conversation.drive().is_known();
        let is_wanted = has_user || outbox.with(|outbox| !outbox.kept().is_empty());
        let Some(path) = outbox.path().filter(|_| outbox.kept() == Kept::Unknown && is_wanted) else { return };
        outbox.set_kept(Kept::Reading);
        let (files, before) = (self.outboxes().clone(), moved.flatten());
        let read = {
            let path = path.clone();
            move || files.read(&path)
        };
        let then = move |workspace: &Self, conversation: &Conversation, read| {
            workspace.outbox_was_read(conversation, &path, before.as_ref(), read);
        };
        if let Err(error) = self.run_for(conversation.id(), read, then) {
            outbox.set_kept(Kept::Unreadable);
            self.warn(&format!("what you queue is not kept on the disk: {error}"));
        }
    }

    fn outbox_was_read(
        &self,
        conversation: &Conversation,
        path: &PathBuf,
        before: Option<&PathBuf>,
        read: io::Result<OutboxContent>,
    ) {
        let outbox = conversation.outbox();
        if outbox.path().as_ref() != Some(path) {
            return;
        }
        if let Some(before) = before {
            self.outboxes().set(before, OutboxContent::default());
        }
        let kept = match read {
            Ok(kept) => kept,
            Err(error) => {
                outbox.set_kept(Kept::Unreadable);
                return self.warn(&format!(
                    "what was queued in an earlier session cannot be read, and what you queue is not kept: {error}"
                ));
            }
        };
        outbox.set_kept(Kept::Known);
        let had_any = !kept.is_empty();
        let has_draft = !kept.draft.is_empty() && outbox.with(|outbox| outbox.draft().is_empty());
        conversation.page().with_document(|document, text| {
            outbox.change(|outbox| {
                outbox.take_kept(kept, |words, from| {
                    chat::count_words(document.messages().get(from..).unwrap_or_default(), words, text)
                });
            });
        });
        if had_any || before.is_some() || outbox.with(|outbox| !outbox.kept().is_empty()) {
            self.keep_outbox(conversation);
        }
        if has_draft {
            let message = "a message that you were writing here was kept; `:Flemma queue` opens it";
            self.host().notify(Level::Info, &self.with_name(conversation, message));
            self.host().perform(HostEffect::Refresh { buffer: conversation.buffer() });
        }
        self.put_down_later(conversation);
    }

    /// What the user was writing in the input window of a conversation and has not queued.
    #[must_use]
    pub fn draft(&self, buffer: i32) -> String {
        let conversation = self.conversation(buffer);
        conversation.map(|it| it.outbox().with(|outbox| outbox.draft().to_owned())).unwrap_or_default()
    }

    /// The user is writing this in the input window of a conversation. It is kept as what is queued is, and not sent.
    pub fn keep_draft(&self, buffer: i32, text: &str) {
        let Some(conversation) = self.conversation(buffer) else { return };
        if conversation.outbox().change(|outbox| outbox.set_draft(text)) {
            self.keep_outbox(&conversation);
        }
    }

    /// Notes what is queued for the disk. It is written on another thread.
    pub(super) fn keep_outbox(&self, conversation: &Conversation) {
        let outbox = conversation.outbox();
        self.read_outbox(conversation);
        let Some(path) = outbox.path().filter(|_| outbox.kept() == Kept::Known) else { return };
        self.outboxes().set(&path, outbox.with(super::outbox::Outbox::kept));
        let files = self.outboxes().clone();
        let then = |workspace: &Self, written: io::Result<()>| {
            if let Err(error) = written {
                workspace.warn(&format!("what you have queued would be lost with the editor: {error}"));
            }
        };
        if let Err(error) = self.background().run(move || files.flush(), then) {
            self.warn(&format!("what you have queued would be lost with the editor: {error}"));
        }
    }

    /// The editor is about to exit: what was noted is written, but not for ever.
    pub(super) fn settle_outboxes(&self) {
        let files = self.outboxes().clone();
        if !files.has_noted() {
            return;
        }
        let (tell, told) = mpsc::channel();
        let write = move || drop(tell.send(files.flush()));
        let started = thread::Builder::new().name("flemma-outbox".into()).spawn(write).is_ok();
        if !started || !matches!(told.recv_timeout(PATIENCE), Ok(Ok(()))) {
            self.log(Level::Warn, "what was queued could not be written before the editor exited");
        }
    }
}

impl Conversation {
    /// The messages that wait, in the order in which they go out.
    #[must_use]
    pub fn queued(&self) -> Vec<QueuedMessage> {
        self.outbox().with(|outbox| outbox.waiting().to_vec())
    }

    /// This moment, for a message that says this.
    fn since(&self, words: &str) -> Since {
        self.page().with_parsed(|document, text| {
            let message = document.messages().len().saturating_sub(1);
            Since {
                message,
                found: chat::count_words(document.messages().get(message..).unwrap_or_default(), words, text),
            }
        })
    }
}
