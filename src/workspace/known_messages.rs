//! What is known of messages by their text: from earlier sessions, from other editors, and after an undo.
//!
//! Two messages with the same text cannot be told apart. Nothing is shown of these, because it may be wrong.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
};

use sha2::{Digest as _, Sha256};

use super::{Conversation, Workspace, looks::only_results};
use crate::{
    agent::Level,
    chat::{ParsedMessage, Text},
    model::Digest,
    runtime::{MessageNotes, Reached},
    usage::{MessageKey, MessageNote},
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
}

enum Known {
    One(MessageNote),
    Several,
}

impl KnownMessages {
    pub(super) fn new(file: MessageNotes) -> Self {
        Self { file, notes: RefCell::default(), reached: Cell::default(), is_reading: Cell::default() }
    }

    fn put(&self, key: MessageKey, note: MessageNote) {
        let mut notes = self.notes.borrow_mut();
        let known = notes.entry(key.lines).or_default().entry(key.digest).or_insert_with(|| Known::One(note.clone()));
        // What this process has added is read again with the rest of the file.
        if matches!(known, Known::One(other) if *other != note) {
            *known = Known::Several;
        }
    }

    /// What is known of a message.
    pub(super) fn find(&self, message: &ParsedMessage, text: &dyn Text) -> Option<MessageNote> {
        if message.lines > MOST_LINES {
            return None;
        }
        let notes = self.notes.borrow();
        let lines = lines_of(message, text);
        let alike = notes.get(&lines)?;
        match alike.get(&digest_of(message, lines, text))? {
            Known::One(note) => Some(note.clone()),
            Known::Several => None,
        }
    }
}

impl Workspace {
    /// Reads what other sessions and editors have added, away from the main thread.
    pub(super) fn read_known_messages(&self) {
        let known = self.known_messages();
        if known.is_reading.replace(true) {
            return;
        }
        let (file, since) = (known.file.clone(), known.reached.get());
        let read = move || file.read(since);
        let started = self.background().run(read, |workspace: &Self, read| {
            let known = workspace.known_messages();
            known.is_reading.set(false);
            match read {
                Ok((notes, reached)) => {
                    known.reached.set(reached);
                    if notes.is_empty() {
                        return;
                    }
                    notes.into_iter().for_each(|(key, note)| known.put(key, note));
                    for conversation in workspace.conversations().all() {
                        workspace.host().redraw(conversation.buffer());
                    }
                }
                Err(error) => workspace.log(Level::Warn, &format!("the notes about messages cannot be read: {error}")),
            }
        });
        if started.is_err() {
            known.is_reading.set(false);
        }
    }

    /// Keeps what is known of the message with its marker on `line`, which has its final text.
    pub(super) fn keep_note(&self, conversation: &Conversation, line: usize, note: MessageNote) {
        let key = conversation.page().with_parsed(|document, text| {
            let message = document.message_at(line).and_then(|at| document.messages().get(at))?;
            if message.start != line || message.lines > MOST_LINES || only_results(message, text) {
                return None;
            }
            let lines = lines_of(message, text);
            Some(MessageKey { lines, digest: digest_of(message, lines, text) })
        });
        let Some(key) = key else { return };
        self.known_messages().put(key.clone(), note.clone());
        let file = self.known_messages().file.clone();
        let _ = self.background().run(
            move || file.add(&key, &note),
            |workspace: &Self, added| {
                if let Err(error) = added {
                    workspace.log(Level::Warn, &format!("a note about a message was not kept: {error}"));
                }
            },
        );
    }
}

/// The number of lines of a message up to the last one that is not blank.
fn lines_of(message: &ParsedMessage, text: &dyn Text) -> usize {
    let range = message.range();
    range.clone().rev().find(|line| !text.line(*line).trim().is_empty()).map_or(0, |last| last + 1 - range.start)
}

fn digest_of(message: &ParsedMessage, lines: usize, text: &dyn Text) -> Digest {
    let mut hash = Sha256::new();
    text.read_bytes(message.start..message.start + lines, &mut |line| {
        hash.update(line);
        hash.update(b"\n");
    });
    Digest::finish(hash)
}
