//! Any server that speaks OpenAI's Chat Completions: Ollama, llama.cpp, LM Studio, vLLM, OpenRouter and the like.
//!
//! `encode` turns a request into the body of `POST /v1/chat/completions`, `decode` turns the stream into
//! [`Event`](crate::model::Event)s with the help of `calls`, which puts calls together from their pieces;
//! `capabilities` asks whether a model can use tools, `options` has the options in `parameters.openai_compatible`. What
//! is sent is what all of them take; what they send is taken as far as it can be understood: fields that are left out,
//! calls in one piece, ends that are not said.
//!
//! The format is the one of <https://developers.openai.com/api/reference/resources/chat> and of the types in
//! OpenAI's Python SDK (`openai.types.chat`, 3.54); where servers differ from it, the code says which.

mod calls;
mod capabilities;
mod decode;
mod encode;
mod errors;
mod options;

use self::decode::CompletionsDecoder;
pub use self::options::Options;
use super::{
    CapabilityProbe, ErrorKind, Exchange, Headers, HttpRequest, Provider, ProviderError, Request,
    access::{Access, Endpoint},
    attachment::AttachmentLimits,
    auth::{Environment, Key},
    models::ModelsRequest,
    token_limit,
};
use crate::model::{MediaKind, Signature};

/// The name in the configuration, and the owner of the marks at thinking that goes back.
pub const NAME: &str = "openai_compatible";

/// The variable that holds the key, for a server that wants one. It is a name of its own, so that OpenAI's key is
/// never sent to another server.
pub const KEY_VARIABLE: &str = "OPENAI_COMPATIBLE_API_KEY";

/// An address as it should be: Ollama's on this machine.
pub const EXAMPLE_BASE_URL: &str = "http://localhost:11434/v1";

/// What is sent of images and PDFs. The protocol names no limits and every server has its own; these are small enough
/// for servers that name theirs: 10 MB an image (<https://docs.x.ai/docs/guides/image-understanding>), 30 MB a request
/// with the files in base64 (<https://docs.modelslab.com/enterprise-api/llm-endpoint/files>).
const LIMITS: AttachmentLimits = AttachmentLimits {
    vendor: "a Chat Completions server",
    kinds: &MediaKind::ALL,
    image_bytes: 10 << 20,
    image_side: usize::MAX,
    many_images: usize::MAX,
    many_images_side: usize::MAX,
    files: 100,
    total_bytes: 21 << 20,
};

/// The header that carries the key.
const KEY_HEADER: &str = "authorization";

/// Chat Completions at one address.
#[derive(Debug)]
pub struct OpenAiCompatible(Access);

impl OpenAiCompatible {
    /// The server at `base_url`, which ends in the version (`/v1`) as in OpenAI's own SDK. The key is looked up in
    /// `environment` for each request; where there is none, none is sent.
    #[must_use]
    pub fn new(base_url: &str, environment: Environment) -> Self {
        Self(Access::new(&errors::VENDOR, base_url, environment))
    }

    /// The same with further headers. One that is named like the key's takes its place, and no key is looked up.
    #[must_use]
    pub fn with_headers(self, headers: Headers) -> Self {
        Self(self.0.with_headers(headers))
    }
}

impl Provider for OpenAiCompatible {
    fn name(&self) -> &'static str {
        NAME
    }

    fn attachment_limits(&self) -> Option<AttachmentLimits> {
        Some(LIMITS)
    }

    fn capability_probe(&self, request: &Request) -> Option<CapabilityProbe> {
        if request.tools.is_empty() {
            return None;
        }
        let Endpoint { host, .. } = self.0.endpoint("").ok()?;
        let key = self.0.optional_key(KEY_HEADER).ok()?;
        let headers = || self.0.get_headers(bearer(key.as_ref()));
        capabilities::capability_probe(self.0.base_url(), &host, &request.model, headers)
    }

    fn list_models(&self) -> Result<Option<ModelsRequest>, ProviderError> {
        let Endpoint { url, host } = self.0.endpoint("/models")?;
        let key = self.0.optional_key(KEY_HEADER)?;
        let headers = self.0.get_headers(bearer(key.as_ref()));
        Ok(Some(ModelsRequest::new(url, headers, self.0.peer(host, key))))
    }

    fn prepare(&self, request: &Request) -> Result<Exchange, ProviderError> {
        let Endpoint { url, host } = self.0.endpoint("/chat/completions")?;
        if request.model.trim().is_empty() {
            let message = format!("`model` is not set; write the name of a model that {host} has");
            return Err(ProviderError::new(ErrorKind::Options, message));
        }
        let key = self.0.optional_key(KEY_HEADER)?;
        let headers = self.0.post_headers(bearer(key.as_ref()));
        let body = encode::body(request, &host)?;
        Ok(Exchange::Http {
            request: HttpRequest { url, headers, body },
            decoder: token_limit::apply(
                CompletionsDecoder::new(self.0.peer(host, key), request),
                encode::limit(request),
            ),
        })
    }
}

/// Whether a signature says in which field the thinking came, and from whom.
pub(super) fn reads(signature: &Signature) -> bool {
    let place = signature.value.split_once('@');
    place.is_some_and(|(field, host)| THINKING_FIELDS.contains(&field) && !host.is_empty())
}

fn bearer(key: Option<&Key>) -> Vec<(&'static str, String)> {
    key.iter().map(|key| (KEY_HEADER, format!("Bearer {}", key.expose()))).collect()
}

/// The fields in which servers send thinking, and want it back. Which one it was, and whose, is noted in the
/// signature of the thinking block as `field@host`.
const THINKING_FIELDS: [&str; 2] = ["reasoning_content", "reasoning"];
