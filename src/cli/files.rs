//! The conversations in a folder.

use std::path::{Path, PathBuf};

use ignore::Error;

use super::{
    names,
    report::{Failure, words},
};
use crate::workspace::chat_files;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The conversations, sorted.
    pub(super) files: Vec<PathBuf>,
    /// What could not be looked into, and why.
    pub(super) unread: Vec<String>,
}

impl Found {
    /// The conversations at a path: the file itself, or the `.chat` files of a folder and the folders in it.
    ///
    /// # Errors
    /// When there is nothing.
    pub(super) fn at(path: &Path) -> Result<Self, Failure> {
        let missing = |error| Failure::Failed(format!("{}: {}", names::path(path), words(&error)));
        if !path.metadata().map_err(missing)?.is_dir() {
            return Ok(Self { files: vec![path.to_owned()], unread: Vec::new() });
        }
        let mut found = Self::default();
        for file in chat_files(path) {
            match file {
                Ok(file) => found.files.push(file),
                Err(error) => found.unread.push(unread(&error, path)),
            }
        }
        Ok(found)
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
