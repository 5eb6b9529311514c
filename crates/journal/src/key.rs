//! What a record is about: a call and the input that it had.

use flemma_model::{CallId, Digest, ToolInput};

/// A call by its id, its tool and the digest of its input. An edited input makes another key.
///
/// Vendors reuse ids, so a conversation may have several calls with the same key, one after another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallKey {
    /// The vendor's id of the call.
    pub id: CallId,
    /// The name of the tool.
    pub tool: String,
    /// The digest of the input.
    pub input: Digest,
}

impl CallKey {
    /// The key of a call.
    #[must_use]
    pub fn of(id: &CallId, tool: &str, input: &ToolInput) -> Self {
        Self { id: id.clone(), tool: tool.to_owned(), input: input.digest() }
    }
}
