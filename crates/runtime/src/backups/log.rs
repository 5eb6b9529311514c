//! The log of a conversation.

use std::{
    io,
    path::{Path, PathBuf},
    slice,
};

use crate::{
    disk::stem,
    line_file::{self, Fence, Flush, Lock, read_lines},
};
use flemma_journal::{LineError, changes::Line};

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
            Self::File(path) => stem(path),
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

/// Appends a line.
pub(super) fn append(log: &Path, line: &Line, flush: Flush, fence: Option<&Fence>) -> io::Result<()> {
    let mut text = line.to_text().into_bytes();
    text.push(b'\n');
    line_file::append(log, &text, flush, fence.map_or(&[][..], slice::from_ref))
}

/// Reads a log. Gives its lines, and how many more were edited or damaged: those say nothing. Who only looks needs no lock.
pub(super) fn read(log: &Path, lock: Option<Lock>) -> io::Result<(Vec<Line>, usize)> {
    let lines = read_lines(log, lock, |line| match Line::from_text(line) {
        Err(LineError::Broken) => Ok(None),
        read => read.map(Some),
    })?;
    let damaged = lines.iter().filter(|line| line.is_none()).count();
    Ok((lines.into_iter().flatten().collect(), damaged))
}
