//! The reply, event by event.
//!
//! | event                 | what becomes of it                                                         |
//! |-----------------------|----------------------------------------------------------------------------|
//! | `message_start`       | handled: the usage so far                                                  |
//! | `content_block_start` | handled for the blocks below; a block of another type is ignored on purpose|
//! | `content_block_delta` | handled for the deltas below; begins the block that it needs               |
//! | `content_block_stop`  | handled: thinking and tool uses are complete here                          |
//! | `message_delta`       | handled: why the reply ends, and the usage                                 |
//! | `message_stop`        | handled: the reply is complete, and its open block                         |
//! | `message`             | handled: the whole reply in one piece                                      |
//! | the end of the stream | handled: completes a reply whose reason to end has been said               |
//! | `ping`                | ignored on purpose: it only keeps the connection awake                     |
//! | `error`               | handled: ends the reply with the matching error                            |
//! | any other             | ignored on purpose: the API's versioning policy allows new ones            |
//!
//! | block                 | delta                               | what becomes of it                                |
//! |-----------------------|-------------------------------------|---------------------------------------------------|
//! | `text`                | `text_delta`                        | handled                                           |
//! | `text`                | `citations_delta`                   | handled: see [`super::cited`]                     |
//! | `thinking`            | `thinking_delta`, `signature_delta` | handled                                           |
//! | `redacted_thinking`   | none                                | handled                                           |
//! | `tool_use`            | `input_json_delta`                  | handled                                           |
//! | `server_tool_use`     | `input_json_delta`                  | handled: complete at its end                      |
//! | `…_tool_result`       | none                                | handled, its errors too: it comes whole           |
//! | `container_upload`    | any                                 | ignored on purpose: nothing is done with files    |
//! | any other             | any                                 | ignored on purpose                                |
//! | any that is handled   | one of another block                | ends it, and begins that block                    |
//! | any that is handled   | unknown                             | ignored on purpose                                |
//!
//! The results of hosted tools are `web_search_tool_result`, `code_execution_tool_result`,
//! `bash_code_execution_tool_result`, `text_editor_code_execution_tool_result` and others that end in the same way.
//!
//! A delta belongs to the block at its place: calls may be open while other blocks are. Servers that follow the API leave out
//! the place, or where a block begins or ends, or put one into another. Events after `message_stop` mean nothing.
//!
//! What another host than the vendor's has thought goes back to that host alone, also where it has no signature.

use serde_json::{Value, json};

use super::{NAME, cited::Cited, vendor::is_own};
use crate::{
    Request,
    call_input::{UNKNOWN, take_input, tool_input},
    counts::CountNames,
    reply::{Fault, NewIds, ReadReply, items, push_text, push_thinking, str_of, take, text_of},
    signature::at_host,
    stop_reason::stop_reason,
};
use flemma_model::{CallId, Event, Hosted, HostedBlock, Signature, Usage};

const COUNTS: CountNames = CountNames {
    input: &["/input_tokens"],
    output: &["/output_tokens"],
    total: None,
    reasoning: "",
    cache_read: &["/cache_read_input_tokens"],
    cache_write: "/cache_creation_input_tokens",
    input_has_cache: false,
};

/// Reads one response of the Messages API.
pub(super) struct MessagesReply {
    host: String,
    ids: NewIds,
    /// The blocks that are being read, with their places.
    open: Vec<(Option<u64>, ContentBlock)>,
    cited: Cited,
    usage: Usage,
    stop: Option<String>,
}

enum ContentBlock {
    Text { text: String, citations: Vec<Value> },
    Thinking { signature: String },
    ToolUse { id: CallId, name: String, json: String, given: (Value, bool) },
    HostedUse { id: CallId, name: String, json: String, raw: Value },
    HostedResult { id: CallId, raw: Value },
    Ignored,
}

impl ReadReply for MessagesReply {
    fn read(&mut self, mut event: Value, events: &mut Vec<Event>) -> Result<(), Fault> {
        let index = event.get("index").and_then(Value::as_u64);
        match text_of(&mut event, "type").ok_or(Fault::Foreign("an event without a type"))?.as_str() {
            "message_start" => self.count(event.pointer("/message/usage"), events),
            "content_block_start" => self.begin(index, take(&mut event, "content_block"), events)?,
            "content_block_delta" => self.extend(index, take(&mut event, "delta"), events)?,
            "content_block_stop" => self.finish(|of, _| is_same(of, index), events)?,
            "message_delta" => {
                self.stop = text_of(&mut take(&mut event, "delta"), "stop_reason").or(self.stop.take());
                self.count(event.get("usage"), events);
            }
            "message_stop" => return self.end(true, events),
            "message" => {
                items(&event, "content").iter().try_for_each(|block| self.begin(None, block.clone(), events))?;
                self.stop = text_of(&mut event, "stop_reason");
                self.count(event.get("usage"), events);
                return self.end(true, events);
            }
            _ => {}
        }
        Ok(())
    }

    fn may_end(&self) -> bool {
        self.stop.is_some()
    }

    fn end(&mut self, is_said: bool, events: &mut Vec<Event>) -> Result<(), Fault> {
        let is_cut = !is_said && !self.may_end();
        if is_cut {
            // A call that has begun is kept, though it is not whole.
            self.open.retain(|(_, block)| matches!(block, ContentBlock::ToolUse { json, .. } if !json.is_empty()));
        }
        let finished = self.finish(|_, _| true, events);
        if is_cut {
            return Ok(());
        }
        self.cited.end(events);
        // Servers leave the reason out before the end that they say.
        let word = self.stop.take().unwrap_or_else(|| "end_turn".to_owned());
        events.push(Event::Finished(stop_reason(&word, "")));
        Ok(finished?)
    }
}

impl MessagesReply {
    /// The reply of `host` to a request.
    pub(super) fn new(host: &str, request: &Request) -> Self {
        Self {
            host: host.to_owned(),
            ids: NewIds::after(request),
            open: Vec::new(),
            cited: Cited::default(),
            usage: Usage::default(),
            stop: None,
        }
    }

    /// Begins a block; says what is wrong with one that cannot be read, or with the one before.
    fn begin(&mut self, index: Option<u64>, mut block: Value, events: &mut Vec<Event>) -> Result<(), &'static str> {
        // A call may go on while another block does.
        let goes_on = |block: &ContentBlock| matches!(block, ContentBlock::ToolUse { .. } | ContentBlock::Ignored);
        let finished = self.finish(|of, block| is_same(of, index) || !goes_on(block), events);
        // What comes of one that cannot be read is not taken for a part of another.
        self.open.push((index, ContentBlock::Ignored));
        let kind = block.get("type").and_then(Value::as_str).ok_or("a block without a type")?.to_owned();
        if kind != "text" {
            self.cited.end(events);
        }
        let begun = match kind.as_str() {
            "text" => {
                let text = text_of(&mut block, "text").unwrap_or_default();
                push_text(text.clone(), events);
                let citations = match take(&mut block, "citations") {
                    Value::Array(citations) => citations,
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
                events.push(Event::RedactedThinking(self.signed(value)));
                // Complete as it is: nothing more is expected before its end.
                ContentBlock::Ignored
            }
            "tool_use" => {
                let name = text_of(&mut block, "name").ok_or("a tool use without a name")?;
                let id = self.ids.take(text_of(&mut block, "id").unwrap_or_default(), "toolu");
                events.push(Event::ToolUseProgress { name: name.clone(), bytes: 0 });
                ContentBlock::ToolUse { id, name, json: String::new(), given: take_input(&mut block) }
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
        };
        self.open.pop();
        self.open.push((index, begun));
        finished
    }

    /// Takes a delta of the block at a place. It begins the block that it needs, if another or none is open there.
    fn extend(&mut self, index: Option<u64>, delta: Value, events: &mut Vec<Event>) -> Result<(), &'static str> {
        let place = |open: &[(_, _)]| open.iter().rposition(|(of, _)| is_same(*of, index));
        let mut at = place(&self.open);
        let needed = match (str_of(&delta, "type"), at.map(|at| &self.open[at].1)) {
            (_, Some(ContentBlock::Ignored))
            | ("text_delta", Some(ContentBlock::Text { .. }))
            | ("thinking_delta", Some(ContentBlock::Thinking { .. })) => None,
            ("text_delta", _) => Some("text"),
            ("thinking_delta", _) => Some("thinking"),
            _ => None,
        };
        if let Some(kind) = needed {
            self.begin(index, json!({ "type": kind }), events)?;
            at = place(&self.open);
        }
        let (_, block) = at.and_then(|at| self.open.get_mut(at)).ok_or("a delta for a block that is not open")?;
        block.extend(delta, events)
    }

    /// Ends open blocks; says what is wrong with one that is not whole.
    fn finish(
        &mut self,
        ends: impl Fn(Option<u64>, &ContentBlock) -> bool,
        events: &mut Vec<Event>,
    ) -> Result<(), &'static str> {
        let mut outcome = Ok(());
        for (_, block) in self.open.extract_if(.., |(of, block)| ends(*of, block)).collect::<Vec<_>>() {
            outcome = outcome.and(self.end_block(block, events));
        }
        outcome
    }

    fn end_block(&mut self, block: ContentBlock, events: &mut Vec<Event>) -> Result<(), &'static str> {
        let hosted = |block| Event::Hosted(Hosted::of(NAME, block));
        match block {
            ContentBlock::Ignored => {}
            ContentBlock::Text { text, citations } => self.cited.note(text, citations),
            ContentBlock::Thinking { signature } => {
                let signature = Some(self.signed(signature)).filter(|signature| !signature.value.is_empty());
                events.push(Event::ThinkingFinished { signature });
            }
            ContentBlock::ToolUse { id, name, json, given: (given, is_known) } => {
                let is_known = is_known || !json.trim().is_empty();
                events.push(Event::ToolUse { id, name, input: tool_input(json, given) });
                return is_known.then_some(()).ok_or(UNKNOWN);
            }
            ContentBlock::HostedUse { id, name, json, mut raw } => {
                // Kept as it came but for the input, which came in pieces.
                if !json.trim().is_empty() {
                    raw["input"] =
                        serde_json::from_str(&json).map_err(|_| "a hosted call whose input is not valid JSON")?;
                }
                events.push(hosted(HostedBlock::Call { id, name, raw }));
            }
            ContentBlock::HostedResult { id, raw } => {
                let kind = raw.pointer("/content/type").and_then(Value::as_str);
                let is_error = kind.is_some_and(|kind| kind.ends_with("_error"));
                events.push(hosted(HostedBlock::Result { id, raw, is_error }));
            }
        }
        Ok(())
    }

    /// The signature of what this host has thought, which may be empty.
    fn signed(&self, value: String) -> Signature {
        let value = if is_own(&self.host) { value } else { at_host(&value, &self.host) };
        Signature { provider: NAME.to_owned(), value }
    }

    fn count(&mut self, usage: Option<&Value>, events: &mut Vec<Event>) {
        if let Some(usage) = usage.and_then(|usage| COUNTS.read(usage, self.usage)) {
            self.usage = usage;
            events.push(Event::Usage(usage));
        }
    }
}

/// Whether both may be the place of one block: servers leave it out.
fn is_same(of: Option<u64>, index: Option<u64>) -> bool {
    of.is_none() || index.is_none() || of == index
}

impl ContentBlock {
    /// Takes a delta; says so when it belongs to another type of block.
    fn extend(&mut self, mut delta: Value, events: &mut Vec<Event>) -> Result<(), &'static str> {
        let has_json = delta.get("partial_json").is_some_and(Value::is_string);
        let mut text = |field| text_of(&mut delta, field).unwrap_or_default();
        let kind = text("type");
        match (self, kind.as_str()) {
            (Self::Text { text: all, .. }, "text_delta") => {
                let more = text("text");
                all.push_str(&more);
                push_text(more, events);
            }
            (Self::Text { citations, .. }, "citations_delta") => citations.push(take(&mut delta, "citation")),
            (Self::Thinking { .. }, "thinking_delta") => push_thinking(text("thinking"), events),
            // Sent once and whole; the vendor's own libraries keep the last one.
            (Self::Thinking { signature }, "signature_delta") => *signature = text("signature"),
            (Self::ToolUse { name, json, .. } | Self::HostedUse { name, json, .. }, "input_json_delta") if has_json => {
                json.push_str(&text("partial_json"));
                events.push(Event::ToolUseProgress { name: name.clone(), bytes: json.len() });
            }
            (Self::Text { .. } | Self::Thinking { .. }, "input_json_delta") | (Self::ToolUse { .. }, _) => {
                return Err("a delta of another type than its block");
            }
            _ => {}
        }
        Ok(())
    }
}
