//! What a model is asked.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::{HostedTool, Thinking, wire::is_visible};
use flemma_model::{Attachment, Message, Part, Role};

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
    /// ([`ProviderName::hosts`](super::ProviderName::hosts)).
    pub hosted: Arc<[HostedTool]>,
    /// Sampling and limits.
    pub parameters: RequestParameters,
}

impl Request {
    /// Puts the system prompt in front of what the user says first.
    pub(super) fn say_system(&mut self) {
        let Some(system) = self.system.take().filter(|system| is_visible(system)) else { return };
        if self.messages.first().is_none_or(|first| first.role != Role::User) {
            self.messages.insert(0, Message { role: Role::User, parts: Vec::new() }.into());
        }
        Arc::make_mut(&mut self.messages[0]).parts.insert(0, Part::Text(system));
    }

    /// Leaves out the thinking that a server has signed.
    pub(super) fn drop_signed(&mut self) {
        for message in self.messages.iter_mut().filter(|message| message.parts.iter().any(Self::is_signed)) {
            Arc::make_mut(message).parts.retain(|part| !Self::is_signed(part));
        }
    }

    /// Whether it is thinking that a server has signed.
    pub(super) fn is_signed(part: &Part) -> bool {
        matches!(part, Part::Thinking { signature: Some(_), .. } | Part::RedactedThinking(_))
    }

    /// Whether there is any attachment.
    pub fn has_attachments(&self) -> bool {
        self.messages.iter().any(|message| message.parts.iter().any(Part::has_attachments))
    }

    /// All attachments, in the order in which the model meets them, each with who shows it. Only messages that have
    /// some are copied.
    pub fn attachments_mut(&mut self) -> impl Iterator<Item = (AttachedBy, &mut Attachment)> {
        let with = self.messages.iter_mut().filter(|message| message.parts.iter().any(Part::has_attachments));
        with.flat_map(|message| Arc::make_mut(message).parts.iter_mut()).flat_map(|part| {
            let by = if matches!(part, Part::ToolResult { .. }) { AttachedBy::Tool } else { AttachedBy::User };
            part.attachments_mut().iter_mut().map(move |attachment| (by, attachment))
        })
    }
}

/// Who shows a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachedBy {
    /// The user, with a reference in their message.
    User,
    /// A tool, in its result.
    Tool,
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
    /// How it is described to a model that calls tools in XML ([`super::xml_tools`]); `None` for the description and the
    /// schema.
    pub prompt: Option<Arc<str>>,
}

/// Sampling and limits. `None` leaves the choice to the provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestParameters {
    /// The most tokens that a reply may have.
    pub max_tokens: Option<u32>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// How much the model may think.
    pub thinking: Thinking,
    /// For how long the provider is asked to keep what it has read.
    pub cache_retention: CacheRetention,
    /// Whether the model calls tools in XML ([`super::xml_tools`]).
    pub calls_in_xml: bool,
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
