//! OpenAI's Responses API, streamed and stateless.
//!
//! `encode` turns a request into the body of `POST /v1/responses`, `decode` turns the event stream into
//! [`Event`](flemma_model::Event)s. The vendor stores nothing: each
//! request carries the whole conversation, and `reasoning` keeps the model's encrypted thoughts in the document
//! between two of them; `hosted` knows the tools that the vendor runs. What a model takes differs from family to
//! family; `effort` knows. `vendor` has the vendor's row and puts it all together.
//!
//! The format is the one of <https://developers.openai.com/api/reference/resources/responses/methods/create> and of
//! the types in the vendor's Python SDK (`openai.types.responses`, 3.54).

mod decode;
mod effort;
mod encode;
mod hosted;
mod reasoning;
mod vendor;
mod versions;

pub use self::effort::Effort;
use self::vendor::NAME;
pub(super) use self::vendor::{VENDOR, failure};
