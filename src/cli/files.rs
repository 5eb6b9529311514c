//! The conversations in a folder.

use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::report::Failure;

/// The conversations at a path: the file itself, or the `.chat` files of a folder and the folders in it, sorted.
///
/// # Errors
/// When there is nothing, or a folder cannot be read.
pub(super) fn conversations(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let metadata = path.metadata().map_err(|error| failed(path, &error.to_string()))?;
    if !metadata.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in WalkBuilder::new(path).sort_by_file_path(Path::cmp).build() {
        let entry = entry.map_err(|error| Failure::Failed(error.to_string()))?;
        let is_file = entry.file_type().is_some_and(|kind| !kind.is_dir());
        if is_file && entry.path().extension().is_some_and(|extension| extension == "chat") {
            found.push(entry.into_path());
        }
    }
    Ok(found)
}

fn failed(path: &Path, words: &str) -> Failure {
    Failure::Failed(format!("{}: {}", path.display(), words.split(" (os error").next().unwrap_or_default()))
}
