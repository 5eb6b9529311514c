//! What a file was.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// The digits of a SHA-256 in hex.
const DIGITS: usize = 64;

/// The SHA-256 of a content, in hex.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(String);

impl Digest {
    /// The digest of a content.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        Self::finish(Sha256::new_with_prefix(content))
    }

    /// The digest of everything that was put into `hash`.
    #[must_use]
    pub fn finish(hash: Sha256) -> Self {
        Self(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Reads a digest from its hexadecimal digits.
    #[must_use]
    pub fn parse(hex: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (hex.len() == DIGITS && hex.bytes().all(is_digit)).then(|| Self(hex.to_owned()))
    }

    /// The hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

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
