//! The disk as everything here uses it: private folders, files that take the place of others in one step, and things
//! that are not there.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::fs::OFlags;

use flemma_model::Digest;
use flemma_tools::paths::real;

/// The letters of a short digest.
const SHORT: usize = 32;

/// What was found; `None` if it is not there.
pub(crate) fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Whether there is no such file.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What was found; `None` if there is no such file.
pub(crate) fn unless_missing<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if is_missing(&error) => Ok(None),
        found => found.map(Some),
    }
}

/// Whether this user may not do that here.
pub(crate) fn is_denied(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// A name for some text: the first half of its digest.
pub(crate) fn short_digest(text: &[u8]) -> String {
    Digest::of(text).as_str()[..SHORT].to_owned()
}

/// Makes a folder, for this user only.
pub(crate) fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes the folder of a file, for this user only, and safe.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    let missing: Vec<PathBuf> = folder.ancestors().take_while(|above| !above.exists()).map(Path::to_owned).collect();
    private_folder(folder)?;
    missing.iter().try_for_each(|made| sync_folder(made))
}

/// Makes the name of a file or folder safe.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    let Some(folder) = path.parent() else { return Ok(()) };
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Not every file system lets a folder be flushed, and not every folder above ours can be read.
        Err(error) if matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported) => Ok(()),
        outcome => outcome,
    }
}

/// Writes a file whole, for this user only. It takes the place of the old one in one step, and is safe then.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Err(io::ErrorKind::InvalidInput.into()) };
    private_folder(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(bytes)?;
    new.as_file().sync_all()?;
    new.persist(path).map_err(|error| error.error)?;
    sync_folder(path)
}

/// Writes a file that must not be there yet.
///
/// # Errors
/// When it is there, or cannot be written.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    File::create_new(path)?.write_all(bytes)
}

/// Deletes a file, if it is there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    if_there(fs::remove_file(path)).map(drop)
}

/// Opens a file to read it. A link is not followed, and a pipe is not waited for.
pub(crate) fn open_unfollowed(path: &Path) -> io::Result<File> {
    unfollowed().read(true).open(path)
}

/// Options that follow no link and wait for no pipe.
pub(crate) fn unfollowed() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    options
}

/// The name that a conversation has in the user's state folder: that of its real path, which all links to it have in common. It blocks on the
/// disk.
pub(crate) fn stem(conversation: &Path) -> String {
    short_digest(real(conversation).as_os_str().as_encoded_bytes())
}

/// The file for a conversation in a folder there. It blocks on the disk.
pub(crate) fn state_file(folder: &Path, conversation: &Path, extension: &str) -> PathBuf {
    folder.join(stem(conversation)).with_extension(extension)
}

/// Locks what threads share. Each change of it leaves a whole value behind, also when a panic follows.
pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
