//! The conversations in a folder.

use std::path::{Path, PathBuf};

use ignore::{Error, WalkBuilder};

/// The `.chat` files of a folder and of the folders in it, sorted, without hidden ones and what Git ignores. It blocks on the
/// disk. An error says what cannot be looked into, and does not end the search.
pub fn chat_files(folder: &Path) -> impl Iterator<Item = Result<PathBuf, Error>> {
    let entries = WalkBuilder::new(folder).sort_by_file_path(Path::cmp).build();
    entries.filter_map(|entry| match entry {
        Ok(entry) => {
            let is_file = entry.file_type().is_some_and(|kind| !kind.is_dir());
            let is_chat = entry.path().extension().is_some_and(|extension| extension == "chat");
            (is_file && is_chat).then(|| Ok(entry.into_path()))
        }
        Err(error) => Some(Err(error)),
    })
}
