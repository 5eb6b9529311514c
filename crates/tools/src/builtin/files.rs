//! Shared by the file tools: what they reject, and the message for a missing file.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use rustix::fs::FileType;

use crate::paths::is_loop;
use flemma_model::ModelError;
use flemma_text::{
    suggest::nearest_few,
    visible::{differences, looks_same},
};

/// How many names in a folder are searched for a similar one.
const MAX_NAMES: usize = 20_000;

/// The maximum number of suggested names.
const MAX_SUGGESTED: usize = 3;

/// Opens a file for reading, without waiting if it is a pipe.
///
/// # Errors
/// If it cannot be opened.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    File::options().read(true).custom_flags(flags).open(path)
}

/// What there is in place of a regular file; `None` for one.
pub(super) fn other_kind(file: FileType) -> Option<&'static str> {
    match file {
        FileType::RegularFile => None,
        FileType::Directory => Some("a directory"),
        FileType::Fifo => Some("a named pipe"),
        FileType::Socket => Some("a socket"),
        FileType::BlockDevice | FileType::CharacterDevice => Some("a device"),
        FileType::Symlink | FileType::Unknown => Some("a special file"),
    }
}

/// The message for an error. For a missing file, it suggests similar names, and of links it says which one loops. `is_shown` says
/// which paths may be told.
pub(super) fn problem(path: &Path, name: &str, error: &io::Error, is_shown: impl Fn(&Path) -> bool) -> ModelError {
    let loops = |part: &&Path| part.metadata().is_err_and(|error| is_loop(&error)) && is_shown(part);
    let link = is_loop(error).then(|| path.ancestors().filter(loops).last()).flatten();
    ModelError::new(match (error.kind(), link) {
        (io::ErrorKind::NotFound, _) => missing_file(path, name, is_shown),
        (_, Some(link)) => format!(
            "{name}: the link {} leads to itself, or through too many links. Give a path without it, or replace it.",
            link.display()
        ),
        _ => format!("{name}: {}.", reason(error)),
    })
}

/// The text of an error, without a file name and without the system's error number.
pub(super) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotADirectory => "a part of this path is a file, not a directory".to_owned(),
        _ if is_loop(error) => "a part of this path is a symbolic link that is not followed".to_owned(),
        _ => error.to_string(),
    }
}

/// The message for a file that does not exist: it suggests similar names. `is_shown` says which paths may be told. This reads
/// the folder.
pub fn missing_file(path: &Path, name: &str, is_shown: impl Fn(&Path) -> bool) -> String {
    if let Ok(target) = fs::read_link(path)
        && is_shown(path)
    {
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
        let folder =
            if is_shown(parent) { format!(", nor does its folder {}", parent.display()) } else { String::new() };
        return format!("{name} does not exist{folder}.");
    };
    let mut names: Vec<String> =
        entries.flatten().take(MAX_NAMES).filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    let wanted = wanted.to_string_lossy();
    let (same, others): (Vec<&str>, Vec<&str>) =
        names.iter().map(String::as_str).partition(|name| looks_same(name, &wanted));
    let mut near: Vec<&str> = same.into_iter().chain(nearest_few(&wanted, others, MAX_SUGGESTED)).collect();
    near.retain(|name| is_shown(&parent.join(name)));
    near.truncate(MAX_SUGGESTED);
    if near.is_empty() {
        return format!("{name} does not exist.");
    }
    let told = |name: &str| {
        let differences = differences(name, &wanted, None, "you wrote").map(|told| format!(" ({told})"));
        format!("`{name}`{}", differences.unwrap_or_default())
    };
    let near: Vec<String> = near.into_iter().map(told).collect();
    format!("{name} does not exist. Its folder contains {}.", near.join(", "))
}
