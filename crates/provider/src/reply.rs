//! Reading a reply: what the decoders of all vendors have in common.
//!
//! A [`StreamDecoder`] takes the bytes apart into events, passes over what only keeps the connection awake, recognises
//! an error wherever a server puts it, and knows whether the reply has begun and is complete. What is left, one JSON
//! object at a time, goes to the vendor's [`ReadReply`].

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    Decoder, ErrorResponse, ProviderError, Request,
    sse::{Sse, SseEvent},
    vendor_error::Peer,
};
use flemma_model::{CallId, Event, Hosted, HostedBlock, Part, StopReason, ToolInput};

/// What is wrong with an answer that is not a stream.
const NO_STREAM: &str = "not a stream of events";

/// What stands for the data of an event where the stream itself has ended.
const END_OF_STREAM: &str = "the end of the stream";

/// The most characters of a vendor's word for why a reply ends.
const MAX_REASON: usize = 400;

/// Reads the events of one vendor's reply.
pub(super) trait ReadReply: Send {
    /// Takes one event, which is an object, and appends what it brings. The reply is complete with an
    /// [`Event::Finished`].
    ///
    /// # Errors
    /// When the event cannot be read, or is an error.
    fn read(&mut self, event: Value, events: &mut Vec<Event>) -> Result<(), Fault>;

    /// Nothing more comes. `is_said` if the server has sent the word `[DONE]`. A reply that is complete by now says so;
    /// any other was cut off.
    ///
    /// # Errors
    /// When the end cannot be right.
    fn end(&mut self, _is_said: bool, _events: &mut Vec<Event>) -> Result<(), Fault> {
        Ok(())
    }
}

/// Why an event is not one of a reply.
pub(super) enum Fault {
    /// The protocol does not allow it; says what is wrong.
    Malformed(String),
    /// It is an error, in the vendor's JSON.
    Error(Value),
    /// The prompt is not answered at all: the reason, and the vendor's words.
    Blocked(String, String),
}

impl From<&str> for Fault {
    fn from(what: &str) -> Self {
        Self::Malformed(what.to_owned())
    }
}

/// How far a reply is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    /// No event came yet.
    #[default]
    Waiting,
    Arriving,
    Complete,
}

/// Reads one response.
pub(super) struct StreamDecoder<R> {
    sse: Sse,
    peer: Peer,
    reply: R,
    progress: Progress,
    /// The most tokens that the reply may have, if the request says so.
    limit: Option<u32>,
    /// The tokens of the reply, as far as they were counted.
    written: u64,
    /// Whether it calls a tool that runs here.
    has_calls: bool,
}

impl<R: ReadReply> StreamDecoder<R> {
    /// Reads what `peer` answers to a request that allows a reply of `limit` tokens.
    pub fn new(peer: Peer, reply: R, limit: Option<u32>) -> Self {
        let (sse, progress) = (Sse::default(), Progress::default());
        Self { sse, peer, reply, progress, limit, written: 0, has_calls: false }
    }
}

impl<R: ReadReply> Decoder for StreamDecoder<R> {
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), ProviderError> {
        let mut sse = std::mem::take(&mut self.sse);
        let result = sse.feed(bytes, |event| self.read(event, events));
        self.sse = sse;
        result
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), ProviderError> {
        if self.progress == Progress::Arriving {
            self.perform(END_OF_STREAM, events, |reply, events| reply.end(false, events))?;
        }
        match (self.progress, self.sse.foreign()) {
            (Progress::Complete, _) => Ok(()),
            (Progress::Arriving, _) => Err(self.peer.closed("in the middle of the reply")),
            (Progress::Waiting, None) => Err(self.peer.closed("before the reply began")),
            (Progress::Waiting, Some(text)) => Err(match serde_json::from_str(&text).ok().filter(is_error) {
                Some(error) => self.peer.interrupt(&error),
                None => self.peer.malformed(NO_STREAM, &text),
            }),
        }
    }

    fn decode_error(&self, response: &ErrorResponse) -> ProviderError {
        self.peer.decode_error(response)
    }
}

impl<R: ReadReply> StreamDecoder<R> {
    fn read(&mut self, event: SseEvent<'_>, events: &mut Vec<Event>) -> Result<(), ProviderError> {
        let data = event.data.trim();
        if self.progress == Progress::Complete || data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            return self.perform(data, events, |reply, events| reply.end(true, events));
        }
        let json: Value = match serde_json::from_str(data) {
            Ok(json) => json,
            Err(_) if event.name == "error" => return Err(self.peer.interrupt(&data.into())),
            Err(error) => return Err(self.peer.malformed(&error.to_string(), data)),
        };
        if event.name == "error" || is_error(&json) {
            return Err(self.peer.interrupt(&json));
        }
        if !json.is_object() {
            return Err(self.peer.malformed("not a JSON object", data));
        }
        self.progress = Progress::Arriving;
        self.perform(data, events, |reply, events| reply.read(json, events))
    }

    /// Lets the reader do something about `data`, and corrects what it makes of the end of the reply.
    fn perform(
        &mut self,
        data: &str,
        events: &mut Vec<Event>,
        read: impl FnOnce(&mut R, &mut Vec<Event>) -> Result<(), Fault>,
    ) -> Result<(), ProviderError> {
        let before = events.len();
        let outcome = read(&mut self.reply, events);
        for event in &mut events[before..] {
            match event {
                Event::Usage(usage) => self.written = usage.output,
                Event::ToolUse { .. } => self.has_calls = true,
                Event::Finished(stop) => {
                    self.progress = Progress::Complete;
                    self.correct(stop);
                }
                _ => {}
            }
        }
        outcome.map_err(|fault| match fault {
            Fault::Malformed(what) => self.peer.malformed(&what, data),
            Fault::Error(error) => self.peer.interrupt(&error),
            Fault::Blocked(reason, words) => self.peer.block(&reason, &words),
        })
    }

    /// Tells a reply that waits for tools from one that is over: servers say that they have stopped where a tool is
    /// called, and the other way round. Tells one that reached its limit from one that filled the model's context: most
    /// servers have one word for both. A reply of fewer tokens than it was allowed was stopped by the context, and a higher
    /// limit would not help.
    fn correct(&self, stop: &mut StopReason) {
        match stop {
            StopReason::EndTurn if self.has_calls => *stop = StopReason::ToolUse,
            // Without a count it is not known.
            StopReason::MaxTokens if self.limit.is_some_and(|limit| (1..limit.into()).contains(&self.written)) => {
                *stop = StopReason::ContextFull;
            }
            StopReason::Other(word) | StopReason::Blocked(word) => *word = self.peer.quote(word, MAX_REASON),
            _ => {}
        }
    }
}

/// Whether JSON is an error and nothing of a reply. It may come in a list of one.
pub(super) fn is_error(json: &Value) -> bool {
    let json = json.get(0).unwrap_or(json);
    json.get("error").is_some_and(|error| !error.is_null())
        || ["type", "object"].iter().any(|field| json.get(*field).is_some_and(|kind| kind == "error"))
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

/// The ids of a conversation's calls. Each call has one of its own: other vendors refuse a conversation in which two
/// have the same, and a result would not know whose it is.
pub(super) struct NewIds(HashSet<String>);

impl NewIds {
    /// Ids for the reply to `request`.
    pub fn after(request: &Request) -> Self {
        let parts = request.messages.iter().flat_map(|message| &message.parts);
        let taken = parts.filter_map(|part| match part {
            Part::ToolUse { id, .. } | Part::Hosted(Hosted { block: HostedBlock::Call { id, .. }, .. }) => {
                Some(id.0.clone())
            }
            _ => None,
        });
        Self(taken.collect())
    }

    /// The server's own id, or one with `prefix` where it has left it out or given it twice.
    pub fn take(&mut self, own: String, prefix: &str) -> CallId {
        if !own.is_empty() && self.0.insert(own.clone()) { CallId(own) } else { made_up_id(prefix) }
    }
}

/// Takes a field out of an object; null if there is none.
pub(super) fn take(object: &mut Value, field: &str) -> Value {
    object.get_mut(field).map(Value::take).unwrap_or_default()
}

/// Takes a string out of an object.
pub(super) fn text_of(object: &mut Value, field: &str) -> Option<String> {
    match take(object, field) {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// A string in an object; empty if there is none.
pub(super) fn str_of<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The values in a list; none without one.
pub(super) fn items<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
