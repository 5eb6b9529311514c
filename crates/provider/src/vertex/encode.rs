//! The body of a request.
//!
//! The same conversation always gives the same bytes, and a longer one the same bytes up to where it grew, so that the
//! vendor's implicit cache has a prefix to find: the keys have one order and `contents` is last. The body borrows from
//! the request; nothing is copied before it is written.
//!
//! A turn of calls is answered by one turn with all the results, in the order of the calls, then what the user says
//! besides. Files of a result stand inside it for models that take them there (Gemini 3), else beside it, under a line
//! that says whose they are. Signatures go back on the part that they came with (see [`super::signature`]); a step of
//! calls that another vendor's model made has none, and Gemini 3 takes it with the documented stand-in.
//!
//! What the API refuses is not sent: text without a visible character, a call's input that is not an object, a name
//! with other characters than it takes, thinking that another vendor signed, and what a provider ran itself: the API
//! tells of its own searches outside the reply and accepts nothing of that back.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::{
    ids, schema,
    signature::{self, SignedPart},
    thinking::{self, ThinkingConfig},
};
use crate::{
    ErrorKind, HostedToolSpec, ProviderError, Request, RequestParameters, ToolSpec,
    call_ids::{CallIds, SentCall},
    wire::{Base64, SILENT_ERROR, is_visible, nothing_to_send, object, to_json, with_notes, with_room},
};
use flemma_model::{Attachment, Message, Part, Role};

/// The signature of calls that no Gemini model made
/// (<https://ai.google.dev/gemini-api/docs/thought-signatures>, "transferring history from other models").
const UNSIGNED: &str = "skip_thought_signature_validator";

/// The most tokens that a reply may have with any current model: more is refused.
const MAX_OUTPUT: u32 = 65_535;

/// The longest name of a function that every version of the API takes, in bytes.
const MAX_NAME: usize = 64;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<SystemInstruction<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<WireTools<'a>>>,
    #[serde(skip_serializing_if = "GenerationConfig::is_empty")]
    generation_config: GenerationConfig,
    contents: Vec<Content<'a>>,
}

#[derive(Serialize)]
struct SystemInstruction<'a> {
    parts: [Data<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum WireTools<'a> {
    FunctionDeclarations(Vec<Declaration<'a>>),
    GoogleSearch(GoogleSearch<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GoogleSearch<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    exclude_domains: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters_json_schema: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

#[derive(Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: Vec<Piece<'a>>,
}

/// One part, and what belongs to it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Piece<'a> {
    #[serde(flatten)]
    data: Data<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
    /// Its place in its turn: results in the order of their calls, then the rest in its own order.
    #[serde(skip)]
    place: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Data<'a> {
    Text(Cow<'a, str>),
    FunctionCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        name: Cow<'a, str>,
        args: Cow<'a, Value>,
    },
    FunctionResponse {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        name: Cow<'a, str>,
        response: FunctionResult<'a>,
        /// What the function shows
        /// (<https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling>, "multimodal function
        /// responses").
        #[serde(skip_serializing_if = "Vec::is_empty")]
        parts: Vec<Inline<'a>>,
    },
    #[serde(untagged)]
    Inline(Inline<'a>),
}

/// A file, in the body itself.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Inline<'a> {
    inline_data: Blob<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    mime_type: &'a str,
    data: Base64<'a>,
}

impl<'a> Inline<'a> {
    /// `None` if the file itself is not sent.
    fn of(attachment: &'a Attachment) -> Option<Self> {
        let data = Base64(attachment.bytes()?);
        Some(Self { inline_data: Blob { mime_type: &attachment.media_type, data } })
    }
}

/// The result of a call, under the keys that the API reads itself.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum FunctionResult<'a> {
    Output(Cow<'a, str>),
    Error(Cow<'a, str>),
}

/// The body of a streamed request.
///
/// # Errors
/// When the conversation has nothing to send, or a tool's schema cannot be put into the API's dialect.
pub(super) fn body(request: &Request) -> Result<Vec<u8>, ProviderError> {
    let shows_inside = thinking::takes_files_in_results(&request.model);
    let mut contents = contents(&request.messages, shows_inside);
    if contents.is_empty() {
        return Err(nothing_to_send());
    }
    if thinking::wants_signatures(&request.model) {
        contents.iter_mut().for_each(vouch);
    }
    let declarations = request.tools.iter().map(declaration).collect::<Result<Vec<_>, _>>()?;
    let body = Body {
        system_instruction: request
            .system
            .as_deref()
            .filter(|text| is_visible(text))
            .map(|text| SystemInstruction { parts: [Data::Text(text.into())] }),
        tools: tools(declarations, &request.hosted),
        generation_config: GenerationConfig::of(&request.model, &request.parameters),
        contents,
    };
    to_json(&body)
}

fn tools<'a>(declarations: Vec<Declaration<'a>>, hosted: &'a [HostedToolSpec]) -> Option<Vec<WireTools<'a>>> {
    let own = (!declarations.is_empty()).then_some(WireTools::FunctionDeclarations(declarations));
    let hosted = hosted.iter().filter_map(|tool| match tool {
        HostedToolSpec::WebSearch(limits) => {
            Some(WireTools::GoogleSearch(GoogleSearch { exclude_domains: &limits.blocked_domains }))
        }
        HostedToolSpec::CodeExecution => None,
    });
    let tools: Vec<_> = own.into_iter().chain(hosted).collect();
    (!tools.is_empty()).then_some(tools)
}

impl GenerationConfig {
    fn of(model: &str, parameters: &RequestParameters) -> Self {
        let (thinking_config, thought) = thinking::config(model, parameters.thinking).unzip();
        Self {
            max_output_tokens: parameters.max_tokens.map(|tokens| limit(tokens, thought.unwrap_or_default())),
            temperature: parameters.temperature.filter(|value| value.is_finite()),
            thinking_config,
        }
    }

    fn is_empty(&self) -> bool {
        self.max_output_tokens.is_none() && self.temperature.is_none() && self.thinking_config.is_none()
    }
}

/// The most tokens that the reply to a request may have; `None` leaves it to the API.
pub(super) fn limit_of(request: &Request) -> Option<u32> {
    GenerationConfig::of(&request.model, &request.parameters).max_output_tokens
}

/// The limit of a reply of `tokens` after `thought` tokens of thinking, which the API counts as a part of the reply. It
/// is raised no further than the models go.
fn limit(tokens: u32, thought: u32) -> u32 {
    with_room(tokens, thought).min(MAX_OUTPUT.max(tokens))
}

fn declaration(spec: &ToolSpec) -> Result<Declaration<'_>, ProviderError> {
    let parameters_json_schema = schema::parameters(&spec.input_schema).map_err(|problem| {
        let message = format!(
            "the tool `{}` cannot be offered to Vertex AI: its input_schema {problem}, or remove the tool from `tools`",
            spec.name
        );
        ProviderError::new(ErrorKind::InvalidRequest, message)
    })?;
    Ok(Declaration { name: wire_name(&spec.name), description: &spec.description, parameters_json_schema })
}

/// The messages as turns: neighbours of the same role joined, those with nothing to send left out.
fn contents<M: AsRef<Message>>(messages: &[M], shows_inside: bool) -> Vec<Content<'_>> {
    let mut calls =
        SentCalls { ids: CallIds::new(|id| ids::theirs(id).unwrap_or(&id.0).into(), usize::MAX), names: Vec::new() };
    let mut contents: Vec<Content<'_>> = Vec::new();
    for message in messages.iter().map(AsRef::as_ref) {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "model",
        };
        calls.ids.begin(message.role);
        let pieces = pieces(&message.parts, &mut calls, shows_inside);
        match contents.last_mut() {
            _ if pieces.is_empty() => {}
            Some(last) if last.role == role => last.parts.extend(pieces),
            _ => contents.push(Content { role, parts: pieces }),
        }
    }
    for content in &mut contents {
        content.parts.sort_by_key(|piece| piece.place);
    }
    contents
}

/// The calls so far: their ids, and the name of each.
struct SentCalls<'a> {
    ids: CallIds<'a>,
    names: Vec<&'a str>,
}

/// `shows_inside` says whether the files of a result are inside it; otherwise they follow it.
fn pieces<'a>(parts: &'a [Part], calls: &mut SentCalls<'a>, shows_inside: bool) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    // A signature that waits for what it signs.
    let mut waiting = None;
    for part in parts {
        let mut add = |data, thought, thought_signature, place| {
            pieces.push(Piece { data, thought, thought_signature, place });
        };
        match part {
            Part::Text(text) if is_visible(text) => add(Data::Text(text.into()), false, waiting.take(), usize::MAX),
            Part::Text(_) => {}
            Part::Thinking { text, signature } => {
                let Some((value, under)) = signature.as_ref().and_then(signature::read) else { continue };
                if is_visible(text) {
                    add(
                        Data::Text(text.into()),
                        true,
                        Some(value).filter(|_| under == SignedPart::Thought),
                        usize::MAX,
                    );
                }
                if under == SignedPart::Nothing || (under == SignedPart::Thought && !is_visible(text)) {
                    add(Data::Text("".into()), under == SignedPart::Thought, Some(value), usize::MAX);
                }
                waiting = Some(value).filter(|_| under == SignedPart::Next);
            }
            Part::ToolUse { id, name, input } => {
                let SentCall { id: own, .. } = calls.ids.call(id);
                calls.names.push(name);
                let id = ids::theirs(id).map(|_| own);
                let data = Data::FunctionCall { id, name: wire_name(name), args: object(input) };
                add(data, false, waiting.take(), usize::MAX);
            }
            Part::ToolResult { id, output, is_error, attachments } => {
                let said = if *is_error && !is_visible(output) { SILENT_ERROR } else { output };
                let said = with_notes(said.into(), attachments);
                let mut files: Vec<_> = attachments.iter().filter_map(Inline::of).collect();
                let mut whose = None;
                let call = calls.ids.answered(id);
                match call.and_then(|call| Some((*calls.names.get(call.nth)?, call))) {
                    Some((name, SentCall { id: own, nth })) => {
                        let parts = if shows_inside { std::mem::take(&mut files) } else { Vec::new() };
                        let response =
                            if *is_error { FunctionResult::Error(said) } else { FunctionResult::Output(said) };
                        let id = ids::theirs(id).map(|_| own);
                        let data = Data::FunctionResponse { id, name: wire_name(name), response, parts };
                        add(data, false, None, nth);
                        whose = Some(name).filter(|_| !files.is_empty());
                    }
                    // Without its call it has no name; what it says is kept.
                    None if is_visible(&said) && (!is_error || is_visible(output)) => {
                        add(Data::Text(said), false, None, usize::MAX)
                    }
                    None => {}
                }
                if let Some(name) = whose {
                    let text = format!("What the result of the call of `{name}` shows:");
                    add(Data::Text(text.into()), false, None, usize::MAX);
                }
                files.into_iter().for_each(|file| add(Data::Inline(file), false, None, usize::MAX));
            }
            Part::Attachment(attachment) => {
                let words = || Data::Text(attachment.in_words().unwrap_or_default().into());
                add(Inline::of(attachment).map_or_else(words, Data::Inline), false, None, usize::MAX);
            }
            Part::RedactedThinking(_) => {}
            Part::HostedUse { .. } | Part::HostedResult { .. } | Part::Citations { .. } => {}
        }
    }
    pieces
}

/// Puts the stand-in on the first call of a turn that has no signature: of calls made at once only the first has one.
fn vouch(content: &mut Content<'_>) {
    let first = content.parts.iter_mut().find(|piece| matches!(piece.data, Data::FunctionCall { .. }));
    if let Some(call) = first {
        call.thought_signature.get_or_insert(UNSIGNED);
    }
}

/// The name as the API takes it: it begins with a letter or `_`, and other vendors' models may have called for
/// anything.
pub(super) fn wire_name(name: &str) -> Cow<'_, str> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if begins && name.len() <= MAX_NAME && name.chars().all(is_legal) {
        return Cow::Borrowed(name);
    }
    let start = if begins { "" } else { "_" };
    let legal = name.chars().map(|c| if is_legal(c) { c } else { '_' });
    Cow::Owned(start.chars().chain(legal).take(MAX_NAME).collect())
}
