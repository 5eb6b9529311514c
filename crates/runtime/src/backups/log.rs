//! The log of a conversation.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    line_file::{self, Fence, Flush, Lock, open_existing, read_all},
    state_file,
};
use flemma_journal::changes::{History, Line, LineError};

/// Which log belongs to a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogKey {
    /// That of the conversation in this file. All links to it have the same.
    File(PathBuf),
    /// That of a conversation without a file.
    Unnamed(String),
}

impl LogKey {
    /// The name of the log without its extension; of a file it is the one that the file's lock and journal have. It blocks on
    /// the disk, to follow links.
    pub(super) fn stem(&self) -> String {
        match self {
            Self::File(path) => state_file::stem(path),
            Self::Unnamed(name) => format!("unnamed-{name}"),
        }
    }

    /// The conversation's file; empty if it has none.
    pub(super) fn file(&self) -> String {
        match self {
            Self::File(path) => path.to_string_lossy().into_owned(),
            Self::Unnamed(_) => String::new(),
        }
    }
}

/// What was read of a log.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) lines: Vec<Line>,
    /// How many lines were edited or damaged. They say nothing.
    pub(super) damaged: usize,
}

impl Read {
    pub(super) fn history(self) -> History {
        History::of(self.lines)
    }
}

/// Appends a line.
pub(super) fn append(log: &Path, line: &Line, flush: Flush, fence: Option<&Fence>) -> io::Result<()> {
    let mut text = line.to_text().into_bytes();
    text.push(b'\n');
    let fences: Vec<Fence> = fence.into_iter().cloned().collect();
    Ok(line_file::append(log, &text, flush, &fences)?)
}

/// Reads a log. One that is not there is empty.
pub(super) fn read(log: &Path) -> io::Result<Read> {
    let bytes = match open_existing(log, Lock::Shared)? {
        None => return Ok(Read::default()),
        Some(mut locked) => read_all(&mut locked.file)?,
    };
    parse(&bytes)
}

/// The same without a lock, for who only looks.
pub(super) fn look(log: &Path) -> io::Result<Read> {
    parse(&fs::read(log)?)
}

fn parse(bytes: &[u8]) -> io::Result<Read> {
    let mut read = Read::default();
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        match Line::from_text(line) {
            Ok(line) => read.lines.push(line),
            Err(LineError::Torn) => {}
            Err(LineError::Damaged) => read.damaged += 1,
            Err(error @ LineError::Newer) => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, format!("line {} {error}", number + 1)));
            }
        }
    }
    Ok(read)
}
