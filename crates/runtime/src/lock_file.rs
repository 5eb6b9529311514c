//! A lock file: a kernel lock on a file that is there for nothing else.
//!
//! The lock is `flock`. It belongs to the open file: it ends when this process ends, however it ends, and not when the
//! process closes the same file elsewhere (as `fcntl` locks do). Linux passes it on to NFS servers, where it keeps other
//! machines out as well. The file says who has the lock, for messages only. The owner writes it after taking the lock, so
//! for a moment the file may be empty, or have the words of an owner that was killed. A file that a killed process has left
//! behind is not locked, and is used again.
//!
//! Whoever has the lock deletes the file before letting go of it. So a file that was locked may be one that is no longer
//! there: then the lock is worth nothing, and the file is opened again. What stands at the path and is not a lock file (a
//! link, a folder, a file with other contents) is neither followed, written to nor deleted.
//!
//! A lock can be taken away ([`LockFile::steal`]): a new file, locked, takes the place of the old one in one step. Its owner
//! notices that another file is there, and has lost the lock for good.

use std::{
    fmt,
    fs::{self, File, Metadata, OpenOptions, Permissions, TryLockError},
    io::{self, Read},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    io::Errno,
    process::{Pid, test_kill_process},
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::disk::{is_denied, open_unfollowed, unfollowed};

/// How often a file is opened that others delete at the same time.
const ATTEMPTS: usize = 100;

/// The most that is read of a lock file, in bytes.
const MAX_CONTENTS: u64 = 4096;

/// The most that is shown of a host's name.
const MAX_HOST: usize = 64;

/// Who has a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The number of the process.
    pub process: u32,
    /// The name of its machine.
    pub host: String,
}

impl Owner {
    /// This process.
    pub fn this() -> Self {
        let host = rustix::system::uname();
        Self { process: std::process::id(), host: plain(&host.nodename().to_string_lossy()) }
    }

    /// Who has the lock, according to the file.
    fn read(contents: &[u8]) -> Option<Self> {
        Words::read(contents).map(|words| words.owner)
    }

    /// Whether this process may be there. One that was killed leaves its words behind, and they stay in the file until the
    /// next owner has written its own.
    fn can_be_alive(&self) -> bool {
        let number = i32::try_from(self.process).ok().and_then(Pid::from_raw);
        let is_gone = |number| matches!(test_kill_process(number), Err(Errno::SRCH));
        self.host != Self::this().host || !number.is_none_or(is_gone)
    }
}

/// What a lock file says.
#[derive(Debug, Serialize, Deserialize)]
struct Words {
    #[serde(flatten)]
    owner: Owner,
    /// Where the owner listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<PathBuf>,
}

impl Words {
    /// What the first line says.
    fn read(contents: &[u8]) -> Option<Self> {
        let line = contents.split(|byte| *byte == b'\n').next()?;
        let mut words: Self = serde_json::from_slice(line).ok()?;
        words.owner.host = plain(&words.owner.host);
        Some(words)
    }
}

/// Where the owner of the lock at `path` listens, if that is a living process of this machine and says so. Whoever can write
/// the file can send the asker anywhere, so this is for files of the user's own. It blocks on the disk.
pub fn server(path: &Path) -> Option<PathBuf> {
    let words = Words::read(&contents(&open_unfollowed(path).ok()?).ok()?)?;
    let is_here = words.owner.host == Owner::this().host && words.owner.can_be_alive();
    words.server.filter(|_| is_here)
}

/// Who has the lock at `path` now, if that is known; `None` if nobody has it. Whoever takes it in this moment may have to try
/// again. It blocks on the disk.
pub fn look(path: &Path) -> Option<Option<Owner>> {
    let file = open_unfollowed(path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(Owner::read(&contents(&file).ok()?).filter(Owner::can_be_alive)),
        // It ends with the file.
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

/// A host's name for messages. Anybody may have written it into a file.
fn plain(host: &str) -> String {
    let is_plain = |letter: &char| letter.is_alphanumeric() || "-._".contains(*letter);
    host.chars().filter(is_plain).take(MAX_HOST).collect()
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.process)?;
        if self.host.is_empty() { Ok(()) } else { write!(f, " on {}", self.host) }
    }
}

/// Why a lock was not taken.
#[derive(Debug)]
pub enum Refusal {
    /// Somebody else has it, and who, if the file says so.
    Locked(Option<Owner>),
    /// There can be no such lock here.
    Failed(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Another process has taken this lock away, and who, if its file still says so.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("another process has taken over the conversation{}", .0.as_ref().map(|owner| format!(" ({owner})")).unwrap_or_default())]
pub struct Taken(pub Option<Owner>);

/// A lock of this process. Dropping it deletes the file, which may wait for the disk.
#[derive(Debug)]
pub struct LockFile {
    path: PathBuf,
    file: File,
    /// Whether the file is a lock file, and not something else that was in its place.
    is_ours: bool,
    /// Whether this process has given it back.
    is_released: AtomicBool,
    /// Whether it was taken away.
    is_lost: AtomicBool,
}

impl LockFile {
    /// Tries to lock the file at `path`, and makes it with this mode if it is not there. `server` is the address at which
    /// other programs reach this process, if the file is to say it. It blocks on the disk, but not on other processes.
    ///
    /// # Errors
    /// When somebody else has it, or there can be no lock here.
    pub fn take(path: &Path, mode: u32, server: Option<&str>) -> Result<Self, Refusal> {
        for _ in 0..ATTEMPTS {
            let Some(file) = open(path, mode)? else { continue };
            let metadata = file.metadata()?;
            if !metadata.is_file() {
                return Err(io::Error::other("something else is in its place").into());
            }
            match file.try_lock() {
                Ok(()) if is_at(path, &metadata) => return Ok(Self::locked(path, file, &metadata, server)),
                Err(TryLockError::WouldBlock) if is_at(path, &metadata) => {
                    return Err(Refusal::Locked(Owner::read(&contents(&file)?).filter(Owner::can_be_alive)));
                }
                Err(TryLockError::Error(error)) => return Err(error.into()),
                // Somebody has deleted it meanwhile.
                Ok(()) | Err(TryLockError::WouldBlock) => {}
            }
        }
        Err(Refusal::Locked(None))
    }

    /// The file was just locked: it says so, unless it is somebody's own file.
    fn locked(path: &Path, file: File, metadata: &Metadata, server: Option<&str>) -> Self {
        let is_ours = is_lock_file(&file, metadata);
        if is_ours {
            // The lock holds without these words, which a full disk does not take.
            let _ = write_owner(&file, server);
        }
        Self::new(path, file, is_ours)
    }

    fn new(path: &Path, file: File, is_ours: bool) -> Self {
        Self {
            path: path.to_owned(),
            file,
            is_ours,
            is_released: AtomicBool::default(),
            is_lost: AtomicBool::default(),
        }
    }

    /// Takes the lock at `path` away from whoever has it: see [`LockFile::take`] for the rest. It blocks on the disk.
    ///
    /// # Errors
    /// When there can be no new lock file here, or something else is in its place.
    pub fn steal(path: &Path, mode: u32, server: Option<&str>) -> Result<Self, Refusal> {
        match Self::take(path, mode, server) {
            Err(Refusal::Locked(_)) => {}
            taken => return taken,
        }
        let old = open_unfollowed(path)?;
        if !is_lock_file(&old, &old.metadata()?) {
            return Err(io::Error::other("something else is in its place").into());
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::other("it has no folder").into());
        };
        let mut prefix = name.to_owned();
        prefix.push("-");
        let new =
            tempfile::Builder::new().prefix(&prefix).permissions(Permissions::from_mode(mode)).tempfile_in(folder)?;
        // Nobody else knows this file, so it is locked and says by whom before it is there.
        new.as_file().try_lock().map_err(io::Error::from)?;
        let _ = write_owner(new.as_file(), server);
        let file = new.persist(path).map_err(|error| error.error)?;
        Ok(Self::new(path, file, true))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether this process has given it back.
    pub fn is_released(&self) -> bool {
        self.is_released.load(Ordering::SeqCst)
    }

    /// Whether it was taken away, so that it counts no more even if it could be taken again.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::SeqCst)
    }

    /// Notes that it was taken away.
    pub fn lose(&self) {
        self.is_lost.store(true, Ordering::SeqCst);
    }

    /// Deletes the file, and lets go of the lock. It may wait for the disk.
    pub fn release(&self) {
        self.is_released.store(true, Ordering::SeqCst);
        // The lock is still ours, so nobody else puts another lock file here meanwhile.
        if self.is_ours && self.is_still_at(&self.path) {
            // One that stays behind does no harm.
            let _ = fs::remove_file(&self.path);
        }
        let _ = self.file.unlock();
    }

    /// Whether this is the lock at `path`, and its file is still there.
    pub fn is_still_at(&self, path: &Path) -> bool {
        self.path == path && self.file.metadata().is_ok_and(|metadata| is_at(path, &metadata))
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        self.release();
    }
}

/// Opens the file, or makes it; `None` if others are making or deleting it at the same time.
fn open(path: &Path, mode: u32) -> io::Result<Option<File>> {
    // A pipe would block, and a link may lead anywhere.
    let opened = unfollowed().read(true).write(true).open(path);
    let opened = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(path)
        }
        // Another user's. A lock needs no right to write, except on NFS.
        Err(error) if is_denied(&error) => open_unfollowed(path),
        opened => opened,
    };
    match opened {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        // Deleted between the two tries; without its folder the third one fails as well.
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.parent().is_some_and(Path::is_dir) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_at(path: &Path, file: &Metadata) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (file.dev(), file.ino()))
}

/// Whether it is a lock file, and not somebody's own.
fn is_lock_file(file: &File, metadata: &Metadata) -> bool {
    let is_ours = |contents: Vec<u8>| contents.is_empty() || Owner::read(&contents).is_some();
    metadata.is_file() && metadata.nlink() == 1 && contents(file).is_ok_and(is_ours)
}

/// Who has the lock at `path`, if its file says so.
pub fn owner(path: &Path) -> Option<Owner> {
    Owner::read(&contents(&open_unfollowed(path).ok()?).ok()?)
}

fn contents(file: &File) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    file.take(MAX_CONTENTS).read_to_end(&mut contents)?;
    Ok(contents)
}

/// Somebody may read the file meanwhile: the new line is there before the rest of the old one is gone.
fn write_owner(file: &File, server: Option<&str>) -> io::Result<()> {
    let mut line = serde_json::to_vec(&Words { owner: Owner::this(), server: server.map(Into::into) })?;
    line.push(b'\n');
    file.write_all_at(&line, 0)?;
    file.set_len(line.len() as u64)
}
