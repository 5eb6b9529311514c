//! The new content of a file, before it replaces the old one.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use rustix::fs::{Dir, FileType, FlockOperation, flock};

use super::folder::OpenFolder;
use crate::own_files::{REPLACEMENT, is_own_file};

/// How old a file must be to be one that was left: on another machine, somebody may be writing it without a lock that is seen here.
const AGE: Duration = Duration::from_secs(60);

/// How long nobody looks for such files in a folder after the last time.
const PAUSE: Duration = Duration::from_secs(60);

/// When which folder was looked through last.
static LOOKED: Mutex<BTreeMap<PathBuf, Instant>> = Mutex::new(BTreeMap::new());

/// A new file beside the one that it will replace. It is deleted unless it does.
pub(super) struct Temporary<'a> {
    folder: &'a OpenFolder,
    name: OsString,
    /// The file, to be written.
    pub(super) file: File,
    is_persisted: bool,
}

impl<'a> Temporary<'a> {
    /// Creates it in the folder at this path, with these permissions before the umask, and deletes those that writes which were killed have left in the folder.
    ///
    /// # Errors
    /// If no file can be created.
    pub(super) fn new(folder: &'a OpenFolder, path: &Path, mode: u32) -> io::Result<Self> {
        remove_leftovers(folder, path);
        // It chooses the name, and another one if there is such a file.
        let create = |path: &Path| folder.create_file(path.file_name().unwrap_or_default(), mode);
        let made = tempfile::Builder::new().prefix(REPLACEMENT).make_in("", create)?;
        let (file, path) = made.into_parts();
        let name = path.file_name().unwrap_or_default().to_owned();
        // Its own way to delete the file would look in another folder.
        let temporary = Self { folder, name, file, is_persisted: false };
        path.keep()?;
        let _ = flock(&temporary.file, FlockOperation::NonBlockingLockExclusive);
        Ok(temporary)
    }

    /// Gives it the name of the file that it replaces.
    ///
    /// # Errors
    /// If that fails. It is deleted then.
    pub(super) fn persist(mut self, name: &OsStr) -> io::Result<()> {
        self.folder.rename(&self.name, name)?;
        self.is_persisted = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_persisted {
            let _ = self.folder.remove(&self.name);
        }
    }
}

/// Deletes the files that writes which were killed have left in a folder. One that is still being written is locked.
fn remove_leftovers(folder: &OpenFolder, path: &Path) {
    let now = Instant::now();
    let mut looked = LOOKED.lock().unwrap_or_else(PoisonError::into_inner);
    looked.retain(|_, at| now.duration_since(*at) < PAUSE);
    if looked.contains_key(path) {
        return;
    }
    looked.insert(path.to_owned(), now);
    drop(looked);
    let Ok(list) = folder.list() else { return };
    let Ok(entries) = Dir::read_from(&list) else { return };
    for entry in entries.flatten() {
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let is_ours = name.as_bytes().starts_with(REPLACEMENT.as_bytes()) && is_own_file(name);
        if is_ours && is_leftover(folder, name) {
            let _ = folder.remove(name);
        }
    }
}

/// Whether nobody writes a file any more.
fn is_leftover(folder: &OpenFolder, name: &OsStr) -> bool {
    let is_file = folder.look(name).is_ok_and(|found| found.kind() == FileType::RegularFile);
    let Some(file) = is_file.then(|| folder.read_file(name).ok()).flatten() else { return false };
    let age = file.metadata().and_then(|found| found.modified()).ok().and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age >= AGE) && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
}
