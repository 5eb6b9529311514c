//! The body of a request: what every server takes, and nothing else.
//!
//! The same conversation always gives the same bytes, and a longer one the same bytes up to where it grew, so that a
//! server finds what it has computed already. So the keys have one order and `messages` is last.
//!
//! Content is a plain string wherever there is no file, roles alternate (the templates of many models want both),
//! results are messages of the role `tool` right behind the calls that they answer (text alone: the files of a result
//! follow in the user's next message, which says whose they are), and `max_tokens` has its old name. Thinking goes back
//! in the field that it came in, to the server that it came from, and only with calls: some models go on from it
//! (<https://api-docs.deepseek.com/guides/thinking_mode>), others refuse it.

use serde_json::{Value, json};

use super::opaque::{self, Opaque};
use crate::{
    ProviderError, Request, ThinkingLevel, ToolSpec,
    call_ids::CallIds,
    wire::{self, is_visible},
};
use flemma_model::{Attachment, Part, Role};

/// The most letters of a call's id.
const MAX_CALL_ID: usize = 40;

/// The separator between two pieces of prose in one message.
const PROSE_BREAK: &str = "\n\n";

/// A part of a message, before they are gathered.
enum Piece<'a> {
    Text(&'a str),
    /// Thinking that goes back, and its text.
    Thinking(Opaque, &'a str),
    Call(Value),
    /// What a tool said, as a message, and what it shows, with words about whose it is.
    Result(Value, Vec<Value>),
    Attachment(&'a Attachment),
}

/// The body of a streamed request to `host`.
///
/// # Errors
/// When the conversation has nothing to send.
pub(super) fn body(request: &Request, host: &str) -> Result<Vec<u8>, ProviderError> {
    let mut messages: Vec<Value> =
        wire::system(request).map(|text| json!({ "role": "system", "content": text })).into_iter().collect();
    let (preface, thinking) = (messages.len(), request.parameters.thinking);
    let turns = wire::turns(
        &request.messages,
        wire::plain_ids::<MAX_CALL_ID>(),
        |message, ids| message.parts.iter().filter_map(|part| piece(part, host, ids)).collect(),
        |piece| !matches!(piece, Piece::Result(..)),
    );
    for (role, pieces) in turns {
        match role {
            Role::User => said_by_user(pieces, &mut messages),
            Role::Assistant => messages.extend(said_by_model(pieces)),
        }
    }
    if messages.len() == preface {
        return Err(wire::nothing_to_send());
    }
    wire::body(json!({
        "model": request.model,
        "stream": true,
        "stream_options": { "include_usage": true },
        "max_tokens": limit(request),
        "temperature": wire::temperature(request),
        // One of the three words that all servers know which know any.
        "reasoning_effort": thinking.level().map(|level| level.clamp(ThinkingLevel::Low, ThinkingLevel::High)),
        "tools": request.tools.iter().map(tool).collect::<Vec<_>>(),
        "messages": messages,
    }))
}

/// The most tokens that the reply to a request may have; `None` leaves it to the server.
pub(super) fn limit(request: &Request) -> Option<u32> {
    let room = request.parameters.thinking.budget().unwrap_or(0);
    request.parameters.max_tokens.map(|tokens| wire::with_room(tokens, room))
}

fn tool(spec: &ToolSpec) -> Value {
    let parameters = wire::with_properties(&spec.input_schema);
    json!({
        "type": "function",
        "function": { "name": spec.name, "description": spec.description, "parameters": parameters },
    })
}

/// The part as the API has it; `None` for what it does not take.
fn piece<'a>(part: &'a Part, host: &str, ids: &mut CallIds<'a>) -> Option<Piece<'a>> {
    Some(match part {
        Part::Text(text) => Piece::Text(Some(text).filter(|text| is_visible(text))?),
        Part::Thinking { text, signature } => Piece::Thinking(opaque::read(signature.as_ref()?, host)?, text.trim()),
        Part::ToolUse { id, name, input } => {
            let function = json!({ "name": name, "arguments": wire::object(input).to_string() });
            Piece::Call(json!({ "type": "function", "id": ids.call(id).id, "function": function }))
        }
        Part::ToolResult { id, output, is_error, attachments } => {
            let id = ids.result(id);
            let mut shown: Vec<_> = attachments.iter().filter_map(file).collect();
            if !shown.is_empty() {
                shown.insert(0, text(&format!("What the result of the call {id} shows:")));
            }
            let output = wire::with_notes(wire::marked(output, *is_error), attachments);
            Piece::Result(json!({ "role": "tool", "tool_call_id": id, "content": output }), shown)
        }
        Part::Attachment(attachment) => Piece::Attachment(attachment),
        // Servers of this kind sign nothing and run no tools.
        Part::RedactedThinking(_) | Part::Hosted(_) => return None,
    })
}

/// The results, then one message with everything else; joined with the one before, should nothing have been left of
/// what was between the two.
fn said_by_user(pieces: Vec<Piece<'_>>, messages: &mut Vec<Value>) {
    let (mut parts, mut said) = (Vec::new(), Vec::new());
    for piece in pieces {
        match piece {
            Piece::Result(message, shown) => {
                messages.push(message);
                parts.extend(shown);
            }
            Piece::Text(words) => said.push(text(words)),
            Piece::Attachment(attachment) => {
                said.push(file(attachment).unwrap_or_else(|| text(&attachment.in_words().unwrap_or_default())));
            }
            Piece::Thinking(..) | Piece::Call(_) => {}
        }
    }
    parts.append(&mut said);
    if parts.is_empty() {
        return;
    }
    match messages.last_mut().filter(|last| last["role"] == "user").map(|last| &mut last["content"]) {
        Some(content) => {
            let before = match content.take() {
                Value::Array(parts) => parts,
                words => vec![json!({ "type": "text", "text": words })],
            };
            *content = content_of(before.into_iter().chain(parts).collect());
        }
        None => messages.push(json!({ "role": "user", "content": content_of(parts) })),
    }
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// One string of them all, if all are text.
fn content_of(parts: Vec<Value>) -> Value {
    let texts: Option<Vec<&str>> = parts.iter().map(|part| part.get("text")?.as_str()).collect();
    match texts {
        Some(texts) => texts.join(PROSE_BREAK).into(),
        None => parts.into(),
    }
}

/// A file; `None` if it is not to be sent.
fn file(attachment: &Attachment) -> Option<Value> {
    let data = wire::data_url(attachment)?;
    Some(if attachment.is_pdf() {
        json!({ "type": "file", "file": { "filename": attachment.name(), "file_data": data } })
    } else {
        json!({ "type": "image_url", "image_url": { "url": data } })
    })
}

/// One message of all that the model said; `None` where only thinking is left. Its content is null where there are only
/// calls.
fn said_by_model(pieces: Vec<Piece<'_>>) -> Option<Value> {
    let (mut prose, mut calls) = (Vec::new(), Vec::new());
    let (mut thoughts, mut details, mut of_call) = (Vec::new(), Vec::new(), None);
    for piece in pieces {
        match piece {
            Piece::Text(text) => prose.push(text),
            Piece::Thinking(Opaque::Text(_), "") => {}
            Piece::Thinking(Opaque::Text(field), text) => thoughts.push((field, text)),
            Piece::Thinking(Opaque::Details(pieces), _) => details.extend(pieces),
            Piece::Thinking(Opaque::OfCall(data), _) => of_call = Some(data),
            Piece::Call(mut call) => {
                if let Some(data) = of_call.take() {
                    call[opaque::OF_CALL] = data;
                }
                calls.push(call);
            }
            Piece::Result(..) | Piece::Attachment(_) => {}
        }
    }
    if prose.is_empty() && calls.is_empty() {
        return None;
    }
    let mut message = json!({ "role": "assistant", "content": (!prose.is_empty()).then(|| prose.join(PROSE_BREAK)) });
    if calls.is_empty() {
        return Some(message);
    }
    for field in opaque::TEXTS {
        let texts: Vec<_> = thoughts.iter().filter(|(of, _)| *of == field).map(|(_, text)| *text).collect();
        if !texts.is_empty() {
            message[field] = texts.join(PROSE_BREAK).into();
        }
    }
    if !details.is_empty() {
        message[opaque::DETAILS] = details.into();
    }
    message["tool_calls"] = calls.into();
    Some(message)
}
