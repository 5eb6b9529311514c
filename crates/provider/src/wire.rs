//! What the encoders of several vendors share.

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
};

use base64::{display::Base64Display, prelude::BASE64_STANDARD as STANDARD};
use serde::{Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{ErrorKind, ProviderError, call_ids::CallIds};
use flemma_model::{Attachment, CallId, Message, Part, Role, Signature};

/// What is sent for a tool that failed without a message.
pub(super) const SILENT_ERROR: &str = "The tool failed and said nothing.";

/// Hex digits that replace the rest of an id that is too long.
const HASH_DIGITS: usize = 16;

/// Bytes that are written as base64 where they go, without a copy in between.
pub(super) struct Base64<'a>(pub &'a [u8]);

impl fmt::Display for Base64<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Base64Display::new(self.0, &STANDARD).fmt(f)
    }
}

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A file as a `data:` URL (RFC 2397), written where it goes.
pub(super) struct DataUrl<'a> {
    media_type: &'a str,
    bytes: Base64<'a>,
}

impl<'a> DataUrl<'a> {
    /// `None` if the file itself is not sent.
    pub(super) fn of(attachment: &'a Attachment) -> Option<Self> {
        Some(Self { media_type: &attachment.media_type, bytes: Base64(attachment.bytes()?) })
    }
}

impl Serialize for DataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("data:{};base64,{}", self.media_type, self.bytes))
    }
}

/// Whether there is more in it than white space.
pub(super) fn is_visible(text: &str) -> bool {
    !text.trim().is_empty()
}

/// The messages as turns: each part as `encode` has it, neighbours of the same role joined, those with nothing to
/// send left out. In what the user says the results come first, right after the calls that they answer, and
/// everything keeps its order otherwise. `parts` are those of a message, in the order of the vendor; `ids` are those of
/// the calls, for `encode`.
pub(super) fn turns<'a, M: AsRef<Message>, T>(
    messages: &'a [M],
    parts: impl Fn(&'a Message) -> Vec<&'a Part>,
    ids: &mut CallIds<'a>,
    mut encode: impl FnMut(&'a Part, &mut CallIds<'a>) -> Option<T>,
    is_result: impl Fn(&T) -> bool,
) -> Vec<(Role, Vec<T>)> {
    let mut turns: Vec<(Role, Vec<T>)> = Vec::new();
    for message in messages.iter().map(AsRef::as_ref) {
        ids.begin(message.role);
        let parts: Vec<_> = parts(message).into_iter().filter_map(|part| encode(part, ids)).collect();
        if parts.is_empty() {
            continue;
        }
        match turns.last_mut() {
            Some((role, joined)) if *role == message.role => joined.extend(parts),
            _ => turns.push((message.role, parts)),
        }
    }
    for (_, parts) in turns.iter_mut().filter(|(role, _)| *role == Role::User) {
        parts.sort_by_key(|part| !is_result(part));
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
    hash.finalize().iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// The input as an object, which is all that the APIs take: anything else goes along as its text.
pub(super) fn object(input: &Value) -> Cow<'_, Value> {
    if input.is_object() {
        return Cow::Borrowed(input);
    }
    Cow::Owned(serde_json::json!({ "malformed_json": input.to_string() }))
}

/// The schema with its properties named even where there are none: OpenAI and those who follow it want that.
pub(super) fn with_properties(schema: &Value) -> Cow<'_, Value> {
    let mut schema = Cow::Borrowed(schema);
    let is_object = schema.get("type").is_some_and(|kind| kind == "object");
    if is_object && schema.get("properties").is_none() {
        schema.to_mut()["properties"] = Value::Object(serde_json::Map::new());
    }
    schema
}

/// How the words of a failure begin.
const ERROR: &str = "Error: ";

/// What a tool said, for an API that has no mark for failures: the words have to say it.
pub(super) fn marked(output: &str, is_error: bool) -> Cow<'_, str> {
    if !is_error {
        Cow::Borrowed(output)
    } else if !is_visible(output) {
        Cow::Borrowed(SILENT_ERROR)
    } else if output.trim_start().starts_with(ERROR) {
        // It says so itself, as the tools of SilverBullet do.
        Cow::Borrowed(output)
    } else {
        Cow::Owned(format!("{ERROR}{output}"))
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

/// The body of a request.
pub(super) fn to_json(body: &impl Serialize) -> Result<Vec<u8>, ProviderError> {
    serde_json::to_vec(body)
        .map_err(|error| ProviderError::bug(format!("the request cannot be written as JSON ({error})")))
}

/// The error for a conversation without any message to send.
pub(super) fn nothing_to_send() -> ProviderError {
    ProviderError::new(ErrorKind::InvalidRequest, "there is nothing to send: write a message under @You: first")
}
