//! What a running call wants to write, and waits for the approval of.

use serde::{Deserialize, Serialize};

use flemma_model::Digest;

/// What a running call wants to write. The contents are kept beside the journal, by their digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposed {
    /// The files, in the order in which they are written.
    pub files: Vec<ProposedContent>,
}

/// A file that a running call wants to write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedContent {
    /// Its name, as the tool gave it.
    pub name: String,
    /// Whether that is the name of a page of the notes, and not a path.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_page: bool,
    /// The digest of the content that it gets.
    pub content: String,
    /// What it had when the call proposed this.
    #[serde(default, skip_serializing_if = "Before::is_unknown")]
    pub before: Before,
    /// What the call knew of it: it has read the page, or written it before. Its new content was made from that.
    #[serde(default, skip_serializing_if = "Before::is_unknown")]
    pub seen: Before,
}

/// What a file really had when a call proposed to write it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Before {
    /// That was not recorded.
    #[default]
    Unknown,
    /// There was no file.
    Absent,
    /// The content with this digest.
    Content(String),
}

impl Before {
    /// Whether a file with the content that has this digest, or no file, is what was recorded, if anything was.
    pub fn admits(&self, found: Option<&Digest>) -> bool {
        match self {
            Self::Unknown => true,
            Self::Absent => found.is_none(),
            Self::Content(digest) => found.is_some_and(|found| found.as_str() == digest),
        }
    }

    /// Whether that was not recorded.
    pub fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }
}
