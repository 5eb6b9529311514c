//! The reply, chunk by chunk.
//!
//! Each event of the stream is a `GenerateContentResponse`. There is no last event: a reply is complete when the stream
//! ends after a `finishReason`. Until then more may come, usage most of all.
//!
//! | field of the response                            | what becomes of it                                        |
//! |--------------------------------------------------|-----------------------------------------------------------|
//! | `candidates`                                     | handled: the first; another one is left out, with a warning|
//! | `promptFeedback.blockReason`                     | handled: nothing was answered, which is an error          |
//! | `usageMetadata`                                  | handled: tokens of the prompt, the cache, the reply       |
//! | `error`, also in a list                          | handled: ends the reply with the matching error           |
//! | `modelVersion`, `responseId`, `createTime`       | ignored on purpose: nothing needs them                    |
//! | no JSON, no object                               | refused as malformed                                      |
//!
//! | field of the candidate                           | what becomes of it                                        |
//! |--------------------------------------------------|-----------------------------------------------------------|
//! | `content.parts`                                  | handled, see below                                        |
//! | `finishReason`, `finishMessage`                  | handled, see [`stop_reason`]                              |
//! | `content.role`, `index`, `tokenCount`            | ignored on purpose: always the same, or counted elsewhere |
//! | `safetyRatings`, `avgLogprobs`, `logprobsResult` | ignored on purpose: no place for them                     |
//! | `groundingMetadata`                              | handled at the end of the reply, see [`super::grounding`] |
//! | `citationMetadata`, `urlContextMetadata`         | ignored on purpose: no such tool is offered               |
//! | `continuationToken`                              | ignored on purpose: the reply ends as `CONTINUATION`      |
//!
//! | part                                             | what becomes of it                                        |
//! |--------------------------------------------------|-----------------------------------------------------------|
//! | `text`                                           | handled                                                   |
//! | `text` with `thought`                            | handled                                                   |
//! | `functionCall`                                   | handled: its arguments come whole                         |
//! | `functionCall` with `willContinue`               | refused: arguments in pieces are never asked for          |
//! | `thoughtSignature` on any of them                | handled, see [`super::signature`]                         |
//! | `executableCode`, `codeExecutionResult`          | left out with a warning: no such tool is offered          |
//! | `inlineData`, `fileData`                         | left out with a warning: only text is asked for           |
//! | `audioTranscription`                             | ignored: only text is asked for                           |
//! | `toolCall`, `toolResponse`, `functionResponse`   | ignored: Vertex AI does not send them                     |
//! | `mediaResolution`, `videoMetadata`, …            | ignored on purpose: they belong to media                  |
//! | any other                                        | ignored on purpose: new ones may come                     |

use std::collections::HashMap;

use serde_json::Value;

use super::{
    NAME, encode,
    grounding::Grounding,
    ids,
    signature::{self, SignedPart},
};
use crate::{
    Request,
    call_input::{UNKNOWN, take_input, tool_input},
    counts::CountNames,
    reply::{Fault, FirstAnswer, NewIds, ReadReply, push_thinking, str_of, take, text_of},
    stop_reason::stop_reason,
};
use flemma_model::{Event, Signature, Usage};

/// The value of a missing `finishReason` where a server writes every field.
const UNSPECIFIED: &str = "FINISH_REASON_UNSPECIFIED";

/// The kinds of parts that nobody has asked for, and a user may miss.
const UNREAD: [&str; 4] = ["executableCode", "codeExecutionResult", "inlineData", "fileData"];

/// The count of the prompt includes what was read from the cache.
const COUNTS: CountNames = CountNames {
    input: &["/promptTokenCount", "/toolUsePromptTokenCount"],
    output: &["/candidatesTokenCount", "/thoughtsTokenCount"],
    total: None,
    reasoning: "/thoughtsTokenCount",
    cache_read: &["/cachedContentTokenCount"],
    cache_write: "",
    input_has_cache: true,
};

/// Reads one response.
pub(super) struct GeminiReply {
    answers: FirstAnswer,
    ids: NewIds,
    /// The tools whose names the API has in another form, by that form.
    names: HashMap<String, String>,
    thinking: Option<OpenThinking>,
    /// Whether prose is arriving: a signature on more of it comes too late to be put before it.
    flowing: bool,
    /// Signatures that follow the prose that is arriving.
    behind: Vec<String>,
    grounding: Grounding,
    /// Why the reply ends, and the vendor's words about it.
    stop: Option<(String, String)>,
}

/// Thinking that is being read.
#[derive(Default)]
struct OpenThinking {
    signature: Option<String>,
}

impl GeminiReply {
    /// The reply to a request.
    pub(super) fn new(request: &Request) -> Self {
        let renamed = request.tools.iter().map(|tool| (encode::wire_name(&tool.name).into_owned(), tool.name.clone()));
        Self {
            answers: FirstAnswer::default(),
            ids: NewIds::after(request),
            names: renamed.filter(|(wire, own)| wire != own).collect(),
            thinking: None,
            flowing: false,
            behind: Vec::new(),
            grounding: Grounding::default(),
            stop: None,
        }
    }
}

impl ReadReply for GeminiReply {
    fn read(&mut self, mut chunk: Value, events: &mut Vec<Event>) -> Result<(), Fault> {
        let outcome = match take(&mut chunk, "candidates") {
            Value::Array(candidates) => {
                let (candidate, others) = self.answers.take(candidates);
                candidate.map_or(Ok(()), |candidate| self.candidate(candidate, events)).and(others)
            }
            Value::Null => Ok(()),
            _ => Err("candidates that are no list"),
        };
        if let Some(usage) = chunk.get("usageMetadata").and_then(|usage| COUNTS.read(usage, Usage::default())) {
            events.push(Event::Usage(usage));
        }
        let mut feedback = take(&mut chunk, "promptFeedback");
        match text_of(&mut feedback, "blockReason") {
            Some(reason) => {
                Err(Fault::Blocked(reason, text_of(&mut feedback, "blockReasonMessage").unwrap_or_default()))
            }
            None => Ok(outcome?),
        }
    }

    fn may_end(&self) -> bool {
        self.stop.is_some()
    }

    fn end(&mut self, _is_said: bool, events: &mut Vec<Event>) -> Result<(), Fault> {
        let Some((word, words)) = self.stop.take() else { return Ok(()) };
        self.end_prose(events);
        self.end_thinking(None, events);
        std::mem::take(&mut self.grounding).tell(events);
        events.push(Event::Finished(stop_reason(&word, &words)));
        Ok(())
    }
}

impl GeminiReply {
    fn candidate(&mut self, mut candidate: Value, events: &mut Vec<Event>) -> Result<(), &'static str> {
        let mut outcome = Ok(());
        if let Value::Array(parts) = take(&mut take(&mut candidate, "content"), "parts") {
            for part in parts {
                outcome = outcome.and(self.part(part, events));
            }
        }
        if let Some(metadata) = candidate.get("groundingMetadata") {
            self.grounding.note(metadata);
        }
        let reason = str_of(&candidate, "finishReason");
        if !reason.is_empty() && reason != UNSPECIFIED {
            self.stop = Some((reason.to_owned(), str_of(&candidate, "finishMessage").to_owned()));
        }
        outcome
    }

    /// Reads a part; says what is wrong with one that cannot be read.
    fn part(&mut self, mut part: Value, events: &mut Vec<Event>) -> Result<(), &'static str> {
        let signature = text_of(&mut part, "thoughtSignature").filter(|signature| !signature.is_empty());
        let call = Some(take(&mut part, "functionCall")).filter(|call| !call.is_null());
        let (text, outcome) = match take(&mut part, "text") {
            Value::String(text) => (Some(text), Ok(())),
            Value::Null => (None, Ok(())),
            _ => (None, Err("a text that is no string")),
        };
        // What is signed beside a call is the call.
        let (of_text, of_call) = if call.is_some() { (None, signature) } else { (signature, None) };
        match (text, of_text) {
            (None, None) if call.is_some() => {}
            (text, signature) if part.get("thought").is_some_and(|thought| *thought == true) => {
                self.thought(text.unwrap_or_default(), signature, events);
            }
            (None, None) if UNREAD.iter().any(|kind| part.get(kind).is_some()) => {
                return Err("a part that is neither text nor a call");
            }
            (None, None) => {}
            (text, signature) => self.text(text.unwrap_or_default(), signature, events),
        }
        outcome.and(call.map_or(Ok(()), |call| self.call(call, of_call, events)))
    }

    fn thought(&mut self, text: String, signature: Option<String>, events: &mut Vec<Event>) {
        self.end_prose(events);
        if self.thinking.as_ref().is_some_and(|thinking| thinking.signature.is_some()) {
            // What was signed is whole.
            self.end_thinking(None, events);
        }
        let thinking = self.thinking.get_or_insert_with(|| {
            events.push(Event::ThinkingStarted);
            OpenThinking::default()
        });
        thinking.signature = signature;
        push_thinking(text, events);
    }

    fn text(&mut self, text: String, signature: Option<String>, events: &mut Vec<Event>) {
        if text.is_empty() {
            self.behind.extend(signature);
            return;
        }
        if self.flowing {
            self.behind.extend(signature);
        } else {
            self.end_prose(events);
            self.end_thinking(signature, events);
            self.flowing = true;
        }
        events.push(Event::Text(text));
    }

    fn call(
        &mut self,
        mut call: Value,
        signature: Option<String>,
        events: &mut Vec<Event>,
    ) -> Result<(), &'static str> {
        let name = text_of(&mut call, "name").filter(|name| !name.is_empty()).ok_or("a call without a name")?;
        if call.get("willContinue").is_some_and(|goes_on| *goes_on == true) {
            return Err("a call in pieces");
        }
        self.end_prose(events);
        self.end_thinking(signature, events);
        let theirs = text_of(&mut call, "id").filter(|id| !id.is_empty());
        let (input, is_known) = take_input(&mut call);
        let name = self.names.get(&name).cloned().unwrap_or(name);
        events.push(Event::ToolUseProgress { name: name.clone(), bytes: 0 });
        let id = self.ids.take(theirs.map(|id| ids::ours(&id)).unwrap_or_default(), NAME);
        events.push(Event::ToolUse { id, name, input: tool_input(String::new(), input) });
        is_known.then_some(()).ok_or(UNKNOWN)
    }

    /// Ends the prose, and says what signatures came behind it.
    fn end_prose(&mut self, events: &mut Vec<Event>) {
        self.flowing = false;
        let behind = std::mem::take(&mut self.behind);
        if !behind.is_empty() {
            self.end_thinking(None, events);
        }
        for value in behind {
            mark(signature::write(&value, SignedPart::Nothing), events);
        }
    }

    /// Ends the thinking. `next` is the signature of what follows: the block has it if it has none of its own.
    fn end_thinking(&mut self, next: Option<String>, events: &mut Vec<Event>) {
        let next = next.map(|value| signature::write(&value, SignedPart::Next));
        match self.thinking.take() {
            Some(OpenThinking { signature: None }) => events.push(Event::ThinkingFinished { signature: next }),
            Some(OpenThinking { signature: Some(own) }) => {
                let own = signature::write(&own, SignedPart::Thought);
                events.push(Event::ThinkingFinished { signature: Some(own) });
                next.into_iter().for_each(|next| mark(next, events));
            }
            None => next.into_iter().for_each(|next| mark(next, events)),
        }
    }
}

/// A block that shows nothing and holds a signature.
fn mark(signature: Signature, events: &mut Vec<Event>) {
    events.extend([Event::ThinkingStarted, Event::ThinkingFinished { signature: Some(signature) }]);
}
