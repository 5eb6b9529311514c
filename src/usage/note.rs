//! What is known of a single message: when it was sent or complete, and what a reply has used.

use jiff::Timestamp;

use super::Record;
use crate::model::Digest;

/// What is known of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageNote {
    /// When it was sent or complete.
    pub at: Timestamp,
    /// For a reply, what its request has used.
    pub reply: Option<ReplyNote>,
}

/// What is known of a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyNote {
    /// The model, by the provider's own name.
    pub model: String,
    /// All input tokens, including cached ones.
    pub input: u64,
    /// The output tokens.
    pub output: u64,
    /// US dollars; `None` where the model has no known price.
    pub cost: Option<f64>,
}

/// Which message a note is about: one with this text, wherever it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MessageKey {
    /// The number of its lines, from its marker to the last one that is not blank.
    pub lines: usize,
    /// The digest of these lines, each with a line break.
    pub digest: Digest,
}

impl From<&Record> for ReplyNote {
    fn from(record: &Record) -> Self {
        let Record { model, usage, cost, .. } = record;
        Self { model: model.clone(), input: usage.prompt(), output: usage.output, cost: *cost }
    }
}
