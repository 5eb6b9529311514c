//! Detects a model that repeats itself.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
};

use super::CallResult;
use flemma_chat::OpenCall;
use flemma_model::ToolInput;

/// How many identical rounds are a loop.
const LIMIT: u32 = 3;

/// Compares each round of calls with the previous one. The same calls with the same inputs and the same results,
/// [`LIMIT`] times in a row, are a loop.
#[derive(Debug, Default)]
pub(super) struct LoopGuard {
    /// A hash of each call of this round. The order does not depend on which finished first.
    round: BTreeSet<u64>,
    tools: BTreeSet<String>,
    last: BTreeSet<u64>,
    repeats: u32,
}

impl LoopGuard {
    /// Records the result of a call of this round.
    pub(super) fn record(&mut self, call: &OpenCall, answer: &CallResult) {
        let mut hasher = DefaultHasher::new();
        call.name.hash(&mut hasher);
        match &*call.input {
            ToolInput::Json(value) => value.to_string().hash(&mut hasher),
            ToolInput::Malformed(text) => text.hash(&mut hasher),
        }
        answer.hash(&mut hasher);
        self.round.insert(hasher.finish());
        self.tools.insert(call.name.clone());
    }

    /// Ends the round. Returns the names of its tools if it completes a loop.
    pub(super) fn end_round(&mut self) -> Option<String> {
        let round = std::mem::take(&mut self.round);
        let tools = std::mem::take(&mut self.tools);
        if round.is_empty() {
            return None;
        }
        self.repeats = if round == self.last { self.repeats + 1 } else { 1 };
        self.last = round;
        (self.repeats >= LIMIT).then(|| tools.into_iter().collect::<Vec<_>>().join(", "))
    }
}
