//! Writes the whole of outputs that are too long for a document, on threads of its own.
//!
//! The main thread does not wait for the disk, so a file is named before it is there. Whoever exits waits for it ([`Outputs::settle`]).

use std::{
    cell::RefCell,
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use flemma_tools::overflow;

/// How often it is looked at whether all is written.
const LOOK: Duration = Duration::from_millis(2);

/// Where the whole of a truncated output is kept for a few days.
#[derive(Debug)]
pub struct Outputs {
    folder: PathBuf,
    writing: RefCell<Vec<thread::JoinHandle<()>>>,
}

impl Outputs {
    /// Outputs that are kept in this folder.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, writing: RefCell::default() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes the whole output of a tool, and says where it will be. `failed` hears, on another thread, why that did not work.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn save(
        &self,
        tool: &str,
        text: String,
        failed: impl FnOnce(io::Error) + Send + 'static,
    ) -> io::Result<PathBuf> {
        let path = overflow::path(&self.folder, tool);
        let place = path.clone();
        let write = move || overflow::save_at(&place, text.as_bytes()).unwrap_or_else(failed);
        let mut writing = self.writing.borrow_mut();
        writing.retain(|thread| !thread.is_finished());
        writing.push(thread::Builder::new().name("flemma output".into()).spawn(write)?);
        Ok(path)
    }

    /// Waits for what is on its way to the disk, but no longer than this.
    pub fn settle(&self, patience: Duration) {
        let end = Instant::now() + patience;
        while self.writing.borrow().iter().any(|thread| !thread.is_finished()) && Instant::now() < end {
            thread::sleep(LOOK);
        }
    }
}
