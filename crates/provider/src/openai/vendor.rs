//! The vendor's row, and its options.

use serde_json::{Value, json};

use super::{decode::ResponsesReply, effort::Effort, encode, reasoning};
use crate::{
    attachment::AttachmentLimits,
    connection::{self, VERSIONED_URL},
    credential::KeySource,
    hosted::{HostedProblem, HostedTool},
    reply::str_of,
    reply::{Fault, ReadReply},
    signature::{at_host, is_at_home},
    vendor::Vendor,
    vendor_error::VendorFailure,
};
use flemma_model::Event;

/// The name in the configuration, and the owner of the signatures that this protocol brings.
pub(super) const NAME: &str = "openai";

/// Where requests go when the configuration names no other address. It ends in the version; `/responses` is added to
/// it.
const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// OpenAI.
pub(crate) static VENDOR: Vendor = Vendor {
    title: "OpenAI",
    default_model: "gpt-5.6-terra",
    models: Some(&["gpt-6-astra", "gpt-6-sol", "gpt-6-luna", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna"]),
    key_variable: "OPENAI_API_KEY",
    key_sources: &[KeySource::Keyring(NAME)],
    base_url: DEFAULT_BASE_URL,
    limits: Some(LIMITS),
    other_names: &[("thinking", "reasoning")],
    reads_signature: Some(|signature| reasoning::item(signature, None).is_some()),
    hosts: |tool, _, _| match tool {
        // A search cannot leave out domains.
        HostedTool::WebSearch(limits) if !limits.blocked_domains.is_empty() => {
            Err(HostedProblem::Restriction("blocked_domains"))
        }
        HostedTool::WebSearch(_) | HostedTool::CodeExecution => Ok(()),
    },
    failure,
    begins_with: |event| str_of(event, "type").starts_with("response.") || str_of(event, "object") == "response",
    ..Vendor::new(
        NAME,
        |table| {
            let mut options = connection::read(table, &VERSIONED_URL);
            options["reasoning"] = json!(table.choose("reasoning", &Effort::ALL));
            options
        },
        |server, request| {
            // How hard the model is asked to think. It beats `parameters.thinking`, and is sent as it is.
            let effort = server.options.get("reasoning");
            let peer = server.endpoint(DEFAULT_BASE_URL, "/responses")?;
            let body = encode::body(request, effort, &peer.host, &server.dialect(&request.model))?;
            let limit = encode::limit(request, effort);
            let host = (!is_at_home(DEFAULT_BASE_URL, &peer.host)).then(|| peer.host.clone());
            peer.exchange(request, &body, OwnReply { reply: ResponsesReply::default(), host }, limit)
        },
    )
};

/// A reply of a host. Where the vendor is not at home there, what it signs goes back to it alone.
struct OwnReply {
    reply: ResponsesReply,
    host: Option<String>,
}

impl ReadReply for OwnReply {
    fn read(&mut self, event: Value, events: &mut Vec<Event>) -> Result<(), Fault> {
        let before = events.len();
        let read = self.reply.read(event, events);
        for event in &mut events[before..] {
            if let (Event::ThinkingFinished { signature: Some(signature) }, Some(host)) = (event, &self.host) {
                signature.value = at_host(&signature.value, host);
            }
        }
        read
    }

    fn end(&mut self, is_said: bool, events: &mut Vec<Event>) -> Result<(), Fault> {
        self.reply.end(is_said, events)
    }
}

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

/// What a code or a type means; also for those who speak like OpenAI.
///
/// The codes are those of <https://developers.openai.com/api/docs/guides/error-codes> and of `ResponseError` in the
/// vendor's SDK. A response names a `code` and a `type`; an event in a stream has them around or inside `error`.
pub(crate) fn failure(name: &str) -> Option<VendorFailure> {
    Some(match name {
        "invalid_api_key" | "invalid_authentication" | "authentication_error" | "invalid_issuer" => VendorFailure::Key,
        "permission_denied" | "permission_error" | "unsupported_country_region_territory" => VendorFailure::Forbidden,
        "insufficient_quota" | "billing_hard_limit_reached" | "billing_not_active" => VendorFailure::Credit,
        "rate_limit_exceeded" | "rate_limit_error" | "slow_down" => VendorFailure::RateLimit,
        "server_is_overloaded" | "engine_overloaded" | "overloaded" | "overloaded_error" => VendorFailure::Overloaded,
        "server_error" | "internal_error" | "internal_server_error" | "vector_store_timeout" => VendorFailure::Server,
        "timeout" | "request_timeout" | "timeout_error" => VendorFailure::Timeout,
        "context_length_exceeded" | "exceed_context_size_error" => VendorFailure::Overflow,
        "model_not_found" | "not_found_error" => VendorFailure::NotFound,
        "data_residency_mismatch" | "string_above_max_length" => VendorFailure::Refused,
        _ => {
            let starts = ["invalid_", "unsupported_", "image_", "empty_image_", "failed_to_download_", "missing_"];
            let ends = ["_policy", "_policy_violation", "_not_supported"];
            let refused =
                starts.iter().any(|start| name.starts_with(start)) || ends.iter().any(|end| name.ends_with(end));
            return refused.then_some(VendorFailure::Refused);
        }
    })
}
