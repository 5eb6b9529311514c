//! What a host has sent and wants back as it came, and no other host may get.
//!
//! It stands in the signature of a thinking block:
//!
//! | the value in the document        | what goes back                                                              |
//! |----------------------------------|-----------------------------------------------------------------------------|
//! | `reasoning_content@host`         | the text of the block, in this field of the message                         |
//! | `reasoning@host`                 | the same                                                                    |
//! | `reasoning_details:BASE64@host`  | this JSON, in this field: OpenRouter's                                      |
//! | `extra_content:BASE64@host`      | this JSON, in this field of the call that follows: the signatures of Gemini |
//!
//! (<https://openrouter.ai/docs/guides/best-practices/reasoning-tokens>,
//! <https://ai.google.dev/gemini-api/docs/thought-signatures>)

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::Value;

use super::NAME;
use crate::{
    signature::{at_host, of_host},
    wire,
};
use flemma_model::{Event, Signature};

/// The field with the pieces of thinking, in a list.
pub(super) const DETAILS: &str = "reasoning_details";

/// The field of a call.
pub(super) const OF_CALL: &str = "extra_content";

/// The fields that hold the text of the thinking.
pub(super) const TEXTS: [&str; 2] = ["reasoning_content", "reasoning"];

/// What goes back of a thinking block.
pub(super) enum Opaque {
    /// Its text, in this field of the message.
    Text(&'static str),
    /// A part of the list of pieces.
    Details(Vec<Value>),
    /// What belongs to the call that follows.
    OfCall(Value),
}

/// Writes that the text of a block came in `field`.
pub(super) fn text(field: &str, host: &str) -> Signature {
    Signature { provider: NAME.to_owned(), value: at_host(field, host) }
}

/// Writes what came in `field`.
pub(super) fn data(field: &str, value: &Value, host: &str) -> Signature {
    text(&format!("{field}:{}", BASE64_STANDARD.encode(value.to_string())), host)
}

/// A block that shows nothing and holds a signature.
pub(super) fn mark(signature: Signature) -> [Event; 2] {
    [Event::ThinkingStarted, Event::ThinkingFinished { signature: Some(signature) }]
}

/// What `host` gets back of a signature; `None` if it is nothing of this host's.
pub(super) fn read(signature: &Signature, host: &str) -> Option<Opaque> {
    let value = of_host(wire::signed_by(NAME, signature)?, host)?;
    let Some((field, data)) = value.split_once(':') else {
        return TEXTS.into_iter().find(|field| *field == value).map(Opaque::Text);
    };
    let data = serde_json::from_slice(&BASE64_STANDARD.decode(data).ok()?).ok()?;
    match (field, data) {
        (DETAILS, Value::Array(pieces)) => Some(Opaque::Details(pieces)),
        (OF_CALL, data) => Some(Opaque::OfCall(data)),
        _ => None,
    }
}

/// Whether a signature is one of these, of any host.
pub(super) fn is_readable(signature: &Signature) -> bool {
    signature.value.rsplit_once('@').is_some_and(|(_, host)| read(signature, host).is_some())
}

/// Adds pieces of thinking to those that came before. The text of one piece may come in several, which have the same type
/// and place.
pub(super) fn join(all: &mut Vec<Value>, more: Vec<Value>) {
    for mut piece in more {
        let kind = |piece: &Value| (piece.get("type").cloned(), piece.get("index").cloned());
        let Some(last) = all.last_mut().filter(|last| kind(last) == kind(&piece)) else {
            all.push(piece);
            continue;
        };
        for (field, value) in piece.as_object_mut().into_iter().flatten() {
            match (&mut last[field.as_str()], value) {
                (Value::String(text), Value::String(more)) if ["text", "summary", "data"].contains(&field.as_str()) => {
                    text.push_str(more);
                }
                (known @ Value::Null, value) => *known = value.take(),
                _ => {}
            }
        }
    }
}
