//! How files are written: whole or not at all.
//!
//! The content goes into a temporary file in the same folder, which then takes the place of the old one, so that
//! nobody ever reads half a file and a full disk loses nothing. The old file's mode is kept, and a symbolic link is
//! followed, not replaced. Where a new file would lose what the old one is (it has other hard links, or an owner whom
//! we cannot give it to), or where the folder takes no new file, the old file is overwritten in place.

use std::{
    collections::BTreeSet,
    fs::{self, File, Metadata, Permissions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, PoisonError},
};

use super::files;
use crate::tools::Protected;

/// The most links that are followed, as in Linux.
const MAX_LINKS: usize = 40;

/// The files that are being changed, and the word that one of them no longer is.
static CHANGING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
static CHANGED: Condvar = Condvar::new();

/// The right to change one file. Calls that change the same file run one after the other: two edits in one reply must
/// not lose one of them.
struct Exclusive(PathBuf);

impl Exclusive {
    /// Waits until nobody else changes the file.
    fn new(path: &Path) -> Self {
        // A panic cannot leave the set half changed.
        let changing = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changing =
            CHANGED.wait_while(changing, |changing| changing.contains(path)).unwrap_or_else(PoisonError::into_inner);
        changing.insert(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        CHANGING.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
        CHANGED.notify_all();
    }
}

/// A file that is about to be written. As long as it is there, no other call changes the same file.
pub(super) struct WriteTarget {
    /// Where the file is, links followed.
    path: PathBuf,
    /// The file that is there now.
    pub(super) existing: Option<Metadata>,
    _alone: Exclusive,
}

impl WriteTarget {
    /// Finds out what would be written when a model writes to `path`, which it calls `name`; waits while another call
    /// changes the same file.
    ///
    /// # Errors
    /// When it must not be written (no regular file, read-only, protected), with the reason.
    pub(super) fn new(path: &Path, name: &str, protected: &Protected) -> Result<Self, String> {
        let problem = |error: io::Error| format!("{name}: {error}.");
        let real = follow(path).map_err(problem)?;
        let alone = Exclusive::new(&real);
        let existing = match fs::metadata(&real) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(files::problem(&real, name, &error)),
        };
        if let Some(kind) = existing.as_ref().and_then(|metadata| files::kind(metadata.file_type())) {
            return Err(format!("{name} is {kind}; only regular files can be written."));
        }
        if let Some(reason) = protected(path).or_else(|| protected(&real)) {
            return Err(format!("{name} cannot be written: {reason}"));
        }
        if existing.is_some() && rustix::fs::access(&real, rustix::fs::Access::WRITE_OK).is_err() {
            return Err(format!("{name} is read-only."));
        }
        Ok(Self { path: real, existing, _alone: alone })
    }

    /// The file's path, links followed.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the file; the folders above it are made.
    ///
    /// # Errors
    /// When that fails; the old file is then as it was, unless it had to be overwritten in place.
    pub(super) fn write(&self, content: &[u8]) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder)?;
        match self.exchange(folder, content) {
            Ok(true) => Ok(()),
            Ok(false) => self.overwrite(content),
            // A folder that takes no new file may still have one that can be written.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && self.existing.is_some() => {
                self.overwrite(content)
            }
            Err(error) => Err(error),
        }
    }

    /// Puts a new file in the old one's place; `false` if the old one would lose something, and nothing was done.
    fn exchange(&self, folder: &Path, content: &[u8]) -> io::Result<bool> {
        // The umask takes from these permissions what the user wants taken.
        let mode = self.existing.as_ref().map_or(0o666, |metadata| metadata.mode() & 0o7777);
        if self.existing.as_ref().is_some_and(|metadata| metadata.nlink() > 1) {
            return Ok(false);
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".flemma-").permissions(Permissions::from_mode(mode & 0o777));
        let mut file = builder.tempfile_in(folder)?;
        if let Some(existing) = &self.existing {
            let ours = file.as_file().metadata()?;
            let same_owner = (ours.uid(), ours.gid()) == (existing.uid(), existing.gid());
            if !same_owner && std::os::unix::fs::fchown(&file, Some(existing.uid()), Some(existing.gid())).is_err() {
                return Ok(false);
            }
            file.as_file().set_permissions(Permissions::from_mode(mode))?;
        }
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(true)
    }

    fn overwrite(&self, content: &[u8]) -> io::Result<()> {
        let mut file = File::options().write(true).truncate(true).open(&self.path)?;
        file.write_all(content)?;
        file.sync_all()
    }
}

/// Where a path leads: the folder's real path, and the last component with its links followed, whether or not the
/// file that they lead to is there.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            // A relative link starts in the folder of the link; an absolute one replaces it.
            Ok(link) => path = path.parent().unwrap_or(Path::new("/")).join(link),
            Err(_) => {
                let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(path) };
                return Ok(folder.canonicalize().map_or_else(|_| path.clone(), |folder| folder.join(name)));
            }
        }
    }
    Err(io::Error::other("too many symbolic links"))
}
