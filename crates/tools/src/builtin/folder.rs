//! Folders that are opened to read or change files in them.
//!
//! A path without links can lead elsewhere a moment later, when a folder in it is replaced by a link. So each part of the path is
//! opened below the one before it, and links are not followed. What is done to a file is then done in the opened folder, wherever
//! that is. The new content of a file is a [`Temporary`] there, before it replaces the old one.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
    sync::Mutex,
    time::{Duration, Instant},
};

use rustix::{
    fd::OwnedFd,
    fs::{
        Access, AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat, accessat, flock, mkdirat, open, openat,
        renameat, stat, statat, unlinkat,
    },
    io::Errno,
};

use crate::{
    linked::Linked,
    lock,
    own_files::{REPLACEMENT, is_own_file},
};

/// How folders are opened. Reading them is not needed.
#[cfg(any(target_os = "linux", target_os = "android"))]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// How folders are opened.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// The permissions of a new folder, before the umask.
const NEW_FOLDER: Mode = Mode::from_raw_mode(0o777);

fn is_link(folder: &OwnedFd, name: &OsStr) -> bool {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| Found(found).kind().is_symlink())
}

/// What the system says of a file or folder.
#[derive(Clone, Copy)]
pub(super) struct Found(Stat);

impl Found {
    /// What there is at a path. Links are followed.
    ///
    /// # Errors
    /// If there is nothing, or that cannot be found out.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        Ok(Self(stat(path)?))
    }

    /// Its kind.
    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.0.st_mode)
    }

    /// Its size in bytes.
    pub(super) fn size(&self) -> u64 {
        u64::try_from(self.0.st_size).unwrap_or(0)
    }

    /// The bits of its permissions.
    pub(super) fn mode(&self) -> u32 {
        Mode::from_raw_mode(self.0.st_mode).bits() as _
    }

    /// What it is under all of its names, if it has several.
    pub(super) fn linked(&self) -> Option<Linked> {
        Linked::of_stat(&self.0)
    }

    /// The user and the group that own it.
    pub(super) fn owner(&self) -> (u32, u32) {
        (self.0.st_uid, self.0.st_gid)
    }
}

/// An open folder.
pub(super) struct OpenFolder(OwnedFd);

impl OpenFolder {
    /// Opens the folder at an absolute path without links.
    ///
    /// # Errors
    /// If it does not exist, or a part of the path is a link.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Self::walk(path, None)
    }

    /// The same, and creates what is missing. The new folders are added to `made`, outermost first, also if it fails.
    ///
    /// # Errors
    /// If a part of the path is a link, or cannot be created.
    pub(super) fn create(path: &Path, made: &mut Vec<PathBuf>) -> io::Result<Self> {
        Self::walk(path, Some(made))
    }

    fn walk(path: &Path, mut made: Option<&mut Vec<PathBuf>>) -> io::Result<Self> {
        let mut at = open("/", FOLDER, Mode::empty())?;
        let mut so_far = PathBuf::from("/");
        for part in path.components() {
            let Component::Normal(name) = part else { continue };
            so_far.push(name);
            at = match (openat(&at, name, FOLDER, Mode::empty()), &mut made) {
                (Ok(next), _) => next,
                // Linux says of a link what it says of a file.
                (Err(Errno::NOTDIR), _) if is_link(&at, name) => return Err(Errno::LOOP.into()),
                (Err(Errno::NOENT), Some(made)) => {
                    match mkdirat(&at, name, NEW_FOLDER) {
                        Ok(()) => made.push(so_far.clone()),
                        // Another call was faster.
                        Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    openat(&at, name, FOLDER, Mode::empty())?
                }
                (Err(error), _) => return Err(error.into()),
            };
        }
        Ok(Self(at))
    }

    /// Creates a file that does not exist yet, with these permissions before the umask.
    ///
    /// # Errors
    /// If that fails.
    pub(super) fn create_file(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::from_raw_mode(mode as _))?.into())
    }

    /// Opens a file for reading, if it is no link, without waiting if it is a pipe.
    ///
    /// # Errors
    /// If that fails.
    pub(super) fn read_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::empty())?.into())
    }

    /// The folder, opened such that it can be listed.
    ///
    /// # Errors
    /// If that fails.
    pub(super) fn list(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(&self.0, ".", flags, Mode::empty())?.into())
    }

    /// What there is under a name. Links are not followed.
    ///
    /// # Errors
    /// If there is nothing, or that cannot be found out.
    pub(super) fn look(&self, name: &OsStr) -> io::Result<Found> {
        Ok(Found(statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Whether a file may be written, as far as its permissions say.
    pub(super) fn is_writable(&self, name: &OsStr) -> bool {
        accessat(&self.0, name, Access::WRITE_OK, AtFlags::empty()).is_ok()
    }

    /// Opens a file for writing, if it is no link.
    ///
    /// # Errors
    /// If that fails.
    pub(super) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::empty())?.into())
    }

    /// Renames a file within the folder. What has the new name is replaced.
    ///
    /// # Errors
    /// If that fails.
    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, from, &self.0, to)?)
    }

    /// Moves a file into another folder, under a name that nothing has.
    ///
    /// # Errors
    /// If that fails, or something has the name.
    pub(super) fn move_file(&self, from: &OsStr, folder: &Self, to: &OsStr) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_vendor = "apple"))]
        match rustix::fs::renameat_with(&self.0, from, &folder.0, to, rustix::fs::RenameFlags::NOREPLACE) {
            // Not every file system knows this.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            done => return Ok(done?),
        }
        match rustix::fs::statat(&folder.0, to, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(renameat(&self.0, from, &folder.0, to)?),
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes a file.
    ///
    /// # Errors
    /// If that fails.
    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }
}

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
    let mut looked = lock(&LOOKED);
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
