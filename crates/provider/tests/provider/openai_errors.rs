//! Responses of the Responses API whose status is no success.

use flemma_provider::{ErrorKind, ErrorResponse, ProviderError};
use serde_json::{Value, json};

use super::{
    openai_decode::KEY,
    vendor::{Vendor as _, says},
};
use crate::responses::Stream;

fn vendor(status: u16, kind: &str, code: impl Into<Value>, message: &str) -> ProviderError {
    let code = code.into();
    Stream::refuse(
        status,
        json!({"error": {"message": message, "type": kind, "param": null, "code": code}}).to_string(),
    )
}

#[test]
fn a_key_that_is_not_accepted_names_its_variable() {
    let error = vendor(401, "invalid_request_error", "invalid_api_key", &format!("Incorrect API key provided: {KEY}."));
    assert_eq!(error.kind, ErrorKind::Authentication);
    assert_eq!(
        error.message,
        "check the key in OPENAI_API_KEY: not accepted by api.openai.com (401): Incorrect API key provided: …."
    );
    let error = vendor(403, "request_forbidden", "unsupported_country_region_territory", "Country not supported");
    assert_eq!(error.kind, ErrorKind::Authentication);
    assert!(error.message.contains("does not allow this"), "{error}");
}

#[test]
fn a_rate_limit_is_retried_and_missing_credit_is_not() {
    let error = vendor(429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota");
    assert!(!error.is_transient(), "{error}");
    assert!(error.message.contains("has no credit (429)"), "{error}");
    let error = vendor(429, "tokens", "rate_limit_exceeded", "Rate limit reached");
    assert_eq!(error.kind, ErrorKind::RateLimited);
    assert!(error.is_transient());
}

#[test]
fn a_full_context_says_by_how_much_where_the_body_says_it() {
    let says = |message: &str, words: &str| {
        let error = vendor(400, "invalid_request_error", "context_length_exceeded", message);
        assert_eq!(error.kind, ErrorKind::InvalidRequest);
        assert!(error.message.starts_with(words), "{error}");
        assert!(error.message.contains(message), "{error}");
    };
    says(
        "This model's maximum context length is 128000 tokens. However, you requested 130500 tokens (120,500 in the messages).",
        "the conversation is 2500 tokens too long for the model (api.openai.com: 400); shorten it: ",
    );
    says(
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "the conversation is too long for the model (api.openai.com: 400); shorten it: ",
    );
}

#[test]
fn each_failure_says_what_to_do() {
    says(
        vendor(400, "invalid_request_error", "model_not_found", "The model `gpt-0` does not exist"),
        ErrorKind::InvalidRequest,
        &["`model`", "`parameters.openai.base_url`", "gpt-0"],
    );
    says(
        vendor(400, "invalid_request_error", "unsupported_value", "Unsupported value: 'minimal'"),
        ErrorKind::InvalidRequest,
        &["refused the request (400)", "'minimal'"],
    );
    says(vendor(404, "invalid_request_error", Value::Null, "Invalid URL"), ErrorKind::InvalidRequest, &["base_url"]);
    says(vendor(503, "server_error", "slow_down", "Slow down"), ErrorKind::RateLimited, &["too many requests"]);
    says(vendor(500, "server_error", Value::Null, "Oops"), ErrorKind::Server, &["failed (500)", "Oops"]);
    says(Stream::refuse(308, ""), ErrorKind::InvalidRequest, &["redirect", "`parameters.openai.base_url`"]);
}

#[test]
fn the_time_to_wait_and_the_request_id_are_kept() {
    let response = ErrorResponse {
        status: 429,
        retry_after: Some(30.0),
        request_id: Some("req_1".to_owned()),
        body: br#"{"error": {"message": "slow", "type": "requests", "code": "rate_limit_exceeded"}}"#.to_vec(),
    };
    let error = Stream::decoder().decode_error(&response);
    assert_eq!(error.retry_after, Some(30.0));
    assert_eq!(
        error.message,
        "api.openai.com received too many requests (429); it asks to wait 30 s: slow [request req_1]"
    );
}
