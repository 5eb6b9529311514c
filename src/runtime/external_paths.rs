//! Finds the files that a conversation names and that are outside its folder.
//!
//! A path within the conversation's folder may lead out of it through a symbolic link, so this resolves paths on the
//! disk, on a thread that may block. A hidden file counts as external: its name says that it is not meant to be shared
//! (`.env`, `.git/config`), and an attacker can guess such names in any project.

use std::path::{Path, PathBuf};

use crate::tools::paths::{real, resolve};

/// Why the paths are looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The files are about to be sent.
    Sending,
    /// The conversation was saved under this path: what the user put into it is theirs from now on.
    Saved(String),
}

/// The files that lead outside a conversation's folder, or to what is hidden in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalPaths {
    /// What this is for.
    pub purpose: Purpose,
    /// The files, in order, each once.
    pub files: Vec<ExternalFile>,
}

/// A file outside the folder of the conversation that names it, or hidden in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExternalFile {
    /// Where it really is.
    pub real: PathBuf,
    /// How the conversation names it.
    pub named: PathBuf,
}

/// Looks where `files` lead, relative ones from `folder`. It blocks on the disk.
#[must_use]
pub fn external_paths(purpose: Purpose, files: impl IntoIterator<Item = PathBuf>, folder: &Path) -> ExternalPaths {
    let home = real(folder);
    let look = |named: PathBuf| ExternalFile { real: real(&resolve(folder, &named)), named };
    let is_open = |file: &ExternalFile| file.real.strip_prefix(&home).is_ok_and(|path| !is_hidden(path));
    let mut files: Vec<_> = files.into_iter().map(look).filter(|file| !is_open(file)).collect();
    files.sort();
    files.dedup();
    ExternalPaths { purpose, files }
}

/// Whether a name in a path begins with a dot.
fn is_hidden(path: &Path) -> bool {
    path.iter().any(|name| name.as_encoded_bytes().starts_with(b"."))
}
