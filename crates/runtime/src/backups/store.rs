//! The store: where everything is in its folder, its lock, and what is asked of it for a conversation.

use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use super::{
    LogKey, clean,
    contents::{Contents, state_of},
    log,
    recorder::{CallRecorder, new_name},
};
use crate::{
    disk::make_folder,
    line_file::{self, Fence, Flush, Lock, Locked},
    lock_file,
};
use flemma_journal::{
    CallKey,
    changes::{Cause, History, Step, Wanted},
};
use flemma_model::{Digest, UserError};
use flemma_tools::Recorder;

/// How long a content that a user has made is kept after it was needed last.
const KEPT: Duration = Duration::from_secs(180 * 24 * 60 * 60);

/// By which part of the most that is allowed the store may grow before it is looked at again.
const PARTS: u64 = 16;

/// The store below a folder. A copy is the same store.
#[derive(Clone, Debug)]
pub struct Backups {
    pub(super) folder: PathBuf,
    /// The locks of open conversations: `path-` and the name of the conversation's log.
    locks: PathBuf,
    /// How many bytes this process has added since it last looked at all of it.
    pub(super) grown: Arc<AtomicU64>,
}

/// What the store may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of all contents together.
    pub max_bytes: u64,
    /// How long a content is kept; without it, for ever.
    pub max_age: Option<Duration>,
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileBefore {
    /// The file.
    pub path: PathBuf,
    /// What it was before; `None` if it was not there.
    pub before: Option<Vec<u8>>,
    /// Whether it is not known any more what it was.
    pub is_lost: bool,
}

impl Backups {
    /// The store in `folder`, which does not have to be there. Only this user can read it. `locks` is the folder of the locks of
    /// this user's conversations.
    pub fn new(folder: PathBuf, locks: PathBuf) -> Self {
        Self { folder, locks, grown: Arc::default() }
    }

    pub(super) fn contents(&self) -> Contents {
        Contents(self.folder.join("contents"))
    }

    pub(super) fn logs(&self) -> PathBuf {
        self.folder.join("logs")
    }

    pub(super) fn log(&self, key: &LogKey) -> PathBuf {
        self.logs().join(format!("{}.jsonl", key.stem()))
    }

    /// Whether the conversation with this log is open in some process of this user.
    pub(super) fn is_open(&self, stem: &str) -> bool {
        lock_file::look(&self.locks.join(format!("path-{stem}"))).is_some()
    }

    /// Locks the store: shared to add to it, exclusive to delete from it.
    pub(super) fn lock(&self, kind: Lock) -> io::Result<Locked> {
        let path = self.folder.join("lock");
        make_folder(&path)?;
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        let is_locked = line_file::lock(&file, kind)?;
        Ok(Locked { file, is_locked })
    }

    /// Whether it has grown so much that it has to be cleaned.
    pub(super) fn is_clean_due(&self, limits: Limits) -> bool {
        self.grown.load(Ordering::Relaxed) > limits.max_bytes / PARTS
    }

    fn edited_contents(&self) -> Contents {
        Contents(self.folder.join("edited"))
    }

    /// Keeps a content that the user has made. It blocks on the disk.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep_edited(&self, content: &[u8]) -> io::Result<()> {
        self.edited_contents().put(content)
    }

    /// A content that the user has made; `None` if it is not kept, or damaged. It blocks on the disk.
    pub fn edited(&self, digest: &Digest) -> Option<Vec<u8>> {
        let contents = self.edited_contents();
        let content = contents.read(digest).ok().flatten()?;
        contents.note_use(digest);
        Some(content)
    }

    /// Deletes those that are too old.
    fn clean_edited(&self) -> io::Result<()> {
        let now = SystemTime::now();
        for content in self.edited_contents().all()? {
            if now.duration_since(content.modified).is_ok_and(|age| age > KEPT) {
                let _ = fs::remove_file(&content.path);
            }
        }
        Ok(())
    }

    /// Records what a run of a call changes.
    pub fn recorder_of_call(
        &self,
        log: &LogKey,
        call: &CallKey,
        limits: Limits,
        fence: Option<Fence>,
    ) -> Arc<dyn Recorder> {
        let input = call.input.as_str().to_owned();
        let cause = Cause::Call { id: call.id.clone(), tool: call.tool.clone(), input, run: new_name() };
        Arc::new(self.recorder(log, cause, limits, fence))
    }

    /// Records what is done for a cause.
    pub(super) fn recorder(&self, log: &LogKey, cause: Cause, limits: Limits, fence: Option<Fence>) -> CallRecorder {
        CallRecorder { backups: self.clone(), key: log.clone(), cause, limits, fence }
    }

    /// What a conversation has changed, and how many lines of its log are damaged. It blocks on the disk.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn history(&self, key: &LogKey) -> Result<(History, usize), UserError> {
        let log = self.log(key);
        let (lines, damaged) = log::read(&log, Some(Lock::Shared)).map_err(|error| {
            UserError::new(format!("the list of changes cannot be read: {}: {error}", log.display()))
        })?;
        let mut history = History::of(lines);
        for path in history.unsettled() {
            if let Ok(found) = state_of(&path) {
                history.settle(&path, &found);
            }
        }
        Ok((history, damaged))
    }

    /// What files were before these changes of them, in the order of the changes. It blocks on the disk.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn before(&self, log: &LogKey, wanted: &Wanted) -> Result<Vec<FileBefore>, UserError> {
        let steps = self.history(log)?.0.steps(wanted).unwrap_or_default();
        let file = |step: Step| {
            let known = step.target.digest().map(|digest| self.contents().read(digest).ok().flatten());
            FileBefore { path: step.path, is_lost: known == Some(None), before: known.flatten() }
        };
        Ok(steps.into_iter().rev().map(file).collect())
    }

    /// A conversation has another file: what its old log says is said in the new one too. It blocks on the disk.
    ///
    /// # Errors
    /// When one of them cannot be read or written.
    pub fn carry_over(&self, from: &LogKey, to: &LogKey) -> io::Result<()> {
        let (from, to) = (self.log(from), self.log(to));
        let read = |log| log::read(log, Some(Lock::Shared));
        let (read, known) = (read(&from)?.0, read(&to)?.0);
        let missing = read.iter().filter(|line| !known.contains(line));
        let text: String = missing.map(|line| line.to_text() + "\n").collect();
        if from == to || text.is_empty() {
            return Ok(());
        }
        line_file::append(&to, text.as_bytes(), Flush::Now, &[])
    }

    /// Deletes what is too old or too much. It blocks on the disk.
    ///
    /// # Errors
    /// When the store or a log cannot be read. Nothing is deleted then.
    pub fn clean(&self, limits: Limits) -> io::Result<()> {
        if !self.folder.exists() {
            return Ok(());
        }
        self.clean_edited()?;
        clean::clean(self, limits)
    }
}
