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

use super::{NAME, THINKING_FIELDS, calls::PartialCalls};
use crate::{
    Request,
    counts::CountNames,
    reply::{Fault, NewIds, ReadReply, push_text, push_thinking, take, text_of},
    stop_reason::stop_reason,
};
use flemma_model::{Event, Signature, StopReason, Usage};

/// What was read from a cache counts as a part of the prompt everywhere; DeepSeek has a name of its own for it.
const COUNTS: CountNames = CountNames {
    input: &["/prompt_tokens"],
    output: &["/completion_tokens"],
    total: Some("/total_tokens"),
    reasoning: "/completion_tokens_details/reasoning_tokens",
    cache_read: &["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens"],
    cache_write: "/prompt_tokens_details/cache_write_tokens",
    input_has_cache: true,
};

/// Reads one response.
pub(super) struct CompletionsReply {
    host: String,
    /// The field of the thinking that is open.
    thinking: Option<&'static str>,
    calls: PartialCalls,
    ids: NewIds,
    refused: bool,
    stop: Option<String>,
}

impl CompletionsReply {
    /// The reply of `host` to a request.
    pub(super) fn new(host: &str, request: &Request) -> Self {
        Self {
            host: host.to_owned(),
            thinking: None,
            calls: PartialCalls::default(),
            ids: NewIds::after(request),
            refused: false,
            stop: None,
        }
    }
}

impl ReadReply for CompletionsReply {
    fn read(&mut self, mut chunk: Value, events: &mut Vec<Event>) -> Result<(), Fault> {
        let choice = chunk.get_mut("choices").and_then(|choices| choices.get_mut(0)).map(Value::take);
        let is_last = choice.is_none();
        if let Some(mut choice) = choice {
            for field in ["delta", "message"] {
                self.extend(take(&mut choice, field), events);
            }
            self.stop = text_of(&mut choice, "finish_reason").filter(|reason| !reason.is_empty()).or(self.stop.take());
        }
        if let Some(usage) = chunk.get("usage").and_then(|usage| COUNTS.read(usage, Usage::default())) {
            events.push(Event::Usage(usage));
            if is_last {
                return self.end(false, events);
            }
        }
        Ok(())
    }

    /// Hands the calls on and ends the reply, if the server has said that it ends or why.
    fn end(&mut self, is_said: bool, events: &mut Vec<Event>) -> Result<(), Fault> {
        if !is_said && self.stop.is_none() {
            return Ok(());
        }
        self.end_thinking(events);
        events.extend(std::mem::take(&mut self.calls).finish(&mut self.ids)?);
        // Servers leave the reason out before `[DONE]`.
        let word = self.stop.take().unwrap_or_else(|| "stop".to_owned());
        let stop = if self.refused { StopReason::Refusal } else { stop_reason(&word, "") };
        events.push(Event::Finished(stop));
        Ok(())
    }
}

impl CompletionsReply {
    fn extend(&mut self, mut delta: Value, events: &mut Vec<Event>) {
        let thought = THINKING_FIELDS
            .into_iter()
            .find_map(|field| Some((field, text_of(&mut delta, field).filter(|text| !text.is_empty())?)));
        if let Some((field, text)) = thought {
            self.think(field, text, events);
        }
        match take(&mut delta, "content") {
            Value::String(text) => self.say(text, events),
            Value::Array(parts) => parts.into_iter().for_each(|part| self.part(part, events)),
            _ => {}
        }
        if let Some(refusal) = text_of(&mut delta, "refusal").filter(|text| !text.is_empty()) {
            self.refused = true;
            self.say(refusal, events);
        }
        if let Value::Array(pieces) = take(&mut delta, "tool_calls") {
            for piece in pieces {
                self.end_thinking(events);
                self.calls.take(piece, events);
            }
        }
    }

    /// A part of a content that is a list: `{"type": "text", "text"}` or `{"type": "thinking", "thinking": [text …]}`.
    fn part(&mut self, mut part: Value, events: &mut Vec<Event>) {
        match take(&mut part, "thinking") {
            Value::String(text) => self.think("thinking", text, events),
            Value::Array(texts) => {
                for mut text in texts {
                    self.think("thinking", text_of(&mut text, "text").unwrap_or_default(), events);
                }
            }
            _ => self.say(text_of(&mut part, "text").unwrap_or_default(), events),
        }
    }

    fn say(&mut self, text: String, events: &mut Vec<Event>) {
        if !text.is_empty() {
            self.end_thinking(events);
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
    fn end_thinking(&mut self, events: &mut Vec<Event>) {
        if let Some(field) = self.thinking.take() {
            let note = || Signature { provider: NAME.to_owned(), value: format!("{field}@{}", self.host) };
            let signature = THINKING_FIELDS.contains(&field).then(note);
            events.push(Event::ThinkingFinished { signature });
        }
    }
}
