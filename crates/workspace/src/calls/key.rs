//! The key of a call in a document.

use flemma_chat::OpenCall;
use flemma_journal::CallKey;

/// What has a key in the journal.
pub(crate) trait Keyed {
    /// The key: that of [`CallKey::of`].
    fn key(&self) -> CallKey;
}

impl Keyed for OpenCall {
    fn key(&self) -> CallKey {
        CallKey { id: self.id.clone(), tool: self.name.clone(), input: self.digest() }
    }
}
