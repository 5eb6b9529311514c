//! Signatures, as far as somebody who reads a document has to know about them.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::{anthropic, compatible, openai, vertex};
use crate::model::Signature;

/// Base64 in either alphabet, with or without its end.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// The providers that sign.
pub const SIGNERS: [&str; 4] = [anthropic::NAME, openai::NAME, compatible::NAME, vertex::NAME];

impl Signature {
    /// Thinking that a tool has hidden without a word about its provider: only Anthropic hides any. `None` if `text` is
    /// no data.
    #[must_use]
    pub fn redacted(text: &str) -> Option<Self> {
        let is_data = |c: char| c.is_ascii_alphanumeric() || "+/=_-".contains(c);
        let lines = || text.lines().map(str::trim);
        let sound = lines().all(|line| line.chars().all(is_data));
        let value: String = lines().collect();
        (sound && !value.is_empty()).then(|| Self { provider: anthropic::NAME.to_owned(), value })
    }

    /// Whether its provider could be sent it. Somebody may have damaged it, or another tool have written it in a form of
    /// its own.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        match self.provider.as_str() {
            openai::NAME => openai::reads(self),
            compatible::NAME => compatible::reads(self),
            vertex::NAME => vertex::reads(self),
            _ => !self.value.is_empty() && !self.value.contains(char::is_whitespace),
        }
    }
}

/// The bytes that `text` has in base64; `None` if it is none.
pub(super) fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}
