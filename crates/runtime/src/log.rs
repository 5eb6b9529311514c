//! The log: a file of one line an event, written by a thread of its own.
//!
//! Nothing waits for the disk, and nothing secret is written to it: callers log names and numbers, never bodies
//! or headers.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    sync::mpsc::{self, Sender},
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use flemma_config::LevelFilter;

/// A log, or nothing where logging is off.
#[derive(Clone, Debug, Default)]
pub struct Log {
    sender: Option<Sender<String>>,
    level: LevelFilter,
}

impl Log {
    /// A log that keeps what matters at least as much as `level`, at the end of `path`.
    ///
    /// If the file cannot be opened, nothing is logged.
    pub fn open(path: PathBuf, level: LevelFilter) -> Self {
        let (sender, lines) = mpsc::channel::<String>();
        let writer = move || {
            if let Some(folder) = path.parent() {
                let _ = fs::create_dir_all(folder);
            }
            // The file is the user's alone: it names their files and tools.
            let Ok(mut file) = File::options().append(true).create(true).mode(0o600).open(&path) else { return };
            for line in lines {
                let _ = writeln!(file, "{line}");
            }
        };
        let started = thread::Builder::new().name("flemma-log".into()).spawn(writer).is_ok();
        Self { sender: started.then_some(sender), level }
    }

    /// Logs a line at a level.
    pub fn line(&self, level: LevelFilter, line: &str) {
        if level < self.level {
            return;
        }
        if let Some(sender) = &self.sender {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let word = format!("{level:?}").to_lowercase();
            let line = line.replace('\n', " ");
            let _ = sender.send(format!("{}.{:03} {word} {line}", now.as_secs(), now.subsec_millis()));
        }
    }
}
