//! What is known of messages, on its way to the file and from it.

use crate::{
    Conversation, HostEffect,
    usage::{
        Accounting,
        known_messages::{Notes, key_of},
    },
};
use flemma_agent::Level;
use flemma_provider::usage::MessageNote;

impl Accounting {
    /// Reads what other sessions and editors have noted, away from the main thread.
    pub(crate) fn read_known_messages(&self) {
        let known = &self.known_messages;
        let Some(since) = known.begin_to_read() else { return };
        let file = known.file();
        let read = move || file.read(since).map(|(notes, reached)| (notes.into_iter().collect::<Notes>(), reached));
        self.background.run(read, |this: &Self, read| {
            if let Err(error) = &read {
                this.shared.log(Level::Warn, &format!("the notes about messages cannot be read: {error}"));
            }
            if this.known_messages.take(read.ok()) {
                for conversation in this.shared.conversations.all() {
                    this.shared.host.perform(HostEffect::Redraw { buffer: conversation.buffer() });
                }
            }
            if this.known_messages.is_late() {
                this.read_known_messages();
            }
        });
    }

    /// Keeps what is known of the message with its marker on `line`, which has its final text.
    pub(crate) fn keep_note(&self, conversation: &Conversation, line: usize, note: MessageNote) {
        let key = conversation.page.with_parsed(|document, text| {
            let message = document.message_at(line).and_then(|at| document.messages().get(at))?;
            if message.start == line { key_of(message, text) } else { None }
        });
        let Some(key) = key else { return };
        let known = &self.known_messages;
        known.put(key.clone(), note.clone());
        let file = known.file();
        let add = move || file.add(&key, &note);
        self.background.run(add, |this: &Self, added| {
            if let Err(error) = added {
                this.shared.log(Level::Warn, &format!("a note about a message was not kept: {error}"));
            }
        });
    }
}
