//! Thought signatures, and where they are in a document.
//!
//! The API signs any kind of part and wants each signature back on the part that it came with
//! (<https://ai.google.dev/gemini-api/docs/thought-signatures>); Gemini 3 refuses a call without its own. A document
//! has signatures on thinking only, so that the block says which part is meant:
//!
//! | the value in the document | what is signed                                                     |
//! |---------------------------|--------------------------------------------------------------------|
//! | `c2ln`                    | what follows the block: a call, or prose                           |
//! | `c2ln thought`            | the thinking in the block itself                                   |
//! | `c2ln text`               | an empty text that came at this place, mostly at the end of prose  |
//!
//! Signatures are Base64 and have no space in them.

use super::NAME;
use flemma_model::Signature;

/// What a signature belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignedPart {
    /// The part behind the block.
    Next,
    /// The thinking in the block.
    Thought,
    /// An empty text.
    Nothing,
}

const WORDS: [(SignedPart, &str); 2] = [(SignedPart::Thought, " thought"), (SignedPart::Nothing, " text")];

/// The signature as a document has it.
pub(super) fn write(value: &str, under: SignedPart) -> Signature {
    let word = WORDS.iter().find(|(known, _)| *known == under).map_or("", |(_, word)| word);
    Signature { provider: NAME.to_owned(), value: format!("{value}{word}") }
}

/// The API's own value and what it signs; `None` for another vendor's signature.
pub(super) fn read(signature: &Signature) -> Option<(&str, SignedPart)> {
    if signature.provider != NAME {
        return None;
    }
    let value = signature.value.as_str();
    let marked = WORDS.iter().find_map(|(under, word)| Some((value.strip_suffix(word)?, *under)));
    Some(marked.unwrap_or((value, SignedPart::Next)))
}
