//! Any server that speaks OpenAI's Chat Completions: Ollama, llama.cpp, LM Studio, vLLM, OpenRouter and the like.
//!
//! `encode` turns a request into the body of `POST /v1/chat/completions`, `decode` turns the stream into
//! [`Event`](flemma_model::Event)s with the help of `calls`, which puts calls together from their pieces;
//! `think_tags` finds thinking in the prose, and `opaque` keeps what a host wants back. `capabilities` asks whether a model
//! can use tools. What is sent is what all of them take; what they send is taken as far as it can be understood: fields
//! that are left out, calls in one piece, ends that are not said.
//! `vendor` has the row of these servers and puts it all together.
//!
//! The format is the one of <https://developers.openai.com/api/reference/resources/chat> and of the types in
//! OpenAI's Python SDK (`openai.types.chat`, 3.54); where servers differ from it, the code says which.

mod calls;
mod capabilities;
mod decode;
mod encode;
mod opaque;
mod think_tags;
mod vendor;

pub use self::capabilities::CapabilityProbe;
use self::vendor::NAME;
pub(super) use self::vendor::VENDOR;
