//! What all editors of the user have spent on a day: a file for each day, to which all of them append a line for a request, its cost in
//! dollars as JSON.

use std::{io, path::PathBuf};

use super::line_file::{self, Flush, Lock};
use flemma_journal::LineError;

/// The folder with the files.
#[derive(Clone, Debug)]
pub struct Spending {
    folder: PathBuf,
}

impl Spending {
    /// The spending that is kept in a folder, which need not be there.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// What was spent on a day (`2026-01-02`), in dollars. It blocks on the disk.
    ///
    /// # Errors
    /// When the file is there but cannot be read.
    pub fn of(&self, day: &str) -> io::Result<f64> {
        let read = |line: &[u8]| serde_json::from_slice::<f64>(line).map_err(|_| LineError::Torn);
        Ok(line_file::read_lines(&self.path(day), Some(Lock::Shared), read)?.into_iter().sum())
    }

    /// Adds what a request has cost, and gives what was spent on that day then, by all.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn add(&self, day: &str, cost: f64) -> io::Result<f64> {
        line_file::append(&self.path(day), format!("{cost}\n").as_bytes(), Flush::Later, &[])?;
        self.of(day)
    }

    fn path(&self, day: &str) -> PathBuf {
        self.folder.join(format!("{day}.jsonl"))
    }
}
