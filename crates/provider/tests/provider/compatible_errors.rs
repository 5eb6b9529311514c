//! Responses of servers of Chat Completions whose status is no success.

use flemma_provider::{ErrorKind, Headers, auth::Environment};
use serde_json::json;

use super::vendor::{Vendor as _, response, says};
use crate::{
    completions::Stream,
    conversation::{exchange, hello, provider_of},
};

#[test]
fn a_full_context_says_by_how_much_in_every_servers_words() {
    for (status, body) in [
        // llama.cpp, older and newer
        (
            400,
            json!({"error": {"code": 400, "message": "the request exceeds the available context size. try increasing it",
                             "type": "exceed_context_size_error", "n_prompt_tokens": 14429, "n_ctx": 8192}}),
        ),
        // vLLM
        (
            400,
            json!({"object": "error", "message": "This model's maximum context length is 8192 tokens. However, your \
                    request has 14429 input tokens. Please reduce the length.", "type": "BadRequestError", "code": 400}),
        ),
        // OpenRouter
        (
            400,
            json!({"error": {"message": "This endpoint's maximum context length is 8192 tokens. However, you requested \
                    about 14429 tokens (14000 of text input, 429 of tool input).", "code": 400}}),
        ),
        // LM Studio
        (
            400,
            json!({"error": "Trying to keep the first 14429 tokens when context the overflows. However, the model is \
                    loaded with context length of only 8192 tokens"}),
        ),
    ] {
        let error = Stream::refuse(status, body.to_string());
        assert_eq!(error.kind, ErrorKind::InvalidRequest, "{error}");
        let expected = "the conversation is 6237 tokens too long for the model (openrouter.ai: 400); shorten it: ";
        assert!(error.message.starts_with(expected), "{error}");
    }
    let error = Stream::refuse(400, json!({"error": {"message": "maximum context length is 8192 tokens"}}).to_string());
    assert!(error.message.starts_with("the conversation is too long for the model"), "{error}");
    // A number in a model's name is no count.
    let body = json!({"error": {"message": "the context window of qwen3-235b-a22b-2507 holds 8192 tokens, not 9000"}});
    assert!(Stream::refuse(400, body.to_string()).message.contains("808 tokens too long"));
}

#[test]
fn a_reply_limit_that_is_too_high_is_not_a_context_overflow() {
    let body = json!({"error": {"message": "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's \
                      maximum context length is 4096 tokens and your request has 100 input tokens"}});
    let error = Stream::refuse(400, body.to_string());
    assert!(error.message.starts_with("openrouter.ai refused the request (400): 'max_tokens'"), "{error}");
}

#[test]
fn a_server_that_wants_a_key_says_which_variable_holds_it() {
    let body = json!({"error": {"message": "No auth credentials found", "code": 401}}).to_string();
    let error = Stream::refuse(401, body.clone());
    assert!(
        error.message.starts_with("check the key in OPENAI_COMPATIBLE_API_KEY: not accepted by openrouter.ai"),
        "{error}"
    );

    let keyless = |headers: Headers| {
        let options = json!({"base_url": "https://openrouter.ai/api/v1", "headers": headers});
        provider_of("openai_compatible", options, Environment::new(|_| None))
    };
    // This header is none that a key would be in.
    let mut headers = Headers::default();
    headers.insert("x-title", "my-application").unwrap();
    let error = exchange(&keyless(headers), &hello()).unwrap().1.decode_error(&response(401, body.clone()));
    assert_eq!(
        error.message,
        "set OPENAI_COMPATIBLE_API_KEY: openrouter.ai requires a key (401): No auth credentials found"
    );

    let mut headers = Headers::default();
    headers.insert("authorization", "Bearer of-mine").unwrap();
    let decoder = exchange(&keyless(headers), &hello()).unwrap().1;
    let error = decoder.decode_error(&response(401, "{\"detail\": \"you sent Bearer of-mine\"}"));
    assert_eq!(
        error.message,
        "check the headers in `parameters.openai_compatible.headers`: not accepted by openrouter.ai (401): you sent …"
    );
}

#[test]
fn each_failure_says_what_to_do() {
    says(
        Stream::refuse(
            404,
            r#"{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error"}}"#,
        ),
        ErrorKind::InvalidRequest,
        &["`model`", "`parameters.openai_compatible.base_url`", "try pulling it first"],
    );
    says(Stream::refuse(404, "404 page not found"), ErrorKind::InvalidRequest, &["base_url", "404 page not found"]);
    says(
        Stream::refuse(503, r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#),
        ErrorKind::Overloaded,
        &["overloaded (503)", "Loading model"],
    );
    says(
        Stream::refuse(402, r#"{"error":{"message":"Insufficient credits","code":402}}"#),
        ErrorKind::InvalidRequest,
        &["has no credit", "Insufficient credits"],
    );
    says(
        Stream::refuse(
            400,
            r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"no such tool"}}}"#,
        ),
        ErrorKind::InvalidRequest,
        &["Provider returned error (no such tool)"],
    );
    says(Stream::refuse(502, "<html><title>Bad Gateway</title>"), ErrorKind::Server, &["a web page, \"Bad Gateway\""]);
    says(Stream::refuse(500, ""), ErrorKind::Server, &["openrouter.ai failed (500)"]);
}
