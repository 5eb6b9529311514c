//! What a model is asked.

use std::{fmt, sync::Arc};

use serde::Serialize;
use serde_json::Value;

use super::{Attachment, Hosted, Source, Thinking};

/// One request, in no vendor's words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The vendor's name of the model.
    pub model: String,
    /// The system prompt.
    pub system: Option<String>,
    /// The conversation, oldest first. Two neighbours may have the same role; an encoder joins them
    /// where its protocol wants that.
    pub messages: Vec<Arc<Message>>,
    /// The tools on offer, sorted by name.
    pub tools: Arc<[ToolSpec]>,
    /// The tools on offer that the provider runs itself, sorted by name; only those that it has
    /// ([`Hosted::refusal`]).
    pub hosted: Arc<[Hosted]>,
    /// Sampling and limits.
    pub parameters: Parameters,
}

/// Who speaks. The system prompt is not a message: see [`Request::system`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user, and the results of tools.
    User,
    /// The model.
    Assistant,
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in the document's order.
    pub parts: Vec<Part>,
}

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
        sources: Vec<Source>,
        /// What the vendor wants to see again, in its own form.
        raw: Option<Value>,
    },
}

impl Request {
    /// Whether there is any attachment.
    #[must_use]
    pub fn has_attachments(&self) -> bool {
        self.messages.iter().any(|message| message.parts.iter().any(Part::has_attachments))
    }

    /// All attachments, in the order in which the model meets them, each with who shows it. Only messages that have some
    /// are copied.
    pub fn attachments_mut(&mut self) -> impl Iterator<Item = (By, &mut Attachment)> {
        let with = self.messages.iter_mut().filter(|message| message.parts.iter().any(Part::has_attachments));
        with.flat_map(|message| Arc::make_mut(message).parts.iter_mut()).flat_map(|part| {
            let by = if matches!(part, Part::ToolResult { .. }) { By::Tool } else { By::User };
            part.attachments_mut().iter_mut().map(move |attachment| (by, attachment))
        })
    }
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

    fn attachments_mut(&mut self) -> &mut [Attachment] {
        match self {
            Self::Attachment(attachment) => std::slice::from_mut(attachment),
            Self::ToolResult { attachments, .. } => attachments,
            _ => &mut [],
        }
    }

    fn has_attachments(&self) -> bool {
        !self.attachments().is_empty()
    }
}

/// Who shows a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The user, with a reference in their message.
    User,
    /// A tool, in its result.
    Tool,
}

/// The id of one tool call. Vendors choose it; it is unique within one message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub String);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for CallId {
    fn from(id: &str) -> Self {
        Self(id.to_owned())
    }
}

/// A provider's signature under its own thinking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name of the provider that signed.
    pub provider: String,
    /// The opaque value.
    pub value: String,
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name that the model calls it by.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its input, passed through as it is.
    pub input_schema: Arc<Value>,
    /// Whether the vendor's strict mode is asked for, where it has one.
    pub strict: bool,
}

/// Sampling and limits. `None` leaves the choice to the provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// The most tokens that a reply may have.
    pub max_tokens: Option<u32>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// How much the model may think.
    pub thinking: Thinking,
    /// For how long the provider is asked to keep what it has read.
    pub cache_retention: CacheRetention,
}

/// For how long a provider is asked to keep what it has read of a conversation, so that the next turn costs less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheRetention {
    /// Not at all, where that is the caller's choice.
    #[default]
    None,
    /// For the vendor's usual minutes.
    Short,
    /// For as long as the vendor offers.
    Long,
}
