//! The reply, event by event.
//!
//! | event                 | what becomes of it                                                         |
//! |-----------------------|----------------------------------------------------------------------------|
//! | `message_start`       | handled: the usage so far                                                  |
//! | `content_block_start` | handled for the blocks below; a block of another type is ignored on purpose|
//! | `content_block_delta` | handled for the deltas below; refused for a block that is not open         |
//! | `content_block_stop`  | handled: thinking and tool uses are complete here                          |
//! | `message_delta`       | handled: why the reply ends, and the usage                                 |
//! | `message_stop`        | handled: the reply is complete; refused while a block is open              |
//! | `ping`                | ignored on purpose: it only keeps the connection awake                     |
//! | `error`               | handled: ends the reply with the matching [`ErrorKind`]                    |
//! | any other             | ignored on purpose: the API's versioning policy allows new ones            |
//! | no JSON, no `type`    | refused as malformed                                                       |
//!
//! | block                 | delta                               | what becomes of it                                |
//! |-----------------------|-------------------------------------|---------------------------------------------------|
//! | `text`                | `text_delta`                        | handled                                           |
//! | `text`                | `citations_delta`                   | handled: see [`super::cited`]                     |
//! | `thinking`            | `thinking_delta`, `signature_delta` | handled                                           |
//! | `redacted_thinking`   | none                                | handled                                           |
//! | `tool_use`            | `input_json_delta`                  | handled                                           |
//! | `server_tool_use`     | `input_json_delta`                  | handled: complete at its end; refused if no JSON  |
//! | `…_tool_result`       | none                                | handled, its errors too: it comes whole           |
//! | `container_upload`    | any                                 | ignored on purpose: nothing is done with files    |
//! | any other             | any                                 | ignored on purpose                                |
//! | any that is handled   | one of another block                | refused                                           |
//! | any that is handled   | unknown                             | ignored on purpose                                |
//!
//! The results of hosted tools are `web_search_tool_result`, `code_execution_tool_result`,
//! `bash_code_execution_tool_result`, `text_editor_code_execution_tool_result` and others that end in the same way.
//!
//! One block is open at a time, as the API sends them. Events after `message_stop` mean nothing.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::{NAME, cited::Cited};
use crate::{
    Decoder, ErrorResponse, ProviderError,
    reply::{StreamProgress, parse, push_text, push_thinking, text_of, tool_input},
    sse::Sse,
    vendor_error::{MAX_REASON, Peer},
};
use flemma_model::{CallId, Event, Signature, StopReason, Usage};

/// Reads one response of the Messages API.
pub(super) struct MessagesDecoder {
    peer: Peer,
    sse: Sse,
    reply: Reply,
}

/// How far the reply is.
#[derive(Default)]
struct Reply {
    progress: StreamProgress,
    open: Option<Open>,
    cited: Cited,
    usage: Usage,
    stop: Option<StopReason>,
}

/// The block that is being read.
struct Open {
    index: u64,
    block: ContentBlock,
}

enum ContentBlock {
    Text { text: String, citations: Vec<Value> },
    Thinking { signature: String },
    ToolUse { id: CallId, name: String, json: String, given: Value },
    HostedUse { id: CallId, name: String, json: String, raw: Value },
    HostedResult { id: CallId, raw: Value },
    Ignored,
}

#[derive(Deserialize)]
struct EventKind<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct MessageStart {
    message: MessageHead,
}

#[derive(Deserialize)]
struct MessageHead {
    #[serde(default)]
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct BlockStart {
    index: u64,
    content_block: Value,
}

#[derive(Deserialize)]
struct BlockDelta {
    index: u64,
    delta: Delta,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(rename = "citations_delta")]
    Citations { citation: Value },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct BlockStop {
    index: u64,
}

#[derive(Deserialize)]
struct MessageDelta {
    #[serde(default)]
    delta: StopDetails,
    #[serde(default)]
    usage: Option<WireUsage>,
}

#[derive(Default, Deserialize)]
struct StopDetails {
    #[serde(default)]
    stop_reason: Option<String>,
}

/// Counts so far; what is absent has not changed.
#[derive(Deserialize)]
struct WireUsage {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
}

impl MessagesDecoder {
    pub(super) fn new(peer: Peer) -> Self {
        Self { peer, sse: Sse::default(), reply: Reply::default() }
    }
}

impl Decoder for MessagesDecoder {
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), ProviderError> {
        let Self { peer, sse, reply } = self;
        sse.feed(bytes, |event| reply.read(event.data, peer, events))
    }

    fn finish(&mut self, _events: &mut Vec<Event>) -> Result<(), ProviderError> {
        self.reply.progress.finish(&self.peer, &self.sse)
    }

    fn decode_error(&self, response: &ErrorResponse) -> ProviderError {
        self.peer.decode_error(response)
    }
}

impl Reply {
    /// Reads one event of the stream.
    fn read(&mut self, data: &str, peer: &Peer, events: &mut Vec<Event>) -> Result<(), ProviderError> {
        if self.progress == StreamProgress::Complete {
            return Ok(());
        }
        self.progress = StreamProgress::Arriving;
        let refuse = |what: &str| peer.malformed(what, data);
        match parse::<EventKind<'_>>(data, peer)?.kind.as_ref() {
            "message_start" => {
                let start: MessageStart = parse(data, peer)?;
                self.count(start.message.usage, events);
            }
            "content_block_start" => {
                let start: BlockStart = parse(data, peer)?;
                if self.open.is_some() {
                    return Err(refuse("a block begins inside another"));
                }
                let block = self.begin(start.content_block, events).map_err(refuse)?;
                self.open = Some(Open { index: start.index, block });
            }
            "content_block_delta" => {
                let BlockDelta { index, delta } = parse(data, peer)?;
                match &mut self.open {
                    Some(open) if open.index == index => open.block.extend(delta, events).map_err(refuse)?,
                    _ => return Err(refuse("a delta for a block that is not open")),
                }
            }
            "content_block_stop" => {
                let stop: BlockStop = parse(data, peer)?;
                match self.open.take() {
                    Some(open) if open.index == stop.index => {
                        open.block.end(&mut self.cited, events).map_err(refuse)?;
                    }
                    _ => return Err(refuse("the end of a block that is not open")),
                }
            }
            "message_delta" => {
                let delta: MessageDelta = parse(data, peer)?;
                if let Some(reason) = delta.delta.stop_reason {
                    self.stop = Some(stop_reason(peer.quote(&reason, MAX_REASON)));
                }
                self.count(delta.usage, events);
            }
            "message_stop" => {
                if self.open.is_some() {
                    return Err(refuse("the reply ends inside a block"));
                }
                self.progress = StreamProgress::Complete;
                self.cited.end(events);
                let stop = self.stop.take().unwrap_or_else(|| StopReason::Other("no stop_reason".to_owned()));
                events.push(Event::Finished(stop));
            }
            "error" => {
                return Err(peer.interrupt(&parse(data, peer)?));
            }
            _ => {}
        }
        Ok(())
    }

    /// Begins a block; says what is wrong with one that cannot be read.
    fn begin(&mut self, mut block: Value, events: &mut Vec<Event>) -> Result<ContentBlock, &'static str> {
        let kind = block.get("type").and_then(Value::as_str).ok_or("a block without a type")?.to_owned();
        if kind != "text" {
            self.cited.end(events);
        }
        Ok(match kind.as_str() {
            "text" => {
                let text = text_of(&mut block, "text").unwrap_or_default();
                push_text(text.clone(), events);
                let citations = match block.get_mut("citations").map(Value::take) {
                    Some(Value::Array(citations)) => citations,
                    _ => Vec::new(),
                };
                ContentBlock::Text { text, citations }
            }
            "thinking" => {
                events.push(Event::ThinkingStarted);
                push_thinking(text_of(&mut block, "thinking").unwrap_or_default(), events);
                ContentBlock::Thinking { signature: text_of(&mut block, "signature").unwrap_or_default() }
            }
            "redacted_thinking" => {
                let value = text_of(&mut block, "data").ok_or("redacted thinking without data")?;
                events.push(Event::RedactedThinking(Signature { provider: NAME.to_owned(), value }));
                // Complete as it is: nothing more is expected before its end.
                ContentBlock::Ignored
            }
            "tool_use" => {
                let id = text_of(&mut block, "id").ok_or("a tool use without an id")?;
                let name = text_of(&mut block, "name").ok_or("a tool use without a name")?;
                events.push(Event::ToolUseProgress { name: name.clone(), bytes: 0 });
                let given = block.get_mut("input").map(Value::take).unwrap_or_default();
                ContentBlock::ToolUse { id: CallId(id), name, json: String::new(), given }
            }
            "server_tool_use" => {
                let field = |name| block.get(name).and_then(Value::as_str).map(str::to_owned);
                let id = field("id").ok_or("a hosted call without an id")?;
                let name = field("name").ok_or("a hosted call without a name")?;
                events.push(Event::ToolUseProgress { name: name.clone(), bytes: 0 });
                ContentBlock::HostedUse { id: CallId(id), name, json: String::new(), raw: block }
            }
            result if result.ends_with("_tool_result") => {
                let id = block.get("tool_use_id").and_then(Value::as_str).ok_or("a hosted result without a call")?;
                ContentBlock::HostedResult { id: CallId(id.to_owned()), raw: block }
            }
            _ => ContentBlock::Ignored,
        })
    }

    fn count(&mut self, wire: Option<WireUsage>, events: &mut Vec<Event>) {
        let Some(wire) = wire else { return };
        let update = |slot: &mut u64, value: Option<u64>| *slot = value.unwrap_or(*slot);
        update(&mut self.usage.input, wire.input_tokens);
        update(&mut self.usage.output, wire.output_tokens);
        update(&mut self.usage.cache_read, wire.cache_read_input_tokens);
        update(&mut self.usage.cache_write, wire.cache_creation_input_tokens);
        events.push(Event::Usage(self.usage));
    }
}

impl ContentBlock {
    /// Takes a delta; says so when it belongs to another type of block.
    fn extend(&mut self, delta: Delta, events: &mut Vec<Event>) -> Result<(), &'static str> {
        match (self, delta) {
            (Self::Ignored, _) | (_, Delta::Unknown) => {}
            (Self::Text { text, .. }, Delta::Text { text: more }) => {
                text.push_str(&more);
                push_text(more, events);
            }
            (Self::Text { citations, .. }, Delta::Citations { citation }) => citations.push(citation),
            (Self::Thinking { .. }, Delta::Thinking { thinking }) => push_thinking(thinking, events),
            // Sent once and whole; the vendor's own libraries keep the last one.
            (Self::Thinking { signature }, Delta::Signature { signature: sent }) => *signature = sent,
            (
                Self::ToolUse { name, json, .. } | Self::HostedUse { name, json, .. },
                Delta::InputJson { partial_json },
            ) => {
                json.push_str(&partial_json);
                events.push(Event::ToolUseProgress { name: name.clone(), bytes: json.len() });
            }
            _ => return Err("a delta of another type than its block"),
        }
        Ok(())
    }

    /// Ends it; says what is wrong with one that is not whole.
    fn end(self, cited: &mut Cited, events: &mut Vec<Event>) -> Result<(), &'static str> {
        match self {
            Self::Ignored => {}
            Self::Text { text, citations } => cited.note(text, citations),
            Self::Thinking { signature } => {
                let signature =
                    (!signature.is_empty()).then(|| Signature { provider: NAME.to_owned(), value: signature });
                events.push(Event::ThinkingFinished { signature });
            }
            Self::ToolUse { id, name, json, given } => {
                events.push(Event::ToolUse { id, name, input: tool_input(json, given) });
            }
            Self::HostedUse { id, name, json, mut raw } => {
                // Kept as it came but for the input, which came in pieces.
                if !json.trim().is_empty() {
                    raw["input"] =
                        serde_json::from_str(&json).map_err(|_| "a hosted call whose input is not valid JSON")?;
                }
                events.push(Event::HostedUse { provider: NAME.to_owned(), id, name, raw });
            }
            Self::HostedResult { id, raw } => {
                let kind = raw.pointer("/content/type").and_then(Value::as_str);
                let is_error = kind.is_some_and(|kind| kind.ends_with("_error"));
                events.push(Event::HostedResult { provider: NAME.to_owned(), id, raw, is_error });
            }
        }
        Ok(())
    }
}

fn stop_reason(reason: String) -> StopReason {
    match reason.as_str() {
        // We send no stop sequences: should a gateway have its own, the model was done for it.
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "refusal" => StopReason::Refusal,
        "pause_turn" => StopReason::Pause,
        "model_context_window_exceeded" => StopReason::ContextFull,
        _ => StopReason::Other(reason),
    }
}
