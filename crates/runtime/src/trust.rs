//! What the user has trusted, kept from one session to the next: frontmatter, and files that a conversation may show.
//!
//! A file's frontmatter is trusted by the file's path and the block's content: the same words in another file, or other
//! words in the same file, are asked about again. A file outside a conversation's folder is trusted by the
//! conversation's path and its own, and instructions for agents by the path and the text of their file. The store is a list of lines that only ever grows at its end, each a JSON object
//! with `path`, `sha256` (of the content or of the file's path, in hex) and `about`, so that two editors can write to
//! it at once. The last line about a path's frontmatter and
//! instructions counts, and every line about a file.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{
    disk::if_there,
    line_file::{self, Flush},
};
use flemma_model::Digest;

/// What the user has trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trusted {
    frontmatter: HashMap<String, String>,
    files: HashSet<(String, String)>,
    instructions: Arc<HashMap<String, String>>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    path: String,
    sha256: String,
    #[serde(default)]
    about: About,
}

/// What a line is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum About {
    #[default]
    Frontmatter,
    File,
    Instructions,
}

impl Trusted {
    /// Reads the store; a store that is not there has nothing in it, and a line that is broken is passed over.
    ///
    /// # Errors
    /// When the store is there but cannot be read.
    pub fn read(store: &Path) -> io::Result<Self> {
        let text = if_there(fs::read(store))?.unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut trusted = Self::default();
        for Line { path, sha256, about } in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            match about {
                About::Frontmatter => drop(trusted.frontmatter.insert(path, sha256)),
                About::File => drop(trusted.files.insert((path, sha256))),
                About::Instructions => drop(Arc::make_mut(&mut trusted.instructions).insert(path, sha256)),
            }
        }
        Ok(trusted)
    }

    /// Whether this content was trusted in this file's frontmatter. `path` is absolute.
    pub fn contains(&self, path: &str, content: &str) -> bool {
        self.frontmatter.get(path).is_some_and(|known| *known == digest(content))
    }

    /// Trusts this content in this file, in memory. Says whether that is news, for [`append`] then.
    pub fn insert(&mut self, path: &str, content: &str) -> bool {
        let digest = digest(content);
        self.frontmatter.insert(path.to_owned(), digest.clone()) != Some(digest)
    }

    /// Whether the conversation at `path` may show `file`; both are absolute.
    pub fn contains_file(&self, path: &str, file: &Path) -> bool {
        self.files.contains(&(path.to_owned(), digest(&file.to_string_lossy())))
    }

    /// Lets the conversation at `path` show `file`, in memory. Says whether that is news, for [`append_file`] then.
    pub fn insert_file(&mut self, path: &str, file: &Path) -> bool {
        self.files.insert((path.to_owned(), digest(&file.to_string_lossy())))
    }
}

/// The instructions for agents that are in the files of projects.
impl Trusted {
    /// The digests of what was trusted in files, by their paths.
    pub fn instructions(&self) -> &Arc<HashMap<String, String>> {
        &self.instructions
    }

    /// Whether this text was trusted in this file.
    pub fn contains_instructions(&self, path: &str, text: &str) -> bool {
        self.instructions.get(path).is_some_and(|known| *known == digest(text))
    }

    /// Trusts this text in this file, in memory. Says whether that is news, for [`append_instructions`] then.
    pub fn insert_instructions(&mut self, path: &str, text: &str) -> bool {
        let digest = digest(text);
        Arc::make_mut(&mut self.instructions).insert(path.to_owned(), digest.clone()) != Some(digest)
    }
}

/// The file in which a text is kept that was trusted in instructions, so that changes of it can be shown. It is named by its digest.
pub fn kept_instructions(store: &Path, digest: &str) -> PathBuf {
    store.with_file_name("instructions").join(digest)
}

/// Adds a line about instructions that are in the file at `path`, as [`append`] does, and keeps their text.
///
/// # Errors
/// When that fails.
pub fn append_instructions(store: &Path, path: &str, text: &str) -> io::Result<()> {
    let kept = kept_instructions(store, &digest(text));
    fs::create_dir_all(kept.with_file_name(""))?;
    fs::write(kept, text)?;
    write(store, About::Instructions, path, text)
}

/// Adds a line to the store, which is made, readable by the user alone, if it is not there.
///
/// # Errors
/// When that fails.
pub fn append(store: &Path, path: &str, content: &str) -> io::Result<()> {
    write(store, About::Frontmatter, path, content)
}

/// Adds a line about a file that the conversation at `path` may show, as [`append`] does.
///
/// # Errors
/// When that fails.
pub fn append_file(store: &Path, path: &str, file: &Path) -> io::Result<()> {
    write(store, About::File, path, &file.to_string_lossy())
}

fn write(store: &Path, about: About, path: &str, content: &str) -> io::Result<()> {
    let mut line = serde_json::to_vec(&Line { path: path.to_owned(), sha256: digest(content), about })?;
    line.push(b'\n');
    line_file::append(store, &line, Flush::Later, &[])
}

fn digest(content: &str) -> String {
    Digest::of(content.as_bytes()).to_string()
}
