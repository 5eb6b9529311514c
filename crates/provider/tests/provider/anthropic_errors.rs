//! Responses of the Messages API whose status is no success.

use flemma_provider::{ErrorKind, ErrorResponse, ProviderError};
use serde_json::json;

use super::{
    anthropic_decode::KEY,
    vendor::{Vendor as _, says},
};
use crate::anthropic::Stream;

fn vendor(status: u16, kind: &str, message: &str) -> ProviderError {
    let body = json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"});
    Stream::refuse(status, body.to_string())
}

#[test]
fn a_full_context_says_by_how_much_and_keeps_the_vendors_words() {
    let error = vendor(400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum");
    assert_eq!(error.kind, ErrorKind::InvalidRequest);
    assert_eq!(
        error.message,
        "the conversation is 13462 tokens too long for the model (api.anthropic.com: 400); shorten it: \
         prompt is too long: 213462 tokens > 200000 maximum [request req_1]"
    );
    let words = "input length and `max_tokens` exceed context limit: 189136 + 20000 > 204648, decrease input length";
    let error = vendor(400, "invalid_request_error", words);
    assert!(error.message.starts_with("the conversation is 4488 tokens too long for the model"), "{error}");
}

#[test]
fn a_key_that_is_not_accepted_names_its_variable() {
    for (status, kind) in [(401, "authentication_error"), (403, "permission_error"), (401, "?"), (403, "?")] {
        let error = vendor(status, kind, "no");
        assert_eq!(error.kind, ErrorKind::Authentication, "{status} {kind}");
        assert!(error.message.contains("ANTHROPIC_API_KEY"), "{error}");
    }
}

#[test]
fn each_failure_says_what_to_do() {
    says(
        vendor(404, "not_found_error", "model: claude-0"),
        ErrorKind::InvalidRequest,
        &["`model`", "base_url", "claude-0"],
    );
    says(
        vendor(413, "request_too_large", "too large"),
        ErrorKind::InvalidRequest,
        &["too large for", "413", "shorten"],
    );
    says(Stream::refuse(413, "<html>"), ErrorKind::InvalidRequest, &["too large for", "shorten"]);
    says(vendor(429, "rate_limit_error", "slow"), ErrorKind::RateLimited, &["too many requests", "429"]);
    says(vendor(529, "overloaded_error", "Overloaded"), ErrorKind::Overloaded, &["overloaded", "529"]);
    says(vendor(500, "api_error", "Internal"), ErrorKind::Server, &["failed", "500", "Internal"]);
    says(vendor(504, "timeout_error", "late"), ErrorKind::Timeout, &["timed out", "504"]);
    says(Stream::refuse(302, ""), ErrorKind::InvalidRequest, &["redirect", "base_url"]);
}

#[test]
fn an_account_without_credit_is_not_asked_again() {
    let error = vendor(400, "billing_error", "Your credit balance is too low");
    assert_eq!(error.kind, ErrorKind::InvalidRequest);
    assert!(error.message.contains("has no credit (400)") && error.message.contains("too low"), "{error}");
}

#[test]
fn a_body_that_quotes_the_key_does_not_show_it() {
    assert!(vendor(401, "authentication_error", &format!("bad key {KEY}!")).message.contains("bad key …!"));
    assert!(Stream::refuse(400, format!("x-api-key: {KEY}")).message.contains("x-api-key: …"));
    // Where the words are cut, nothing of the key is left either.
    let error = Stream::refuse(400, format!("{}{KEY}", "x".repeat(390)));
    assert!(!error.message.contains("sk-"), "{error}");
}

#[test]
fn the_time_to_wait_and_the_request_id_are_kept() {
    let response = ErrorResponse {
        status: 429,
        retry_after: Some(30.0),
        request_id: Some("req_header".to_owned()),
        body: b"{\"request_id\": \"req_body\", \"error\": {\"type\": \"rate_limit_error\", \"message\": \"slow\"}}"
            .to_vec(),
    };
    let error = Stream::decoder().decode_error(&response);
    assert_eq!(error.retry_after, Some(30.0));
    assert_eq!(
        error.message,
        "api.anthropic.com received too many requests (429); it asks to wait 30 s: slow [request req_header]"
    );
}
