//! Captures the output of a command: the end in memory, and all of it in a file once it is long.

use std::{collections::VecDeque, fs, io, path::PathBuf, sync::Arc};

use tokio::{fs::File, io::AsyncWriteExt};

use flemma_text::{ansi, truncate::MAX_BYTES};

/// The least that is kept in memory of the end, in bytes. It is more than a result may have.
const KEEP: usize = 2 * MAX_BYTES;

/// The maximum size of the file, in bytes: an endless output must not fill the disk.
const MAX_FILE: u64 = 256 * 1024 * 1024;

/// How much of the end is read for a progress report, in bytes.
const PROGRESS_BYTES: usize = 4096;

/// Makes an empty file and returns it with its path. It is called on a thread that may wait for the disk.
pub type MakeFile = Arc<dyn Fn() -> io::Result<(fs::File, PathBuf)> + Send + Sync>;

/// Collects an output.
pub(super) struct OutputCapture {
    tail: VecDeque<u8>,
    bytes: u64,
    newlines: u64,
    spool: Spool,
    make_file: MakeFile,
    max_file: u64,
}

/// A captured output.
#[derive(Debug)]
pub struct Captured {
    /// The end of the output. It is all of it if `saved` is [`SavedOutput::InMemory`], otherwise at least twice what a
    /// result shows.
    pub tail: Vec<u8>,
    /// Bytes of the whole output.
    pub bytes: u64,
    /// Lines of the whole output; a last line without a newline counts.
    pub lines: u64,
    /// Where the whole output is.
    pub saved: SavedOutput,
}

/// Where the whole output is.
#[derive(Debug)]
pub enum SavedOutput {
    /// In memory: the output is short, and `tail` is all of it.
    InMemory,
    /// In this file.
    InFile(PathBuf),
    /// In this file, but only its first bytes: the output exceeded the size limit.
    Beginning(PathBuf, u64),
    /// Nowhere, because of this error.
    Lost(String),
}

/// Where the output is written besides the tail.
enum Spool {
    /// Nowhere yet: the tail has everything.
    NotYet,
    /// A file, and its size in bytes.
    File(File, PathBuf, u64),
    /// Nowhere: the file could not be created or written.
    Failed(io::Error),
}

impl OutputCapture {
    /// An empty output. If it grows long, it is saved in the file that `make_file` creates.
    pub(super) fn new(make_file: MakeFile) -> Self {
        Self { tail: VecDeque::new(), bytes: 0, newlines: 0, spool: Spool::NotYet, make_file, max_file: MAX_FILE }
    }

    /// Adds more output.
    pub(super) async fn push(&mut self, chunk: &[u8]) {
        self.bytes += chunk.len() as u64;
        self.newlines += memchr::memchr_iter(b'\n', chunk).count() as u64;
        if matches!(self.spool, Spool::NotYet) && self.tail.len() + chunk.len() > KEEP {
            self.spool = self.open().await;
        }
        self.spool.write(chunk, self.max_file).await;
        self.tail.extend(chunk);
        if !matches!(self.spool, Spool::NotYet) && self.tail.len() > KEEP {
            self.tail.drain(..self.tail.len() - KEEP);
        }
    }

    /// The last `count` lines, for a progress report. Sequences that set colours are kept, other control characters are removed, and lines overwritten with
    /// carriage returns are shown as a terminal would show them. `…` replaces the beginning of a line that is too long.
    pub(super) fn last_lines(&self, count: usize) -> String {
        let mut start = self.tail.len().saturating_sub(PROGRESS_BYTES);
        let begins_a_line = start == 0 || self.tail[start - 1] == b'\n';
        // Not in the middle of a character.
        while start > 0 && self.tail.get(start).is_some_and(|byte| byte & 0xc0 == 0x80) {
            start += 1;
        }
        let end: Vec<u8> = self.tail.range(start..).copied().collect();
        let text = String::from_utf8_lossy(&end);
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let first = lines.len().saturating_sub(count);
        let mut shown: Vec<String> = lines[first..]
            .iter()
            .map(|line| line.rsplit('\r').find(|part| !part.is_empty()).unwrap_or_default())
            .map(visible)
            .collect();
        if first == 0
            && !begins_a_line
            && let Some(cut) = shown.first_mut()
        {
            cut.insert(0, '…');
        }
        shown.join("\n")
    }

    /// The output is complete.
    pub(super) async fn finish(self) -> Captured {
        let unfinished_line = self.tail.back().is_some_and(|&last| last != b'\n');
        let saved = match self.spool {
            Spool::NotYet => SavedOutput::InMemory,
            Spool::Failed(error) => SavedOutput::Lost(error.to_string()),
            Spool::File(mut file, path, written) => match file.flush().await {
                Err(error) => SavedOutput::Lost(error.to_string()),
                Ok(()) if written < self.bytes => SavedOutput::Beginning(path, written),
                Ok(()) => SavedOutput::InFile(path),
            },
        };
        let lines = self.newlines + u64::from(unfinished_line);
        Captured { tail: self.tail.into(), bytes: self.bytes, lines, saved }
    }

    /// Creates the file and writes the tail into it.
    async fn open(&mut self) -> Spool {
        let make_file = Arc::clone(&self.make_file);
        let opened = tokio::task::spawn_blocking(move || make_file()).await;
        match opened.unwrap_or_else(|error| Err(io::Error::other(error))) {
            Err(error) => Spool::Failed(error),
            Ok((file, path)) => {
                let mut spool = Spool::File(File::from_std(file), path, 0);
                spool.write(self.tail.make_contiguous(), self.max_file).await;
                spool
            }
        }
    }
}

impl Spool {
    async fn write(&mut self, bytes: &[u8], max_file: u64) {
        let Self::File(file, _, written) = self else { return };
        let room = max_file.saturating_sub(*written);
        let bytes = &bytes[..bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        match file.write_all(bytes).await {
            Ok(()) => *written += bytes.len() as u64,
            Err(error) => *self = Self::Failed(error),
        }
    }
}

/// The line as a terminal without colours shows it.
fn visible(line: &str) -> String {
    let is_shown = |character: &char| matches!(character, '\t' | '\u{1b}') || !character.is_control();
    ansi::coloured(line).chars().filter(is_shown).collect()
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
