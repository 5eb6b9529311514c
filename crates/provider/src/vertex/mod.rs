//! Vertex AI's Gemini models, streamed.
//!
//! `token` gets an access token from a key file, `encode` turns a request into the body of
//! `POST …/models/{model}:streamGenerateContent`, `decode` turns the event stream into [`Event`](flemma_model::Event)s,
//! `schema` (with `inline` and `conjunction`) puts
//! JSON Schema into Vertex's dialect, `thinking` knows what each model takes, `grounding`
//! what a search has found, `signature` and `ids` say how signatures
//! and calls are written in a document.
//! `vendor` has the vendor's row and puts it all together.
//!
//! The format is the one of `google.cloud.aiplatform.v1.PredictionService.StreamGenerateContent`
//! (<https://cloud.google.com/vertex-ai/docs/reference/rest/v1/projects.locations.publishers.models/streamGenerateContent>);
//! names, hosts and what Vertex leaves out of them are those of Google's own `google-genai` for Python, version 3.4.

mod conjunction;
mod decode;
mod encode;
mod grounding;
mod ids;
mod inline;
mod schema;
mod signature;
mod thinking;
pub(super) mod token;
mod vendor;

pub(super) use self::vendor::VENDOR;
use self::vendor::{NAME, PROJECT_VARIABLE};
