//! What the encoders of several vendors share.

use std::borrow::Cow;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{ErrorKind, ProviderError, Request, call_ids::CallIds};
use flemma_model::{Attachment, CallId, Digest, Message, Part, Role, Signature};

/// What is sent for a tool that failed without a message.
pub(super) const SILENT_ERROR: &str = "The tool failed and said nothing.";

/// Hex digits that replace the rest of an id that is too long.
const HASH_DIGITS: usize = 16;

/// An image or a PDF in base64; `None` if the file itself is not sent.
pub(super) fn base64(attachment: &Attachment) -> Option<String> {
    attachment.bytes().map(|bytes| BASE64_STANDARD.encode(bytes))
}

/// The same as a `data:` URL (RFC 2397).
pub(super) fn data_url(attachment: &Attachment) -> Option<String> {
    Some(format!("data:{};base64,{}", attachment.media_type, base64(attachment)?))
}

/// The system prompt, if there is more in it than white space.
pub(super) fn system(request: &Request) -> Option<&str> {
    request.system.as_deref().filter(|text| is_visible(text))
}

/// The temperature, if there is one.
pub(super) fn temperature(request: &Request) -> Option<f64> {
    request.parameters.temperature.filter(|value| value.is_finite())
}

/// Whether there is more in it than white space.
pub(super) fn is_visible(text: &str) -> bool {
    !text.trim().is_empty()
}

/// The messages as turns: the parts of each as `encode` has them, neighbours of the same role joined, those with nothing
/// to send left out. In what the user says the parts are in the order of their `place`, so that results come right after
/// the calls that they answer, and everything keeps its order otherwise. `ids` are those of the calls, for `encode`.
pub(super) fn turns<'a, M: AsRef<Message>, T, K: Ord>(
    messages: &'a [M],
    mut ids: CallIds<'a>,
    mut encode: impl FnMut(&'a Message, &mut CallIds<'a>) -> Vec<T>,
    place: impl Fn(&T) -> K,
) -> Vec<(Role, Vec<T>)> {
    let mut turns: Vec<(Role, Vec<T>)> = Vec::new();
    for message in messages.iter().map(AsRef::as_ref) {
        ids.begin(message.role);
        let parts = encode(message, &mut ids);
        match turns.last_mut() {
            _ if parts.is_empty() => {}
            Some((role, joined)) if *role == message.role => joined.extend(parts),
            _ => turns.push((message.role, parts)),
        }
    }
    for (_, parts) in turns.iter_mut().filter(|(role, _)| *role == Role::User) {
        parts.sort_by_key(&place);
    }
    turns
}

/// The parts of a message with the thinking that `provider` signed in front of what came of it. Other tools write it at
/// the end of a reply, and the vendors want it before the calls that it led to. It is moved only where it ends the
/// message, where none of it stands in front, and where something `leads_back` to it.
pub(super) fn thinking_first<'a>(
    message: &'a Message,
    provider: &str,
    leads_back: impl Fn(&Part) -> bool,
) -> Vec<&'a Part> {
    let is_own = |part: &Part| match part {
        Part::Thinking { signature, .. } => signature.as_ref().is_some_and(|signature| signature.provider == provider),
        Part::RedactedThinking(signature) => signature.provider == provider,
        _ => false,
    };
    let is_thinking = |part: &Part| matches!(part, Part::Thinking { .. } | Part::RedactedThinking(_));
    let end = message.parts.iter().rposition(|part| !is_thinking(part)).map_or(0, |last| last + 1);
    let (before, behind) = message.parts.split_at(end);
    if before.iter().any(is_own) || !before.iter().any(|part| !is_thinking(part) && leads_back(part)) {
        return message.parts.iter().collect();
    }
    let (own, others): (Vec<_>, Vec<_>) = behind.iter().partition(|part| is_own(part));
    own.into_iter().chain(before).chain(others).collect()
}

/// The value of a signature that `provider` made.
pub(super) fn signed_by<'a>(provider: &str, signature: &'a Signature) -> Option<&'a str> {
    (signature.provider == provider).then_some(signature.value.as_str())
}

/// The id in letters that every API takes: ASCII letters, digits, `_` and `-`. Another vendor's conversation may have
/// ids with other characters: each of their bytes becomes `_` and two hex digits. One of more than `limit` letters
/// is cut and ends in a hash of all of it. Equal ids stay equal, so that a call and its result still match.
pub(super) fn call_id(id: &CallId, limit: usize) -> Cow<'_, str> {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let mut plain = if id.0.is_empty() {
        Cow::Borrowed("_")
    } else if id.0.bytes().all(is_legal) {
        Cow::Borrowed(id.0.as_str())
    } else {
        let escape = |byte| if is_legal(byte) { char::from(byte).to_string() } else { format!("_{byte:02x}") };
        Cow::Owned(id.0.bytes().map(escape).collect())
    };
    if plain.len() > limit {
        let hash = hex(&[id.0.as_bytes()]);
        let kept = limit.saturating_sub(HASH_DIGITS + 1);
        plain = Cow::Owned(format!("{}_{}", &plain[..kept], &hash[..HASH_DIGITS]));
    }
    plain
}

/// The ids for an API that takes ASCII letters, digits, `_` and `-`, and at most `LIMIT` of them.
pub(super) fn plain_ids<'a, const LIMIT: usize>() -> CallIds<'a> {
    CallIds::new(|id| call_id(id, LIMIT), LIMIT)
}

/// SHA-256 over `pieces`, each with its length, in hex digits.
pub(super) fn hex(pieces: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for piece in pieces {
        hash.update((piece.len() as u64).to_le_bytes());
        hash.update(piece);
    }
    Digest::finish(hash).to_string()
}

/// The input as an object, which is all that the APIs take: anything else goes along as its text.
pub(super) fn object(input: &Value) -> Value {
    if input.is_object() { input.clone() } else { json!({ "malformed_json": input.to_string() }) }
}

/// The schema with its properties named even where there are none: OpenAI and those who follow it want that.
pub(super) fn with_properties(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if schema["type"] == "object" && schema.get("properties").is_none() {
        schema["properties"] = json!({});
    }
    schema
}

/// How the words of a failure begin.
const ERROR: &str = "Error: ";

/// What a tool said, for an API that has no mark for failures: the words have to say it.
pub(super) fn marked(output: &str, is_error: bool) -> Cow<'_, str> {
    match output.trim_start() {
        _ if !is_error => Cow::Borrowed(output),
        "" => Cow::Borrowed(SILENT_ERROR),
        // It says so itself, as the tools of SilverBullet do.
        said if said.starts_with(ERROR) => Cow::Borrowed(output),
        _ => Cow::Owned(format!("{ERROR}{output}")),
    }
}

/// What a tool said, and a note instead of each file that goes with it: for an API that takes no files there.
pub(super) fn with_notes<'a>(output: Cow<'a, str>, attachments: &[Attachment]) -> Cow<'a, str> {
    attachments.iter().filter_map(Attachment::note).fold(output, |output, note| {
        let gap = if is_visible(&output) { "\n\n" } else { "" };
        Cow::Owned(format!("{output}{gap}{note}"))
    })
}

/// The reply's limit when `thinking` tokens of thinking count as a part of it: a limit that leaves no room for more
/// than the thinking is taken as meant for the visible part.
pub(super) fn with_room(max_tokens: u32, thinking: u32) -> u32 {
    if max_tokens > thinking { max_tokens } else { thinking.saturating_add(max_tokens) }
}

/// An object without the fields that are null, an empty list or an empty object.
pub(super) fn sparse(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !matches!(value, Value::Null) && *value != json!([]) && *value != json!({}));
    }
    object
}

/// The body of a request: an object, without the fields that say nothing.
pub(super) fn body(body: Value) -> Result<Vec<u8>, ProviderError> {
    serde_json::to_vec(&sparse(body))
        .map_err(|error| ProviderError::bug(format!("the request cannot be written as JSON ({error})")))
}

/// The error for a conversation without any message to send.
pub(super) fn nothing_to_send() -> ProviderError {
    ProviderError::new(ErrorKind::InvalidRequest, "there is nothing to send: write a message under @You: first")
}
