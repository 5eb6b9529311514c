//! What can go wrong between us and a provider.

use std::fmt;

use super::retry::MAX_ATTEMPTS;

/// An error whose message is fit for the user's eyes: it names the thing and the mend, and no key.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderError {
    /// What kind of failure it is; decides whether a retry can help.
    pub kind: ErrorKind,
    /// One line for the user.
    pub message: String,
    /// Seconds after which the provider wants to be asked again.
    pub retry_after: Option<f64>,
    /// How often the request is worth sending, the first time included.
    pub attempts: u32,
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// No key, or one that the provider does not take.
    Authentication,
    /// The provider does not take this request, whoever sends it.
    InvalidRequest,
    /// Too many requests (429).
    RateLimited,
    /// The provider is busy (529, 503, or an `overloaded` event).
    Overloaded,
    /// The provider failed (5xx).
    Server,
    /// No connection: refused, no such host, reset.
    Connection,
    /// The other side speaks no TLS, or with a certificate that is not trusted.
    Tls,
    /// Nothing came in time.
    Timeout,
    /// The stream ended in the middle of the reply.
    Interrupted,
    /// The stream carried something that is not the protocol.
    Malformed,
}

impl ProviderError {
    /// An error with a message for the user.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None, attempts: MAX_ATTEMPTS }
    }

    /// Whether the same request may succeed when it is sent again.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        use ErrorKind::{Connection, Interrupted, Overloaded, RateLimited, Server, Timeout};
        matches!(self.kind, RateLimited | Overloaded | Server | Connection | Timeout | Interrupted)
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ProviderError {}
