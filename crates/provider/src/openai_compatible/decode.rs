//! The reply, chunk by chunk.
//!
//! | chunk                               | what becomes of it                                                    |
//! |-------------------------------------|-----------------------------------------------------------------------|
//! | `choices[0]`                        | handled, see below; another choice is left out, with a warning        |
//! | `usage`                             | handled: behind the reason why the reply ends it completes the reply  |
//! | `error`, or an event of that name   | handled: ends the reply with the matching error                       |
//! | `[DONE]`                            | handled: the reply is complete                                        |
//! | the end of the stream               | handled: completes a reply whose reason to end has been said          |
//! | a comment, an empty event           | ignored on purpose: it only keeps the connection awake                |
//! | any other JSON, any other field     | ignored on purpose: servers add what they like                        |
//!
//! | field of `choices[0]`               | what becomes of it                                                    |
//! |-------------------------------------|-----------------------------------------------------------------------|
//! | `delta`                             | handled, see below                                                    |
//! | `message`                           | handled like it, and for what the deltas have left out                |
//! | `text`                              | handled: prose, as completions without chat have it                   |
//! | `finish_reason`                     | handled: why the reply ends                                           |
//! | `index`                             | handled: says which choice it is                                      |
//! | `logprobs`                          | ignored on purpose                                                    |
//!
//! | field of `delta`                    | what becomes of it                                                    |
//! |-------------------------------------|-----------------------------------------------------------------------|
//! | `content`                           | handled: prose; a list of parts as Mistral has it, too; see `think_tags`|
//! | `reasoning_content`, `reasoning`    | handled: thinking; the first of the two that is there                 |
//! | `refusal`                           | handled: prose, and the reply ends as a refusal                       |
//! | `tool_calls`, `function_call`       | handled: put together by `calls`, handed on at the end                |
//! | `reasoning_details`                 | handled: see `opaque`                                                 |
//! | `role`, `audio`                     | ignored on purpose: known, or not asked for                           |
//!
//! Thinking ends where something else begins. Chunks after the end mean nothing.

use serde_json::{Value, json};

use super::{
    calls::PartialCalls,
    opaque,
    think_tags::{Piece, ThinkTags},
};
use crate::{
    Request, again,
    counts::CountNames,
    reply::{Fault, FirstAnswer, NewIds, ReadReply, push_text, push_thinking, str_of, take, text_of},
    stop_reason::stop_reason,
};
use flemma_model::{Event, StopReason, Usage};

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
    /// The pieces of thinking that go back as they came.
    details: Vec<Value>,
    /// Finds thinking in the prose.
    tags: ThinkTags,
    calls: PartialCalls,
    answers: FirstAnswer,
    ids: NewIds,
    /// It comes in deltas.
    has_deltas: bool,
    refused: bool,
    /// All content so far.
    said: String,
    stop: Option<String>,
}

impl CompletionsReply {
    /// The reply of `host` to a request. `has_think_tags` says whether thinking is looked for in the prose.
    pub(super) fn new(host: &str, request: &Request, has_think_tags: bool) -> Self {
        Self {
            host: host.to_owned(),
            thinking: None,
            details: Vec::new(),
            tags: ThinkTags::new(has_think_tags),
            calls: PartialCalls::of(request),
            answers: FirstAnswer::default(),
            ids: NewIds::after(request),
            has_deltas: false,
            refused: false,
            said: String::new(),
            stop: None,
        }
    }
}

/// Whether there is more in a delta than a role and fields that are empty.
fn says_something(delta: &Value) -> bool {
    let is_something = |value: &Value| !matches!(value, Value::Null) && *value != json!("") && *value != json!([]);
    delta.as_object().is_some_and(|fields| fields.iter().any(|(name, value)| name != "role" && is_something(value)))
}

impl ReadReply for CompletionsReply {
    fn read(&mut self, mut chunk: Value, events: &mut Vec<Event>) -> Result<(), Fault> {
        let (choice, others) = match take(&mut chunk, "choices") {
            Value::Array(choices) => self.answers.take(choices),
            _ => (None, Ok(())),
        };
        let is_last = choice.is_none() && others.is_ok();
        if let Some(mut choice) = choice {
            let (delta, message) = (take(&mut choice, "delta"), take(&mut choice, "message"));
            self.has_deltas |= says_something(&delta);
            let reason = text_of(&mut choice, "finish_reason").filter(|reason| !reason.is_empty());
            if !self.has_deltas {
                self.extend(message, events);
            } else {
                self.extend(delta, events);
                if reason.is_some() {
                    self.complete(message, events);
                }
            }
            self.content(text_of(&mut choice, "text").unwrap_or_default(), events);
            self.stop = reason.or(self.stop.take());
        }
        if let Some(usage) = chunk.get("usage").and_then(|usage| COUNTS.read(usage, Usage::default())) {
            events.push(Event::Usage(usage));
            if is_last && self.may_end() {
                return self.end(false, events);
            }
        }
        Ok(others?)
    }

    fn may_end(&self) -> bool {
        self.stop.is_some()
    }

    /// Hands the calls on, and ends the reply if the server has said that it ends or why.
    fn end(&mut self, is_said: bool, events: &mut Vec<Event>) -> Result<(), Fault> {
        let is_cut = !is_said && !self.may_end();
        let rest = self.tags.rest();
        self.piece(rest, events);
        self.end_thinking(events);
        if !self.details.is_empty() {
            let details = std::mem::take(&mut self.details).into();
            events.extend(opaque::mark(opaque::data(opaque::DETAILS, &details, &self.host)));
        }
        let (calls, outcome) = self.calls.finish(&self.host, &mut self.ids, is_cut);
        events.extend(calls);
        if is_cut {
            return Ok(());
        }
        // Servers leave the reason out before `[DONE]`.
        let word = self.stop.take().unwrap_or_else(|| "stop".to_owned());
        let stop = if self.refused { StopReason::Refusal } else { stop_reason(&word, "") };
        events.push(Event::Finished(stop));
        Ok(outcome?)
    }
}

impl CompletionsReply {
    fn extend(&mut self, mut delta: Value, events: &mut Vec<Event>) {
        let thought = opaque::TEXTS
            .into_iter()
            .find_map(|field| Some((field, text_of(&mut delta, field).filter(|text| !text.is_empty())?)));
        if let Some((field, text)) = thought {
            self.think(field, text, events);
        }
        if let Value::Array(details) = take(&mut delta, opaque::DETAILS) {
            opaque::join(&mut self.details, details);
        }
        match take(&mut delta, "content") {
            Value::String(text) => self.content(text, events),
            Value::Array(parts) => parts.into_iter().for_each(|part| self.part(part, events)),
            _ => {}
        }
        if let Some(refusal) = text_of(&mut delta, "refusal").filter(|text| !text.is_empty()) {
            self.refused = true;
            self.say(refusal, events);
        }
        self.pieces(delta, events);
    }

    /// Adds what the deltas have left out of the message that they are.
    fn complete(&mut self, message: Value, events: &mut Vec<Event>) {
        let rest = again::rest(&self.said, str_of(&message, "content")).unwrap_or_default();
        self.content(rest, events);
        if self.calls.is_empty() {
            self.pieces(message, events);
        }
    }

    /// Takes pieces of calls.
    fn pieces(&mut self, mut delta: Value, events: &mut Vec<Event>) {
        let pieces = match (take(&mut delta, "tool_calls"), take(&mut delta, "function_call")) {
            (Value::Array(pieces), _) => pieces,
            (Value::Null, Value::Null) => Vec::new(),
            (Value::Null, function) => vec![json!({ "index": 0, "function": function })],
            (piece, _) => vec![piece],
        };
        for piece in pieces {
            self.end_thinking(events);
            self.calls.take(piece, events);
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
            _ => {
                let text = text_of(&mut part, "text").unwrap_or_default();
                self.said.push_str(&text);
                self.say(text, events);
            }
        }
    }

    /// Prose, which may begin with thinking in tags.
    fn content(&mut self, text: String, events: &mut Vec<Event>) {
        self.said.push_str(&text);
        for piece in self.tags.read(text) {
            self.piece(piece, events);
        }
    }

    fn piece(&mut self, piece: Piece, events: &mut Vec<Event>) {
        match piece {
            Piece::Thinking(text) => self.think("<think>", text, events),
            Piece::Prose(text) => self.say(text, events),
            Piece::WasThinking => events.push(Event::WasThinking),
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
            let signature = if !self.details.is_empty() {
                Some(opaque::data(opaque::DETAILS, &std::mem::take(&mut self.details).into(), &self.host))
            } else {
                opaque::TEXTS.contains(&field).then(|| opaque::text(field, &self.host))
            };
            events.push(Event::ThinkingFinished { signature });
        }
    }
}
