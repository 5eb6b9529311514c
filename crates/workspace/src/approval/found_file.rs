//! Looking at the disk for a function that has to answer at once.
//!
//! The Lua functions that show conversations return them, and keys that are typed after a command are for what it shows. So these
//! look at the disk in the background, as everything does, and wait for it for a moment only. A file system that does not answer,
//! such as a lost network share, is an error then, and holds nobody up.

use std::path::{Path, PathBuf};

use crate::approval::permissions::Permissions;
use flemma_model::UserError;

/// What there is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// The path with its links resolved.
    pub real: PathBuf,
    /// Whether it is a regular file.
    pub is_file: bool,
}

impl Permissions {
    /// What there is at an absolute path; `None` if there is nothing.
    ///
    /// # Errors
    /// When the disk does not answer in time.
    pub fn found_file(&self, path: &Path) -> Result<Option<FoundFile>, UserError> {
        let looked = path.to_owned();
        self.shared.promptly(path, move || {
            let real = looked.canonicalize().ok()?;
            let is_file = real.is_file();
            Some(FoundFile { real, is_file })
        })
    }

    /// Absolute paths with their links resolved; `None` for those where there is nothing.
    ///
    /// # Errors
    /// When the disk does not answer in time.
    pub fn real_paths(&self, paths: Vec<PathBuf>) -> Result<Vec<Option<PathBuf>>, UserError> {
        let place = paths.first().cloned().unwrap_or_default();
        self.shared.promptly(&place, move || paths.into_iter().map(|path| path.canonicalize().ok()).collect())
    }
}
