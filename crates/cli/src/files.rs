//! The conversations in a folder, and their texts.

use std::{
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
};

use ignore::Error;

use super::{
    names,
    report::{Failure, words},
    state,
};
use flemma_workspace::{FileLayout, chat_files, project_chat_files};

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The conversations, sorted.
    pub(super) files: Vec<PathBuf>,
    /// What could not be looked into, and why.
    pub(super) unread: Vec<String>,
}

impl Found {
    /// The conversations at a path: the file itself, or the `.chat` files of a folder and the folders in it, and those of the
    /// project in which the folder lies.
    ///
    /// # Errors
    /// When there is nothing.
    pub(super) fn at(path: &Path) -> Result<Self, Failure> {
        let missing = |error| Failure::Failed(format!("{}: {}", names::path(path), words(&error)));
        if !path.metadata().map_err(missing)?.is_dir() {
            return Ok(Self { files: vec![path.to_owned()], unread: Vec::new() });
        }
        let (mut found, mut known) = (Self::default(), HashSet::new());
        for file in chat_files(path).chain(project_chat_files(&state::folder()?, path)) {
            match file {
                Ok(file) if !known.insert(file.clone()) => {}
                Ok(file) => found.files.push(file),
                Err(error) => found.unread.push(unread(&error, path)),
            }
        }
        Ok(found)
    }

    /// Looks into each of them. Gives what could not be looked into, and why.
    pub(super) fn each(self, mut look: impl FnMut(&Path) -> Result<(), Failure>) -> Vec<String> {
        let failed = self.files.iter().filter_map(|file| look(file).err());
        self.unread.into_iter().chain(failed.map(|failure| failure.to_string())).collect()
    }
}

/// The errors of a walk are nested; the innermost one says what happened, and one around it says where.
fn unread(error: &Error, place: &Path) -> String {
    match error {
        Error::WithPath { path, err } => unread(err, path),
        Error::WithDepth { err, .. } | Error::WithLineNumber { err, .. } => unread(err, place),
        Error::Io(error) => {
            // Its words name the path once more.
            let system = error.raw_os_error().map(std::io::Error::from_raw_os_error);
            format!("{} cannot be looked into: {}", names::path(place), words(system.as_ref().unwrap_or(error)))
        }
        error => format!("{} cannot be looked into: {}", names::path(place), words(error)),
    }
}

/// The text of a conversation's file.
///
/// # Errors
/// When it cannot be read, or is no text.
pub(super) fn read(path: &Path) -> Result<(FileLayout, Vec<String>), Failure> {
    let name = names::path(path);
    let unreadable = |error: io::Error| Failure::Failed(format!("{name} cannot be read: {}", words(&error)));
    if path.to_str().is_none() {
        let problem = "is no name that a conversation can have, because it is not UTF-8: rename the file";
        return Err(Failure::Failed(format!("{name} {problem}")));
    }
    // A pipe would wait for a writer, and a device may have no end.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(Failure::Failed(format!("{name} is not a regular file")));
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    FileLayout::read(&bytes).map_err(|error| {
        Failure::Failed(format!("{name} is not UTF-8 text (byte {}); open it in an editor", error.valid_up_to()))
    })
}
