//! What the API's errors mean (<https://docs.claude.com/en/api/errors>).

use super::{DEFAULT_BASE_URL, KEY_VARIABLE, NAME};
use crate::provider::refuse::{Trouble, Vendor};

/// Anthropic, for messages.
pub(super) static VENDOR: Vendor =
    Vendor { name: NAME, title: "Anthropic", key_variable: KEY_VARIABLE, base_url: DEFAULT_BASE_URL, trouble };

fn trouble(name: &str) -> Option<Trouble> {
    Some(match name {
        "authentication_error" => Trouble::Key,
        "permission_error" => Trouble::Forbidden,
        "billing_error" => Trouble::Credit,
        "not_found_error" => Trouble::NotFound,
        "request_too_large" => Trouble::TooLarge,
        "invalid_request_error" => Trouble::Refused,
        "rate_limit_error" => Trouble::RateLimit,
        "overloaded_error" => Trouble::Overloaded,
        "timeout_error" => Trouble::Timeout,
        "api_error" => Trouble::Server,
        _ => return None,
    })
}
