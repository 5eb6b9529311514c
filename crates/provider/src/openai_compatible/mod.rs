//! Any server that speaks OpenAI's Chat Completions: Ollama, llama.cpp, LM Studio, vLLM, OpenRouter and the like.
//!
//! `encode` turns a request into the body of `POST /v1/chat/completions`, `decode` turns the stream into
//! [`Event`](flemma_model::Event)s with the help of `calls`, which puts calls together from their pieces;
//! `capabilities` asks whether a model can use tools, `options` has the options in `parameters.openai_compatible`. What
//! is sent is what all of them take; what they send is taken as far as it can be understood: fields that are left out,
//! calls in one piece, ends that are not said.
//! `provider` puts it all together.
//!
//! The format is the one of <https://developers.openai.com/api/reference/resources/chat> and of the types in
//! OpenAI's Python SDK (`openai.types.chat`, 3.54); where servers differ from it, the code says which.

mod calls;
mod capabilities;
mod decode;
mod encode;
mod errors;
mod names;
mod options;
mod provider;

use self::names::THINKING_FIELDS;
pub(super) use self::provider::reads;
pub use self::{
    names::{EXAMPLE_BASE_URL, KEY_VARIABLE, NAME},
    options::Options,
    provider::OpenAiCompatible,
};
