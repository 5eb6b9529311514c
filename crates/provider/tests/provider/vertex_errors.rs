//! Responses of Vertex AI whose status is no success.

use flemma_model::{Part, Role};
use flemma_provider::{ErrorKind, ErrorResponse, ProviderError};
use serde_json::{Value, json};

use super::vendor::{Vendor as _, says};
use crate::vertex::{Stream, TOKEN, conversation, exchange};

fn google(code: u16, status: &str, message: &str, details: Value) -> Value {
    json!({"error": {"code": code, "message": message, "status": status, "details": details}})
}

fn vendor(code: u16, status: &str, message: &str) -> ProviderError {
    let body = google(code, status, message, json!([]));
    let error = Stream::refuse(code, body.to_string());
    let listed = Stream::refuse(code, json!([body]).to_string());
    assert_eq!(listed, error, "in a list of one it is the same error");
    error
}

#[test]
fn a_full_context_says_by_how_much() {
    let words = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
    assert_eq!(
        vendor(400, "INVALID_ARGUMENT", words).message,
        format!(
            "the conversation is 151424 tokens too long for the model (aiplatform.googleapis.com: 400); shorten it: {words}"
        )
    );
}

#[test]
fn a_token_that_is_not_accepted_names_where_it_came_from() {
    says(
        vendor(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."),
        ErrorKind::Authentication,
        &["in VERTEX_AI_ACCESS_TOKEN", "401", "an hour", "invalid authentication"],
    );
}

#[test]
fn what_is_not_allowed_names_the_project_and_the_role() {
    let words = "Permission 'aiplatform.endpoints.predict' denied";
    says(
        vendor(403, "PERMISSION_DENIED", words),
        ErrorKind::Authentication,
        &["my-project", "Vertex AI User", "enabled", words],
    );
}

#[test]
fn a_model_that_is_not_there_names_the_three_options() {
    says(
        vendor(404, "NOT_FOUND", "Publisher Model `x` was not found"),
        ErrorKind::InvalidRequest,
        &[
            "`model`",
            "`parameters.vertex.location`",
            "`parameters.vertex.project_id`",
            "project my-project, location global",
            "Publisher",
        ],
    );
}

#[test]
fn each_failure_says_what_to_do() {
    says(vendor(503, "UNAVAILABLE", "busy"), ErrorKind::Overloaded, &["overloaded", "503"]);
    says(vendor(500, "INTERNAL", "oops"), ErrorKind::Server, &["failed", "500", "oops"]);
    says(vendor(504, "DEADLINE_EXCEEDED", "late"), ErrorKind::Timeout, &["timed out", "504"]);
    says(vendor(499, "CANCELLED", "x"), ErrorKind::Server, &["failed", "499"]);
    says(Stream::refuse(413, "<html>"), ErrorKind::InvalidRequest, &["too large for", "shorten"]);
    says(Stream::refuse(302, ""), ErrorKind::InvalidRequest, &["redirect", "base_url"]);
}

#[test]
fn the_time_to_wait_for_quota_is_kept() {
    let details = json!([
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"subject": "x"}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"},
    ]);
    let body = google(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", details).to_string();
    let error = Stream::refuse(429, body.clone());
    assert_eq!(error.retry_after, Some(34.5));
    assert_eq!(
        error.message,
        "aiplatform.googleapis.com has no quota left for this model in project my-project, location global (429); \
         it asks to wait 34.5 s: Quota exceeded."
    );
    let request = conversation("gemini-test", vec![(Role::User, vec![Part::Text("Hi".to_owned())])]);
    let header =
        ErrorResponse { status: 429, retry_after: Some(7.0), request_id: Some("id-1".to_owned()), body: body.into() };
    let error = exchange(&request).unwrap().1.decode_error(&header);
    assert_eq!(error.retry_after, Some(7.0), "the header says it of this response");
    assert!(error.message.ends_with("[request id-1]"), "{error}");
    for odd in ["-1s", "34", "soon", "infs"] {
        let details = json!([{"retryDelay": odd}]);
        assert_eq!(
            Stream::refuse(429, google(429, "RESOURCE_EXHAUSTED", "", details).to_string()).retry_after,
            None,
            "{odd}"
        );
    }
}

#[test]
fn what_was_wrong_with_which_field_is_passed_on_once() {
    let details = json!([{"fieldViolations": [
        {"field": "tools[0]", "description": "Cannot find field."},
        {"field": "contents", "description": "Invalid request"},
    ]}]);
    let error = Stream::refuse(400, google(400, "INVALID_ARGUMENT", "Invalid request", details).to_string());
    assert!(error.message.ends_with("(400): Invalid request; tools[0]: Cannot find field."), "{error}");
}

#[test]
fn a_body_that_quotes_the_token_does_not_show_it() {
    assert!(vendor(401, "UNAUTHENTICATED", &format!("bad token {TOKEN}!")).message.contains("bad token …!"));
    let error = Stream::refuse(400, format!("{}{TOKEN}", "x".repeat(590)));
    assert!(!error.message.contains("ya29"), "{error}");
}
