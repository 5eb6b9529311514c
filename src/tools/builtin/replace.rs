//! Writes files, completely or not at all.
//!
//! The content is written to a temporary file in the same folder, which then replaces the old one, so that an incomplete file
//! is never visible and a full disk loses nothing. The mode of the old file is preserved, and a symbolic link is followed,
//! not replaced. If a new file would lose properties of the old one (other hard links, or an owner that we cannot set), or
//! if no file can be created in the folder, the old file is overwritten in place.

use std::{
    collections::BTreeSet,
    fs::{self, File, Metadata, Permissions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, PoisonError},
};

use super::files;
use crate::{model::ModelError, tools::Protected};

/// The maximum number of links that are followed, as in Linux.
const MAX_LINKS: usize = 40;

/// The files that are being changed, and the signal that one of them is finished.
static CHANGING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
static CHANGED: Condvar = Condvar::new();

/// The right to change one file. Calls that change the same file run one after the other: two edits in one reply must
/// not lose one of them.
struct Exclusive(PathBuf);

impl Exclusive {
    /// Waits until no other call changes the file.
    fn new(path: &Path) -> Self {
        // A panic cannot leave the set in an inconsistent state.
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

/// A file that is about to be written. While this exists, no other call changes the same file.
pub(super) struct WriteTarget {
    /// The file's path with links resolved.
    path: PathBuf,
    /// The existing file.
    pub(super) existing: Option<Metadata>,
    _alone: Exclusive,
}

impl WriteTarget {
    /// Determines what would be written when a model writes to `path`, which it calls `name`. Waits while another call
    /// changes the same file.
    ///
    /// # Errors
    /// If it must not be written (not a regular file, read-only, protected), with the reason.
    pub(super) fn new(path: &Path, name: &str, protected: &Protected) -> Result<Self, ModelError> {
        let problem = |error: io::Error| ModelError::new(format!("{name}: {error}."));
        let real = follow(path).map_err(problem)?;
        let alone = Exclusive::new(&real);
        let existing = match fs::metadata(&real) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(files::problem(&real, name, &error)),
        };
        if let Some(kind) = existing.as_ref().and_then(|metadata| files::kind(metadata.file_type())) {
            return Err(ModelError::new(format!("{name} is {kind}; only regular files can be written.")));
        }
        if let Some(reason) = protected(path).or_else(|| protected(&real)) {
            return Err(ModelError::new(format!("{name} cannot be written: {reason}")));
        }
        if existing.is_some() && rustix::fs::access(&real, rustix::fs::Access::WRITE_OK).is_err() {
            return Err(ModelError::new(format!("{name} is read-only.")));
        }
        Ok(Self { path: real, existing, _alone: alone })
    }

    /// The file's path with links resolved.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the file, and creates missing parent folders.
    ///
    /// # Errors
    /// If that fails. The old file is then unchanged, unless it had to be overwritten in place.
    pub(super) fn write(&self, content: &[u8]) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder)?;
        match self.exchange(folder, content) {
            Ok(true) => Ok(()),
            Ok(false) => self.overwrite(content),
            // A folder in which no file can be created may still contain a writable file.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && self.existing.is_some() => {
                self.overwrite(content)
            }
            Err(error) => Err(error),
        }
    }

    /// Replaces the old file by a new one; `false` if the old one would lose properties and nothing was done.
    fn exchange(&self, folder: &Path, content: &[u8]) -> io::Result<bool> {
        // The umask applies to these permissions.
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

/// The target of a path: the real path of the folder, and the last component with its links resolved, whether or not the
/// target exists.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            // A relative link is relative to the folder of the link; an absolute one replaces it.
            Ok(link) => path = path.parent().unwrap_or(Path::new("/")).join(link),
            Err(_) => {
                let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(path) };
                return Ok(folder.canonicalize().map_or_else(|_| path.clone(), |folder| folder.join(name)));
            }
        }
    }
    Err(io::Error::other("too many symbolic links"))
}
