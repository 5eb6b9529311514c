//! OpenAI's Responses API, streamed and stateless.
//!
//! `encode` turns a request into the body of `POST /v1/responses`, `decode` turns the event stream into
//! [`Event`](flemma_model::Event)s, `errors` says what the vendor's errors mean. The vendor stores nothing: each
//! request carries the whole conversation, and `reasoning` keeps the model's encrypted thoughts in the document
//! between two of them; `hosted` knows the tools that the vendor runs. What a model takes differs from family to
//! family; `effort` knows.
//! `options` reads `parameters.openai`, and `provider` puts it all together.
//!
//! The format is the one of <https://developers.openai.com/api/reference/resources/responses/methods/create> and of
//! the types in the vendor's Python SDK (`openai.types.responses`, 3.54).

mod decode;
mod effort;
mod encode;
pub(super) mod errors;
mod hosted;
mod names;
mod options;
mod provider;
mod reasoning;

pub(super) use self::provider::{hosts, reads};
pub use self::{
    effort::Effort,
    names::{DEFAULT_BASE_URL, KEY_VARIABLE, NAME},
    options::Options,
    provider::OpenAi,
};
