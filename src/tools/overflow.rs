//! Where the whole of an output goes when only a part of it fits into the document.
//!
//! The files lie in one folder of ours, readable by the user alone, since the output of a command may hold anything.
//! A result names its file and the lines it shows of it, so that the `read` tool can page through the rest.
//! [`clean`] takes away what is old.

use std::{
    fs::{self, DirBuilder, File, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// How long a file is kept: three days.
pub const KEEP: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// What every file's name ends with; nothing else is ever deleted.
const SUFFIX: &str = ".output.txt";

/// Makes an empty file (mode 600) in `dir`, which is made (mode 700) if it is not there.
///
/// `tool` begins the file's name.
///
/// # Errors
/// When the folder or the file cannot be made.
pub fn create(dir: &Path, tool: &str) -> io::Result<(File, PathBuf)> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    if dir.metadata()?.permissions().mode() & 0o077 != 0 {
        // Somebody made it before us, and open to others.
        fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    }
    let named = tempfile::Builder::new().prefix(&format!("{tool}-")).suffix(SUFFIX).tempfile_in(dir)?;
    named.keep().map_err(|error| error.error)
}

/// Saves a whole output in a new file in `dir`; returns its path.
///
/// # Errors
/// When the folder or the file cannot be made or written.
pub fn save(dir: &Path, tool: &str, output: &[u8]) -> io::Result<PathBuf> {
    let (mut file, path) = create(dir, tool)?;
    io::Write::write_all(&mut file, output)?;
    Ok(path)
}

/// Deletes our files in `dir` that were last written more than `age` before `now`; returns how many.
///
/// A file that cannot be deleted is left for the next time.
///
/// # Errors
/// When the folder is there but cannot be read.
pub fn clean(dir: &Path, age: Duration, now: SystemTime) -> io::Result<usize> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let is_old = |entry: &fs::DirEntry| {
        let metadata = entry.metadata().ok()?;
        let modified = metadata.modified().ok()?;
        Some(metadata.is_file() && now.duration_since(modified).is_ok_and(|old| old > age))
    };
    let mut deleted = 0;
    for entry in entries.flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.ends_with(SUFFIX));
        if ours && is_old(&entry) == Some(true) && fs::remove_file(entry.path()).is_ok() {
            deleted += 1;
        }
    }
    Ok(deleted)
}
