//! Saves the full output if only a part of it fits into the document, and images that a tool has made.
//!
//! The files are in a folder of our own that only the user can read, since the output of a command may contain anything.
//! A result names its file and the lines that it shows, so that the `read` tool can page through the rest. [`clean`] deletes
//! old files.

use std::{
    borrow::Cow,
    fs::{self, DirBuilder, File, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::definition::is_name;
use flemma_model::MediaKind;
use flemma_text::truncate::{self, Limits, MAX_BYTES, MAX_LINES};

/// How much a result may have beyond what it shows: what is said about that.
const NOTES: Limits = Limits { lines: 100, bytes: 8 * 1024 };

/// How long a file is kept: three days.
pub const KEEP: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// What the name of every file has before its extension. Nothing else is ever deleted.
const MARK: &str = ".output";

/// Creates an empty file (mode 600) in `dir`, which is created (mode 700) if it does not exist.
///
/// The name of the file begins with `tool`.
///
/// # Errors
/// If the folder or the file cannot be created.
pub fn create(dir: &Path, tool: &str) -> io::Result<(File, PathBuf)> {
    create_as(dir, tool, "txt")
}

fn create_as(dir: &Path, tool: &str, extension: &str) -> io::Result<(File, PathBuf)> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    if dir.metadata()?.permissions().mode() & 0o077 != 0 {
        // It existed before, and others could access it.
        fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    }
    let (prefix, suffix) = (format!("{tool}-"), format!("{MARK}.{extension}"));
    let named = tempfile::Builder::new().prefix(&prefix).suffix(&suffix).tempfile_in(dir)?;
    named.keep().map_err(|error| error.error)
}

/// Saves a full output to a new file in `dir`, and returns its path.
///
/// # Errors
/// If the folder or the file cannot be created or written.
pub fn save(dir: &Path, tool: &str, output: &[u8]) -> io::Result<PathBuf> {
    write(create(dir, tool)?, output)
}

/// The same for an image or a PDF.
///
/// # Errors
/// If the folder or the file cannot be created or written.
pub fn save_media(dir: &Path, tool: &str, kind: MediaKind, data: &[u8]) -> io::Result<PathBuf> {
    let (_, extension) = kind.media_type().split_once('/').unwrap_or_default();
    write(create_as(dir, tool, extension)?, data)
}

/// A new path for a full output in `dir`, where there is nothing yet. Its name begins with `tool`, if that is the name of a tool.
pub fn path(dir: &Path, tool: &str) -> PathBuf {
    let tool = if is_name(tool) { tool } else { "result" };
    dir.join(format!("{tool}-{:016x}{MARK}.txt", fastrand::u64(..)))
}

/// Saves a full output to a path that [`path`] has given.
///
/// # Errors
/// If the folder or the file cannot be created or written.
pub fn save_at(path: &Path, output: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    let temporary = write(create(dir, "result")?, output)?;
    fs::rename(temporary, path)
}

/// Whether a result has room for a text.
pub fn fits(text: &str) -> bool {
    text.len() <= MAX_BYTES + NOTES.bytes && truncate::count_lines(text.as_bytes()) <= MAX_LINES + NOTES.lines
}

/// As much of a text that is too long as a result shows, and a sentence about the rest. `saved` is where the whole is.
pub fn beginning<'a>(text: &'a [u8], saved: &io::Result<PathBuf>) -> (Cow<'a, str>, String) {
    let cut = truncate::truncate_head(text, Limits::default());
    let (shown, range) = match (cut.first_line_exceeds_limit, cut.output_lines) {
        (true, _) => {
            // A character that is cut begins in front of the limit or behind it, and does not count then.
            let shown = match String::from_utf8_lossy(&text[..text.len().min(MAX_BYTES + 3)]) {
                Cow::Borrowed(part) => Cow::Borrowed(truncate::prefix(part, MAX_BYTES)),
                Cow::Owned(part) => Cow::Owned(truncate::prefix(&part, MAX_BYTES).to_owned()),
            };
            let size = truncate::format_size(shown.len() as u64);
            (shown, format!("the first {size} of line 1"))
        }
        (false, 1) => (cut.content, "line 1".to_owned()),
        (false, lines) => (cut.content, format!("lines 1-{lines}")),
    };
    let size = truncate::format_size(text.len() as u64);
    let place = match saved {
        Ok(path) => format!("The full output ({size}) is in {}", path.display()),
        Err(error) => format!("The full output ({size}) could not be saved: {error}"),
    };
    (shown, format!("Showing {range} of {}. {place}", cut.total_lines))
}

fn write((mut file, path): (File, PathBuf), data: &[u8]) -> io::Result<PathBuf> {
    io::Write::write_all(&mut file, data)?;
    Ok(path)
}

/// Whether a file in the folder is one of ours, by its name.
fn is_ours(name: &str) -> bool {
    let extensions = MediaKind::ALL.iter().filter_map(|kind| Some(kind.media_type().split_once('/')?.1));
    name.rsplit_once('.').is_some_and(|(stem, last)| {
        stem.ends_with(MARK) && extensions.chain(["txt"]).any(|extension| extension == last)
    })
}

/// Deletes our files in `dir` that were last written more than `age` before `now`, and returns their number.
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
    let is_deleted = |entry: &fs::DirEntry| {
        let ours = entry.file_name().to_str().is_some_and(is_ours);
        ours && is_old(entry) == Some(true) && fs::remove_file(entry.path()).is_ok()
    };
    Ok(entries.flatten().filter(is_deleted).count())
}
