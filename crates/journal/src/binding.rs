//! What an approval is for: the files with the contents that the user was shown, and where the paths led that the call names.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Before;

/// What the user was shown of what a call would write, if they were, and which files the call named. An approval that follows is for
/// exactly that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The name of what was shown; empty if nothing was.
    pub revision: String,
    /// The files, in the order in which they are written.
    #[serde(default)]
    pub files: Vec<BoundFile>,
    /// Where the paths led that the call names, as far as that was known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub places: BTreeMap<String, String>,
}

/// A file that an approval is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundFile {
    /// The file.
    pub path: String,
    /// The digest of the content that it was shown to have; `None` if there was to be none.
    pub old: Option<String>,
    /// What it really had, if that was another content: it was shown as calls above would leave it.
    #[serde(default, skip_serializing_if = "Before::is_unknown")]
    pub on_disk: Before,
    /// The digest of the content that the call proposed; `None` to delete it.
    pub new: Option<String>,
    /// What the user takes of it.
    #[serde(default)]
    pub take: Take,
}

/// How much the user took of what a call proposed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Taken {
    /// All of it.
    #[default]
    All,
    /// A part, or what they have made of it.
    Part,
    /// Nothing.
    Nothing,
}

impl Binding {
    /// Whether the user was shown what the call would write.
    pub fn is_shown(&self) -> bool {
        !self.revision.is_empty()
    }

    /// How much the user takes of it.
    pub fn taken(&self) -> Taken {
        let mut files = self.files.iter();
        if files.all(|file| file.take == Take::Proposed) {
            Taken::All
        } else if self.files.iter().all(|file| file.take == Take::Left) {
            Taken::Nothing
        } else {
            Taken::Part
        }
    }

    /// Whether the user has made something else of it than was proposed.
    pub fn is_changed(&self) -> bool {
        self.taken() != Taken::All
    }

    /// Whether it was shown as it follows calls that had not been carried out.
    pub fn follows_calls(&self) -> bool {
        self.files.iter().any(|file| !file.on_disk.is_unknown())
    }
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
