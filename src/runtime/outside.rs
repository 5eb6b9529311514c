//! Where the files lead that a conversation names.
//!
//! A reference that looks as if it stayed in the conversation's folder may lead out of it by a link, so this looks at the
//! disk, on a thread that may wait for it. A hidden file counts as outside: its name says that it is not meant to be
//! shown (`.env`, `.git/config`), and a stranger may know it in every project.

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

/// The files that lead outside a conversation's folder, or to what is hidden in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// What this is for.
    pub concern: Concern,
    /// The files, in order, each once.
    pub files: Vec<OutsideFile>,
}

/// A file outside the folder of the conversation that names it, or hidden in it.
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
    let is_open = |file: &OutsideFile| file.real.strip_prefix(&home).is_ok_and(|path| !is_hidden(path));
    let mut files: Vec<_> = files.into_iter().map(look).filter(|file| !is_open(file)).collect();
    files.sort();
    files.dedup();
    Outside { concern, files }
}

/// Whether a name in a path begins with a dot.
fn is_hidden(path: &Path) -> bool {
    path.iter().any(|name| name.as_encoded_bytes().starts_with(b"."))
}
