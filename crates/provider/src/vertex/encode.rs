//! The body of a request.
//!
//! The same conversation always gives the same bytes, and a longer one the same bytes up to where it grew, so that the
//! vendor's implicit cache has a prefix to find: the keys have one order and `contents` is last.
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

use serde_json::{Map, Value, json};

use super::{
    ids, schema,
    signature::{self, SignedPart},
    thinking,
};
use crate::{
    ErrorKind, HostedTool, ProviderError, Request, ToolSpec,
    call_ids::{CallIds, SentCall},
    dialect::Dialect,
    wire::{self, PieceKind, SILENT_ERROR, is_visible, object, with_notes, with_room},
};
use flemma_model::{Attachment, Message, Part, Role};

/// The signature of calls that no Gemini model made
/// (<https://ai.google.dev/gemini-api/docs/thought-signatures>, "transferring history from other models").
const UNSIGNED: &str = "skip_thought_signature_validator";

/// The field of a part's signature.
const SIGNATURE: &str = "thoughtSignature";

/// The most tokens that a reply may have with any current model: more is refused.
const MAX_OUTPUT: u32 = 65_535;

/// The longest name of a function that every version of the API takes, in bytes.
const MAX_NAME: usize = 64;

/// The body of a streamed request.
///
/// # Errors
/// When the conversation has nothing to send, or a tool's schema cannot be put into the API's dialect.
pub(super) fn body(request: &Request, dialect: &Dialect) -> Result<Value, ProviderError> {
    let is_gemini_3 = thinking::wants_signatures(&request.model);
    let mut contents = contents(&request.messages, is_gemini_3, dialect);
    if contents.is_empty() {
        return Err(wire::nothing_to_send());
    }
    if is_gemini_3 {
        contents.iter_mut().for_each(|(_, parts)| vouch(parts));
    }
    let contents: Vec<_> = contents.into_iter().map(|(role, parts)| json!({ "role": role, "parts": parts })).collect();
    let body = json!({
        "systemInstruction": wire::system(request).map(|text| json!({ "parts": [{ "text": text }] })),
        "tools": tools(request)?,
        "generationConfig": generation_config(request),
        "contents": contents,
    });
    Ok(wire::body(body, dialect))
}

fn tools(request: &Request) -> Result<Vec<Value>, ProviderError> {
    let own = request.tools.iter().map(declaration).collect::<Result<Vec<_>, _>>()?;
    let mut tools = Vec::new();
    if !own.is_empty() {
        tools.push(json!({ "functionDeclarations": own }));
    }
    for tool in &*request.hosted {
        match tool {
            HostedTool::WebSearch(limits) if limits.blocked_domains.is_empty() => {
                tools.push(json!({ "googleSearch": {} }));
            }
            HostedTool::WebSearch(limits) => {
                tools.push(json!({ "googleSearch": { "excludeDomains": limits.blocked_domains } }));
            }
            HostedTool::CodeExecution => {}
        }
    }
    Ok(tools)
}

/// Limits and sampling.
fn generation_config(request: &Request) -> Value {
    wire::sparse(json!({
        "maxOutputTokens": limit(request),
        "temperature": wire::temperature(request),
        "thinkingConfig": thinking::config(&request.model, request.parameters.thinking).map(|(config, _)| config),
    }))
}

/// The most tokens that the reply to a request may have, those of thinking included; `None` leaves it to the API. It is
/// raised for them no further than the models go.
pub(super) fn limit(request: &Request) -> Option<u32> {
    let tokens = request.parameters.max_tokens?;
    let thought = thinking::config(&request.model, request.parameters.thinking).map_or(0, |(_, thought)| thought);
    Some(with_room(tokens, thought).min(MAX_OUTPUT.max(tokens)))
}

fn declaration(spec: &ToolSpec) -> Result<Value, ProviderError> {
    let parameters = schema::parameters(&spec.input_schema).map_err(|problem| {
        let message = format!(
            "the tool `{}` cannot be offered to Vertex AI: its input_schema {problem}, or remove the tool from `tools`",
            spec.name
        );
        ProviderError::new(ErrorKind::InvalidRequest, message)
    })?;
    let mut declaration = json!({ "name": wire_name(&spec.name), "description": spec.description });
    if let Some(parameters) = parameters {
        declaration["parametersJsonSchema"] = parameters;
    }
    Ok(declaration)
}

/// The messages as turns, each with its role. `shows_inside` says whether the files of a result are inside it.
fn contents<M: AsRef<Message>>(
    messages: &[M],
    shows_inside: bool,
    dialect: &Dialect,
) -> Vec<(&'static str, Vec<Value>)> {
    let ids = CallIds::new(|id| ids::theirs(id).unwrap_or(&id.0).into(), usize::MAX);
    // The names of the calls so far.
    let mut names = Vec::new();
    let encode = |message, ids: &mut _| pieces(message, ids, &mut names, shows_inside);
    let turns = wire::turns(messages, dialect, ids, encode);
    let role = |role| if role == Role::User { "user" } else { "model" };
    let parts = |pieces: Vec<Piece>| pieces.into_iter().map(|(_, part)| part).collect();
    turns.into_iter().map(|(who, pieces)| (role(who), parts(pieces))).collect()
}

/// A part, and its place in its turn: results in the order of their calls, then the rest in its own order.
type Piece = (usize, Value);

impl wire::Piece for Piece {
    fn kind(&self) -> PieceKind {
        let (place, part) = self;
        if part["thought"] == true {
            PieceKind::Thinking
        } else if part["text"] == "" {
            PieceKind::Mark
        } else if part.get("functionResponse").is_some() {
            PieceKind::Result(*place)
        } else if part.get("functionCall").is_some() {
            PieceKind::Call
        } else {
            PieceKind::Said
        }
    }

    fn words(words: &'static str) -> Self {
        (usize::MAX, text(words))
    }
}

fn text(text: &str) -> Value {
    json!({ "text": text })
}

fn signed(mut part: Value, signature: Option<&str>) -> Value {
    if let Some(signature) = signature {
        part[SIGNATURE] = signature.into();
    }
    part
}

/// A call or its result, with its id if the API gave that.
fn of_call(id: Option<String>, name: &str, field: &str, value: Value) -> Map<String, Value> {
    let id = id.map(|id| ("id".to_owned(), id.into()));
    id.into_iter().chain([("name".to_owned(), wire_name(name).into()), (field.to_owned(), value)]).collect()
}

/// `shows_inside` says whether the files of a result are inside it; otherwise they follow it.
fn pieces<'a>(message: &'a Message, ids: &mut CallIds<'a>, names: &mut Vec<&'a str>, shows_inside: bool) -> Vec<Piece> {
    let mut pieces = Vec::new();
    // A signature that waits for what it signs.
    let mut waiting = None;
    for part in &message.parts {
        let mut add = |part| pieces.push((usize::MAX, part));
        match part {
            Part::Text(words) if is_visible(words) => add(signed(text(words), waiting.take())),
            Part::Text(_) => {}
            Part::Thinking { text: words, signature } => {
                let Some((value, under)) = signature.as_ref().and_then(signature::read) else { continue };
                let own = Some(value).filter(|_| under == SignedPart::Thought);
                let is_shown = is_visible(words);
                if is_shown || own.is_some() {
                    let words = if is_shown { words } else { "" };
                    add(signed(json!({ "text": words, "thought": true }), own));
                }
                if under == SignedPart::Nothing {
                    add(signed(text(""), Some(value)));
                }
                waiting = Some(value).filter(|_| under == SignedPart::Next);
            }
            Part::ToolUse { id, name, input } => {
                let SentCall { id: own, .. } = ids.call(id);
                names.push(name);
                let call = of_call(ids::theirs(id).map(|_| own), name, "args", object(input));
                add(signed(json!({ "functionCall": call }), waiting.take()));
            }
            Part::ToolResult { id, output, is_error, attachments } => {
                let said = if *is_error && !is_visible(output) { SILENT_ERROR } else { output };
                let said = with_notes(said.into(), attachments);
                let mut files: Vec<_> = attachments.iter().filter_map(file).collect();
                match ids.answered(id).and_then(|call| Some((*names.get(call.nth)?, call))) {
                    Some((name, SentCall { id: own, nth })) => {
                        let key = if *is_error { "error" } else { "output" };
                        let mut result = of_call(ids::theirs(id).map(|_| own), name, "response", json!({ key: said }));
                        // <https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling>,
                        // "multimodal function responses".
                        if shows_inside && !files.is_empty() {
                            result.insert("parts".to_owned(), std::mem::take(&mut files).into());
                        }
                        pieces.push((nth, json!({ "functionResponse": result })));
                        if !files.is_empty() {
                            let words = format!("What the result of the call of `{name}` shows:");
                            pieces.push((usize::MAX, text(&words)));
                        }
                    }
                    // Without its call it has no name; what it says is kept.
                    None if is_visible(&said) && (!is_error || is_visible(output)) => add(text(&said)),
                    None => {}
                }
                pieces.extend(files.into_iter().map(|file| (usize::MAX, file)));
            }
            Part::Attachment(attachment) => {
                add(file(attachment).unwrap_or_else(|| text(&attachment.in_words().unwrap_or_default())));
            }
            Part::RedactedThinking(_) | Part::Hosted(_) => {}
        }
    }
    pieces
}

/// A file, in the body itself; `None` if it is not sent.
fn file(attachment: &Attachment) -> Option<Value> {
    let data = wire::base64(attachment)?;
    Some(json!({ "inlineData": { "mimeType": attachment.media_type, "data": data } }))
}

/// Puts the stand-in on the first call of a turn that has no signature: of calls made at once only the first has one.
fn vouch(parts: &mut [Value]) {
    let first = parts.iter_mut().find(|part| part.get("functionCall").is_some());
    if let Some(call) = first.filter(|call| call.get(SIGNATURE).is_none()) {
        call[SIGNATURE] = UNSIGNED.into();
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
