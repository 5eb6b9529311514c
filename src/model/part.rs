//! What a message is made of.

use serde_json::Value;

use super::{Attachment, CallId, Signature, WebSource};

/// One part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Prose. Never empty.
    Text(String),
    /// A file that the user shows.
    Attachment(Attachment),
    /// The model's thinking. Only the provider that signed it gets it back.
    Thinking {
        /// The visible text; may be empty.
        text: String,
        /// The signature, if one came.
        signature: Option<Signature>,
    },
    /// Thinking that the vendor hides; the signature's value is the vendor's opaque data.
    RedactedThinking(Signature),
    /// The model's call of a tool that runs here.
    ToolUse {
        /// The vendor's id of the call.
        id: CallId,
        /// The tool.
        name: String,
        /// The arguments.
        input: Value,
    },
    /// The result of such a call.
    ToolResult {
        /// The call it answers.
        id: CallId,
        /// What the tool said; may be empty.
        output: String,
        /// Whether the tool failed, or was denied, rejected or cancelled.
        is_error: bool,
        /// The files that it shows.
        attachments: Vec<Attachment>,
    },
    /// A call that a provider ran itself. Only that provider gets it back.
    HostedUse {
        /// The name of the provider.
        provider: String,
        /// The vendor's id of the call.
        id: CallId,
        /// The hosted tool, as the vendor calls it.
        name: String,
        /// The vendor's own block, sent back as it came; with OpenAI and Vertex AI, which have no block of their own
        /// for the call, what to show of it.
        raw: Value,
    },
    /// The result of a call that a provider ran. Only that provider gets it back.
    HostedResult {
        /// The name of the provider.
        provider: String,
        /// The call it answers.
        id: CallId,
        /// The vendor's own block, sent back as it came.
        raw: Value,
        /// Whether the tool failed; the block says so too.
        is_error: bool,
    },
    /// What the text just before cites.
    Citations {
        /// The name of the provider.
        provider: String,
        /// The pages, each once.
        sources: Vec<WebSource>,
        /// What the vendor wants to see again, in its own form.
        raw: Option<Value>,
    },
}

impl Part {
    /// The files that go with it.
    #[must_use]
    pub fn attachments(&self) -> &[Attachment] {
        match self {
            Self::Attachment(attachment) => std::slice::from_ref(attachment),
            Self::ToolResult { attachments, .. } => attachments,
            _ => &[],
        }
    }

    /// The same, to change them.
    pub(crate) fn attachments_mut(&mut self) -> &mut [Attachment] {
        match self {
            Self::Attachment(attachment) => std::slice::from_mut(attachment),
            Self::ToolResult { attachments, .. } => attachments,
            _ => &mut [],
        }
    }

    /// Whether there are any.
    pub(crate) fn has_attachments(&self) -> bool {
        !self.attachments().is_empty()
    }
}
