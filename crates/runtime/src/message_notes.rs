//! What is known of single messages, kept between sessions: one JSON object per line.
//!
//! ```json
//! {"v":1,"at":"2026-01-02T03:04:05Z","lines":4,"digest":"9f86…","model":"claude-sonnet-4-5","input":19,"output":34,"cost":0.01}
//! ```
//!
//! A message is named by the digest of its text, and the text itself is not kept. So a note is found wherever the message is, also
//! after its file was renamed, and not if the message was changed. The line of a message of the user has no model. Nothing depends on
//! a note: a line that cannot be read is skipped, and when the file is long, the older half goes.

use std::{
    fs,
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::PathBuf,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    disk::{if_there, replace},
    line_file::{self, Flush, Lock},
};
use flemma_model::MessageKey;
use flemma_provider::usage::{MessageNote, ReplyNote};

/// The size in bytes above which the older half of the file goes.
pub const SHORTEN_ABOVE: u64 = 1 << 20;

/// The version of the format.
const VERSION: u64 = 1;

/// The file with the notes.
#[derive(Clone, Debug)]
pub struct MessageNotes {
    path: PathBuf,
}

/// Up to where the file was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    file: u64,
    bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct Line {
    v: u64,
    at: Timestamp,
    #[serde(flatten)]
    key: MessageKey,
    #[serde(flatten)]
    reply: Option<ReplyNote>,
}

impl MessageNotes {
    /// The notes in the file `path`, which need not be there.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Adds a note. It blocks on the disk.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&self, key: &MessageKey, note: &MessageNote) -> io::Result<()> {
        let line = Line { v: VERSION, at: note.at, key: key.clone(), reply: note.reply.clone() };
        let mut line = serde_json::to_vec(&line).map_err(io::Error::other)?;
        line.push(b'\n');
        line_file::append(&self.path, &line, Flush::Later, &[])?;
        if fs::metadata(&self.path)?.len() > SHORTEN_ABOVE { self.shorten() } else { Ok(()) }
    }

    /// The notes that were added since, by whatever process, and up to where that is. It blocks on the disk.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(&self, since: Reached) -> io::Result<(Vec<(MessageKey, MessageNote)>, Reached)> {
        let Some(mut file) = if_there(line_file::open(&self.path, false))? else {
            return Ok((Vec::new(), Reached::default()));
        };
        let found = file.metadata()?;
        let from = if since.file == found.ino() && since.bytes <= found.len() { since.bytes } else { 0 };
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        // The last line may still be being written.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let notes = bytes[..whole].split(|byte| *byte == b'\n').filter_map(Line::parse).collect();
        Ok((notes, Reached { file: found.ino(), bytes: from + whole as u64 }))
    }

    fn shorten(&self) -> io::Result<()> {
        let Some(mut locked) = line_file::open_existing(&self.path, Lock::Exclusive)? else { return Ok(()) };
        let bytes = line_file::read_all(&mut locked.file)?;
        if !locked.is_locked || bytes.len() as u64 <= SHORTEN_ABOVE {
            return Ok(());
        }
        let half = bytes.len() / 2;
        let from = half + bytes[half..].iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        replace(&self.path, &bytes[from..])
    }
}

impl Line {
    fn parse(line: &[u8]) -> Option<(MessageKey, MessageNote)> {
        let line: Self = serde_json::from_slice(line).ok()?;
        (line.v == VERSION).then_some((line.key, MessageNote { at: line.at, reply: line.reply }))
    }
}
