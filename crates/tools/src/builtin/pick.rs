//! The files that `pick_file` lets the user pick.

use std::{fs, path::Path};

use super::walk::{Scope, Walk};
use crate::Context;
use flemma_model::ModelError;

/// The maximum number of files in the list. A picker has to show and filter them.
const MAX_FILES: usize = 50_000;

/// The files below a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilesToPick {
    /// Their paths in order, such that other tools understand them.
    pub paths: Vec<String>,
    /// How many more there are.
    pub more: usize,
    /// How many files and folders were left out because the user denies reading them.
    pub denied: usize,
    /// Whether the time was too short for all of them.
    pub is_partial: bool,
}

/// Lists the files of a folder, without hidden files, those that ignore files name, and those that the user denies reading.
/// This reads the disk.
///
/// # Errors
/// If the folder cannot be read, or the user denies reading it.
pub fn files_to_pick(context: &Context, folder: Option<&str>) -> Result<FilesToPick, ModelError> {
    let walk = Walk::through(context, folder.filter(|folder| !folder.is_empty()), Scope::Usual)?;
    let is_file = |path: &Path| fs::metadata(path).is_ok_and(|target| target.is_file());
    let walked = walk.keep(|entry, path| {
        let kind = entry.file_type()?;
        // A name that cannot be written as it is would name another file.
        let is_plain = path.to_str().is_some_and(|name| !name.contains(char::is_control));
        let is_wanted = is_plain && (kind.is_file() || (kind.is_symlink() && is_file(entry.path())));
        is_wanted.then(|| walk.prefix.show(path))
    })?;
    let mut paths = walked.kept;
    paths.sort_unstable();
    let more = paths.len().saturating_sub(MAX_FILES);
    paths.truncate(MAX_FILES);
    Ok(FilesToPick { paths, more, denied: walked.denied, is_partial: walked.stopped.is_some() })
}
