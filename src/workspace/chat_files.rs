//! The conversations in a folder.

use std::path::{Path, PathBuf};

use ignore::{DirEntry, Error, WalkBuilder};

use crate::tools::ignore_files::{GitRules, IgnoreFiles};

/// The `.chat` files of a folder and of the folders in it, sorted, without hidden ones and what Git ignores. It blocks on the
/// disk. An error says what cannot be looked into, and does not end the search.
pub fn chat_files(folder: &Path) -> impl Iterator<Item = Result<PathBuf, Error>> {
    let (named, real) = (folder.to_owned(), folder.canonicalize().unwrap_or_else(|_| folder.to_owned()));
    let ignored = IgnoreFiles::new(&real, GitRules::InRepositories);
    let is_usual = move |entry: &DirEntry| {
        let path = entry.path().strip_prefix(&named).map_or_else(|_| entry.path().to_owned(), |inner| real.join(inner));
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let is_hidden = || entry.file_name().as_encoded_bytes().starts_with(b".");
        entry.depth() == 0 || !ignored.ignores(&path, is_folder).unwrap_or_else(is_hidden)
    };
    let mut walk = WalkBuilder::new(folder);
    let entries = walk.standard_filters(false).filter_entry(is_usual).sort_by_file_path(Path::cmp).build();
    entries.filter_map(|entry| match entry {
        Ok(entry) => {
            let is_file = entry.file_type().is_some_and(|kind| !kind.is_dir());
            let is_chat = entry.path().extension().is_some_and(|extension| extension == "chat");
            (is_file && is_chat).then(|| Ok(entry.into_path()))
        }
        Err(error) => Some(Err(error)),
    })
}
