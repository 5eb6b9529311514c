//! The Messages API as a provider.

use super::{decode::MessagesDecoder, encode, errors, names::NAME};
use crate::{
    Exchange, Headers, HttpRequest, Provider, ProviderError, Request,
    access::{Access, Endpoint},
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

/// The version of the API that is spoken here.
const API_VERSION: &str = "2023-06-01";

/// The header that carries the key.
const KEY_HEADER: &str = "x-api-key";

/// The Messages API at one host.
#[derive(Debug)]
pub struct Anthropic(Access);

impl Anthropic {
    /// The API at `base_url`: scheme and host, and a path if a gateway wants one, without `/v1`.
    /// The key is looked up in `environment` for each request.
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
        let Endpoint { url, host } = self.0.endpoint("/v1/messages")?;
        let key = self.0.key(KEY_HEADER)?;
        let mut headers = vec![("anthropic-version", API_VERSION.to_owned())];
        headers.extend(key.iter().map(|key| (KEY_HEADER, key.expose().to_owned())));
        Ok(Exchange::Http {
            request: HttpRequest { url, headers: self.0.post_headers(headers), body: encode::body(request)? },
            // No watch over the limit: the vendor has a word of its own for a context that is full.
            decoder: Box::new(MessagesDecoder::new(self.0.peer(host, key))),
        })
    }
}
