//! The vendor's row, and its options.

use serde_json::json;

use super::{decode::MessagesReply, encode};
use crate::{
    attachment::AttachmentLimits,
    connection::{self, base_url},
    credential::KeySource,
    reply::str_of,
    signature::{is_at_home, is_one_word},
    vendor::Vendor,
    vendor_error::VendorFailure,
};
use flemma_model::{
    MediaKind,
    options::{Kind, kinds::whole},
};

/// The name in the configuration, and the owner of the signatures that this protocol brings.
pub(super) const NAME: &str = "anthropic";

/// Where requests go when the configuration names no other host.
const DEFAULT_BASE_URL: &str = "https://api.anthropic.com";

/// The fewest tokens that the API takes as a thinking budget
/// (<https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking>).
pub(super) const LEAST_BUDGET: u32 = 1024;

/// Anthropic.
pub(crate) static VENDOR: Vendor = Vendor {
    title: "Anthropic",
    default_model: "claude-sonnet-5-5",
    models: Some(&[
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        "claude-fable-5-1",
        "claude-sonnet-4-5",
    ]),
    key_variable: "ANTHROPIC_API_KEY",
    key_header: ("x-api-key", ""),
    key_sources: &[KeySource::Keyring(NAME)],
    // The version of the API that is spoken here.
    headers: &[("anthropic-version", "2023-06-01")],
    base_url: DEFAULT_BASE_URL,
    models_endpoint: |server| server.endpoint(DEFAULT_BASE_URL, "/v1/models").map(Some),
    limits: Some(LIMITS),
    other_names: &[("thinking", "thinking_budget")],
    reads_signature: Some(is_one_word),
    hides_thinking: true,
    // What has no signature is not about its text.
    signs_text: |signature| !signature.value.starts_with('@'),
    // Every model takes both tools, in any limits.
    hosts: |_, _, _| Ok(()),
    begins_with: |event| ["message", "message_start", "content_block_start"].contains(&str_of(event, "type")),
    failure,
    ..Vendor::new(
        NAME,
        |table| {
            let mut options = connection::read(table, &BASE_URL);
            options["thinking_budget"] = json!(table.some("thinking_budget", &BUDGET));
            options
        },
        |server, request| {
            let peer = server.endpoint(DEFAULT_BASE_URL, "/v1/messages")?;
            // No watch over the limit: the vendor has a word of its own for a context that is full.
            let body = encode::body(request, &peer.host, &server.dialect(&request.model))?;
            let reply = MessagesReply::new(&peer.host, request);
            peer.exchange(request, &body, reply, None)
        },
    )
};

/// Whether what the vendor signs is at home at a host.
pub(super) fn is_own(host: &str) -> bool {
    is_at_home(DEFAULT_BASE_URL, host)
}

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

/// A host. The path of the protocol is added to it.
const BASE_URL: Kind<String> = Kind {
    expected: r#"a URL such as "https://api.anthropic.com"; /v1/messages is added to it"#,
    read: |value| base_url(value, &["/v1/messages", "/v1"], |_| true),
};

/// Tokens to think with; 0 for none. It beats `parameters.thinking`.
const BUDGET: Kind<u32> = Kind {
    expected: "0 (no thinking) or a whole number of tokens from 1024 up",
    read: |value| value.as_number().and_then(whole).filter(|tokens| *tokens == 0 || *tokens >= LEAST_BUDGET),
};

/// What the API's errors mean (<https://docs.claude.com/en/api/errors>).
fn failure(name: &str) -> Option<VendorFailure> {
    Some(match name {
        "authentication_error" => VendorFailure::Key,
        "permission_error" => VendorFailure::Forbidden,
        "billing_error" => VendorFailure::Credit,
        "not_found_error" => VendorFailure::NotFound,
        "request_too_large" => VendorFailure::TooLarge,
        "invalid_request_error" => VendorFailure::Refused,
        "rate_limit_error" => VendorFailure::RateLimit,
        "overloaded_error" => VendorFailure::Overloaded,
        "timeout_error" => VendorFailure::Timeout,
        "api_error" => VendorFailure::Server,
        _ => return None,
    })
}
