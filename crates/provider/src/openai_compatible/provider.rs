//! A server of Chat Completions as a provider.

use super::{
    capabilities,
    decode::CompletionsReply,
    encode, errors,
    names::{NAME, THINKING_FIELDS},
};
use crate::{
    CapabilityProbe, ErrorKind, Exchange, Headers, Provider, ProviderError, Request, access::Access,
    attachment::AttachmentLimits, auth::Environment, models::ModelsRequest,
};
use flemma_model::Signature;

/// What is sent of images and PDFs. The protocol names no limits and every server has its own; these are small enough
/// for servers that name theirs: 10 MB an image (<https://docs.x.ai/docs/guides/image-understanding>), 30 MB a request
/// with the files in base64 (<https://docs.modelslab.com/enterprise-api/llm-endpoint/files>).
const LIMITS: AttachmentLimits = AttachmentLimits {
    vendor: "a Chat Completions server",
    image_bytes: 10 << 20,
    files: 100,
    total_bytes: 21 << 20,
    ..AttachmentLimits::NONE
};

/// Chat Completions at one address.
#[derive(Debug)]
pub struct OpenAiCompatible(pub(super) Access);

impl OpenAiCompatible {
    /// The server at `base_url`, which ends in the version (`/v1`) as in OpenAI's own SDK. The key is looked up in
    /// `environment` for each request; where there is none, none is sent.
    #[must_use]
    pub fn new(base_url: &str, environment: Environment) -> Self {
        Self(Access::new(&errors::VENDOR, base_url, environment, Headers::default()))
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
        capabilities::capability_probe(&self.0.call("").ok()?, &request.model)
    }

    fn list_models(&self) -> Result<Option<ModelsRequest>, ProviderError> {
        let call = self.0.call("/models")?;
        Ok(Some(ModelsRequest { request: call.ask(call.url.clone(), Vec::new()), peer: call.peer() }))
    }

    fn prepare(&self, request: &Request) -> Result<Exchange, ProviderError> {
        let call = self.0.call("/chat/completions")?;
        if request.model.trim().is_empty() {
            let message = format!("`model` is not set; write the name of a model that {} has", call.host);
            return Err(ProviderError::new(ErrorKind::Options, message));
        }
        let body = encode::body(request, &call.host)?;
        let reply = CompletionsReply::new(&call.host, request);
        Ok(call.exchange(body, reply, encode::limit(request)))
    }
}

/// Whether a signature says in which field the thinking came, and from whom.
pub(crate) fn reads(signature: &Signature) -> bool {
    let place = signature.value.split_once('@');
    place.is_some_and(|(field, host)| THINKING_FIELDS.contains(&field) && !host.is_empty())
}
