//! What the API's errors mean (<https://docs.claude.com/en/api/errors>).

use super::{DEFAULT_BASE_URL, KEY_VARIABLE, NAME};
use crate::vendor_error::{Vendor, VendorFailure};

/// Anthropic.
pub(super) static VENDOR: Vendor = Vendor {
    name: NAME,
    title: "Anthropic",
    key_variable: KEY_VARIABLE,
    key_header: ("x-api-key", ""),
    // The version of the API that is spoken here.
    headers: &[("anthropic-version", "2023-06-01")],
    base_url: DEFAULT_BASE_URL,
    failure,
    ..Vendor::BEARER
};

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
