//! The reply, event by event.
//!
//! Every event of `ResponseStreamEvent` in the vendor's SDK (3.54) has a row; `…` means all that begin like this, a
//! name that begins with a dot for the same beginning.
//!
//! | event                                             | what becomes of it                                         |
//! |---------------------------------------------------|------------------------------------------------------------|
//! | `response.created`, `.queued`, `.in_progress`     | ignored on purpose: they bring nothing of the reply        |
//! | `response.output_item.added`                      | handled for the items below; refused inside another        |
//! | `response.content_part.added`, `.done`            | ignored on purpose: the deltas and the item say it all     |
//! | `response.output_text.delta`                      | handled: prose                                             |
//! | `response.output_text.done`                       | ignored on purpose: the deltas once more                   |
//! | `response.output_text.annotation.added`           | handled for `url_citation`: a source, told with the item   |
//! | `response.refusal.delta`                          | handled: prose, and the reply ends as a refusal            |
//! | `response.refusal.done`                           | ignored on purpose: the deltas once more                   |
//! | `response.reasoning_summary_part.added`           | handled: an empty line before each part but the first      |
//! | `response.reasoning_summary_text.delta`           | handled: thinking                                          |
//! | `response.reasoning_text.delta`                   | handled: thinking, of open models behind this API          |
//! | `response.reasoning_summary_part.done`            | ignored on purpose: the deltas once more                   |
//! | `response.reasoning_summary_text.done`            | ignored on purpose: the deltas once more                   |
//! | `response.reasoning_text.done`                    | ignored on purpose: the deltas once more                   |
//! | `response.function_call_arguments.delta`          | handled                                                    |
//! | `response.function_call_arguments.done`           | handled: all of them, instead of the deltas                |
//! | `response.output_item.done`                       | handled: the item is complete; makes up for missing deltas |
//! | `response.completed`, `response.incomplete`       | handled: the reply is complete; usage                      |
//! | `response.failed`, `error`                        | handled: end the reply with the matching error             |
//! | `response.audio…`                                 | ignored on purpose: no sound is asked for                  |
//! | `response.compaction…`                            | ignored on purpose: none is asked for                      |
//! | `response.web_search_call…`                       | ignored on purpose: the item says it all                   |
//! | `response.code_interpreter_call…`                 | ignored on purpose: the item says it all                   |
//! | `response.file_search_call…`, `.mcp…`             | ignored on purpose: no such tool is offered                |
//! | `response.image_generation_call…`, `.shell_call…` | ignored on purpose: no such tool is offered                |
//! | `response.custom_tool_call_input…`                | ignored on purpose: no tool without a schema is offered    |
//! | any other                                         | ignored on purpose: the API may bring new ones             |
//! | no JSON, no `type`                                | refused as malformed                                       |
//! | a delta for an item that is not open              | refused as malformed                                       |
//!
//! | item                    | what becomes of it                                                                      |
//! |-------------------------|-----------------------------------------------------------------------------------------|
//! | `message`               | handled; the pages it cites come behind it                                              |
//! | `reasoning`             | handled; its encrypted thoughts, complete only in `output_item.done`, are the signature |
//! | `function_call`         | handled                                                                                 |
//! | `web_search_call`       | handled in `output_item.done`: see [`super::hosted`]                                    |
//! | `code_interpreter_call` | handled in `output_item.done`                                                           |
//! | any other               | ignored on purpose: no such tool is offered                                             |
//!
//! One item is open at a time, as the API sends them; hosted calls come whole and count as none. Events after the end
//! mean nothing.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::{
    hosted,
    reasoning::{Reasoning, texts},
};
use crate::{
    Decoder, ErrorResponse, ProviderError,
    reply::{StreamProgress, parse, push_text, push_thinking, text_of, tool_input},
    sse::Sse,
    vendor_error::{MAX_REASON, Peer},
};
use flemma_model::{CallId, Event, StopReason, Usage, WebSource};

/// The separator between two parts of a summary.
const PART_BREAK: &str = "\n\n";

/// Reads one response of the Responses API.
pub(super) struct ResponsesDecoder {
    peer: Peer,
    sse: Sse,
    reply: Reply,
}

/// How far the reply is.
#[derive(Default)]
struct Reply {
    progress: StreamProgress,
    open: Option<Open>,
    /// A part of it was a refusal.
    refused: bool,
    /// It calls a tool.
    calls: bool,
}

/// The item that is being read.
struct Open {
    index: u64,
    item: Item,
    /// Something of it has been handed on.
    shown: bool,
    /// What it cites.
    sources: Vec<WebSource>,
}

enum Item {
    Message,
    Reasoning,
    FunctionCall { id: Option<String>, name: String, arguments: String },
}

#[derive(Deserialize)]
struct EventKind<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct ItemEvent {
    output_index: u64,
    item: Value,
}

#[derive(Deserialize)]
struct DeltaEvent {
    output_index: u64,
    delta: String,
}

#[derive(Deserialize)]
struct AnnotationEvent {
    output_index: u64,
    annotation: Value,
}

#[derive(Deserialize)]
struct PartEvent {
    output_index: u64,
}

#[derive(Deserialize)]
struct ArgumentsEvent {
    output_index: u64,
    arguments: String,
}

#[derive(Deserialize)]
struct ResponseEvent {
    response: Response,
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    incomplete_details: Option<IncompleteDetails>,
    #[serde(default)]
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    input_tokens_details: Option<InputDetails>,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Default, Deserialize)]
struct InputDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
    #[serde(default)]
    cache_write_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
struct OutputDetails {
    #[serde(default)]
    reasoning_tokens: Option<u64>,
}

impl ResponsesDecoder {
    pub(super) fn new(peer: Peer) -> Self {
        Self { peer, sse: Sse::default(), reply: Reply::default() }
    }
}

impl Decoder for ResponsesDecoder {
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
        // Gateways that speak several protocols end every stream in this.
        if self.progress == StreamProgress::Complete || data == "[DONE]" {
            return Ok(());
        }
        self.progress = StreamProgress::Arriving;
        let refuse = |what: &str| peer.malformed(what, data);
        match parse::<EventKind<'_>>(data, peer)?.kind.as_ref() {
            "response.output_item.added" => {
                let ItemEvent { output_index, item } = parse(data, peer)?;
                self.begin(output_index, item, events).map_err(refuse)?;
            }
            "response.output_text.delta" => {
                let DeltaEvent { output_index, delta } = parse(data, peer)?;
                self.text(output_index, delta, events).map_err(refuse)?;
            }
            "response.refusal.delta" => {
                let DeltaEvent { output_index, delta } = parse(data, peer)?;
                self.refused = true;
                self.text(output_index, delta, events).map_err(refuse)?;
            }
            "response.output_text.annotation.added" => {
                let AnnotationEvent { output_index, annotation } = parse(data, peer)?;
                if let Some(open) = self.open.as_mut().filter(|open| open.index == output_index) {
                    hosted::cite(&annotation, &mut open.sources);
                }
            }
            "response.reasoning_summary_part.added" => {
                let PartEvent { output_index } = parse(data, peer)?;
                if self.reasoning(output_index).map_err(refuse)?.shown {
                    push_thinking(PART_BREAK.to_owned(), events);
                }
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let DeltaEvent { output_index, delta } = parse(data, peer)?;
                self.reasoning(output_index).map_err(refuse)?.shown |= !delta.is_empty();
                push_thinking(delta, events);
            }
            "response.function_call_arguments.delta" => {
                let DeltaEvent { output_index, delta } = parse(data, peer)?;
                let (name, arguments) = self.call(output_index).map_err(refuse)?;
                arguments.push_str(&delta);
                events.push(Event::ToolUseProgress { name: name.clone(), bytes: arguments.len() });
            }
            "response.function_call_arguments.done" => {
                let ArgumentsEvent { output_index, arguments: all } = parse(data, peer)?;
                *self.call(output_index).map_err(refuse)?.1 = all;
            }
            "response.output_item.done" => {
                let ItemEvent { output_index, item } = parse(data, peer)?;
                self.end(output_index, item, events).map_err(refuse)?;
            }
            "response.completed" => {
                let ResponseEvent { response } = parse(data, peer)?;
                if self.open.is_some() {
                    return Err(refuse("the reply ends inside an item"));
                }
                let stop = match (self.refused, self.calls) {
                    (true, _) => StopReason::Refusal,
                    (_, true) => StopReason::ToolUse,
                    _ => StopReason::EndTurn,
                };
                self.complete(response.usage, stop, events);
            }
            "response.incomplete" => {
                let ResponseEvent { response } = parse(data, peer)?;
                self.break_off(events);
                let reason = response.incomplete_details.and_then(|details| details.reason);
                let reason = reason.map(|reason| peer.quote(&reason, MAX_REASON));
                self.complete(response.usage, stop_reason(reason), events);
            }
            "response.failed" => {
                let event: Value = parse(data, peer)?;
                let error = event.pointer("/response/error").cloned().unwrap_or_default();
                return Err(peer.interrupt(&serde_json::json!({ "error": error })));
            }
            "error" => return Err(peer.interrupt(&parse(data, peer)?)),
            _ => {}
        }
        Ok(())
    }

    /// Begins an item; says what is wrong with one that cannot be read.
    fn begin(&mut self, index: u64, mut item: Value, events: &mut Vec<Event>) -> Result<(), &'static str> {
        let kind = text_of(&mut item, "type").ok_or("an item without a type")?;
        let item = match kind.as_str() {
            "message" => Item::Message,
            "reasoning" => Item::Reasoning,
            "function_call" => {
                let name = text_of(&mut item, "name").ok_or("a function call without a name")?;
                Item::FunctionCall { id: text_of(&mut item, "call_id"), name, arguments: String::new() }
            }
            other => {
                // It is only told of here: it counts once it is complete.
                events
                    .extend(hosted::name(other).map(|name| Event::ToolUseProgress { name: name.to_owned(), bytes: 0 }));
                return Ok(());
            }
        };
        if self.open.is_some() {
            return Err("an item begins inside another");
        }
        match &item {
            Item::Message => {}
            Item::Reasoning => events.push(Event::ThinkingStarted),
            Item::FunctionCall { name, .. } => events.push(Event::ToolUseProgress { name: name.clone(), bytes: 0 }),
        }
        self.open = Some(Open { index, item, shown: false, sources: Vec::new() });
        Ok(())
    }

    /// Ends an item. One that was never begun comes whole.
    fn end(&mut self, index: u64, mut item: Value, events: &mut Vec<Event>) -> Result<(), &'static str> {
        if let Some(result) = hosted::events(&item)? {
            events.extend(result);
            return Ok(());
        }
        let Some(mut open) = self.open.take_if(|open| open.index == index) else {
            self.begin(index, item.clone(), events)?;
            // What has not begun now is none of ours.
            let is_ours = self.open.as_ref().is_some_and(|open| open.index == index);
            return if is_ours { self.end(index, item, events) } else { Ok(()) };
        };
        match open.item {
            Item::Message => {
                let refusals = texts(&item, "content", "refusal");
                self.refused |= !refusals.is_empty();
                if !open.shown {
                    push_text(texts(&item, "content", "text").concat() + &refusals.concat(), events);
                }
                hosted::cite_all(&item, &mut open.sources);
                hosted::push_citations(open.sources, events);
            }
            Item::Reasoning => {
                if !open.shown {
                    let mut parts = texts(&item, "summary", "text");
                    parts.extend(texts(&item, "content", "text"));
                    push_thinking(parts.join(PART_BREAK), events);
                }
                events.push(Event::ThinkingFinished { signature: Reasoning::sign(&item) });
            }
            Item::FunctionCall { id, name, arguments } => {
                let id = text_of(&mut item, "call_id").or(id).ok_or("a function call without a call_id")?;
                let all = text_of(&mut item, "arguments").filter(|all| !all.is_empty()).unwrap_or(arguments);
                self.push_call(id, name, all, events);
            }
        }
        Ok(())
    }

    /// Ends the open item of a reply that was cut short: nothing more of it is to come.
    fn break_off(&mut self, events: &mut Vec<Event>) {
        let Some(open) = self.open.take() else { return };
        hosted::push_citations(open.sources, events);
        match open.item {
            Item::Reasoning => events.push(Event::ThinkingFinished { signature: None }),
            Item::FunctionCall { id: Some(id), name, arguments } => self.push_call(id, name, arguments, events),
            _ => {}
        }
    }

    fn push_call(&mut self, id: String, name: String, arguments: String, events: &mut Vec<Event>) {
        self.calls = true;
        events.push(Event::ToolUse { id: CallId(id), name, input: tool_input(arguments, Value::Null) });
    }

    fn complete(&mut self, usage: Option<WireUsage>, stop: StopReason, events: &mut Vec<Event>) {
        self.progress = StreamProgress::Complete;
        if let Some(wire) = usage {
            events.push(Event::Usage(wire.into()));
        }
        events.push(Event::Finished(stop));
    }

    fn text(&mut self, index: u64, delta: String, events: &mut Vec<Event>) -> Result<(), &'static str> {
        match &mut self.open {
            Some(Open { index: open, item: Item::Message, shown, .. }) if *open == index => {
                *shown |= !delta.is_empty();
                push_text(delta, events);
                Ok(())
            }
            _ => Err("a delta for a message that is not open"),
        }
    }

    fn reasoning(&mut self, index: u64) -> Result<&mut Open, &'static str> {
        match &mut self.open {
            Some(open) if open.index == index && matches!(open.item, Item::Reasoning) => Ok(open),
            _ => Err("a delta for a reasoning item that is not open"),
        }
    }

    /// The name and the arguments of the call that is open.
    fn call(&mut self, index: u64) -> Result<(&String, &mut String), &'static str> {
        match &mut self.open {
            Some(Open { index: open, item: Item::FunctionCall { name, arguments, .. }, .. }) if *open == index => {
                Ok((name, arguments))
            }
            _ => Err("a delta for a function call that is not open"),
        }
    }
}

/// Why a reply is not whole.
fn stop_reason(reason: Option<String>) -> StopReason {
    match reason.as_deref() {
        Some("max_output_tokens") => StopReason::MaxTokens,
        Some("content_filter") => StopReason::Refusal,
        _ => StopReason::Other(reason.unwrap_or_else(|| "incomplete, without a reason".to_owned())),
    }
}

impl From<WireUsage> for Usage {
    /// The API counts what it read from its cache, and what it wrote to it, as a part of the input.
    fn from(wire: WireUsage) -> Self {
        let details = wire.input_tokens_details.unwrap_or_default();
        let cache_read = details.cached_tokens.unwrap_or_default();
        let cache_write = details.cache_write_tokens.unwrap_or_default();
        Self {
            input: wire.input_tokens.saturating_sub(cache_read).saturating_sub(cache_write),
            output: wire.output_tokens,
            reasoning: wire.output_tokens_details.and_then(|details| details.reasoning_tokens).unwrap_or_default(),
            cache_read,
            cache_write,
        }
    }
}
