//! Lines of a file that a reference names, read on a thread that may wait for a disk.

use std::{
    io::{BufReader, Cursor, Read},
    path::{Path, PathBuf},
};

use flemma_chat::LineRange;
use flemma_model::{Media, UserError};
use flemma_text::{escape_controls, truncate::format_size};
use flemma_tools::builtin::{Readable, Unread};
use flemma_tools::paths;

/// The longest file whose lines are sent, in bytes.
const MAX_FILE: u64 = 16 << 20;

/// Lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLines {
    /// The file, as the reference names it.
    pub path: PathBuf,
    /// The number of the first line, from 1.
    pub first: usize,
    /// The lines.
    pub lines: Vec<String>,
    /// The number of lines of the whole file.
    pub total: usize,
}

impl FileLines {
    /// Reads `lines` of the file at `path`. If there is a file at `literal`, which has the lines in its name, that is read as a
    /// whole. `readable` judges and opens the file. It blocks on the disk.
    ///
    /// # Errors
    /// When the file is not there, may not be shown, has no such lines, or is no text.
    pub fn read(readable: &Readable, path: &Path, lines: LineRange, literal: &Path) -> Result<Self, UserError> {
        let is_literal = is_there(readable, literal);
        // As the user wrote them: a number may be longer than any that is counted.
        let written = literal.to_string_lossy().strip_prefix(&*path.to_string_lossy()).map(str::to_owned);
        let written = escape_controls(&written.unwrap_or_else(|| lines.to_string())).into_owned();
        if !is_literal && let Some(problem) = lines.mistake(&written) {
            return Err(UserError::new(problem));
        }
        let path = if is_literal { literal } else { path };
        let name = path.to_string_lossy();
        let name = escape_controls(&name);
        let without = if is_literal { "Write `%23` in place of its `#`" } else { "Name it without `#L`" };
        let text = text(readable, path, &name, without)?;
        let all: Vec<&str> = text.lines().collect();
        let (first, last) = if is_literal { (1, all.len()) } else { (lines.first, lines.last) };
        let part =
            first.checked_sub(1).and_then(|from| all.get(from..last)).filter(|part| is_literal || !part.is_empty());
        let Some(part) = part else {
            let count = if all.len() == 1 { "1 line".to_owned() } else { format!("{} lines", all.len()) };
            return Err(UserError::new(format!("{name} has {count}, and `{written}` goes beyond them")));
        };
        let lines = part.iter().map(|line| (*line).to_owned()).collect();
        Ok(Self { path: path.to_owned(), first, lines, total: all.len() })
    }
}

/// Whether there is a file, or a link, at a path as the document names it. It blocks on the disk.
pub fn is_there(readable: &Readable, named: &Path) -> bool {
    paths::resolve(readable.folder(), named).symlink_metadata().is_ok()
}

/// The text of a file. `without` says how to send one that has no lines.
fn text(readable: &Readable, path: &Path, name: &str, without: &str) -> Result<String, UserError> {
    let unreadable = |error| UserError::new(format!("{name} cannot be read: {error}"));
    let file = readable.open(path).map_err(|problem| match problem {
        Unread::Refused(problem) => problem,
        Unread::Failed(error) => unreadable(error),
    })?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "a folder" } else { "not a regular file" };
        return Err(UserError::new(format!("{name} is {what}, so it has no lines")));
    }
    if metadata.len() > MAX_FILE {
        let (size, most) = (format_size(metadata.len()), format_size(MAX_FILE));
        return Err(UserError::new(format!("{name} has {size}; lines of files of up to {most} can be sent")));
    }
    let mut data = Vec::new();
    BufReader::new(file).take(MAX_FILE).read_to_end(&mut data).map_err(unreadable)?;
    let media = Media::detect(&mut Cursor::new(data.as_slice())).map_err(unreadable)?;
    if let Some(media) = media {
        let kind = media.kind.name();
        return Err(UserError::new(format!("{name} is a {kind}, which has no lines. {without}")));
    }
    let text = String::from_utf8(data).ok().filter(|text| !text.contains('\0'));
    let text = text.ok_or_else(|| UserError::new(format!("{name} is not text, so it has no lines")))?;
    // A byte order mark says nothing to a model.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}
