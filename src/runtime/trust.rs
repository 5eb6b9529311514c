//! Which frontmatter the user has trusted, kept from one session to the next.
//!
//! A file's frontmatter is trusted by the file's path and the block's content: the same words in another file, or other
//! words in the same file, are asked about again. The store is a list of lines that only ever grows at its end, each a
//! JSON object with `path` and `sha256` (of the content, in hex), so that two editors can write to it at once. The
//! last line about a path counts.

use std::{
    collections::HashMap,
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What the user has trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trusted(HashMap<String, String>);

#[derive(Serialize, Deserialize)]
struct Line {
    path: String,
    sha256: String,
}

impl Trusted {
    /// Reads the store; a store that is not there has nothing in it, and a line that is broken is passed over.
    ///
    /// # Errors
    /// When the store is there but cannot be read.
    pub fn read(store: &Path) -> io::Result<Self> {
        let text = match fs::read(store) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            text => text?,
        };
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        Ok(Self(lines.map(|line| (line.path, line.sha256)).collect()))
    }

    /// Whether this content was trusted in this file. `path` is absolute.
    #[must_use]
    pub fn contains(&self, path: &str, content: &str) -> bool {
        self.0.get(path).is_some_and(|known| *known == digest(content))
    }

    /// Trusts this content in this file, in memory. Says whether that is news, for [`append`] then.
    pub fn insert(&mut self, path: &str, content: &str) -> bool {
        let digest = digest(content);
        self.0.insert(path.to_owned(), digest.clone()) != Some(digest)
    }
}

/// Adds a line to the store, which is made, readable by the user alone, if it is not there.
///
/// # Errors
/// When that fails.
pub fn append(store: &Path, path: &str, content: &str) -> io::Result<()> {
    if let Some(folder) = store.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let line = Line { path: path.to_owned(), sha256: digest(content) };
    let mut line = serde_json::to_vec(&line)?;
    line.push(b'\n');
    // One write of a few hundred bytes at the end: lines of two editors never mix.
    OpenOptions::new().create(true).append(true).mode(0o600).open(store)?.write_all(&line)
}

fn digest(content: &str) -> String {
    Sha256::digest(content.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
