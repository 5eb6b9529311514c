//! Reading a reply: what the decoders of all vendors have in common.
//!
//! A [`StreamDecoder`] takes the bytes apart into events, passes over what only keeps the connection awake, recognises
//! an error wherever a server puts it, and knows whether the reply has begun and is complete. What is left, one JSON
//! object at a time, goes to the vendor's [`ReadReply`]. An answer that is one piece of JSON and no stream is read as
//! if it had come in an event.
//!
//! No event decides about a reply: one that cannot be read is left out, and the user is told at the end. So is a second answer. A call
//! that begins or goes on behind the reason why the reply ends waits for the user, unless its event says that reason again: some servers
//! do in every event. Nothing is read behind the event that ends a reply.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    Decoder, ErrorResponse, ProviderError, Request,
    call_input::unreadable,
    loose_json::{self, Halves},
    registry,
    sse::{Sse, SseEvent},
    text_calls::TextCalls,
    vendor_error::Peer,
};
use flemma_model::{CallId, Event, Hosted, HostedBlock, Part, StopReason, ToolInput};

/// What is wrong with an answer that is not a stream.
const NO_STREAM: &str = "not a stream of events";

/// What the user is told of a reply that ends to call a tool, and calls none.
const NO_CALL: &str = "The server says that the model calls a tool, but has sent no call.";

/// What the user is told of a reply that is nothing but thinking.
const NO_ANSWER: &str = "The model has thought, but given no answer. Ask it to go on.";

/// Where the reason why a reply ends may be in an event that brings something else.
const ENDS: [&str; 2] = ["/choices/0/finish_reason", "/candidates/0/finishReason"];

/// What Ollama speaks where it is not asked for anything else.
const OLLAMA: &str = "Ollama's own protocol; set `base_url` to an address that ends in `/v1`";

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
    /// What it calls that runs here: the names and the inputs.
    calls: Vec<(String, ToolInput)>,
    /// Whether there is anything but thinking in it.
    has_answer: bool,
    has_thinking: bool,
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
            calls: Vec::new(),
            has_answer: false,
            has_thinking: false,
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
            self.perform("", events, |reply, events| reply.end(false, events))?;
        }
        match (self.progress, foreign) {
            (Progress::Complete, _) => Ok(()),
            (Progress::Waiting, Some(text)) if is_of_ollama(&text) => Err(self.peer.speaks(OLLAMA)),
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
            return self.perform("", events, |reply, events| reply.end(true, events));
        }
        let json = match self.parse(data) {
            Ok(json) => json,
            // Some servers leave out the empty line between two events.
            Err(_) if data.contains('\n') && data.lines().all(is_event) => {
                return data.lines().try_for_each(|data| self.read(SseEvent { data, ..event }, events));
            }
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
        self.check_protocol(&json)?;
        self.progress = Progress::Arriving;
        let is_behind = self.reply.may_end() && !ENDS.iter().any(|end| json.pointer(end).is_some_and(Value::is_string));
        self.perform(data, events, |reply, events| {
            let before = events.len();
            reply.read(json, events)?;
            let brings_call = events[before..].iter().any(|event| matches!(event, Event::ToolUseProgress { .. }));
            if is_behind && brings_call { Err("a call behind the end of the reply".into()) } else { Ok(()) }
        })
    }

    /// Refuses a reply that begins as one of another vendor's.
    fn check_protocol(&self, json: &Value) -> Result<(), ProviderError> {
        match registry::sender_of(json) {
            Some(other) if self.progress == Progress::Waiting && other != self.peer.vendor.name => {
                Err(self.peer.speaks(&format!("the protocol of another provider; set `provider = \"{other}\"`")))
            }
            _ => Ok(()),
        }
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
            self.check_protocol(&piece)?;
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
        let mut faults = Vec::new();
        for event in &mut events[before..] {
            match event {
                Event::Usage(usage) => self.written = usage.output,
                Event::Text(text) => {
                    self.has_answer |= !text.trim().is_empty();
                    self.text_calls.read(text);
                }
                Event::Hosted(_) => self.has_answer = true,
                Event::Thinking(_) => self.has_thinking = true,
                Event::WasThinking => (self.has_thinking, self.has_answer) = (true, false),
                Event::ToolUse { id, name, input } => {
                    self.has_answer = true;
                    let call = (name.clone(), input.clone());
                    if is_made_up(id) && self.calls.contains(&call) {
                        faults.push("the same call came twice");
                    } else {
                        faults.extend(unreadable(input));
                    }
                    self.calls.push(call);
                }
                Event::Finished(_) => self.progress = Progress::Complete,
                _ => {}
            }
        }
        faults.into_iter().for_each(|what| self.leave_out(what, data));
        if let Some(Event::Finished(stop)) = events.pop_if(|_| self.progress == Progress::Complete) {
            self.warn(&stop, events);
            let stop = self.corrected(stop);
            let stop = self.doubted(stop, events);
            events.push(Event::Finished(stop));
        }
        Ok(())
    }

    /// Tells the user, right before the end, what the reply has cost them.
    fn warn(&mut self, stop: &StopReason, events: &mut Vec<Event>) {
        let lack = match stop {
            StopReason::ToolUse => Some(NO_CALL),
            StopReason::EndTurn if self.has_thinking && !self.has_answer => Some(NO_ANSWER),
            _ => None,
        };
        if self.calls.is_empty() {
            events.extend(self.text_calls.warning().or(lack.map(str::to_owned)).map(Event::Warning));
        }
    }

    /// Says that something of the reply could not be read. It may have been a part of a call that looks whole without it.
    fn doubted(&mut self, stop: StopReason, events: &mut Vec<Event>) -> StopReason {
        let Some(unread) = self.unread.take() else { return stop };
        let words = format!("A part of the reply may be missing: {unread}.");
        match stop {
            StopReason::ToolUse | StopReason::Pause if !self.calls.is_empty() => StopReason::Damaged(words),
            stop => {
                events.push(Event::Warning(words));
                stop
            }
        }
    }

    /// Tells a reply that waits for tools from one that is over: servers say that they have stopped where a tool is
    /// called, and the other way round. Tells one that reached its limit from one that filled the model's context: most
    /// servers have one word for both. A reply of fewer tokens than it was allowed was stopped by the context, and a higher
    /// limit would not help.
    fn corrected(&self, stop: StopReason) -> StopReason {
        match stop {
            StopReason::EndTurn | StopReason::ToolUse if !self.calls.is_empty() => StopReason::ToolUse,
            StopReason::ToolUse => StopReason::EndTurn,
            // Without a count it is not known.
            StopReason::MaxTokens if self.limit.is_some_and(|limit| (1..limit.into()).contains(&self.written)) => {
                StopReason::ContextFull
            }
            StopReason::Other(word) => StopReason::Other(self.peer.quote(&word, MAX_REASON)),
            StopReason::Blocked(word) => StopReason::Blocked(self.peer.quote(&word, MAX_REASON)),
            stop => stop,
        }
    }
}

/// Whether JSON is an error and nothing of a reply. It may come in a list of one.
pub(super) fn is_error(json: &Value) -> bool {
    let json = json.get(0).unwrap_or(json);
    json.get("error").is_some_and(|error| !error.is_null())
        || ["type", "object"].iter().any(|field| json.get(*field).is_some_and(|kind| kind == "error"))
}

/// Whether a line is the data of an event.
fn is_event(line: &str) -> bool {
    line.trim() == "[DONE]" || serde_json::from_str::<Map<String, Value>>(line).is_ok()
}

/// Whether the lines of a text are the reply of Ollama's own API.
fn is_of_ollama(text: &str) -> bool {
    let first = text.lines().next().and_then(|line| serde_json::from_str::<Value>(line).ok());
    first.is_some_and(|first| first.get("done").is_some_and(Value::is_boolean) && first.get("model").is_some())
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

/// Whether an id may be made up: the server has given none, or one that another call has.
fn is_made_up(id: &CallId) -> bool {
    let digits = id.0.rsplit_once('_').map_or("", |(_, digits)| digits);
    digits.len() == 12 && digits.chars().all(|digit| digit.is_ascii_hexdigit())
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

/// Which of several answers is read: the one that comes first.
#[derive(Default)]
pub(super) struct FirstAnswer(Option<u64>);

impl FirstAnswer {
    /// Takes what is of the first answer out of a list, and says so if there is something of another one.
    pub fn take(&mut self, answers: Vec<Value>) -> (Option<Value>, Result<(), &'static str>) {
        let (mut first, mut outcome) = (None, Ok(()));
        for (place, answer) in (0..).zip(answers) {
            let unsaid = if place == 0 { self.0.unwrap_or_default() } else { place };
            let index = answer.get("index").and_then(Value::as_u64).unwrap_or(unsaid);
            if *self.0.get_or_insert(index) == index && first.is_none() {
                first = Some(answer);
            } else {
                outcome = Err("a second answer");
            }
        }
        (first, outcome)
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
