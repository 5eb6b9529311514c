//! A server of Chat Completions as a provider.

use super::{
    capabilities,
    decode::CompletionsDecoder,
    encode, errors,
    names::{NAME, THINKING_FIELDS},
};
use crate::{
    CapabilityProbe, ErrorKind, Exchange, Headers, HttpRequest, Provider, ProviderError, Request,
    access::{Access, Endpoint},
    attachment::AttachmentLimits,
    auth::{Environment, Key},
    models::ModelsRequest,
    token_limit,
};
use flemma_model::{MediaKind, Signature};

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
pub(crate) fn reads(signature: &Signature) -> bool {
    let place = signature.value.split_once('@');
    place.is_some_and(|(field, host)| THINKING_FIELDS.contains(&field) && !host.is_empty())
}

fn bearer(key: Option<&Key>) -> Vec<(&'static str, String)> {
    key.iter().map(|key| (KEY_HEADER, format!("Bearer {}", key.expose()))).collect()
}
