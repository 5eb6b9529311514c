//! Providers: what a model is asked, and what it answers, in words that belong to no vendor.
//!
//! A [`Request`] goes in, [`Event`]s come out. A [`Provider`] turns the first into an [`Exchange`]
//! (the bytes to send, and the [`Decoder`] for what comes back); `runtime` performs the exchange.
//! Nothing here opens a socket, so that every provider is tested with plain bytes.
//!
//! | module         | what lives there                                              |
//! |----------------|---------------------------------------------------------------|
//! | [`anthropic`]  | Anthropic's Messages API                                      |
//! | [`openai`]     | OpenAI's Responses API                                        |
//! | [`compatible`] | Chat Completions, as many servers speak it                    |
//! | [`attachment`] | which images and PDFs fit into a request                      |
//! | [`vertex`]     | Vertex AI's Gemini models                                     |
//! | [`rehearsal`]  | the embedded default: a script in the place of a model        |
//! | [`sse`]        | server-sent events, which most vendors stream                 |
//! | [`auth`]       | keys, read from the environment and kept out of sight         |
//! | [`credential`] | where a key is when the environment has none                  |
//! | [`place`]      | which hosts are the user's own                                |
//! | [`catalogue`]  | the known models: prices, sizes, capabilities                 |
//! | [`hosted`]     | tools that a provider runs itself                             |
//! | [`retry`]      | when a failed request is sent again                           |

mod access;
pub mod anthropic;
pub mod attachment;
pub mod auth;
pub mod bounds;
mod call_ids;
pub mod catalogue;
pub mod compatible;
mod context_overflow;
pub mod credential;
mod error;
mod headers;
pub mod hosted;
mod limit;
pub mod openai;
pub mod place;
mod redact;
mod refuse;
pub mod rehearsal;
mod reply;
mod request;
pub mod retry;
mod signature;
pub mod sse;
mod thinking;
pub mod vertex;
mod wire;

use std::borrow::Cow;

pub use compatible::abilities::{Inquiry, Question};
pub use error::{ErrorKind, ProviderError};
pub use headers::{HeaderProblem, Headers};
pub use hosted::{Hosted, HostedTool, SearchLimits};
pub use request::{By, CacheRetention, Parameters, Request, ToolSpec};
pub use signature::SIGNERS;
pub use thinking::{Thinking, ThinkingLevel};

use crate::model::Event;

/// The variables of the environment that hold a provider's key, or lead to one. Commands that tools run do not inherit
/// them.
pub const SECRET_VARIABLES: [&str; 5] = [
    anthropic::KEY_VARIABLE,
    openai::KEY_VARIABLE,
    compatible::KEY_VARIABLE,
    vertex::TOKEN_VARIABLE,
    vertex::token::FILE_VARIABLE,
];

/// One vendor's protocol.
pub trait Provider: Send + Sync + std::fmt::Debug {
    /// The name in the configuration (`provider = "anthropic"`).
    fn name(&self) -> &'static str;

    /// What images and PDFs it takes; `None` if it takes none, and then nobody reads them.
    fn attachment_limits(&self) -> Option<attachment::Limits> {
        None
    }

    /// What to ask the server about the model that a request is for, before its tools can be relied on; `None` where
    /// there is no doubt, or nobody to ask.
    fn inquiry(&self, _request: &Request) -> Option<Inquiry> {
        None
    }

    /// Turns a request into an exchange.
    ///
    /// # Errors
    /// When the request cannot be made at all: no key, or a conversation that the protocol cannot carry.
    /// The message names the mend.
    fn prepare(&self, request: &Request) -> Result<Exchange, ProviderError>;
}

/// What `runtime` performs for one request.
pub enum Exchange {
    /// One HTTP request with a streamed response.
    Http {
        /// What to send.
        request: HttpRequest,
        /// Reads what comes back.
        decoder: Box<dyn Decoder>,
    },
    /// A script: each event after its pause. Used by the embedded `rehearsal` provider.
    Script(Vec<(std::time::Duration, Event)>),
}

/// A request, ready to send. It has no `Debug`: its headers may hold a key.
pub struct HttpRequest {
    /// The absolute URL.
    pub url: String,
    /// Header names, in lower case, and values.
    pub headers: Vec<(Cow<'static, str>, String)>,
    /// The body, sent with `POST`.
    pub body: Vec<u8>,
}

/// A response whose status is no success.
#[derive(Debug)]
pub struct ErrorResponse {
    /// The HTTP status.
    pub status: u16,
    /// The `retry-after` header in seconds, if there was one.
    pub retry_after: Option<f64>,
    /// The vendor's request id, from whichever header the vendor uses.
    pub request_id: Option<String>,
    /// The body: JSON, HTML, plain text, or nothing.
    pub body: Vec<u8>,
}

/// Reads one response.
pub trait Decoder: Send {
    /// Takes the next bytes of the stream, cut anywhere, and appends the events that they complete.
    ///
    /// # Errors
    /// When the stream carries the vendor's error event or cannot be understood.
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), ProviderError>;

    /// The stream has ended.
    ///
    /// # Errors
    /// When it ended before the vendor said that the reply is complete.
    fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), ProviderError>;

    /// Turns a response whose status is no success into an error.
    fn refuse(&self, response: &ErrorResponse) -> ProviderError;
}
