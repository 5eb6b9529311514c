//! What the user has queued, on the disk: a file per conversation in the state folder, so that a kill loses nothing.
//!
//! The file is written whole and takes the old one's place in one step; an outbox without a message or a draft has no file. Only this
//! user can read it, and a conversation that comes from somebody else brings none: it is found by the path of the
//! conversation on this machine.
//!
//! The main thread only notes what an outbox has now ([`OutboxFiles::set`]). Another thread writes what was noted last
//! ([`OutboxFiles::flush`]).

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use serde::{Deserialize, Serialize};

use super::disk::{self, if_there, lock, state_file};

/// The version of the format.
const VERSION: u64 = 1;

/// A message that was queued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptMessage {
    /// What it says.
    pub text: String,
    /// Whether it was to go out before the next request.
    #[serde(default)]
    pub steers: bool,
    /// The number of the conversation's last message, from 0, when it was written.
    pub message: usize,
    /// How often the text stood in the conversation from there on.
    #[serde(default)]
    pub found: usize,
}

/// What an outbox has on the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxContent {
    /// The messages that were queued.
    pub messages: Vec<KeptMessage>,
    /// What was being written and was not queued yet; empty if there is nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub draft: String,
}

impl OutboxContent {
    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.draft.is_empty()
    }
}

/// The outboxes below a folder. A copy is the same.
#[derive(Clone, Debug)]
pub struct OutboxFiles(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    /// What is not on the disk yet, by conversation.
    noted: Mutex<BTreeMap<PathBuf, OutboxContent>>,
    /// Held by who writes or reads.
    disk: Mutex<()>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    v: u64,
    chat: String,
    #[serde(flatten)]
    content: OutboxContent,
}

impl OutboxFiles {
    /// Outboxes below `folder`, which does not have to be there.
    pub fn new(folder: PathBuf) -> Self {
        Self(Arc::new(Shared { folder, noted: Mutex::default(), disk: Mutex::default() }))
    }

    /// Notes what the outbox of a conversation has now. It waits for nobody.
    pub fn set(&self, conversation: &Path, content: OutboxContent) {
        lock(&self.0.noted).insert(conversation.to_owned(), content);
    }

    /// Whether anything may not be on the disk yet.
    pub fn has_noted(&self) -> bool {
        // Whoever holds it is writing.
        self.0.disk.try_lock().is_err() || !lock(&self.0.noted).is_empty()
    }

    /// Writes what was noted. It blocks on the disk. What could not be written stays noted.
    ///
    /// # Errors
    /// When an outbox could not be written.
    pub fn flush(&self) -> io::Result<()> {
        let _disk = lock(&self.0.disk);
        loop {
            let next = lock(&self.0.noted).pop_first();
            let Some((conversation, content)) = next else { return Ok(()) };
            if let Err(error) = self.write(&conversation, &content) {
                lock(&self.0.noted).entry(conversation).or_insert(content);
                return Err(error);
            }
        }
    }

    /// What the outbox of a conversation has. It blocks on the disk. A file that is damaged has nothing that could be shown.
    ///
    /// # Errors
    /// When the file is there and cannot be read, or what was noted cannot be written.
    pub fn read(&self, conversation: &Path) -> io::Result<OutboxContent> {
        self.flush()?;
        let _disk = lock(&self.0.disk);
        let file = self.file(conversation);
        let Some(bytes) = if_there(fs::read(&file))? else { return Ok(OutboxContent::default()) };
        let stored: Stored = serde_json::from_slice(&bytes)
            .map_err(|error| io::Error::other(format!("{} is damaged: {error}", file.display())))?;
        if stored.v != VERSION {
            let words = format!("{} was written by a newer version of Flemma; update Flemma", file.display());
            return Err(io::Error::other(words));
        }
        Ok(stored.content)
    }

    /// The file of a conversation. It blocks on the disk, to follow links.
    pub fn file(&self, conversation: &Path) -> PathBuf {
        state_file(&self.0.folder, conversation, "json")
    }

    fn write(&self, conversation: &Path, content: &OutboxContent) -> io::Result<()> {
        let file = self.file(conversation);
        if content.is_empty() {
            return disk::remove(&file);
        }
        let chat = conversation.to_string_lossy().into_owned();
        disk::replace(&file, &serde_json::to_vec(&Stored { v: VERSION, chat, content: content.clone() })?)
    }
}
