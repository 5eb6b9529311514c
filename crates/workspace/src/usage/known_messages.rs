//! What is known of messages by their text: from earlier sessions, from other editors, and after an undo.
//!
//! Two messages with the same text cannot be told apart. Nothing is shown of these, because it may be wrong.

use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, hash_map::Entry},
    mem,
};

use flemma_chat::{ParsedMessage, Text};
use flemma_model::{Digest, MessageKey};
use flemma_provider::usage::MessageNote;
use flemma_runtime::Reached;

/// Of a message with more lines nothing is kept: finding it would take too long.
const MOST_LINES: usize = 5000;

/// What is known of messages by their text.
#[derive(Default)]
pub(crate) struct KnownMessages {
    notes: RefCell<Notes>,
    reached: Cell<Reached>,
    is_reading: Cell<bool>,
    /// Whether it is to be read once more after that.
    pub(crate) is_late: Cell<bool>,
}

/// Notes by the text of their messages: first by the number of lines, so that most messages of which nothing is known need not be read.
#[derive(Default)]
pub(crate) struct Notes(HashMap<usize, HashMap<Digest, Known>>);

enum Known {
    One(MessageNote),
    Several,
}

impl FromIterator<(MessageKey, MessageNote)> for Notes {
    fn from_iter<I: IntoIterator<Item = (MessageKey, MessageNote)>>(all: I) -> Self {
        let mut notes = Self::default();
        all.into_iter().for_each(|(key, note)| notes.put(key, Known::One(note)));
        notes
    }
}

impl Notes {
    fn put(&mut self, key: MessageKey, known: Known) {
        match self.0.entry(key.lines).or_default().entry(key.digest) {
            Entry::Vacant(place) => drop(place.insert(known)),
            Entry::Occupied(mut place) => {
                // What this process has added is read again with the rest of the file.
                if !matches!((place.get(), &known), (Known::One(old), Known::One(new)) if old.at == new.at) {
                    place.insert(Known::Several);
                }
            }
        }
    }

    /// Takes others. The many of a whole file are not moved.
    fn absorb(&mut self, mut others: Self) {
        if others.0.len() > self.0.len() {
            mem::swap(self, &mut others);
        }
        for (lines, alike) in others.0 {
            for (digest, known) in alike {
                self.put(MessageKey { lines, digest }, known);
            }
        }
    }
}

impl KnownMessages {
    /// Begins to read what is new in the file: from where. `None` if that is under way; then it is done once more.
    pub(crate) fn begin_to_read(&self) -> Option<Reached> {
        let is_reading = self.is_reading.replace(true);
        self.is_late.set(is_reading);
        (!is_reading).then(|| self.reached.get())
    }

    /// Takes what was read, if it could be. Says whether there is anything new.
    pub(crate) fn take(&self, read: Option<(Notes, Reached)>) -> bool {
        self.is_reading.set(false);
        let Some((notes, reached)) = read else { return false };
        self.reached.set(reached);
        let is_news = !notes.0.is_empty();
        self.notes.borrow_mut().absorb(notes);
        is_news
    }

    /// Takes a note.
    pub(crate) fn put(&self, key: MessageKey, note: MessageNote) {
        self.notes.borrow_mut().put(key, Known::One(note));
    }

    /// What is known of a message.
    pub(crate) fn find(&self, message: &ParsedMessage, text: &dyn Text) -> Option<MessageNote> {
        if message.lines > MOST_LINES {
            return None;
        }
        let notes = self.notes.borrow();
        let alike = notes.0.get(&message.written_lines(text))?;
        match alike.get(&message.key(text).digest)? {
            Known::One(note) => Some(note.clone()),
            Known::Several => None,
        }
    }
}

/// What a message with its final text is known by; `None` if nothing is kept of it. All empty ones would be the same.
pub(crate) fn key_of(message: &ParsedMessage, text: &dyn Text) -> Option<MessageKey> {
    let is_kept = message.lines <= MOST_LINES && !message.has_only_results(text);
    is_kept.then(|| message.key(text)).filter(|key| key.lines > 1).cloned()
}
