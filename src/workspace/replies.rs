//! What is known of single messages: when the user's was sent, and who wrote a reply, when, and for how much.
//!
//! It is known since the editor started only, and moves with the text. A message whose marker was changed together with
//! other lines is forgotten: nothing is shown that may be wrong.

use std::cell::RefCell;

use jiff::Timestamp;

use crate::{chat::Change, usage::Record};

/// What is known of a message.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MessageNote {
    /// The line of its marker.
    line: usize,
    /// When it was sent or complete.
    pub at: Timestamp,
    /// For a reply, what its request has used.
    pub record: Option<Record>,
}

/// What is known of the messages of one conversation, in their order.
#[derive(Debug, Default)]
pub(super) struct Replies {
    notes: RefCell<Vec<MessageNote>>,
    /// The line of the marker of the message that was sent last.
    sent: RefCell<Option<usize>>,
}

impl Replies {
    /// The message with its marker on `line` was sent.
    pub(super) fn sent(&self, line: usize, at: Timestamp) {
        *self.sent.borrow_mut() = Some(line);
        self.put(MessageNote { line, at, record: None });
    }

    /// The reply with its marker on `line` has ended. It is the answer to what was sent last only if it stands behind that.
    pub(super) fn answered(&self, line: usize, at: Timestamp, record: Record) {
        if self.sent.borrow().is_some_and(|sent| sent < line) {
            self.put(MessageNote { line, at, record: Some(record) });
        }
    }

    /// What is known of the message with its marker on `line`.
    pub(super) fn of(&self, line: usize) -> Option<MessageNote> {
        let notes = self.notes.borrow();
        let at = notes.binary_search_by_key(&line, |note| note.line).ok()?;
        notes.get(at).cloned()
    }

    /// The lines `first..old_last` are now the lines `first..new_last`.
    pub(super) fn follow(&self, change: Change) {
        let keeps_lines = change.old_last == change.new_last;
        let moved = |line: usize| match line {
            line if line < change.first || (line < change.old_last && keeps_lines) => Some(line),
            line if line < change.old_last => None,
            line => Some(line - change.old_last + change.new_last),
        };
        self.notes.borrow_mut().retain_mut(|note| match moved(note.line) {
            Some(line) => {
                note.line = line;
                true
            }
            None => false,
        });
        let mut sent = self.sent.borrow_mut();
        *sent = sent.and_then(moved);
    }

    /// The text was read anew.
    pub(super) fn forget(&self) {
        self.notes.borrow_mut().clear();
        self.sent.take();
    }

    fn put(&self, note: MessageNote) {
        let mut notes = self.notes.borrow_mut();
        match notes.binary_search_by_key(&note.line, |note| note.line) {
            Ok(at) => notes[at] = note,
            Err(at) => notes.insert(at, note),
        }
    }
}
