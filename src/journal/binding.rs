//! What an approval is for: the files with the contents that the user was shown.

use serde::{Deserialize, Serialize};

/// What the user was shown of what a call would write. An approval that follows is for exactly that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The name of what was shown.
    pub revision: String,
    /// The files, in the order in which they are written.
    #[serde(default)]
    pub files: Vec<BoundFile>,
}

/// A file that an approval is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundFile {
    /// The file.
    pub path: String,
    /// The digest of its content then; `None` if there was none.
    pub old: Option<String>,
    /// The digest of the content that the call proposed; `None` to delete it.
    pub new: Option<String>,
    /// What identifies the lines that are added and removed, wherever they stand; empty where that is not known.
    #[serde(default)]
    pub changed_lines: String,
    /// What the user takes of it.
    #[serde(default)]
    pub take: Take,
}

/// What the user takes of a proposed file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Take {
    /// All of it.
    #[default]
    Proposed,
    /// Nothing.
    Left,
    /// The content with this digest, which they have made of it.
    Edited(String),
}
