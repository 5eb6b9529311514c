//! What a record is about: a call and the input that it had.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::model::{CallId, ToolInput};

/// The digits of a SHA-256 in hex.
const DIGITS: usize = 64;

/// A call by its id, its tool and the hash of its input. An edited input makes another key.
///
/// Vendors reuse ids, so a conversation may have several calls with the same key, one after another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallKey {
    /// The vendor's id of the call.
    pub id: CallId,
    /// The name of the tool.
    pub tool: String,
    /// The hash of the input.
    pub input: InputHash,
}

impl CallKey {
    /// The key of a call.
    #[must_use]
    pub fn of(id: &CallId, tool: &str, input: &ToolInput) -> Self {
        Self { id: id.clone(), tool: tool.to_owned(), input: InputHash::of(input) }
    }
}

/// The SHA-256 of an input: of its compact JSON text with the keys in the order of the document, or of the text that is
/// not valid JSON. The two never have the same hash.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InputHash(String);

impl InputHash {
    /// The hash of an input.
    #[must_use]
    pub fn of(input: &ToolInput) -> Self {
        let mut digest = Sha256::new();
        match input {
            ToolInput::Json(value) => {
                digest.update(b"json\0");
                digest.update(value.to_string());
            }
            ToolInput::Malformed(text) => {
                digest.update(b"text\0");
                digest.update(text);
            }
        }
        Self(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Reads a hash from its hexadecimal digits; `None` if it is not one that [`InputHash::of`] makes.
    #[must_use]
    pub fn parse(hex: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (hex.len() == DIGITS && hex.bytes().all(is_digit)).then(|| Self(hex.to_owned()))
    }

    /// The hash in hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InputHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
