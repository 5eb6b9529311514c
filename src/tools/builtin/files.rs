//! What the file tools have in common: what they refuse, and what they say about a file that is not there.

use std::{
    fs::{self, File, FileType, Metadata},
    io,
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::Path,
};

use crate::text::{suggest::nearest_few, truncate::format_size};

/// How many names of a folder are looked through for one that was meant.
const MAX_NAMES: usize = 20_000;

/// How many names are suggested.
const MAX_SUGGESTED: usize = 3;

/// The metadata of the regular file at `path`; links are followed.
///
/// # Errors
/// A message that names the file as `name`: it is not there, it is something else, or it cannot be looked at.
pub(super) fn regular(path: &Path, name: &str) -> Result<Metadata, String> {
    let metadata = fs::metadata(path).map_err(|error| problem(path, name, &error))?;
    match kind(metadata.file_type()) {
        None => Ok(metadata),
        Some("a directory") => Err(format!("{name} is a directory. List it with `ls`.")),
        Some(kind) => Err(format!("{name} is {kind}, not a regular file.")),
    }
}

/// Whether there is a directory at `path`; links are followed.
///
/// # Errors
/// A message that names it as `name`: it is not there, it is something else, or it cannot be looked at.
pub(super) fn directory(path: &Path, name: &str) -> Result<(), String> {
    let metadata = fs::metadata(path).map_err(|error| problem(path, name, &error))?;
    match kind(metadata.file_type()) {
        Some("a directory") => Ok(()),
        None => {
            let size = format_size(metadata.len());
            Err(format!("{name} is a file ({size}), not a directory. Read it with `read`."))
        }
        Some(kind) => Err(format!("{name} is {kind}, not a directory.")),
    }
}

/// Opens a file for reading, without ever waiting for a pipe to be written to.
///
/// # Errors
/// When it cannot be opened.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    File::options().read(true).custom_flags(flags).open(path)
}

/// What a file is that is no regular file.
pub(super) fn kind(file: FileType) -> Option<&'static str> {
    match () {
        () if file.is_file() => None,
        () if file.is_dir() => Some("a directory"),
        () if file.is_fifo() => Some("a named pipe"),
        () if file.is_socket() => Some("a socket"),
        () if file.is_block_device() || file.is_char_device() => Some("a device"),
        () => Some("a special file"),
    }
}

/// What to say about an error; for a file that is not there, with the names that may have been meant.
pub(super) fn problem(path: &Path, name: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => not_found(path, name),
        _ => format!("{name}: {}.", reason(error)),
    }
}

/// An error in words, without the name of a file and without the system's number for it.
pub(super) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotADirectory => "a part of this path is a file, not a directory".to_owned(),
        _ => error.to_string(),
    }
}

fn not_found(path: &Path, name: &str) -> String {
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
    let near = nearest_few(&wanted.to_string_lossy(), names.iter().map(String::as_str), MAX_SUGGESTED);
    if near.is_empty() {
        return format!("{name} does not exist.");
    }
    let near: Vec<String> = near.into_iter().map(|name| format!("`{name}`")).collect();
    format!("{name} does not exist. Its folder contains {}.", near.join(", "))
}
