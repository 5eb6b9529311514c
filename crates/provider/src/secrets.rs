//! The secrets of one request: what a server may quote, and no message may show.

use super::{
    auth::Key,
    headers::Headers,
    redact::{Redaction, SHORTEST, redact},
};
use flemma_text::one_line;

/// The secrets of one request.
pub(super) struct Secrets(Vec<(String, Redaction)>);

impl Secrets {
    /// The key, and the values of the user's headers.
    pub fn new(key: Option<&Key>, headers: &Headers) -> Self {
        let key = key.map(|key| (key.expose().to_owned(), Redaction::Parts));
        let headers = headers.iter().map(|(name, value)| (value.to_owned(), Redaction::of_header(name)));
        Self(key.into_iter().chain(headers).filter(|(value, _)| value.len() >= SHORTEST).collect())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first `limit` characters of foreign text on one line, without the secrets.
    pub fn quote(&self, text: &str, limit: usize) -> String {
        let safe = self.0.iter().fold(text.to_owned(), |text, (secret, hide)| redact(&text, secret, *hide));
        one_line(&safe, limit)
    }
}
