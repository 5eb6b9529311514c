//! What is known of single messages: when the user's was sent, and who wrote a reply, when, and for how much.
//!
//! It moves with the text. A message whose marker was changed together with other lines is forgotten here: only
//! [`crate::known_messages`] may still know it, by its text.

use std::cell::RefCell;

use jiff::Timestamp;

use flemma_chat::Change;
use flemma_provider::usage::{MessageNote, Record};

/// What is known of the messages of one conversation, in their order.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    /// By the line of the marker, in their order.
    notes: RefCell<Vec<(usize, MessageNote)>>,
    /// The line of the marker of the message that was sent last.
    sent: RefCell<Option<usize>>,
}

impl Replies {
    /// The message with its marker on `line` was sent.
    pub(crate) fn sent(&self, line: usize, at: Timestamp) -> MessageNote {
        *self.sent.borrow_mut() = Some(line);
        self.put(line, MessageNote { at, reply: None })
    }

    /// The reply with its marker on `line` has ended. It is the answer to what was sent last only if it stands behind that.
    pub(crate) fn answered(&self, line: usize, at: Timestamp, record: &Record) -> Option<MessageNote> {
        let is_answer = self.sent.borrow().is_some_and(|sent| sent < line);
        is_answer.then(|| self.put(line, MessageNote { at, reply: Some(record.into()) }))
    }

    /// What is known of the message with its marker on `line`.
    pub(crate) fn of(&self, line: usize) -> Option<MessageNote> {
        let notes = self.notes.borrow();
        let at = notes.binary_search_by_key(&line, |(line, _)| *line).ok()?;
        notes.get(at).map(|(_, note)| note.clone())
    }

    /// The lines `first..old_last` are now the lines `first..new_last`.
    pub(crate) fn follow(&self, change: Change) {
        let keeps_lines = change.old_last == change.new_last;
        let moved = |line: usize| match line {
            line if line < change.first || (line < change.old_last && keeps_lines) => Some(line),
            line if line < change.old_last => None,
            line => Some(line - change.old_last + change.new_last),
        };
        self.notes.borrow_mut().retain_mut(|(line, _)| moved(*line).map(|now| *line = now).is_some());
        let mut sent = self.sent.borrow_mut();
        *sent = sent.and_then(moved);
    }

    /// The text was read anew.
    pub(crate) fn forget(&self) {
        self.notes.borrow_mut().clear();
        self.sent.take();
    }

    fn put(&self, line: usize, note: MessageNote) -> MessageNote {
        let mut notes = self.notes.borrow_mut();
        match notes.binary_search_by_key(&line, |(line, _)| *line) {
            Ok(at) => notes[at].1 = note.clone(),
            Err(at) => notes.insert(at, (line, note.clone())),
        }
        note
    }
}
