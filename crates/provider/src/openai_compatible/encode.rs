//! The body of a request: what every server takes and nothing else, but for what a [`Dialect`] says.
//!
//! The same conversation always gives the same bytes, and a longer one the same bytes up to where it grew, so that a
//! server finds what it has computed already. So the keys have one order and `messages` is last.
//!
//! Content is a plain string wherever there is no file, roles alternate (the templates of many models want both),
//! results are messages of the role `tool` right behind the calls that they answer (text alone: the files of a result
//! follow in the user's next message, which says whose they are), and the limit has its old name. Thinking goes back
//! in the field that it came in, to the server that it came from, and only with calls: some models go on from it
//! (<https://api-docs.deepseek.com/guides/thinking_mode>), others refuse it.

use serde_json::{Value, json};

use super::{
    NAME,
    opaque::{self, Opaque},
};
use crate::{
    ProviderError, Request, ThinkingLevel, ToolSpec,
    call_ids::CallIds,
    dialect::{CallIdForm, Dialect},
    wire::{self, PieceKind, is_visible},
};
use flemma_model::{Attachment, Part, Role};

/// The most letters of a call's id.
const MAX_CALL_ID: usize = 40;

/// What is sent for a tool that said nothing: some servers take no empty content
/// (<https://github.com/quailyquaily/mistermorph/pull/46>).
const SILENT: &str = "(no output)";

/// The separator between two pieces of prose in one message.
const PROSE_BREAK: &str = "\n\n";

/// A part of a message, before they are gathered.
enum Piece<'a> {
    Text(&'a str),
    /// Thinking that goes back, and its text.
    Thinking(Opaque, &'a str),
    Call(Value),
    /// What a tool said, as a message.
    Result(Value),
    /// What is shown, or words about it.
    Shown(Value),
}

impl wire::Piece for Piece<'_> {
    fn kind(&self) -> PieceKind {
        match self {
            Self::Text(_) | Self::Shown(_) => PieceKind::Said,
            Self::Thinking(..) => PieceKind::Thinking,
            Self::Call(_) => PieceKind::Call,
            Self::Result(_) => PieceKind::Result(0),
        }
    }

    fn words(words: &'static str) -> Self {
        Self::Text(words)
    }
}

/// The body of a streamed request to `host`, which speaks this dialect.
///
/// # Errors
/// When the conversation has nothing to send.
pub(super) fn body(request: &Request, host: &str, dialect: &Dialect) -> Result<Value, ProviderError> {
    let instructions = wire::system(request).map(|text| json!({ "role": dialect.system_role, "content": text }));
    let mut messages: Vec<Value> = instructions.into_iter().collect();
    let (preface, thinking) = (messages.len(), request.parameters.thinking);
    let ids = match dialect.call_ids {
        CallIdForm::Any => wire::own_ids(),
        CallIdForm::Plain => wire::plain_ids::<MAX_CALL_ID>(),
        CallIdForm::Nine => wire::nine_ids(),
    };
    let encode = |message, ids: &mut _| {
        let parts = wire::thinking_first(message, NAME, |part| matches!(part, Part::ToolUse { .. })).into_iter();
        parts.flat_map(|part| pieces(part, host, ids)).collect()
    };
    for (role, pieces) in wire::turns(&request.messages, dialect, ids, encode) {
        match role {
            Role::User => said_by_user(pieces, &mut messages),
            Role::Assistant => messages.push(said_by_model(pieces, dialect)),
        }
    }
    if messages.len() == preface {
        return Err(wire::nothing_to_send());
    }
    let body = json!({
        "model": request.model,
        "stream": true,
        "stream_options": { "include_usage": true },
        (dialect.limit.as_str()): limit(request, dialect),
        "temperature": wire::temperature(request),
        // One of the three words that all servers know which know any.
        "reasoning_effort": thinking.level().map(|level| level.clamp(ThinkingLevel::Low, ThinkingLevel::High)),
        "tools": request.tools.iter().map(tool).collect::<Vec<_>>(),
        "messages": messages,
    });
    Ok(wire::body(body, dialect))
}

/// The most tokens that the reply to a request may have; `None` leaves it to the server.
pub(super) fn limit(request: &Request, dialect: &Dialect) -> Option<u32> {
    let room = request.parameters.thinking.budget().unwrap_or(0);
    let tokens = request.parameters.max_tokens.filter(|_| !dialect.without.contains(&dialect.limit));
    tokens.map(|tokens| wire::with_room(tokens, room))
}

fn tool(spec: &ToolSpec) -> Value {
    let parameters = wire::with_properties(&spec.input_schema);
    json!({
        "type": "function",
        "function": { "name": spec.name, "description": spec.description, "parameters": parameters },
    })
}

/// The part as the API has it; nothing for what it does not take.
fn pieces<'a>(part: &'a Part, host: &str, ids: &mut CallIds<'a>) -> Vec<Piece<'a>> {
    match part {
        Part::Text(text) if is_visible(text) => vec![Piece::Text(text)],
        Part::Thinking { text, signature: Some(signature) } => {
            opaque::read(signature, host).map(|opaque| Piece::Thinking(opaque, text.trim())).into_iter().collect()
        }
        Part::ToolUse { id, name, input } => {
            let function = json!({ "name": name, "arguments": wire::object(input).to_string() });
            vec![Piece::Call(json!({ "type": "function", "id": ids.call(id).id, "function": function }))]
        }
        Part::ToolResult { id, output, is_error, attachments } => {
            let id = ids.result(id);
            let shown: Vec<_> = attachments.iter().filter_map(file).collect();
            let about = (!shown.is_empty()).then(|| text(&format!("What the result of the call {id} shows:")));
            let mut output = wire::with_notes(wire::marked(output, *is_error), attachments);
            if !is_visible(&output) {
                output = SILENT.into();
            }
            let result = Piece::Result(json!({ "role": "tool", "tool_call_id": id, "content": output }));
            std::iter::once(result).chain(about.into_iter().chain(shown).map(Piece::Shown)).collect()
        }
        Part::Attachment(attachment) => {
            let shown = file(attachment).unwrap_or_else(|| text(&attachment.in_words().unwrap_or_default()));
            vec![Piece::Shown(shown)]
        }
        // Servers of this kind sign nothing and run no tools.
        Part::Text(_) | Part::Thinking { .. } | Part::RedactedThinking(_) | Part::Hosted(_) => Vec::new(),
    }
}

/// The results, then one message with everything else.
fn said_by_user(pieces: Vec<Piece<'_>>, messages: &mut Vec<Value>) {
    let mut parts = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Result(message) => messages.push(message),
            Piece::Text(words) => parts.push(text(words)),
            Piece::Shown(part) => parts.push(part),
            Piece::Thinking(..) | Piece::Call(_) => {}
        }
    }
    if !parts.is_empty() {
        messages.push(json!({ "role": "user", "content": content_of(parts) }));
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

/// What is sent as the thinking that led to a call and is not known, where there has to be some: Moonshot takes no empty
/// one (<https://github.com/earendil-works/pi/issues/4251>).
const UNKNOWN_THINKING: &str = ".";

/// One message of all that the model said. Its content is null where there are only calls.
fn said_by_model(pieces: Vec<Piece<'_>>, dialect: &Dialect) -> Value {
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
            Piece::Result(_) | Piece::Shown(_) => {}
        }
    }
    let mut message = json!({ "role": "assistant", "content": (!prose.is_empty()).then(|| prose.join(PROSE_BREAK)) });
    if calls.is_empty() {
        return message;
    }
    for field in opaque::TEXTS {
        let texts: Vec<_> = thoughts.iter().filter(|(of, _)| *of == field).map(|(_, text)| *text).collect();
        if !texts.is_empty() {
            message[field] = texts.join(PROSE_BREAK).into();
        }
    }
    if dialect.thinking_with_calls
        && details.is_empty()
        && !opaque::TEXTS.iter().any(|field| message.get(field).is_some())
    {
        message[opaque::TEXTS[0]] = UNKNOWN_THINKING.into();
    }
    if !dialect.null_content && message["content"].is_null() {
        message["content"] = "".into();
    }
    if !details.is_empty() {
        message[opaque::DETAILS] = details.into();
    }
    message["tool_calls"] = calls.into();
    message
}
