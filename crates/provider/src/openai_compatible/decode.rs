//! The reply, chunk by chunk.
//!
//! | chunk                               | what becomes of it                                                    |
//! |-------------------------------------|-----------------------------------------------------------------------|
//! | `choices[0]`                        | handled, see below; other choices are ignored on purpose: one is asked|
//! | `usage`                             | handled: behind the reason why the reply ends it completes the reply  |
//! | `error`, or an event of that name   | handled: ends the reply with the matching error                       |
//! | `[DONE]`                            | handled: the reply is complete                                        |
//! | the end of the stream               | handled: completes a reply whose reason to end has been said          |
//! | a comment, an empty event           | ignored on purpose: it only keeps the connection awake                |
//! | any other JSON, any other field     | ignored on purpose: servers add what they like                        |
//! | no JSON                             | refused as malformed                                                  |
//!
//! | field of `choices[0]`               | what becomes of it                                                    |
//! |-------------------------------------|-----------------------------------------------------------------------|
//! | `delta`; `message` in its place     | handled, see below                                                    |
//! | `finish_reason`                     | handled: why the reply ends                                           |
//! | `index`, `logprobs`                 | ignored on purpose                                                    |
//!
//! | field of `delta`                    | what becomes of it                                                    |
//! |-------------------------------------|-----------------------------------------------------------------------|
//! | `content`                           | handled: prose; a list of parts as Mistral has it, too                |
//! | `reasoning_content`, `reasoning`    | handled: thinking; the first of the two that is there                 |
//! | `refusal`                           | handled: prose, and the reply ends as a refusal                       |
//! | `tool_calls`                        | handled: put together by `calls`, handed on at the end                |
//! | `role`, `audio`, `function_call`    | ignored on purpose: known, not asked for, and long gone               |
//!
//! Thinking ends where something else begins. Chunks after the end mean nothing.

use serde_json::Value;

use super::{
    NAME, THINKING_FIELDS,
    calls::{PartialCalls, UniqueIds},
};
use crate::{
    Decoder, ErrorResponse, ProviderError, Request,
    reply::{StreamProgress, parse, push_text, push_thinking, text_of},
    sse::{Sse, SseEvent},
    vendor_error::{MAX_REASON, Peer},
};
use flemma_model::{Event, Signature, StopReason, Usage};

/// Reads one response.
pub(super) struct CompletionsDecoder {
    peer: Peer,
    sse: Sse,
    reply: Reply,
}

/// How far the reply is.
struct Reply {
    progress: StreamProgress,
    /// The field of the thinking that is open.
    thinking: Option<&'static str>,
    calls: PartialCalls,
    ids: UniqueIds,
    refused: bool,
    stop: Option<String>,
}

impl CompletionsDecoder {
    pub(super) fn new(peer: Peer, request: &Request) -> Self {
        let reply = Reply {
            progress: StreamProgress::default(),
            thinking: None,
            calls: PartialCalls::default(),
            ids: UniqueIds::of(request),
            refused: false,
            stop: None,
        };
        Self { peer, sse: Sse::default(), reply }
    }
}

impl Decoder for CompletionsDecoder {
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), ProviderError> {
        let Self { peer, sse, reply } = self;
        sse.feed(bytes, |event| reply.read(event, peer, events))
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), ProviderError> {
        if self.reply.progress == StreamProgress::Arriving && self.reply.stop.is_some() {
            self.reply.complete("the end of the stream", &self.peer, events)?;
        }
        self.reply.progress.finish(&self.peer, &self.sse)
    }

    fn decode_error(&self, response: &ErrorResponse) -> ProviderError {
        self.peer.decode_error(response)
    }
}

impl Reply {
    /// Reads one chunk of the stream.
    fn read(&mut self, event: SseEvent<'_>, peer: &Peer, events: &mut Vec<Event>) -> Result<(), ProviderError> {
        let data = event.data.trim();
        if self.progress == StreamProgress::Complete || data.is_empty() {
            return Ok(());
        }
        if event.name == "error" {
            return Err(peer.interrupt(&serde_json::from_str(data).unwrap_or_else(|_| Value::from(data))));
        }
        if data == "[DONE]" {
            return self.complete(data, peer, events);
        }
        let mut chunk: Value = parse(data, peer)?;
        if !chunk.is_object() {
            return Err(peer.malformed("not a JSON object", data));
        }
        if chunk.get("error").is_some_and(|error| !error.is_null()) || chunk["object"] == "error" {
            return Err(peer.interrupt(&chunk));
        }
        self.progress = StreamProgress::Arriving;
        let choice = chunk.get_mut("choices").and_then(|choices| choices.get_mut(0)).map(Value::take);
        let is_last = choice.is_none();
        if let Some(mut choice) = choice {
            for field in ["delta", "message"] {
                if let Some(delta) = choice.get_mut(field) {
                    self.extend(delta.take(), peer, events);
                }
            }
            self.stop = text_of(&mut choice, "finish_reason").filter(|reason| !reason.is_empty()).or(self.stop.take());
        }
        if let Some(usage) = chunk.get("usage").and_then(usage) {
            events.push(Event::Usage(usage));
            if is_last && self.stop.is_some() {
                return self.complete(data, peer, events);
            }
        }
        Ok(())
    }

    fn extend(&mut self, mut delta: Value, peer: &Peer, events: &mut Vec<Event>) {
        let thought = THINKING_FIELDS
            .into_iter()
            .find_map(|field| Some((field, text_of(&mut delta, field).filter(|text| !text.is_empty())?)));
        if let Some((field, text)) = thought {
            self.think(field, text, events);
        }
        match delta.get_mut("content").map(Value::take) {
            Some(Value::String(text)) => self.say(text, peer, events),
            Some(Value::Array(parts)) => {
                for part in parts {
                    self.part(part, peer, events);
                }
            }
            _ => {}
        }
        if let Some(refusal) = text_of(&mut delta, "refusal").filter(|text| !text.is_empty()) {
            self.refused = true;
            self.say(refusal, peer, events);
        }
        if let Some(Value::Array(pieces)) = delta.get_mut("tool_calls").map(Value::take) {
            for piece in pieces {
                self.end_thinking(peer, events);
                self.calls.take(piece, events);
            }
        }
    }

    /// A part of a content that is a list: `{"type": "text", "text"}` or `{"type": "thinking", "thinking": [text …]}`.
    fn part(&mut self, mut part: Value, peer: &Peer, events: &mut Vec<Event>) {
        match part.get_mut("thinking").map(Value::take) {
            Some(Value::String(text)) => self.think("thinking", text, events),
            Some(Value::Array(texts)) => {
                for mut text in texts {
                    self.think("thinking", text_of(&mut text, "text").unwrap_or_default(), events);
                }
            }
            _ => self.say(text_of(&mut part, "text").unwrap_or_default(), peer, events),
        }
    }

    fn say(&mut self, text: String, peer: &Peer, events: &mut Vec<Event>) {
        if !text.is_empty() {
            self.end_thinking(peer, events);
            push_text(text, events);
        }
    }

    fn think(&mut self, field: &'static str, text: String, events: &mut Vec<Event>) {
        if !text.is_empty() {
            if self.thinking.replace(field).is_none() {
                events.push(Event::ThinkingStarted);
            }
            push_thinking(text, events);
        }
    }

    /// Ends the thinking that is open, with a note where it came from if it may go back.
    fn end_thinking(&mut self, peer: &Peer, events: &mut Vec<Event>) {
        if let Some(field) = self.thinking.take() {
            let note = || Signature { provider: NAME.to_owned(), value: format!("{field}@{}", peer.host()) };
            let signature = THINKING_FIELDS.contains(&field).then(note);
            events.push(Event::ThinkingFinished { signature });
        }
    }

    /// Hands the calls on and ends the reply; `data` is what ended it.
    fn complete(&mut self, data: &str, peer: &Peer, events: &mut Vec<Event>) -> Result<(), ProviderError> {
        self.end_thinking(peer, events);
        let calls = std::mem::take(&mut self.calls);
        let has_calls = !calls.is_empty();
        events.extend(calls.finish(&mut self.ids).map_err(|what| peer.malformed(what, data))?);
        self.progress = StreamProgress::Complete;
        let reason = self.stop.take().map(|reason| peer.quote(&reason, MAX_REASON));
        let stop = if self.refused { StopReason::Refusal } else { stop_reason(reason, has_calls) };
        events.push(Event::Finished(stop));
        Ok(())
    }
}

/// Why the reply ended. Servers say `stop` with calls, and leave it out before `[DONE]`.
fn stop_reason(reason: Option<String>, has_calls: bool) -> StopReason {
    match reason.as_deref() {
        Some("length" | "max_tokens") => StopReason::MaxTokens,
        Some("content_filter") => StopReason::Refusal,
        None | Some("stop" | "eos" | "end_turn" | "stop_sequence" | "tool_calls" | "function_call") if has_calls => {
            StopReason::ToolUse
        }
        None | Some("stop" | "eos" | "end_turn" | "stop_sequence" | "tool_calls" | "function_call") => {
            StopReason::EndTurn
        }
        Some(other) => StopReason::Other(other.to_owned()),
    }
}

/// The counts of a `usage`. What was read from a cache counts as a part of the prompt everywhere; DeepSeek has a
/// name of its own for it.
fn usage(usage: &Value) -> Option<Usage> {
    let count = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    let (prompt, output) = (count("/prompt_tokens"), count("/completion_tokens"));
    if prompt.is_none() && output.is_none() {
        return None;
    }
    // Some count thinking among the total alone.
    let generated = count("/total_tokens").zip(prompt).map(|(total, prompt)| total.saturating_sub(prompt));
    let cached = count("/prompt_tokens_details/cached_tokens").or_else(|| count("/prompt_cache_hit_tokens"));
    let cache_read = cached.unwrap_or_default();
    let cache_write = count("/prompt_tokens_details/cache_write_tokens").unwrap_or_default();
    Some(Usage {
        input: prompt.unwrap_or_default().saturating_sub(cache_read).saturating_sub(cache_write),
        output: output.max(generated).unwrap_or_default(),
        reasoning: count("/completion_tokens_details/reasoning_tokens").unwrap_or_default(),
        cache_read,
        cache_write,
    })
}
