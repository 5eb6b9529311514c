//! What a message is recognised by, wherever it is.

use serde::{Deserialize, Serialize};

use super::Digest;

/// The identity of a message: its text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MessageKey {
    /// The number of its lines, from its marker to the last one that is not blank.
    pub lines: usize,
    /// The digest of these lines, each with a line break.
    pub digest: Digest,
}
