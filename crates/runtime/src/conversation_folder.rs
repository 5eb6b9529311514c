//! The folder that has the conversations of a project, and which of them was used last. This reads and writes the disk.

use std::{
    fs::{self, DirBuilder},
    io::{self, ErrorKind},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, access};

use super::disk::replace;
use flemma_tools::own_files::LOCK;

/// The nearest folder, from a file or folder upwards, that has one of these entries; with links resolved. `None` if there is none.
pub fn project_root(start: &Path, markers: &[String]) -> Option<PathBuf> {
    // A file need not be there yet.
    let folders = start.ancestors().skip(usize::from(!start.is_dir()));
    let mut roots = folders.filter(|folder| markers.iter().any(|marker| folder.join(marker).exists()));
    roots.next().map(|root| root.canonicalize().unwrap_or_else(|_| root.to_owned()))
}

/// Makes a folder in which conversations can be written, with those above it. `mode` is that of folders which are made.
///
/// # Errors
/// When it cannot be made, or not be written to.
pub fn prepare(folder: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(mode).create(folder)?;
    Ok(access(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK)?)
}

/// Whether a file of this name is there, or another editor has a conversation of this name that it has not written yet.
pub fn is_taken(file: &Path) -> bool {
    let lock = file.file_name().map(|name| file.with_file_name(format!(".{}{LOCK}", name.to_string_lossy())));
    file.symlink_metadata().is_ok() || lock.is_some_and(|lock| lock.symlink_metadata().is_ok())
}

/// The conversation that was used last, according to the note at `note`; `None` if there is no note, or no such file any more.
pub fn last_used(note: &Path) -> Option<PathBuf> {
    let path = PathBuf::from(fs::read_to_string(note).ok()?.trim_end_matches('\n'));
    (path.is_absolute() && path.is_file()).then_some(path)
}

/// Notes which conversation was used last. One that has no file yet is not noted. Another process never reads half a note.
///
/// # Errors
/// When that fails.
pub fn note_last_used(note: &Path, file: &Path) -> io::Result<()> {
    if !file.is_file() {
        return Ok(());
    }
    let Some(name) = file.to_str() else { return Err(ErrorKind::InvalidInput.into()) };
    replace(note, format!("{name}\n").as_bytes())
}
