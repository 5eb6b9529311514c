//! Writes a conversation's file without Neovim's own `:write`, which may ask a question.
//!
//! The file is written only if it is still the one that the buffer came from ([`Stamp`]). The new text goes into a
//! temporary file in the same folder, is flushed, and takes the old file's place in one step, so that a full disk or a
//! crash leaves the old file whole. Mode and owner stay. A link is followed. Where the file cannot be replaced without
//! losing something (hard links, extended attributes, another owner, a folder that takes no new files), it is
//! overwritten in place: the space is reserved first, and the old text is put back if the write fails.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    fs::{self, File, Metadata, OpenOptions, Permissions},
    io::{self, Seek, SeekFrom, Write},
    os::unix::fs::{MetadataExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
};

use rustix::fs::{Access, FallocateFlags};
use thiserror::Error;

use super::{
    disk::{is_denied, is_missing, short_digest, sync_folder, unless_missing},
    line_file::{Lock, lock},
    lock_file::Taken,
};
use flemma_tools::own_files::REPLACEMENT;

/// How many letters and digits follow in the name of a temporary file.
const RANDOM: usize = 6;

/// The longest name of a conversation that is part of the name of its temporary files. File systems take 255 bytes.
const LONGEST_NAME: usize = 200;

/// How often a temporary file is made anew that somebody has deleted.
const ATTEMPTS: usize = 3;

/// Tells one state of a file on the disk from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Stamp {
    /// The stamp of the file at `path`, links followed; `None` if there is no file.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn of(path: &Path) -> io::Result<Option<Self>> {
        Ok(unless_missing(fs::metadata(path))?.map(|metadata| Self::from(&metadata)))
    }
}

impl From<&Metadata> for Stamp {
    fn from(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// Why a file was not written. The file is as it was.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SaveError {
    /// Something else has changed the file.
    #[error("something else has changed the file since it was read")]
    Changed,
    /// There was no file, and now there is one.
    #[error("something else has created the file")]
    Appeared,
    /// The file is gone, and its folder is still there.
    #[error("the file was deleted")]
    Gone,
    /// The folder is not there.
    #[error("its folder does not exist")]
    NoFolder,
    /// The file, or the place for it, is read-only.
    #[error("the file is read-only")]
    ReadOnly,
    /// The path leads to something that is not a regular file.
    #[error("it is not a regular file")]
    NotAFile,
    /// Another process holds the conversation now.
    #[error("{0}")]
    Taken(#[from] Taken),
    /// The system said no, in its own words.
    #[error("{0}")]
    Failed(String),
}

impl SaveError {
    /// What to do about it in an editor.
    pub const fn advice(&self) -> &'static str {
        match self {
            Self::Changed | Self::Appeared => {
                "Use `:edit!` to load the file, or `:write!` to keep the text of the buffer."
            }
            Self::Gone => "Use `:write` to create it again.",
            Self::NoFolder => "Create the folder, or use `:saveas`.",
            Self::ReadOnly => "Make it writable, or use `:saveas`.",
            Self::NotAFile => "Use `:saveas`.",
            Self::Taken(_) => "Your text is kept: `:saveas` writes it to another file.",
            Self::Failed(_) => "Use `:write` when there is room, or `:saveas`.",
        }
    }
}

/// What went wrong, without "(os error 28)", which does not help the user.
pub fn plain_words(error: &impl fmt::Display) -> String {
    error.to_string().split(" (os error").next().unwrap_or_default().to_owned()
}

impl From<io::Error> for SaveError {
    fn from(error: io::Error) -> Self {
        match error {
            error if is_denied(&error) => Self::ReadOnly,
            error if is_missing(&error) => Self::NoFolder,
            error => Self::Failed(plain_words(&error)),
        }
    }
}

/// Writes `bytes` to the file at `path` if that is still the file of `known`: `None` for a file that was not there.
/// Gives the new stamp. It blocks on the disk. `check` says, at the last moment, whether this process still holds the
/// conversation.
///
/// # Errors
/// Why nothing was written.
pub fn save(
    path: &Path,
    bytes: &[u8],
    known: Option<Stamp>,
    check: impl Fn() -> Result<(), Taken>,
) -> Result<Stamp, SaveError> {
    let Some(known) = known else { return create(path, bytes, check) };
    let Some(target) = unless_missing(fs::canonicalize(path))? else {
        let has_folder = path.parent().is_some_and(Path::is_dir);
        return Err(if has_folder { SaveError::Gone } else { SaveError::NoFolder });
    };
    let metadata = fs::metadata(&target)?;
    if !metadata.is_file() {
        return Err(SaveError::NotAFile);
    }
    if Stamp::from(&metadata) != known {
        return Err(SaveError::Changed);
    }
    // To root every file is writable; a mode without a write bit says what the user wants.
    if metadata.mode() & 0o222 == 0 || rustix::fs::access(&target, Access::WRITE_OK).is_err() {
        return Err(SaveError::ReadOnly);
    }
    let replaced = !is_bound_to_its_inode(&target, &metadata) && {
        let mut attempts = 0..ATTEMPTS;
        loop {
            match replace(&target, &metadata, bytes, known, &check) {
                // Whoever holds the conversation from now on, this process too, has deleted the temporary file.
                Err(SaveError::NoFolder) if attempts.next().is_some() && target.parent().is_some_and(Path::is_dir) => {}
                replaced => break replaced?,
            }
        }
    };
    if !replaced {
        overwrite(&target, bytes, &check)?;
    }
    Ok(Stamp::from(&fs::metadata(&target)?))
}

/// Makes a file that must not be there yet.
fn create(path: &Path, bytes: &[u8], check: impl Fn() -> Result<(), Taken>) -> Result<Stamp, SaveError> {
    if let Some(there) = unless_missing(fs::symlink_metadata(path))? {
        let leads_nowhere = there.is_symlink() && !path.exists();
        return Err(if leads_nowhere { SaveError::NotAFile } else { SaveError::Appeared });
    }
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(SaveError::Appeared),
        file => file?,
    };
    lock(&file, Lock::Exclusive)?;
    check()?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // This file is new, so nothing else has it open.
        let _ = fs::remove_file(path);
        return Err(error.into());
    }
    Ok(Stamp::from(&file.metadata()?))
}

/// Whether a new file in its place would lose something: other names of it, or attributes.
fn is_bound_to_its_inode(target: &Path, metadata: &Metadata) -> bool {
    let mut names = [0_u8; 4096];
    let attributes = rustix::fs::listxattr(target, &mut names[..]).is_ok_and(|length| {
        // The system labels every new file by itself.
        let names = names.get(..length).unwrap_or_default();
        names.split(|byte| *byte == 0).any(|name| !name.is_empty() && name != b"security.selinux")
    });
    metadata.nlink() > 1 || attributes
}

/// Replaces the old file by a new one. `false` if there cannot be a new file like the old one here.
fn replace(
    target: &Path,
    old: &Metadata,
    bytes: &[u8],
    known: Stamp,
    check: impl Fn() -> Result<(), Taken>,
) -> Result<bool, SaveError> {
    let Some(folder) = target.parent() else { return Ok(false) };
    let prefix = temporary_prefix(target);
    let mut temporary = match tempfile::Builder::new().prefix(&prefix).rand_bytes(RANDOM).tempfile_in(folder) {
        Ok(temporary) => temporary,
        Err(error) if is_denied(&error) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    // Dropping it deletes it.
    let file = temporary.as_file_mut();
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) && fchown(&*file, Some(old.uid()), Some(old.gid())).is_err() {
        return Ok(false);
    }
    file.write_all(bytes)?;
    file.set_permissions(Permissions::from_mode(old.mode() & 0o7777))?;
    file.sync_all()?;
    // The write may have taken a while.
    if Stamp::of(target)? != Some(known) {
        return Err(SaveError::Changed);
    }
    check()?;
    if let Err(error) = temporary.persist(target) {
        // Whoever has taken the conversation over meanwhile has deleted it.
        check()?;
        return Err(error.error.into());
    }
    // The name is safe once the folder is.
    let _ = sync_folder(target);
    Ok(true)
}

/// How the names of the temporary files for a conversation begin.
fn temporary_prefix(target: &Path) -> OsString {
    let name = target.file_name().unwrap_or_default();
    let mut prefix = OsString::from(".");
    if name.len() <= LONGEST_NAME {
        prefix.push(name);
    } else {
        prefix.push(short_digest(name.as_encoded_bytes()));
    }
    prefix.push(REPLACEMENT);
    prefix
}

/// Deletes the temporary files for the conversation at `target`, which is no link. It blocks on the disk.
///
/// # Errors
/// When the folder cannot be read or changed.
pub fn remove_temporary(target: &Path) -> io::Result<()> {
    let Some(folder) = target.parent() else { return Ok(()) };
    let prefix = temporary_prefix(target);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if is_temporary(&entry.file_name(), &prefix) && entry.file_type()?.is_file() {
            unless_missing(fs::remove_file(entry.path()))?;
        }
    }
    Ok(())
}

fn is_temporary(name: &OsStr, prefix: &OsStr) -> bool {
    let end = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
    end.is_some_and(|end| end.len() == RANDOM && end.iter().all(u8::is_ascii_alphanumeric))
}

/// Sees to it that no write of the conversation at `target`, which is no link, lands any more if its last look at who holds
/// the conversation was before this. It blocks on the disk, and on a process that is writing.
///
/// # Errors
/// When that cannot be seen to.
pub fn fence(target: &Path) -> io::Result<()> {
    match remove_temporary(target) {
        // There cannot be any.
        Err(error) if is_denied(&error) => {}
        outcome => outcome?,
    }
    match OpenOptions::new().read(true).write(true).open(target) {
        Ok(file) => lock(&file, Lock::Exclusive).map(drop),
        // It is not there, or nobody can write it.
        Err(_) => Ok(()),
    }
}

/// Writes over the old text. If that fails, the old text is put back.
fn overwrite(target: &Path, bytes: &[u8], check: impl Fn() -> Result<(), Taken>) -> Result<(), SaveError> {
    let mut file = OpenOptions::new().write(true).open(target)?;
    lock(&file, Lock::Exclusive)?;
    check()?;
    let old = fs::read(target)?;
    if bytes.len() > old.len()
        && let Err(error) = rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes.len() as u64)
    {
        use rustix::io::Errno;
        if matches!(error, Errno::NOSPC | Errno::DQUOT | Errno::FBIG) {
            let _ = file.set_len(old.len() as u64);
            return Err(io::Error::from(error).into());
        }
        // A file system that reserves nothing: the write itself says whether there is room.
    }
    let written = fill(&mut file, bytes);
    if let Err(error) = written {
        return Err(match fill(&mut file, &old) {
            Ok(()) => error.into(),
            Err(worse) => SaveError::Failed(rescue(target, &old, &error, &worse)),
        });
    }
    Ok(())
}

fn fill(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

/// Neither the new text nor the old one could be written: keeps the old one elsewhere, and says where.
fn rescue(target: &Path, old: &[u8], error: &io::Error, worse: &io::Error) -> String {
    let kept: io::Result<PathBuf> = tempfile::Builder::new()
        .prefix("flemma-rescue-")
        .tempfile()
        .and_then(|mut file| file.write_all(old).and(Ok(file)))
        .and_then(|file| file.keep().map_err(|error| error.error))
        .map(|(_, path)| path);
    let place = match kept {
        Ok(path) => format!("the old text is in {}", path.display()),
        Err(_) => "the old text is lost".to_owned(),
    };
    format!("{}: {error}, and putting the old text back failed: {worse}; {place}", target.display())
}
