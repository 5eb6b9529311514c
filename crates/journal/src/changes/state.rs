//! What a file was.

use flemma_model::Digest;

/// What there is at a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FileState {
    /// Nothing.
    Absent,
    /// A regular file.
    File {
        /// Its content.
        digest: Digest,
        /// Its permissions.
        mode: u32,
    },
}

impl FileState {
    /// The digest of the content, if there is a file.
    #[must_use]
    pub fn digest(&self) -> Option<&Digest> {
        match self {
            Self::Absent => None,
            Self::File { digest, .. } => Some(digest),
        }
    }
}
