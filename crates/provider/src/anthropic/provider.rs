//! The Messages API as a provider.

use super::{decode::MessagesReply, encode, errors, names::NAME};
use crate::{
    Exchange, Headers, Provider, ProviderError, Request,
    access::Access,
    attachment::AttachmentLimits,
    auth::Environment,
    hosted::{HostedProblem, HostedToolSpec},
    signature::is_one_word,
};
use flemma_model::{MediaKind, Signature};

/// What the API takes of images and PDFs (<https://docs.claude.com/en/docs/build-with-claude/vision>,
/// `…/pdf-support`). It counts an image's 5 MB and a request's 32 MB in base64, which is a third longer than the
/// file; of the 32 MB some are left for the text.
const LIMITS: AttachmentLimits = AttachmentLimits {
    vendor: "Anthropic",
    kinds: &MediaKind::ALL,
    image_bytes: (5 << 20) / 4 * 3,
    image_side: 8000,
    many_images: 20,
    many_images_side: 2000,
    files: 100,
    total_bytes: 21 << 20,
};

/// The Messages API at one host.
#[derive(Debug)]
pub struct Anthropic(pub(super) Access);

impl Anthropic {
    /// The API at `base_url`: scheme and host, and a path if a gateway wants one, without `/v1`.
    /// The key is looked up in `environment` for each request.
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

/// Whether a signature of this vendor's can be one.
pub(crate) fn reads(signature: &Signature) -> bool {
    is_one_word(signature)
}

/// Every model takes both tools, in any limits.
pub(crate) fn hosts(_: &HostedToolSpec, _: &str, _: bool) -> Result<(), HostedProblem> {
    Ok(())
}

impl Provider for Anthropic {
    fn name(&self) -> &'static str {
        NAME
    }

    fn attachment_limits(&self) -> Option<AttachmentLimits> {
        Some(LIMITS)
    }

    fn prepare(&self, request: &Request) -> Result<Exchange, ProviderError> {
        // No watch over the limit: the vendor has a word of its own for a context that is full.
        Ok(self.0.call("/v1/messages")?.exchange(encode::body(request)?, MessagesReply::default(), None))
    }
}
