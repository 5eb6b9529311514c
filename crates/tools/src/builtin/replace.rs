//! Writes files, completely or not at all.
//!
//! The content is written to a temporary file in the same folder, which then replaces the old one, so that an incomplete file
//! is never visible and a full disk loses nothing. The mode of the old file is preserved, and a symbolic link is followed,
//! not replaced. The folder is opened without following links ([`OpenFolder`]), so that a link that is made in the meantime leads
//! nowhere else. If a new file would lose properties of the old one (other hard links, or an owner that we cannot set), or
//! if no file can be created in the folder, the old file is overwritten in place.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::io::Errno;

use super::{
    files,
    folder::{Found, OpenFolder, Temporary},
    guard::{self, Guard},
};
use crate::{
    Access, Bounds, Content, Context, Earlier, FileChange, FileClass, Protected, Recorder, Upcoming, lock,
    paths::{find_same, real},
    recorder::{note_moved, note_written},
};
use flemma_journal::changes::{ChangeId, FileState};
use flemma_model::{Digest, ModelError};

/// The permissions to write, of whomever.
const WRITE_BITS: u32 = 0o222;

/// The bits of a file's permissions.
const ALL_BITS: u32 = 0o7777;

/// The files that are being changed, and the signal that one of them is finished.
static CHANGING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
static CHANGED: Condvar = Condvar::new();

/// How many changes tools have made.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// How many changes tools have made in this process, whatever the files. It only grows.
pub(super) fn count_changes() -> u64 {
    CHANGES.load(Ordering::SeqCst)
}

/// The right to change one file. Calls that change the same file run one after the other: two edits in one reply must
/// not lose one of them.
struct Exclusive(PathBuf);

impl Exclusive {
    /// Waits until no other call changes the file.
    fn new(path: &Path) -> Self {
        // A panic cannot leave the set in an inconsistent state.
        let changing = lock(&CHANGING);
        let mut changing =
            CHANGED.wait_while(changing, |changing| changing.contains(path)).unwrap_or_else(PoisonError::into_inner);
        changing.insert(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        lock(&CHANGING).remove(&self.0);
        CHANGED.notify_all();
    }
}

/// A file that is about to be written. While this exists, no other call changes the same file.
///
/// Every tool changes files through it. What the file was is recorded first ([`Recorder`]), so that it can be taken back.
pub struct WriteTarget {
    /// The file's path with links resolved.
    path: PathBuf,
    /// The existing file.
    pub(super) existing: Option<Found>,
    /// Whether writing it asks every time.
    is_start_up: bool,
    recorder: Option<Arc<dyn Recorder>>,
    guard: Guard,
    /// What the calls above would write, while the change is only proposed.
    earlier: Earlier,
    /// The name of the buffer that has changes of the file which are not saved.
    pub(super) unsaved: Option<PathBuf>,
    _alone: Exclusive,
}

impl WriteTarget {
    /// Determines what would be written when a model writes to `path`, which it calls `name`, and which must be within
    /// `bounds`. Waits while another call changes the same file.
    ///
    /// # Errors
    /// If it must not be written (not a regular file, read-only, protected, not permitted), with the reason.
    pub(super) fn new(path: &Path, name: &str, context: &Context, bounds: &Bounds) -> Result<Self, ModelError> {
        let guard = Guard::new(context, bounds.clone());
        let mut target = Self::judged(path, name, guard, &context.protected, context.recorder.clone())?;
        target.earlier = context.earlier.clone();
        target.unsaved = find_same(&context.unsaved, &target.path).cloned();
        Ok(target)
    }

    /// The same, with what protects files and what records their changes.
    ///
    /// # Errors
    /// If it must not be written, with the reason.
    pub fn at(
        path: &Path,
        name: &str,
        protected: &Protected,
        recorder: Option<Arc<dyn Recorder>>,
    ) -> Result<Self, ModelError> {
        Self::judged(path, name, Guard::default(), protected, recorder)
    }

    fn judged(
        path: &Path,
        name: &str,
        guard: Guard,
        protected: &Protected,
        recorder: Option<Arc<dyn Recorder>>,
    ) -> Result<Self, ModelError> {
        // Nothing is said about a file before it is known that it may be used.
        guard.judge(Access::Write, path, name)?;
        let real = real(path);
        if real.is_symlink() {
            return Err(guard.problem(path, name, &Errno::LOOP.into()));
        }
        // This path has no links any more, and it is not left while the file is looked at, read or written.
        guard.admit(Access::Write, path, &real, name)?;
        let alone = Exclusive::new(&real);
        let (folder, file) = guard::parts(&real);
        let looked = OpenFolder::open(folder).and_then(|folder| Ok((folder.look(file)?, folder.is_writable(file))));
        let (existing, is_writable) = match looked {
            Ok((found, is_writable)) => (Some(found), is_writable),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (None, true),
            Err(error) => return Err(guard.problem(&real, name, &error)),
        };
        if let Some(kind) = existing.as_ref().and_then(|found| files::other_kind(found.kind())) {
            bail!("{name} is {kind}; only regular files can be written.");
        }
        let classes = [protected(path), protected(&real)];
        let is_start_up = classes.contains(&FileClass::StartUp);
        for class in classes {
            if let FileClass::Refused(reason) = class {
                bail!("{name} cannot be written: {reason}");
            }
            guard.check_written(&real, existing.as_ref(), &class, name)?;
        }
        let linked = existing.as_ref().and_then(Found::linked);
        if guard.bounds != Bounds::Writable {
            guard.check_names(linked, name)?;
        }
        ensure!(is_writable, "{name} is read-only.");
        let (earlier, unsaved) = (Earlier::default(), None);
        Ok(Self { path: real, existing, is_start_up, recorder, guard, earlier, unsaved, _alone: alone })
    }

    /// The file's path with links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of the file, which the model calls `name`, with what the calls above would write.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, ModelError> {
        if let Some(content) = self.earlier.content(&self.path) {
            return earlier_bytes(content, name);
        }
        let problem = |error: io::Error| self.guard.problem(&self.path, name, &error);
        let mut file = guard::open_exactly(&self.path).map_err(problem)?;
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(problem)?;
        Ok(content)
    }

    /// What the file has, which the model calls `name`, with what the calls above would write; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn content(&self, name: &str) -> Result<Option<Content>, ModelError> {
        if let Some(content) = self.earlier.content(&self.path) {
            return Ok(content);
        }
        guard::content_at(&self.path).map_err(|error| self.guard.problem(&self.path, name, &error))
    }

    /// A change of the file, which the model calls `name`, from `old` to `new`.
    pub(super) fn change(&self, name: &str, old: Option<Content>, new: Content) -> FileChange {
        let (path, name, bounds) = (self.path.clone(), name.to_owned(), self.guard.bounds.clone());
        let is_read_only = self.existing.as_ref().is_some_and(|found| found.mode() & WRITE_BITS == 0);
        let (is_start_up, unsaved) = (self.is_start_up, self.unsaved.clone());
        FileChange { path, name, old, new: Some(new), moved_to: None, bounds, is_read_only, is_start_up, unsaved }
    }

    /// Writes the file with these permissions, and creates missing parent folders. `None` for the permissions of the existing file, or
    /// of any new file if there is none.
    ///
    /// # Errors
    /// If that fails. The old file is then unchanged, unless it had to be overwritten in place.
    pub fn put(&self, content: &[u8], mode: Option<u32>) -> io::Result<()> {
        let mut made = Vec::new();
        let folder = OpenFolder::create(self.folder(), &mut made);
        let written = folder.and_then(|folder| match self.exchange(&folder, content, mode, &made) {
            Ok(true) => Ok(()),
            Ok(false) => self.overwrite(&folder, content, mode, &made),
            // A folder in which no file can be created may still contain a writable file.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && self.existing.is_some() => {
                self.overwrite(&folder, content, mode, &made)
            }
            Err(error) => Err(error),
        });
        match written {
            Ok(()) => note_written(&self.path),
            Err(_) => remove_empty(made.iter().rev()),
        }
        written
    }

    /// Moves the file, which has this content, to the place of `other`, where there is none. Whenever the process is killed, there is
    /// one file, under the old or the new name.
    ///
    /// # Errors
    /// If that fails.
    pub(super) fn move_to(&self, other: &Self, content: &[u8]) -> io::Result<()> {
        let mode = self.existing.as_ref().map_or(0o666, Found::mode);
        let mut made = Vec::new();
        let moved = OpenFolder::create(other.folder(), &mut made).and_then(|folder| {
            let from = OpenFolder::open(self.folder())?;
            let arrives = other.begin(&FileState::File { digest: Digest::of(content), mode }, &made)?;
            let leaves = self.begin(&FileState::Absent, &[]).inspect_err(|_| other.end(arrives.clone(), false))?;
            let moved = from.move_file(self.file_name(), &folder, other.file_name());
            other.end(arrives, moved.is_ok());
            self.end(leaves, moved.is_ok());
            moved
        });
        let moved = match moved {
            // A file cannot be moved there: for a moment there are two.
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                other.put(content, Some(mode)).and_then(|()| self.remove(&[]))
            }
            moved => moved,
        };
        match &moved {
            Ok(()) => note_moved(&self.path, &other.path),
            Err(_) => remove_empty(made.iter().rev()),
        }
        moved
    }

    /// Deletes the file, and then those of `folders` that are empty; innermost first. Nothing happens if there is no file.
    ///
    /// # Errors
    /// If the file cannot be deleted.
    pub fn remove(&self, folders: &[PathBuf]) -> io::Result<()> {
        if self.existing.is_some() {
            let folder = OpenFolder::open(self.folder())?;
            let change = self.begin(&FileState::Absent, &[])?;
            let removed = folder.remove(self.file_name());
            self.end(change, removed.is_ok());
            removed?;
        }
        remove_empty(folders.iter());
        Ok(())
    }

    /// Replaces the old file by a new one; `false` if the old one would lose properties and nothing was done.
    fn exchange(&self, folder: &OpenFolder, content: &[u8], set: Option<u32>, made: &[PathBuf]) -> io::Result<bool> {
        // The umask applies to these permissions.
        let mode = self.existing.as_ref().map_or(0o666, Found::mode);
        if self.existing.as_ref().is_some_and(|found| found.linked().is_some()) {
            return Ok(false);
        }
        let mut temporary = Temporary::new(folder, self.folder(), mode & 0o777)?;
        let file = &mut temporary.file;
        if let Some(existing) = &self.existing {
            let ours = file.metadata()?;
            let same_owner = (ours.uid(), ours.gid()) == existing.owner();
            let (user, group) = existing.owner();
            if !same_owner && std::os::unix::fs::fchown(&*file, Some(user), Some(group)).is_err() {
                return Ok(false);
            }
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        if let Some(mode) = set {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        file.write_all(content)?;
        file.sync_all()?;
        let mode = file.metadata()?.mode() & ALL_BITS;
        let change = self.begin(&FileState::File { digest: Digest::of(content), mode }, made)?;
        let persisted = temporary.persist(self.file_name());
        self.end(change, persisted.is_ok());
        persisted?;
        Ok(true)
    }

    fn overwrite(&self, folder: &OpenFolder, content: &[u8], set: Option<u32>, made: &[PathBuf]) -> io::Result<()> {
        // The path has no links: one that is there now leads elsewhere.
        let mut file = folder.open_file(self.file_name())?;
        let mode = match set {
            None => file.metadata()?.mode() & ALL_BITS,
            Some(mode) => mode,
        };
        let change = self.begin(&FileState::File { digest: Digest::of(content), mode }, made)?;
        file.set_len(0)?;
        file.write_all(content)?;
        if let Some(mode) = set {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        file.sync_all()?;
        self.end(change, true);
        Ok(())
    }

    /// The folder of the file.
    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// The name of the file in its folder.
    fn file_name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    fn begin(&self, new: &FileState, folders: &[PathBuf]) -> io::Result<Option<ChangeId>> {
        let Some(recorder) = &self.recorder else { return Ok(None) };
        // Whatever went wrong there has nothing to do with this file.
        recorder
            .begin(Upcoming { path: &self.path, new, folders })
            .map_err(|error| io::Error::other(format!("nothing was written: {error}")))
    }

    fn end(&self, change: Option<ChangeId>, is_made: bool) {
        CHANGES.fetch_add(1, Ordering::SeqCst);
        if let (Some(recorder), Some(change)) = (&self.recorder, change) {
            recorder.end(&change, is_made);
        }
    }
}

/// The bytes that a call above would leave in a file, which the model calls `name`.
///
/// # Errors
/// If it would leave no file, or there are too many bytes to keep them.
pub(super) fn earlier_bytes(content: Option<Content>, name: &str) -> Result<Vec<u8>, ModelError> {
    let Some(content) = content else {
        bail!("{name} does not exist: a call above it moves or deletes it.");
    };
    match content.bytes {
        Some(bytes) => Ok(bytes.to_vec()),
        None => bail!("{name} is too large to be changed by several calls of one reply."),
    }
}

/// Deletes folders that are empty, up to the first that is not.
fn remove_empty<'a>(mut folders: impl Iterator<Item = &'a PathBuf>) {
    // A link is not a folder: it stays.
    let _ = folders.try_for_each(|folder| match fs::remove_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    });
}
