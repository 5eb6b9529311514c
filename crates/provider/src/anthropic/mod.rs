//! Anthropic's Messages API, streamed.
//!
//! `encode` turns a request into the body of `POST /v1/messages`, `decode` turns the event stream
//! into [`Event`](flemma_model::Event)s, `cited` carries citations there and back, `errors` says what the vendor's
//! errors mean. What a model takes of thinking and sampling differs from family to family; `family` knows.
//! `options` reads `parameters.anthropic`, and `provider` puts it all together.
//!
//! The format is the one of <https://docs.claude.com/en/api/messages> and `…/messages-streaming`,
//! API version `2023-06-01`.

mod cited;
mod decode;
mod encode;
mod errors;
mod family;
mod names;
mod options;
mod provider;

pub(super) use self::provider::{hosts, reads};
pub use self::{
    names::{DEFAULT_BASE_URL, KEY_VARIABLE, NAME},
    options::Options,
    provider::Anthropic,
};
