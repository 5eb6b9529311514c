//! What the API's errors mean.
//!
//! The codes are those of <https://developers.openai.com/api/docs/guides/error-codes> and of `ResponseError` in the
//! vendor's SDK. A response names a `code` and a `type`; an event in a stream has them around or inside `error`.

use super::{DEFAULT_BASE_URL, KEY_VARIABLE, NAME};
use crate::vendor_error::{Vendor, VendorFailure};

/// OpenAI.
pub(super) static VENDOR: Vendor = Vendor {
    name: NAME,
    title: "OpenAI",
    key_variable: KEY_VARIABLE,
    base_url: DEFAULT_BASE_URL,
    failure,
    ..Vendor::BEARER
};

/// What a code or a type means; also for those who speak like OpenAI.
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
