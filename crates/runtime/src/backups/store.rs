//! The store: where everything is in its folder, and its lock.

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

use super::{LogKey, contents::Contents};
use crate::{
    disk::make_folder,
    line_file::{self, Lock, Locked},
    lock_file,
};
use flemma_model::Digest;

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
    pub(super) fn clean_edited(&self) -> io::Result<()> {
        let now = SystemTime::now();
        for content in self.edited_contents().all()? {
            if now.duration_since(content.modified).is_ok_and(|age| age > KEPT) {
                let _ = fs::remove_file(&content.path);
            }
        }
        Ok(())
    }
}
