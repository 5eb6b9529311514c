//! The body of a request.
//!
//! The same conversation always gives the same bytes, and a longer one the same bytes up to where it
//! grew: the vendor's prompt cache compares prefixes. So the keys have one order, what changes least
//! comes first, and `messages` is last.
//!
//! What the API refuses is not sent: text without a visible character, an empty error result, a call's
//! input that is not an object, thinking that another vendor signed, what another provider ran, half of what this
//! one ran (see [`whole`]).

use std::{borrow::Cow, collections::HashMap};

use serde_json::{Value, json};

use super::{
    NAME, cited,
    family::{self, ThinkingSettings},
    vendor::is_own,
};
use crate::{
    CacheRetention, HostedTool, ProviderError, Request, ToolSpec,
    call_ids::{CallIds, renamed},
    dialect::Dialect,
    reply::str_of,
    signature::{from_base64, of_host},
    wire::{self, PieceKind, SILENT_ERROR, is_visible, object},
};
use flemma_model::{Attachment, CallId, HostedBlock, Message, Part, Role, Signature};

/// The user, as the API calls them.
const USER: &str = "user";

/// The fewest letters that a signature of the vendor's has: shorter ones may be base64 of text by chance.
const LEAST_SIGNATURE: usize = 16;

/// The most letters of a call's id. The vendor's own have about thirty.
const MAX_CALL_ID: usize = 64;

/// Why an error shows no file.
const TEXT_ONLY: &str = "an error can only have text.";

/// The body of a streamed request to `host`, which speaks this dialect.
///
/// # Errors
/// When the conversation has nothing to send.
pub(super) fn body(request: &Request, host: &str, dialect: &Dialect) -> Result<Value, ProviderError> {
    let mut messages = turns(&request.messages, host, dialect);
    if messages.is_empty() {
        return Err(wire::nothing_to_send());
    }
    let mut tools: Vec<_> = request.tools.iter().map(tool).chain(request.hosted.iter().map(hosted)).collect();
    let mut system = wire::system(request).map(Value::from);
    // Everything before a mark is kept with it (<https://docs.claude.com/en/docs/build-with-claude/prompt-caching>): the
    // tools, the system prompt, and what the user said last.
    if let Some(mark) = mark(request.parameters.cache_retention) {
        system = system.map(|text| json!([{ "type": "text", "text": text, "cache_control": mark }]));
        let last = messages.iter_mut().rfind(|turn| turn["role"] == USER);
        let last = last.and_then(|turn| turn["content"].as_array_mut()?.last_mut());
        last.into_iter().chain(tools.last_mut()).for_each(|last| last["cache_control"] = mark.clone());
    }
    let ThinkingSettings { max_tokens, thinking, effort, temperature } =
        family::ask(&request.model, &request.parameters);
    let body = json!({
        "model": request.model,
        "max_tokens": max_tokens,
        "stream": true,
        "thinking": thinking,
        "output_config": effort.map(|effort| json!({ "effort": effort })),
        "temperature": temperature,
        "tools": tools,
        "system": system,
        "messages": messages,
    });
    Ok(wire::body(body, dialect))
}

/// The mark at the end of what the vendor is to keep.
fn mark(retention: CacheRetention) -> Option<Value> {
    match retention {
        CacheRetention::None => None,
        CacheRetention::Short => Some(json!({ "type": "ephemeral" })),
        CacheRetention::Long => Some(json!({ "type": "ephemeral", "ttl": "1h" })),
    }
}

fn tool(spec: &ToolSpec) -> Value {
    json!({ "name": spec.name, "description": spec.description, "input_schema": *spec.input_schema })
}

/// A tool of the vendor's own; see [`crate::hosted`].
fn hosted(tool: &HostedTool) -> Value {
    let name = tool.name();
    match tool {
        HostedTool::CodeExecution => json!({ "type": "code_execution_20250825", "name": name }),
        HostedTool::WebSearch(limits) => wire::sparse(json!({
            "type": "web_search_20250305",
            "name": name,
            "max_uses": limits.max_uses,
            "allowed_domains": limits.allowed_domains,
            "blocked_domains": limits.blocked_domains,
        })),
    }
}

/// The messages as turns, which alternate.
fn turns<'a, M: AsRef<Message>>(messages: &'a [M], host: &str, dialect: &Dialect) -> Vec<Value> {
    let mut whole = whole(messages).into_iter();
    let mut encode = |part: &'a Part, ids: &mut CallIds<'a>| match part {
        Part::Hosted(_) if whole.next() != Some(true) => None,
        part => piece(part, host, ids),
    };
    let encode = |message: &'a Message, ids: &mut CallIds<'a>| {
        let has_calls = message.parts.iter().any(|part| matches!(part, Part::ToolUse { .. }));
        let parts = wire::thinking_first(message, NAME, |_| true).into_iter();
        parts.filter(|part| has_calls || !is_unsigned(part)).filter_map(|part| encode(part, ids)).collect()
    };
    let turns = wire::turns(messages, dialect, wire::plain_ids::<MAX_CALL_ID>(), encode).into_iter();
    let mut turns: Vec<_> = turns.map(|(role, pieces)| (role, blocks(pieces))).collect();
    // A reply that is to be continued must not end in white space.
    if let Some((Role::Assistant, blocks)) = turns.last_mut()
        && let Some(Value::String(text)) = blocks.last_mut().and_then(|block| block.get_mut("text"))
    {
        text.truncate(text.trim_end().len());
    }
    let role = |role| if role == Role::User { USER } else { "assistant" };
    turns.into_iter().map(|(who, content)| json!({ "role": role(who), "content": content })).collect()
}

/// A part of a message, before its citations have found their text.
enum Piece<'a> {
    Text(&'a str),
    Block(Value),
    /// What the text before it cites.
    Citations(&'a Value),
}

impl wire::Piece for Piece<'_> {
    fn kind(&self) -> PieceKind {
        match self {
            Self::Text(_) => PieceKind::Said,
            Self::Citations(_) => PieceKind::Mark,
            Self::Block(block) => match str_of(block, "type") {
                "tool_result" => PieceKind::Result(0),
                "thinking" | "redacted_thinking" => PieceKind::Thinking,
                "text" | "image" | "document" => PieceKind::Said,
                _ => PieceKind::Call,
            },
        }
    }

    fn words(words: &'static str) -> Self {
        Self::Text(words)
    }
}

/// The blocks, with citations at the words that they belong to.
fn blocks(pieces: Vec<Piece<'_>>) -> Vec<Value> {
    let mut blocks = Vec::with_capacity(pieces.len());
    let mut pieces = pieces.into_iter().peekable();
    while let Some(piece) = pieces.next() {
        match piece {
            Piece::Block(block) => blocks.push(block),
            Piece::Citations(_) => {}
            Piece::Text(words) => match pieces.next_if(|next| matches!(next, Piece::Citations(_))) {
                Some(Piece::Citations(raw)) => blocks.extend(cited::cut(words, raw).into_iter().map(passage)),
                _ => blocks.push(text(words)),
            },
        }
    }
    blocks
}

fn passage(passage: cited::Passage<'_>) -> Value {
    let mut block = text(passage.text);
    if let Some(citations) = passage.citations {
        block["citations"] = citations.clone();
    }
    block
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Whether each hosted call and each hosted result has its other half, and citations, which have none, in the order of the
/// conversation: the API
/// refuses a call that has lost its result, and a result that has lost its call. A result belongs to the nearest call
/// before it that has its id. In the reply that is still going on a call has no result yet: the vendor has paused, or
/// waits for a tool of ours.
fn whole<M: AsRef<Message>>(messages: &[M]) -> Vec<bool> {
    let is_reply = |message: &M| message.as_ref().role == Role::Assistant;
    let end = messages.iter().rposition(is_reply).map_or(0, |last| last + 1);
    let begin = messages[..end].iter().rposition(|message| !is_reply(message)).map_or(0, |last| last + 1);
    let answers = |message: &M| message.as_ref().parts.iter().any(|part| matches!(part, Part::ToolResult { .. }));
    let goes_on = messages[end..].is_empty() || messages[end..].iter().any(answers);
    let mut whole = Vec::new();
    // The places of the calls without a result so far.
    let mut open: HashMap<&CallId, Vec<usize>> = HashMap::new();
    for (nth, message) in messages.iter().enumerate() {
        for part in &message.as_ref().parts {
            let Part::Hosted(hosted) = part else { continue };
            match &hosted.block {
                HostedBlock::Call { id, .. } => {
                    open.entry(id).or_default().push(whole.len());
                    whole.push(goes_on && (begin..end).contains(&nth));
                }
                HostedBlock::Result { id, .. } => {
                    let call = open.get_mut(id).and_then(Vec::pop);
                    if let Some(call) = call {
                        whole[call] = true;
                    }
                    whole.push(call.is_some());
                }
                HostedBlock::Citations { .. } => whole.push(true),
            }
        }
    }
    whole
}

/// The part as the API has it; `None` for what it does not take.
fn piece<'a>(part: &'a Part, host: &str, ids: &mut CallIds<'a>) -> Option<Piece<'a>> {
    Some(Piece::Block(match part {
        Part::Text(text) => return is_visible(text).then_some(Piece::Text(text)),
        Part::Attachment(attachment) => {
            shown(attachment).unwrap_or_else(|| text(&attachment.in_words().unwrap_or_default()))
        }
        Part::Thinking { text, signature } => {
            json!({ "type": "thinking", "thinking": text, "signature": ours(signature.as_ref()?, host)? })
        }
        Part::RedactedThinking(signature) => json!({ "type": "redacted_thinking", "data": ours(signature, host)? }),
        Part::ToolUse { id, name, input } => {
            json!({ "type": "tool_use", "id": ids.call(id).id, "name": name, "input": object(input) })
        }
        Part::ToolResult { id, output, is_error, attachments } => {
            let content = Some(said(output, *is_error, attachments)).filter(|content| content != "");
            wire::sparse(json!({
                "type": "tool_result",
                "tool_use_id": ids.result(id),
                "content": content,
                "is_error": is_error.then_some(true),
            }))
        }
        Part::Hosted(hosted) => {
            let raw = hosted.raw_of(NAME)?;
            match hosted.block {
                HostedBlock::Call { .. } => renamed(raw, "id", |id| ids.hosted_call(id)),
                HostedBlock::Result { .. } => renamed(raw, "tool_use_id", |id| ids.hosted_result(id)),
                HostedBlock::Citations { .. } => return Some(Piece::Citations(raw)),
            }
        }
    }))
}

/// The content of a tool's result: its text, or with what it shows. The API takes nothing but text in an error.
fn said(output: &str, is_error: bool, attachments: &[Attachment]) -> Value {
    let mut said = if is_error && !is_visible(output) { SILENT_ERROR } else { output }.to_owned();
    let mut blocks = Vec::new();
    for attachment in attachments {
        match shown(attachment).filter(|_| !is_error) {
            Some(block) => blocks.push(block),
            None => {
                let note = attachment.note();
                let note = note.unwrap_or_else(|| format!("[{} was left out: {TEXT_ONLY}]", attachment.path.display()));
                said.push_str(if is_visible(&said) { "\n\n" } else { "" });
                said.push_str(&note);
            }
        }
    }
    if blocks.is_empty() {
        return said.into();
    }
    if is_visible(&said) {
        blocks.insert(0, text(&said));
    }
    blocks.into()
}

/// An image or a PDF; `None` if it is not to be sent.
fn shown(attachment: &Attachment) -> Option<Value> {
    let data = wire::base64(attachment)?;
    let kind = if attachment.is_pdf() { "document" } else { "image" };
    let source = json!({ "type": "base64", "media_type": attachment.media_type, "data": data });
    Some(json!({ "type": kind, "source": source }))
}

/// The signature's value, if this host signed.
///
/// The vendor's own value is base64 of bytes that are not text. Other tools encode it in base64 once more: then what
/// comes out of it is base64 again.
fn ours<'a>(signature: &'a Signature, host: &str) -> Option<Cow<'a, str>> {
    let value = wire::signed_by(NAME, signature)?;
    if value.contains('@') || !is_own(host) {
        return of_host(value, host).map(Cow::Borrowed);
    }
    let inner = from_base64(value).and_then(|bytes| String::from_utf8(bytes).ok());
    let twice = inner.filter(|inner| inner.len() >= LEAST_SIGNATURE && from_base64(inner).is_some());
    Some(twice.map_or(Cow::Borrowed(value), Cow::Owned))
}

/// Whether it is thinking that no host has signed: those who sent it want it back with the calls that it led to.
fn is_unsigned(part: &Part) -> bool {
    matches!(part, Part::Thinking { signature: Some(signature), .. } if signature.value.starts_with('@'))
}
