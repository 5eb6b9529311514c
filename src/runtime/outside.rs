//! Where the files lead that a conversation names.
//!
//! A reference that looks as if it stayed in the conversation's folder may lead out of it by a link, so this looks at the
//! disk, on a thread that may wait for it.

use std::path::{Path, PathBuf};

use crate::tools::paths::{real, resolve};

/// Why somebody wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Concern {
    /// They are about to be sent.
    Sending,
    /// The conversation was saved under this path: what the user put into it is theirs from now on.
    Saved(String),
}

/// The files that lead outside a conversation's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// What this is for.
    pub concern: Concern,
    /// The files, in order, each once.
    pub files: Vec<OutsideFile>,
}

/// A file outside the folder of the conversation that names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutsideFile {
    /// Where it really is.
    pub real: PathBuf,
    /// How the conversation names it.
    pub named: PathBuf,
}

/// Looks where `files` lead, relative ones from `folder`. It blocks on the disk.
#[must_use]
pub fn outside(concern: Concern, files: impl IntoIterator<Item = PathBuf>, folder: &Path) -> Outside {
    let home = real(folder);
    let look = |named: PathBuf| OutsideFile { real: real(&resolve(folder, &named)), named };
    let mut files: Vec<_> = files.into_iter().map(look).filter(|file| !file.real.starts_with(&home)).collect();
    files.sort();
    files.dedup();
    Outside { concern, files }
}
