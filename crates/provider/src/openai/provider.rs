//! The Responses API as a provider.

use super::{decode::ResponsesReply, effort::Effort, encode, errors, names::NAME, reasoning::Reasoning};
use crate::{
    Exchange, Headers, Provider, ProviderError, Request,
    access::Access,
    attachment::AttachmentLimits,
    auth::Environment,
    hosted::{HostedProblem, HostedToolSpec},
};
use flemma_model::Signature;

/// What the API takes of images and PDFs (<https://developers.openai.com/api/docs/guides/images-vision>,
/// `…/pdf-files`): 20 MB an image, 500 images, and 50 MB of files in a request, which are counted in base64 here to be
/// safe: that is a third longer than they are. It scales a large image down itself, whatever its size.
const LIMITS: AttachmentLimits = AttachmentLimits {
    vendor: "OpenAI",
    image_bytes: 20 << 20,
    files: 500,
    total_bytes: 36 << 20,
    ..AttachmentLimits::NONE
};

/// The Responses API at one address.
#[derive(Debug)]
pub struct OpenAi {
    pub(super) access: Access,
    pub(super) effort: Option<Effort>,
}

impl OpenAi {
    /// The API at `base_url`, which ends in the version (`/v1`) as in the vendor's own SDK.
    /// The key is looked up in `environment` for each request.
    #[must_use]
    pub fn new(base_url: &str, environment: Environment) -> Self {
        Self { access: Access::new(&errors::VENDOR, base_url, environment, Headers::default()), effort: None }
    }

    /// The same with further headers. One that is named like the key's takes its place, and no key is looked up.
    #[must_use]
    pub fn with_headers(self, headers: Headers) -> Self {
        Self { access: self.access.with_headers(headers), ..self }
    }

    /// The same with an effort that the user has set. It is sent as it is, regardless of what a request says about
    /// thinking and of what the model accepts.
    #[must_use]
    pub fn with_effort(self, effort: Option<Effort>) -> Self {
        Self { effort, ..self }
    }
}

/// Whether a signature of this vendor's holds a reasoning item.
pub(crate) fn reads(signature: &Signature) -> bool {
    Reasoning::item(signature).is_some()
}

/// A search cannot leave out domains.
pub(crate) fn hosts(tool: &HostedToolSpec, _: &str, _: bool) -> Result<(), HostedProblem> {
    match tool {
        HostedToolSpec::WebSearch(limits) if !limits.blocked_domains.is_empty() => {
            Err(HostedProblem::Restriction("blocked_domains"))
        }
        HostedToolSpec::WebSearch(_) | HostedToolSpec::CodeExecution => Ok(()),
    }
}

impl Provider for OpenAi {
    fn name(&self) -> &'static str {
        NAME
    }

    fn attachment_limits(&self) -> Option<AttachmentLimits> {
        Some(LIMITS)
    }

    fn prepare(&self, request: &Request) -> Result<Exchange, ProviderError> {
        let (body, limit) = (encode::body(request, self.effort)?, encode::limit(request, self.effort));
        Ok(self.access.call("/responses")?.exchange(body, ResponsesReply::default(), limit))
    }
}
