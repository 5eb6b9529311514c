//! Vertex AI's Gemini models, streamed.
//!
//! [`token`] gets an access token from a key file, `encode` turns a request into the body of
//! `POST …/models/{model}:streamGenerateContent`, `decode` turns the event stream into [`Event`](flemma_model::Event)s,
//! `errors` turns every way of saying no into one line for the user; `schema` (with `inline` and `conjunction`) puts
//! JSON Schema into Vertex's dialect, `thinking` knows what each model takes, `grounding`
//! what a search has found, `signature` and `ids` say how signatures
//! and calls are written in a document.
//! `options` reads `parameters.vertex`, `provider` puts it all together, and `vendor` offers it to the registry.
//!
//! The format is the one of `google.cloud.aiplatform.v1.PredictionService.StreamGenerateContent`
//! (<https://cloud.google.com/vertex-ai/docs/reference/rest/v1/projects.locations.publishers.models/streamGenerateContent>);
//! names, hosts and what Vertex leaves out of them are those of Google's own `google-genai` for Python, version 3.4.

mod conjunction;
mod decode;
mod encode;
mod errors;
mod grounding;
mod ids;
mod inline;
mod names;
mod options;
mod provider;
mod schema;
mod signature;
mod thinking;
pub mod token;
mod vendor;

pub(super) use self::provider::{hosts, reads, signs_text};
pub use self::{
    names::{NAME, PROJECT_VARIABLE, TOKEN_VARIABLE},
    options::{DEFAULT_LOCATION, Options},
    provider::{Vertex, credential},
};
