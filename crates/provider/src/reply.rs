//! Reading a reply: what the decoders of all vendors have in common.
//!
//! A [`StreamDecoder`] takes the bytes apart into events, passes over what only keeps the connection awake, recognises
//! an error wherever a server puts it, and knows whether the reply has begun and is complete. What is left, one JSON
//! object at a time, goes to the vendor's [`ReadReply`]. An answer that is one piece of JSON and no stream is read as
//! if it had come in an event.
//!
//! No event decides about a reply: one that cannot be read is left out, and the user is told at the end.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{
    Decoder, ErrorResponse, ProviderError, Request,
    loose_json::{self, Halves},
    sse::{Sse, SseEvent},
    text_calls::TextCalls,
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
    /// Takes one event, which is an object, and appends what it brings. It may be a whole reply. The reply is complete
    /// with an [`Event::Finished`].
    ///
    /// # Errors
    /// When something of the event cannot be read, or it is an error.
    fn read(&mut self, event: Value, events: &mut Vec<Event>) -> Result<(), Fault>;

    /// Whether it is known why the reply ends.
    fn may_end(&self) -> bool {
        false
    }

    /// Nothing more comes. A reply that is complete by now says so; any other was cut off, and what has arrived of its calls is
    /// handed on. `is_said` if the server has sent the word `[DONE]`, or the reply in one piece: then it is complete.
    ///
    /// # Errors
    /// When something of what has come cannot be read.
    fn end(&mut self, is_said: bool, events: &mut Vec<Event>) -> Result<(), Fault>;
}

/// Why an event is not one of a reply.
pub(super) enum Fault {
    /// The protocol does not allow it; says what is wrong.
    Malformed(String),
    /// It has nothing to do with the protocol. That matters if nothing else comes.
    Foreign(&'static str),
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
    text_calls: TextCalls,
    /// There is something that strict JSON does not allow.
    is_loose: bool,
    halves: Halves,
    /// Why the first event was left out that could not be read.
    unread: Option<ProviderError>,
    /// The same of the first that has nothing to do with a reply.
    foreign: Option<ProviderError>,
}

impl<R: ReadReply> StreamDecoder<R> {
    /// Reads what `peer` answers to `request`, which allows a reply of `limit` tokens.
    pub fn new(peer: Peer, reply: R, request: &Request, limit: Option<u32>) -> Self {
        Self {
            sse: Sse::default(),
            peer,
            reply,
            progress: Progress::default(),
            limit,
            written: 0,
            has_calls: false,
            text_calls: TextCalls::of(request),
            is_loose: false,
            halves: Halves::default(),
            unread: None,
            foreign: None,
        }
    }
}

impl<R: ReadReply> Decoder for StreamDecoder<R> {
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), ProviderError> {
        let mut sse = std::mem::take(&mut self.sse);
        let result = sse.feed(bytes, |event| self.read(event, events));
        self.sse = sse;
        result
    }

    fn may_end(&self) -> bool {
        self.reply.may_end()
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), ProviderError> {
        let foreign = self.sse.foreign();
        if let (Progress::Waiting, Some(text)) = (self.progress, &foreign) {
            self.read_whole(text, events)?;
        }
        if self.progress == Progress::Arriving {
            self.perform(END_OF_STREAM, events, |reply, events| reply.end(false, events))?;
        }
        match (self.progress, foreign) {
            (Progress::Complete, _) => Ok(()),
            (Progress::Waiting, Some(text)) => Err(self.peer.malformed(NO_STREAM, &text)),
            (progress, _) => Err(self.unread.take().or(self.foreign.take()).unwrap_or_else(|| {
                let is_begun = progress == Progress::Arriving;
                self.peer.closed(if is_begun { "in the middle of the reply" } else { "before the reply began" })
            })),
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
        let json = match self.parse(data) {
            Ok(json) => json,
            Err(_) if event.name == "error" => return Err(self.peer.interrupt(&data.into())),
            Err(error) => {
                self.leave_out(&error.to_string(), data);
                return Ok(());
            }
        };
        if event.name == "error" || is_error(&json) {
            return Err(self.peer.interrupt(&json));
        }
        if !json.is_object() {
            self.leave_out("not a JSON object", data);
            return Ok(());
        }
        self.progress = Progress::Arriving;
        self.perform(data, events, |reply, events| reply.read(json, events))
    }

    /// Reads an answer that is no stream. It may be a reply in one piece, or in a list of pieces.
    fn read_whole(&mut self, text: &str, events: &mut Vec<Event>) -> Result<(), ProviderError> {
        let pieces = match self.parse(text) {
            Ok(error) if is_error(&error) => return Err(self.peer.interrupt(&error)),
            Ok(Value::Array(pieces)) => pieces,
            Ok(whole) => vec![whole],
            Err(_) => return Ok(()),
        };
        for piece in pieces.into_iter().filter(Value::is_object) {
            self.perform(text, events, |reply, events| reply.read(piece, events))?;
        }
        // Other JSON than a reply brings nothing.
        if self.progress == Progress::Waiting && events.iter().any(|event| !matches!(event, Event::Usage(_))) {
            self.progress = Progress::Arriving;
            self.perform(text, events, |reply, events| reply.end(true, events))?;
        }
        Ok(())
    }

    fn parse(&mut self, data: &str) -> Result<Value, serde_json::Error> {
        serde_json::from_str(data).or_else(|error| {
            self.is_loose = true;
            loose_json::read(data).ok_or(error)
        })
    }

    /// Goes on without something that cannot be read.
    fn leave_out(&mut self, what: &str, data: &str) {
        let unread = || self.peer.malformed(what, data);
        self.unread.get_or_insert_with(unread);
    }

    /// Lets the reader do something about `data`, and corrects what it makes of the end of the reply.
    fn perform(
        &mut self,
        data: &str,
        events: &mut Vec<Event>,
        read: impl FnOnce(&mut R, &mut Vec<Event>) -> Result<(), Fault>,
    ) -> Result<(), ProviderError> {
        let before = events.len();
        match read(&mut self.reply, events) {
            Ok(()) => {}
            Err(Fault::Malformed(what)) => self.leave_out(&what, data),
            Err(Fault::Foreign(what)) => self.foreign = self.foreign.take().or(Some(self.peer.malformed(what, data))),
            Err(Fault::Error(error)) => return Err(self.peer.interrupt(&error)),
            Err(Fault::Blocked(reason, words)) => return Err(self.peer.block(&reason, &words)),
        }
        if self.is_loose {
            let joined = self.halves.join(events.drain(before..));
            events.extend(joined);
        }
        for event in &mut events[before..] {
            match event {
                Event::Usage(usage) => self.written = usage.output,
                Event::Text(text) => self.text_calls.read(text),
                Event::ToolUse { input, .. } => {
                    self.has_calls = true;
                    // What was left out may have been its input.
                    if self.unread.is_some() && *input == ToolInput::Json(json!({})) {
                        *input = ToolInput::Malformed(String::new());
                    }
                }
                Event::Finished(stop) => {
                    self.progress = Progress::Complete;
                    self.correct(stop);
                }
                _ => {}
            }
        }
        if self.progress == Progress::Complete {
            self.warn(events);
        }
        Ok(())
    }

    /// Tells the user, right before the end, what the reply has cost them.
    fn warn(&mut self, events: &mut Vec<Event>) {
        let end = events.pop();
        if let Some(unread) = self.unread.take() {
            events.push(Event::Warning(format!("A part of the reply may be missing: {unread}.")));
        }
        if !self.has_calls {
            events.extend(self.text_calls.warning().map(Event::Warning));
        }
        events.extend(end);
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
        return ToolInput::Json(if given.is_null() { json!({}) } else { given });
    }
    match loose_json::read_input(&json) {
        Some(value) => ToolInput::Json(value),
        None => ToolInput::Malformed(json),
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
