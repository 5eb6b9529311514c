//! What can go wrong with a request, by who has to act.

use std::fmt;

use super::Refusal;

/// How often one request is sent at most, the first time included.
pub const MAX_ATTEMPTS: u32 = 4;

/// An error. Its text is for the user: it names the thing, the value and the fix, and never a key.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderError {
    /// What kind of failure it is. It decides who has to act, and whether a retry can help.
    pub kind: ErrorKind,
    /// One line that says what failed. The user is shown the error itself, which may add who has to act.
    pub message: String,
    /// Seconds after which the provider wants to be asked again.
    pub retry_after: Option<f64>,
    /// How often the request is worth sending, the first time included.
    pub attempts: u32,
    /// The part of the request that was refused, if it can go without it.
    pub refused: Option<Refusal>,
    /// What the model is told in place of the results of its calls, if the reply was cut off because of what it did: a sentence.
    pub for_model: Option<String>,
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// No key, or one that the provider does not accept.
    Authentication,
    /// An option is missing or has a value that cannot be used.
    Options,
    /// The provider does not accept this request, whoever sends it.
    InvalidRequest,
    /// The reply is larger than the options allow.
    ReplyLimit,
    /// The model's reply cannot be used: it makes too many calls, or calls that cannot be written.
    UnusableReply,
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
    /// Flemma failed.
    Bug,
}

impl ProviderError {
    /// An error with a message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after: None,
            attempts: MAX_ATTEMPTS,
            refused: None,
            for_model: None,
        }
    }

    /// The same, and this is what the model is told of its calls.
    pub fn telling_model(self, words: impl Into<String>) -> Self {
        Self { for_model: Some(words.into()), ..self }
    }

    /// A failure of Flemma's own: `what` says what could not be done.
    pub fn bug(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Bug, what)
    }

    /// Whether the same request may succeed when it is sent again at once.
    pub fn is_transient(&self) -> bool {
        use ErrorKind::{Connection, Interrupted, Overloaded, RateLimited, Server, Timeout};
        matches!(self.kind, RateLimited | Overloaded | Server | Connection | Timeout | Interrupted)
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.kind == ErrorKind::Bug { f.write_str(". This is a bug in Flemma.") } else { Ok(()) }
    }
}

impl std::error::Error for ProviderError {}
