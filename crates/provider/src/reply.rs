//! What the decoders of several vendors need alike.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ProviderError, sse::Sse, vendor_error::Peer};
use flemma_model::{CallId, Event, ToolInput};

/// What is wrong with an answer that is not a stream.
pub(super) const NO_STREAM: &str = "not a stream of events";

/// How far a reply is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum StreamProgress {
    /// No event came yet.
    #[default]
    Waiting,
    Arriving,
    Complete,
}

impl StreamProgress {
    /// What the end of the stream means.
    ///
    /// # Errors
    /// When it comes before the reply is complete, or `sse` has met no stream at all.
    pub fn finish(self, peer: &Peer, sse: &Sse) -> Result<(), ProviderError> {
        match (self, sse.foreign()) {
            (Self::Complete, _) => Ok(()),
            (Self::Arriving, _) => Err(peer.closed("in the middle of the reply")),
            (Self::Waiting, None) => Err(peer.closed("before the reply began")),
            (Self::Waiting, Some(text)) => Err(match error_in(&text) {
                Some(error) => peer.interrupt(&error),
                None => peer.malformed(NO_STREAM, &text),
            }),
        }
    }
}

/// The JSON of an error that came instead of a stream.
pub(super) fn error_in(text: &str) -> Option<Value> {
    let json: Value = serde_json::from_str(text).ok()?;
    json.get("error").is_some_and(|error| !error.is_null()).then_some(json)
}

/// The input of a call: its JSON, or `given` where that has nothing in it. A tool without arguments often gets no
/// text at all.
pub(super) fn tool_input(json: String, given: Value) -> ToolInput {
    if json.trim().is_empty() {
        return ToolInput::Json(if given.is_null() { Value::Object(Map::new()) } else { given });
    }
    match serde_json::from_str(&json) {
        Ok(value) => ToolInput::Json(value),
        Err(_) => ToolInput::Malformed(json),
    }
}

/// More prose, if there is any.
pub(super) fn push_text(text: String, events: &mut Vec<Event>) {
    if !text.is_empty() {
        events.push(Event::Text(text));
    }
}

/// More thinking, if there is any.
pub(super) fn push_thinking(text: String, events: &mut Vec<Event>) {
    if !text.is_empty() {
        events.push(Event::Thinking(text));
    }
}

/// An id for a call that came without one. No other call has it, also not in other conversations: the journal knows a call by its id,
/// and the call before may have been deleted.
pub(super) fn made_up_id(prefix: &str) -> CallId {
    CallId(format!("{prefix}_{:012x}", fastrand::u64(..) >> 16))
}

/// Takes a string out of an object.
pub(super) fn text_of(object: &mut Value, field: &str) -> Option<String> {
    match object.get_mut(field).map(Value::take) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// Reads one event.
pub(super) fn parse<'a, T: Deserialize<'a>>(data: &'a str, peer: &Peer) -> Result<T, ProviderError> {
    serde_json::from_str(data).map_err(|error| peer.malformed(&error.to_string(), data))
}
