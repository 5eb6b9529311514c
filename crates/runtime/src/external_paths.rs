//! Finds the files that a conversation names and that are outside its folder.
//!
//! A path within the conversation's folder may lead out of it through a symbolic link, so this resolves paths on the
//! disk, on a thread that may block. A hidden file counts as external: its name says that it is not meant to be shared
//! (`.env`, `.git/config`), and an attacker can guess such names in any project.

use std::path::{Path, PathBuf};

use flemma_tools::paths::{is_shared, real, resolve};

/// A file outside the folder of the conversation that names it, or hidden in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExternalFile {
    /// Where it really is.
    pub real: PathBuf,
    /// How the conversation names it.
    pub named: PathBuf,
}

/// Which of `files` lead outside `folder`, where relative ones start, or to what is hidden in it: in order, each once.
/// It blocks on the disk.
pub fn external_paths(files: impl IntoIterator<Item = PathBuf>, folder: &Path) -> Vec<ExternalFile> {
    let home = real(folder);
    let look = |named: PathBuf| ExternalFile { real: real(&resolve(folder, &named)), named };
    let mut files: Vec<_> = files.into_iter().map(look).filter(|file| !is_shared(&file.real, &home)).collect();
    files.sort();
    files.dedup();
    files
}
