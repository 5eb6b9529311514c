//! The conversations in a folder.

use std::path::{Path, PathBuf};

use ignore::{DirEntry, Error, WalkBuilder};

use crate::projects::Projects;
use flemma_config::ConversationOptions;
use flemma_runtime::conversation_folder::project_root;
use flemma_tools::{
    ignore_files::{GitRules, IgnoreFiles},
    paths::real,
};

/// The `.chat` files of a folder and of the folders in it, sorted, without hidden ones and what Git ignores. It blocks on the
/// disk. An error says what cannot be looked into, and does not end the search.
pub fn chat_files(folder: &Path) -> impl Iterator<Item = Result<PathBuf, Error>> {
    let (named, found) = (folder.to_owned(), real(folder));
    let ignored = IgnoreFiles::new(&found, GitRules::InRepositories);
    let is_usual = move |entry: &DirEntry| {
        let path =
            entry.path().strip_prefix(&named).map_or_else(|_| entry.path().to_owned(), |inner| found.join(inner));
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let is_hidden = || entry.file_name().as_encoded_bytes().starts_with(b".");
        entry.depth() == 0 || !ignored.ignores(&path, is_folder).unwrap_or_else(is_hidden)
    };
    let mut walk = WalkBuilder::new(folder);
    of(walk.standard_filters(false).filter_entry(is_usual), real(folder))
}

/// The same for the folder in the state directory that has the conversations of the project in which a folder lies, and of the
/// projects in that.
pub fn project_chat_files(state: &Path, folder: &Path) -> impl Iterator<Item = Result<PathBuf, Error>> {
    let folder = real(folder);
    let root = project_root(&folder, &ConversationOptions::default().markers).unwrap_or(folder);
    let own = Projects::new(state.join("conversations")).own_folder(&root);
    // It is the user's own: no `.gitignore` above it is about it.
    let entries = own.is_dir().then(|| of(WalkBuilder::new(&own).standard_filters(false), real(&own)));
    entries.into_iter().flatten()
}

/// What lies elsewhere, as a link shows, belongs to another folder.
fn of(walk: &WalkBuilder, folder: PathBuf) -> impl Iterator<Item = Result<PathBuf, Error>> + use<> {
    let entries = walk.clone().sort_by_file_path(Path::cmp).build();
    let leads_out = move |entry: &DirEntry| entry.path_is_symlink() && !real(entry.path()).starts_with(&folder);
    entries.filter_map(move |entry| match entry {
        Ok(entry) if leads_out(&entry) => None,
        Ok(entry) => {
            let is_file = entry.file_type().is_some_and(|kind| !kind.is_dir());
            let is_chat = entry.path().extension().is_some_and(|extension| extension == "chat");
            (is_file && is_chat).then(|| Ok(entry.into_path()))
        }
        Err(error) => Some(Err(error)),
    })
}
