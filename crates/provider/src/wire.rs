//! What the encoders of several vendors share.

use std::borrow::Cow;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{ErrorKind, ProviderError, Request, call_ids::CallIds, dialect::Dialect};
use flemma_model::{Attachment, CallId, Digest, Message, Part, Role, Signature};

/// What is sent for a tool that failed without a message.
pub(super) const SILENT_ERROR: &str = "The tool failed and said nothing.";

/// The letters of an id where there may be no more.
const NINE: usize = 9;

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

/// What is said where a conversation has to begin with the user, and does not.
const BEGIN: &str = "Begin.";

/// What stands for the reply between results and what the user says next, where one has to be there.
const NOTED: &str = "Noted.";

/// What is said where a conversation must not end with a reply, and does.
const GO_ON: &str = "Go on.";

/// A part of a turn as an encoder has it.
pub(super) trait Piece {
    /// What it is in the order of a conversation.
    fn kind(&self) -> PieceKind;

    /// These words, of either side.
    fn words(words: &'static str) -> Self;
}

/// What a piece is in the order of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// The result of a call, with its place among the results.
    Result(usize),
    /// What either side says or shows.
    Said,
    /// A call, or what a hosted tool did.
    Call,
    Thinking,
    /// Belongs to another piece, and is nothing without it.
    Mark,
}

impl PieceKind {
    fn is_result(self) -> bool {
        matches!(self, Self::Result(_))
    }

    /// Whether a turn may consist of it.
    fn is_whole(self) -> bool {
        !matches!(self, Self::Thinking | Self::Mark)
    }
}

/// The messages as turns in the order that a host takes. The parts of each are as `encode` has them. Neighbours of the same
/// role are joined. What has nothing to send is left out, and so is the thinking at the end of a reply that was stopped
/// in it. In what the user says the results come first, right after the calls that they answer, and everything keeps its
/// order otherwise. `ids` are those of the calls, for `encode`.
pub(super) fn turns<'a, M: AsRef<Message>, T: Piece>(
    messages: &'a [M],
    dialect: &Dialect,
    mut ids: CallIds<'a>,
    mut encode: impl FnMut(&'a Message, &mut CallIds<'a>) -> Vec<T>,
) -> Vec<(Role, Vec<T>)> {
    let mut turns: Vec<(Role, Vec<T>)> = Vec::new();
    for message in messages.iter().map(AsRef::as_ref) {
        ids.begin(message.role);
        join(&mut turns, message.role, encode(message, &mut ids));
    }
    let mut sent = Vec::new();
    for (role, mut parts) in turns {
        let end = parts.iter().rposition(|part| part.kind().is_whole()).map_or(0, |last| last + 1);
        let marks = parts.split_off(end);
        if end > 0 {
            parts.extend(marks.into_iter().filter(|part| part.kind() == PieceKind::Mark));
            join(&mut sent, role, parts);
        }
    }
    for (_, parts) in sent.iter_mut().filter(|(role, _)| *role == Role::User) {
        parts.sort_by_key(|part| if let PieceKind::Result(place) = part.kind() { place } else { usize::MAX });
    }
    in_order(sent, dialect)
}

/// Adds parts to a conversation, to its last turn if that is of the same role.
fn join<T>(turns: &mut Vec<(Role, Vec<T>)>, role: Role, parts: Vec<T>) {
    match turns.last_mut() {
        _ if parts.is_empty() => {}
        Some((last, joined)) if *last == role => joined.extend(parts),
        _ => turns.push((role, parts)),
    }
}

/// The turns with what a dialect wants said between them, before the first and after the last.
fn in_order<T: Piece>(turns: Vec<(Role, Vec<T>)>, dialect: &Dialect) -> Vec<(Role, Vec<T>)> {
    let mut order = Vec::with_capacity(turns.len());
    if dialect.user_first && turns.first().is_some_and(|(role, _)| *role == Role::Assistant) {
        order.push((Role::User, vec![T::words(BEGIN)]));
    }
    for (role, mut parts) in turns {
        let results = parts.iter().take_while(|part| part.kind().is_result()).count();
        if dialect.reply_after_results && results > 0 && results < parts.len() {
            let said = parts.split_off(results);
            order.extend([(role, parts), (Role::Assistant, vec![T::words(NOTED)])]);
            parts = said;
        }
        order.push((role, parts));
    }
    // A reply in which a hosted tool waits goes on as it is.
    let is_said = |part: &T| matches!(part.kind(), PieceKind::Said | PieceKind::Mark);
    let ends_with_reply =
        order.last().is_some_and(|(role, parts)| *role == Role::Assistant && parts.last().is_some_and(is_said));
    if dialect.user_last && ends_with_reply {
        order.push((Role::User, vec![T::words(GO_ON)]));
    }
    order
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

/// The ids as they came, for an API that takes any but an empty one.
pub(super) fn own_ids<'a>() -> CallIds<'a> {
    CallIds::new(|id| if id.0.is_empty() { "_".into() } else { id.0.as_str().into() }, usize::MAX)
}

/// The ids for an API that takes nine letters and digits and nothing else. Those that are so are kept; others are a hash.
pub(super) fn nine_ids<'a>() -> CallIds<'a> {
    fn nine(id: &str) -> String {
        let is_nine = id.len() == NINE && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_nine { id.to_owned() } else { hex(&[id.as_bytes()])[..NINE].to_owned() }
    }
    CallIds::new(|id| nine(&id.0).into(), NINE).numbered(|id, number, _| nine(&format!("{id} {number}")))
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

/// The body of a request: an object, without the fields that say nothing and those that the host does not take.
pub(super) fn body(body: Value, dialect: &Dialect) -> Value {
    let mut body = sparse(body);
    if let Some(fields) = body.as_object_mut() {
        fields.retain(|name, _| !dialect.without.contains(name));
    }
    body
}

/// The error for a conversation without any message to send.
pub(super) fn nothing_to_send() -> ProviderError {
    ProviderError::new(ErrorKind::InvalidRequest, "there is nothing to send: write a message under @You: first")
}
