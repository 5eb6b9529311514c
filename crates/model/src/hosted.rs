//! What a provider did itself.

use serde_json::Value;

use super::{CallId, WebSource};

/// Something that a provider did itself. It is sent back only to that provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosted {
    /// The name of the provider.
    pub provider: String,
    /// What it did.
    pub block: HostedBlock,
}

/// What a provider did itself.
#[derive(Clone, Debug, PartialEq)]
pub enum HostedBlock {
    /// It called a tool that it runs.
    Call {
        /// The vendor's id of the call.
        id: CallId,
        /// The hosted tool, as the vendor calls it.
        name: String,
        /// The vendor's own block, sent back unchanged. OpenAI and Vertex AI have no block for the call: for them it is
        /// what the document shows.
        raw: Value,
    },
    /// It got the result of such a call.
    Result {
        /// The call it answers.
        id: CallId,
        /// The vendor's own block, sent back unchanged.
        raw: Value,
        /// Whether the tool failed. The block contains this too.
        is_error: bool,
    },
    /// It cited pages in the text just before.
    Citations {
        /// The pages, each once.
        sources: Vec<WebSource>,
        /// What has to be sent back to the vendor, in the vendor's own format.
        raw: Option<Value>,
    },
}

impl Hosted {
    /// What the provider of this name did.
    pub fn of(provider: &str, block: HostedBlock) -> Self {
        Self { provider: provider.to_owned(), block }
    }

    /// What only the vendor reads of it, if `provider` did it.
    pub fn raw_of(&self, provider: &str) -> Option<&Value> {
        let raw = match &self.block {
            HostedBlock::Call { raw, .. } | HostedBlock::Result { raw, .. } => Some(raw),
            HostedBlock::Citations { raw, .. } => raw.as_ref(),
        };
        raw.filter(|_| self.provider == provider)
    }
}
