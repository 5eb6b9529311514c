//! What is known of messages by their text: from earlier sessions, from other editors, and after an undo.
//!
//! Two messages with the same text cannot be told apart. Nothing is shown of these, because it may be wrong.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
};

use crate::{
    chat::{ParsedMessage, Text},
    model::{Digest, MessageKey},
    runtime::{MessageNotes, Reached},
    usage::MessageNote,
};

/// Of a message with more lines nothing is kept: finding it would take too long.
const MOST_LINES: usize = 5000;

/// What is known of messages by their text.
pub(super) struct KnownMessages {
    file: MessageNotes,
    /// By the number of lines, so that most messages of which nothing is known need not be read.
    notes: RefCell<HashMap<usize, HashMap<Digest, Known>>>,
    reached: Cell<Reached>,
    is_reading: Cell<bool>,
    /// Whether it is to be read once more after that.
    is_late: Cell<bool>,
}

enum Known {
    One(MessageNote),
    Several,
}

impl KnownMessages {
    pub(super) fn new(file: MessageNotes) -> Self {
        Self {
            file,
            notes: RefCell::default(),
            reached: Cell::default(),
            is_reading: Cell::default(),
            is_late: Cell::default(),
        }
    }

    /// Where they are kept.
    pub(super) fn file(&self) -> MessageNotes {
        self.file.clone()
    }

    /// Begins to read what is new in the file: from where. `None` if that is under way; then it is done once more.
    pub(super) fn begin_to_read(&self) -> Option<Reached> {
        let is_reading = self.is_reading.replace(true);
        self.is_late.set(is_reading);
        (!is_reading).then(|| self.reached.get())
    }

    /// Whether it has to be read once more.
    pub(super) fn is_late(&self) -> bool {
        self.is_late.get()
    }

    /// Takes what was read, if it could be. Says whether there is anything new.
    pub(super) fn take(&self, read: Option<(Vec<(MessageKey, MessageNote)>, Reached)>) -> bool {
        self.is_reading.set(false);
        let Some((notes, reached)) = read else { return false };
        self.reached.set(reached);
        let is_news = !notes.is_empty();
        notes.into_iter().for_each(|(key, note)| self.put(key, note));
        is_news
    }

    /// Takes a note.
    pub(super) fn put(&self, key: MessageKey, note: MessageNote) {
        let mut notes = self.notes.borrow_mut();
        let known = notes.entry(key.lines).or_default().entry(key.digest).or_insert_with(|| Known::One(note.clone()));
        // What this process has added is read again with the rest of the file.
        if matches!(known, Known::One(other) if other.at != note.at) {
            *known = Known::Several;
        }
    }

    /// What is known of a message.
    pub(super) fn find(&self, message: &ParsedMessage, text: &dyn Text) -> Option<MessageNote> {
        if message.lines > MOST_LINES {
            return None;
        }
        let notes = self.notes.borrow();
        let alike = notes.get(&message.written_lines(text))?;
        match alike.get(&message.key(text).digest)? {
            Known::One(note) => Some(note.clone()),
            Known::Several => None,
        }
    }
}

/// What a message with its final text is known by; `None` if nothing is kept of it.
pub(super) fn key_of(message: &ParsedMessage, text: &dyn Text) -> Option<MessageKey> {
    (message.lines <= MOST_LINES && !message.has_only_results(text)).then(|| message.key(text).clone())
}
