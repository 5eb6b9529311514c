//! The reply, chunk by chunk.
//!
//! Each event of the stream is a `GenerateContentResponse`. There is no last event: a reply is complete when the stream
//! ends after a `finishReason`. Until then more may come, usage most of all.
//!
//! | field of the response                            | what becomes of it                                        |
//! |--------------------------------------------------|-----------------------------------------------------------|
//! | `candidates`                                     | handled: the first; more are never asked for              |
//! | `promptFeedback.blockReason`                     | handled: nothing was answered, which is an error          |
//! | `usageMetadata`                                  | handled: tokens of the prompt, the cache, the reply       |
//! | `error`, also in a list                          | handled: ends the reply with the matching [`ErrorKind`]   |
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
//! | `executableCode`, `codeExecutionResult`,         | ignored: no such tool is offered                          |
//! | `toolCall`, `toolResponse`, `functionResponse`   | ignored: Vertex AI does not send them                     |
//! | `inlineData`, `fileData`, `audioTranscription`   | ignored: only text is asked for                           |
//! | `mediaResolution`, `videoMetadata`, …            | ignored on purpose: they belong to media                  |
//! | any other                                        | ignored on purpose: new ones may come                     |

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::{
    encode,
    errors::VertexPeer,
    grounding::Grounding,
    ids::NewIds,
    signature::{self, SignedPart},
};
use crate::{
    Decoder, ErrorKind, ErrorResponse, ProviderError, Request,
    reply::{NO_STREAM, error_in},
    sse::Sse,
    vendor_error::MAX_REASON,
};
use flemma_model::{Event, Signature, StopReason, ToolInput, Usage};

/// The value of a missing `finishReason` where a server writes every field.
const UNSPECIFIED: [&str; 2] = ["", "FINISH_REASON_UNSPECIFIED"];

/// Reads one response.
pub(super) struct GeminiDecoder {
    peer: VertexPeer,
    sse: Sse,
    reply: Reply,
}

/// How far the reply is.
struct Reply {
    ids: NewIds,
    /// The tools whose names the API has in another form, by that form.
    names: HashMap<String, String>,
    /// Whether anything came.
    begun: bool,
    thinking: Option<OpenThinking>,
    /// Whether prose is arriving: a signature on more of it comes too late to be put before it.
    flowing: bool,
    /// Signatures that follow the prose that is arriving.
    behind: Vec<String>,
    called: bool,
    grounding: Grounding,
    stop: Option<StopReason>,
}

/// Thinking that is being read.
#[derive(Default)]
struct OpenThinking {
    signature: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    candidates: Option<Vec<Candidate>>,
    prompt_feedback: Option<PromptFeedback>,
    usage_metadata: Option<UsageMetadata>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Content>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
    grounding_metadata: Option<Value>,
}

#[derive(Deserialize)]
struct Content {
    parts: Option<Vec<WirePart>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePart {
    text: Option<String>,
    thought: Option<bool>,
    thought_signature: Option<String>,
    function_call: Option<FunctionCall>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FunctionCall {
    id: Option<String>,
    name: Option<String>,
    args: Option<Value>,
    will_continue: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    block_reason: Option<String>,
    block_reason_message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsageMetadata {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

impl GeminiDecoder {
    pub(super) fn new(peer: VertexPeer, request: &Request) -> Self {
        let renamed = request.tools.iter().map(|tool| (encode::wire_name(&tool.name).into_owned(), tool.name.clone()));
        let reply = Reply {
            ids: NewIds::after(request),
            names: renamed.filter(|(wire, own)| wire != own).collect(),
            begun: false,
            thinking: None,
            flowing: false,
            behind: Vec::new(),
            called: false,
            grounding: Grounding::default(),
            stop: None,
        };
        Self { peer, sse: Sse::default(), reply }
    }
}

impl Decoder for GeminiDecoder {
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), ProviderError> {
        let Self { peer, sse, reply } = self;
        sse.feed(bytes, |event| reply.read(event.data, peer, events))
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), ProviderError> {
        let Some(stop) = self.reply.stop.take() else {
            if let Some(text) = self.sse.foreign() {
                return Err(match error_in(&text) {
                    Some(error) => self.peer.interrupt(&error),
                    None => self.peer.malformed(NO_STREAM, &text),
                });
            }
            let what = if self.reply.begun {
                "the connection closed in the middle of the reply"
            } else {
                "the connection closed before the reply began"
            };
            return Err(ProviderError::new(ErrorKind::Interrupted, format!("{}: {what}", self.peer.host)));
        };
        self.reply.end_prose(events);
        self.reply.end_thinking(None, events);
        std::mem::take(&mut self.reply.grounding).tell(&mut self.reply.ids, events);
        events.push(Event::Finished(match stop {
            StopReason::EndTurn if self.reply.called => StopReason::ToolUse,
            stop => stop,
        }));
        Ok(())
    }

    fn decode_error(&self, response: &ErrorResponse) -> ProviderError {
        self.peer.decode_error(response)
    }
}

impl Reply {
    /// Reads one event of the stream.
    fn read(&mut self, data: &str, peer: &VertexPeer, events: &mut Vec<Event>) -> Result<(), ProviderError> {
        self.begun = true;
        let chunk: Chunk = match serde_json::from_str(data) {
            Ok(chunk) => chunk,
            // An error may come in a list of one.
            Err(error) => match serde_json::from_str::<Value>(data) {
                Ok(list) if list.get(0).is_some_and(|first| first.get("error").is_some()) => {
                    return Err(peer.interrupt(&list));
                }
                _ => return Err(peer.malformed(&error.to_string(), data)),
            },
        };
        if let Some(error) = chunk.error {
            return Err(peer.interrupt(&serde_json::json!({ "error": error })));
        }
        if let Some(candidate) = chunk.candidates.and_then(|list| list.into_iter().next()) {
            for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
                self.part(part, events).map_err(|what| peer.malformed(what, data))?;
            }
            if let Some(metadata) = &candidate.grounding_metadata {
                self.grounding.note(metadata);
            }
            if let Some(reason) = candidate.finish_reason.filter(|reason| !UNSPECIFIED.contains(&reason.as_str())) {
                let words = candidate.finish_message.as_deref().unwrap_or_default();
                self.stop = Some(stop_reason(&peer.quote(&reason, MAX_REASON), &peer.quote(words, MAX_REASON)));
            }
        }
        if let Some(usage) = chunk.usage_metadata {
            events.push(Event::Usage(usage.into()));
        }
        match chunk.prompt_feedback {
            Some(PromptFeedback { block_reason: Some(reason), block_reason_message }) => {
                Err(peer.block(&reason, block_reason_message.as_deref().unwrap_or_default()))
            }
            _ => Ok(()),
        }
    }

    /// Reads a part; says what is wrong with one that cannot be read.
    fn part(&mut self, part: WirePart, events: &mut Vec<Event>) -> Result<(), &'static str> {
        let signature = part.thought_signature.filter(|signature| !signature.is_empty());
        if let Some(call) = part.function_call {
            return self.call(call, signature, events);
        }
        match (part.text, signature) {
            (text, signature) if part.thought == Some(true) => {
                self.thought(text.unwrap_or_default(), signature, events);
            }
            (None, None) => {}
            (text, signature) => self.text(text.unwrap_or_default(), signature, events),
        }
        Ok(())
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
        if !text.is_empty() {
            events.push(Event::Thinking(text));
        }
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
        call: FunctionCall,
        signature: Option<String>,
        events: &mut Vec<Event>,
    ) -> Result<(), &'static str> {
        let name = call.name.filter(|name| !name.is_empty()).ok_or("a call without a name")?;
        if call.will_continue == Some(true) {
            return Err("a call in pieces");
        }
        self.end_prose(events);
        self.end_thinking(signature, events);
        self.called = true;
        let input = call.args.filter(|args| !args.is_null()).unwrap_or_else(|| serde_json::json!({}));
        events.push(Event::ToolUse {
            id: self.ids.next(call.id.as_deref()),
            name: self.names.get(&name).cloned().unwrap_or(name),
            input: ToolInput::Json(input),
        });
        Ok(())
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

/// Why the reply ended, after `FinishReason`.
///
/// | `finishReason`                                                                | what becomes of it      |
/// |-------------------------------------------------------------------------------|-------------------------|
/// | `STOP`                                                                        | the model is done       |
/// | `MAX_TOKENS`                                                                  | the limit was reached   |
/// | `SAFETY`, `RECITATION`, `BLOCKLIST`, `PROHIBITED_CONTENT`, `SPII`,            | the provider refused,   |
/// | `MODEL_ARMOR`, `IMAGE_SAFETY`, `IMAGE_PROHIBITED_CONTENT`, `IMAGE_RECITATION` | for this reason         |
/// | `MALFORMED_FUNCTION_CALL`, `UNEXPECTED_TOOL_CALL`, `TOO_MANY_TOOL_CALLS`,     | named, with Google's    |
/// | `MALFORMED_RESPONSE`, `MISSING_THOUGHT_SIGNATURE`, `LANGUAGE`, `CONTINUATION`,| own words               |
/// | `OTHER` and any other                                                         |                         |
fn stop_reason(reason: &str, words: &str) -> StopReason {
    let words = words.trim_end_matches('.');
    let named = if words.is_empty() { reason.to_owned() } else { format!("{reason} ({words})") };
    match reason {
        "STOP" => StopReason::EndTurn,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => StopReason::Blocked(named),
        _ => StopReason::Other(named),
    }
}

impl From<UsageMetadata> for Usage {
    fn from(wire: UsageMetadata) -> Self {
        let cached = wire.cached_content_token_count.unwrap_or_default();
        let prompt = wire.prompt_token_count.unwrap_or_default();
        let tools = wire.tool_use_prompt_token_count.unwrap_or_default();
        let reply = wire.candidates_token_count.unwrap_or_default();
        let thoughts = wire.thoughts_token_count.unwrap_or_default();
        Self {
            // The count of the prompt includes what was read from the cache.
            input: prompt.saturating_sub(cached).saturating_add(tools),
            output: reply.saturating_add(thoughts),
            reasoning: thoughts,
            cache_read: cached,
            ..Self::default()
        }
    }
}
