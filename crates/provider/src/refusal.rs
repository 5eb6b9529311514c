//! Parts of a request that a host has refused and that it can do without.
//!
//! Where the words of an error say so ([`Optional::refused`]), the error has a [`Refusal`]. Whoever sends requests
//! keeps it in [`Refusals`] for the session, so that the next request to that host for that model goes without the part.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

use super::{ProviderError, Request, Server, dialect::Dialect};
use flemma_model::Part;

/// A part that a host has refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A field of the body.
    Field(&'static str),
    /// Images and PDFs: those that the request had, as the document names them, and the end of a sentence that says why
    /// they are left out.
    Files(Vec<PathBuf>, String),
}

/// The fields that a request can do without, with other words that servers have for them.
const FIELDS: [(&str, &[&str]); 12] = [
    ("stream_options", &["include_usage"]),
    ("max_completion_tokens", &[]),
    ("max_tokens", &[]),
    ("max_output_tokens", &[]),
    ("temperature", &[]),
    ("reasoning_effort", &["reasoningeffort", "thinking"]),
    ("reasoning", &[]),
    ("thinking", &[]),
    ("output_config", &["effort"]),
    ("parallel_tool_calls", &[]),
    ("prompt_cache_options", &[]),
    ("prompt_cache_retention", &[]),
];

/// How servers say that they do not take a field, whatever its value.
const NOT_TAKEN: [&str; 11] = [
    "not support",
    "n't support",
    "unsupported",
    "not permitted",
    "not allowed",
    "extra_forbidden",
    "unknown",
    "unrecognized",
    "unexpected",
    "deprecated",
    "must be one of",
];

/// How they call images and PDFs.
const FILES: [&str; 9] =
    ["image", "vision", "multimodal", "multi-modal", "mmproj", "pdf", "`file`", "content type", "content part"];

/// How they say that they do not take those, besides [`NOT_TAKEN`].
const NOT_SEEN: [&str; 6] =
    ["only supported by", "support image input", "not a multimodal", "at most 0", "not enabled", "mmproj"];

/// What says that they do not take one of them, for what it is.
const NOT_THIS: [&str; 6] = ["format", "mime", "media type", "media_type", "too large", "exceed"];

/// What a request has that it can do without.
#[derive(Default)]
pub(super) struct Optional {
    fields: Vec<&'static str>,
    files: Vec<PathBuf>,
    /// The host and the model.
    taker: String,
}

impl Optional {
    /// What is optional in `request`, which is sent to `host` as `body`.
    pub fn of(request: &Request, host: &str, body: &Value) -> Self {
        let fields = FIELDS.iter().map(|(field, _)| *field).filter(|field| body.get(field).is_some());
        let attachments = request.messages.iter().flat_map(|message| &message.parts).flat_map(Part::attachments);
        let files = attachments.filter(|attachment| attachment.bytes().is_some());
        let files = files.map(|attachment| attachment.path.clone()).collect();
        Self { fields: fields.collect(), files, taker: format!("{host} with the model {}", request.model) }
    }

    /// The part that the words of an error refuse. `names` are those of the error.
    pub fn refused(&self, words: &str, names: &[String]) -> Option<Refusal> {
        let words = format!("{words} {}", names.join(" ")).to_ascii_lowercase();
        let says = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
        let at = |name: &str| position(&words, name);
        let fields = FIELDS.iter().filter(|(field, _)| self.fields.contains(field));
        // The first that is named: others may be what to use in its place.
        let named = fields.filter_map(|(field, others)| {
            Some((std::iter::once(field).chain(*others).filter_map(|name| at(name)).min()?, *field))
        });
        if let Some((_, field)) = named.min().filter(|_| says(&NOT_TAKEN)) {
            return Some(Refusal::Field(field));
        }
        let takes_none = (says(&NOT_TAKEN) || says(&NOT_SEEN)) && !says(&NOT_THIS);
        let is_about_files = !self.files.is_empty() && says(&FILES) && takes_none;
        is_about_files.then(|| Refusal::Files(self.files.clone(), format!("{} takes no images or PDFs", self.taker)))
    }
}

/// Where a name stands as a word of its own.
fn position(words: &str, name: &str) -> Option<usize> {
    let is_inside = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let mut found = words.match_indices(name).map(|(at, _)| at);
    found.find(|at| !is_inside(words[..*at].chars().next_back()) && !is_inside(words[at + name.len()..].chars().next()))
}

impl Refusal {
    /// What the user is told, as the end of a sentence.
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::Field(field) => format!("it does not take `{field}`, which is left out from now on"),
            Self::Files(..) => "with this model it takes no images or PDFs, which are left out from now on".to_owned(),
        }
    }

    /// The dialect without the part.
    pub(super) fn apply(&self, dialect: &mut Dialect) {
        match self {
            Self::Field(field) => dialect.without.push((*field).to_owned()),
            Self::Files(..) => dialect.files = false,
        }
    }
}

/// What hosts have refused in this session.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<HashMap<(String, String), Vec<Refusal>>>);

impl Refusals {
    fn known(&self) -> MutexGuard<'_, HashMap<(String, String), Vec<Refusal>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server, which leaves out what its host has refused for a model.
    pub fn tell(&self, server: Server, model: &str) -> Server {
        let refused = self.known().get(&(server.host(), model.to_owned())).cloned().unwrap_or_default();
        Server { refused, ..server }
    }

    /// Keeps what an error of the server says about a model.
    pub fn learn(&self, server: &Server, model: &str, error: &ProviderError) {
        if let Some(refused) = &error.refused {
            self.known().entry((server.host(), model.to_owned())).or_default().push(refused.clone());
        }
    }
}
