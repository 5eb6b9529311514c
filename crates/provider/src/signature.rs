//! What several vendors do alike with signatures.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::host::{is_loopback, without_port};
use flemma_model::Signature;

/// Base64 in either alphabet, with or without its end.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// The bytes that `text` has in base64; `None` if it is none.
pub(super) fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}

/// Whether there is something in a signature, without white space.
pub(super) fn is_one_word(signature: &Signature) -> bool {
    !signature.value.is_empty() && !signature.value.contains(char::is_whitespace)
}

/// The value of a signature that `host` has sent and no other host may get.
pub(super) fn at_host(value: &str, host: &str) -> String {
    format!("{value}@{host}")
}

/// Whether what a vendor signs is at home at a host: the vendor's own, or one on this machine, which passes requests on.
pub(super) fn is_at_home(base_url: &str, host: &str) -> bool {
    base_url.split('/').nth(2) == Some(host) || is_loopback(without_port(host))
}

/// What `host` has signed with; `None` if another host has sent it. No vendor's value has an `@` in it.
pub(super) fn of_host<'a>(value: &'a str, host: &str) -> Option<&'a str> {
    value.rsplit_once('@').filter(|(_, of)| *of == host).map(|(value, _)| value)
}
