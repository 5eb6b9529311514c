//! What is known of a single message: when it was sent or complete, and what a reply has used.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Record;

/// What is known of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageNote {
    /// When it was sent or complete.
    pub at: Timestamp,
    /// For a reply, what its request has used.
    pub reply: Option<ReplyNote>,
}

/// What is known of a reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplyNote {
    /// The model, by the provider's own name.
    pub model: String,
    /// All input tokens, including cached ones.
    pub input: u64,
    /// The output tokens.
    pub output: u64,
    /// US dollars; `None` where the model has no known price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl From<&Record> for ReplyNote {
    fn from(record: &Record) -> Self {
        let Record { model, usage, cost, .. } = record;
        Self { model: model.clone(), input: usage.prompt(), output: usage.output, cost: *cost }
    }
}
