//! Shared by the file tools: what they reject, and the message for a missing file.

use std::{
    fmt,
    fs::{self, File, FileType, Metadata},
    io,
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::Path,
};

use crate::{
    model::ModelError,
    text::{suggest::nearest_few, truncate::format_size},
};

/// How many names in a folder are searched for a similar one.
const MAX_NAMES: usize = 20_000;

/// The maximum number of suggested names.
const MAX_SUGGESTED: usize = 3;

/// What there is in place of a regular file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OtherFile {
    /// A directory.
    Directory,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A block or character device.
    Device,
    /// Anything else.
    Special,
}

impl fmt::Display for OtherFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Directory => "a directory",
            Self::Pipe => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Special => "a special file",
        })
    }
}

/// The metadata of the regular file at `path`; links are followed.
///
/// # Errors
/// A message that refers to the file as `name`: it does not exist, is something else, or cannot be accessed.
pub(super) fn regular(path: &Path, name: &str) -> Result<Metadata, ModelError> {
    let metadata = fs::metadata(path).map_err(|error| problem(path, name, &error))?;
    match kind(metadata.file_type()) {
        None => Ok(metadata),
        Some(OtherFile::Directory) => Err(ModelError::new(format!("{name} is a directory. List it with `ls`."))),
        Some(kind) => Err(ModelError::new(format!("{name} is {kind}, not a regular file."))),
    }
}

/// Checks that `path` is a directory; links are followed.
///
/// # Errors
/// A message that refers to it as `name`: it does not exist, is something else, or cannot be accessed.
pub(super) fn directory(path: &Path, name: &str) -> Result<(), ModelError> {
    let metadata = fs::metadata(path).map_err(|error| problem(path, name, &error))?;
    match kind(metadata.file_type()) {
        Some(OtherFile::Directory) => Ok(()),
        None => {
            let size = format_size(metadata.len());
            Err(ModelError::new(format!("{name} is a file ({size}), not a directory. Read it with `read`.")))
        }
        Some(kind) => Err(ModelError::new(format!("{name} is {kind}, not a directory."))),
    }
}

/// Opens a file for reading, without waiting if it is a pipe.
///
/// # Errors
/// If it cannot be opened.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    File::options().read(true).custom_flags(flags).open(path)
}

/// The kind of a file that is not a regular file.
pub(super) fn kind(file: FileType) -> Option<OtherFile> {
    match () {
        () if file.is_file() => None,
        () if file.is_dir() => Some(OtherFile::Directory),
        () if file.is_fifo() => Some(OtherFile::Pipe),
        () if file.is_socket() => Some(OtherFile::Socket),
        () if file.is_block_device() || file.is_char_device() => Some(OtherFile::Device),
        () => Some(OtherFile::Special),
    }
}

/// The message for an error. For a missing file, it suggests similar names.
pub(super) fn problem(path: &Path, name: &str, error: &io::Error) -> ModelError {
    ModelError::new(match error.kind() {
        io::ErrorKind::NotFound => missing_file(path, name, |_| true),
        _ => format!("{name}: {}.", reason(error)),
    })
}

/// The text of an error, without a file name and without the system's error number.
pub(super) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotADirectory => "a part of this path is a file, not a directory".to_owned(),
        _ => error.to_string(),
    }
}

/// The message for a file that does not exist: it suggests similar names. `is_shown` says which paths may be told. This reads
/// the folder.
pub fn missing_file(path: &Path, name: &str, is_shown: impl Fn(&Path) -> bool) -> String {
    if let Ok(target) = fs::read_link(path) {
        return format!("{name} is a link to {}, which does not exist.", target.display());
    }
    if name.contains(char::REPLACEMENT_CHARACTER) {
        return format!(
            "{name} does not exist. If its \u{fffd} stands for bytes that are not valid UTF-8, only bash can open the \
             file: put a `*` in their place."
        );
    }
    let (Some(parent), Some(wanted)) = (path.parent(), path.file_name()) else {
        return format!("{name} does not exist.");
    };
    let Ok(entries) = fs::read_dir(parent) else {
        return format!("{name} does not exist, nor does its folder {}.", parent.display());
    };
    let mut names: Vec<String> =
        entries.flatten().take(MAX_NAMES).filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    let mut near = nearest_few(&wanted.to_string_lossy(), names.iter().map(String::as_str), MAX_SUGGESTED);
    near.retain(|name| is_shown(&parent.join(name)));
    if near.is_empty() {
        return format!("{name} does not exist.");
    }
    let near: Vec<String> = near.into_iter().map(|name| format!("`{name}`")).collect();
    format!("{name} does not exist. Its folder contains {}.", near.join(", "))
}
