//! The parts of a message.

use std::sync::Arc;

use serde_json::Value;

use super::{Attachment, CallId, Hosted, Signature};

/// One part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Prose. Never empty.
    Text(String),
    /// A file that the user attached.
    Attachment(Attachment),
    /// The model's thinking. It is sent back only to the provider that signed it.
    Thinking {
        /// The visible text; may be empty.
        text: String,
        /// The signature, if there is one.
        signature: Option<Signature>,
    },
    /// Thinking whose text the vendor hides. The signature's value is the vendor's opaque data.
    RedactedThinking(Signature),
    /// A call of a tool that runs here.
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
        /// The tool's output; may be empty. It is shared, because a request changes messages around it.
        output: Arc<str>,
        /// Whether the tool failed, or was denied, rejected or cancelled.
        is_error: bool,
        /// The files that the tool attached.
        attachments: Vec<Attachment>,
    },
    /// What a provider did itself.
    Hosted(Hosted),
}

impl Part {
    /// Its attachments.
    pub fn attachments(&self) -> &[Attachment] {
        match self {
            Self::Attachment(attachment) => std::slice::from_ref(attachment),
            Self::ToolResult { attachments, .. } => attachments,
            _ => &[],
        }
    }

    /// Its attachments, to change them.
    pub fn attachments_mut(&mut self) -> &mut [Attachment] {
        match self {
            Self::Attachment(attachment) => std::slice::from_mut(attachment),
            Self::ToolResult { attachments, .. } => attachments,
            _ => &mut [],
        }
    }

    /// Whether it has attachments.
    pub fn has_attachments(&self) -> bool {
        !self.attachments().is_empty()
    }
}
