//! Parts of a request that a host refuses: they are recognised by what it writes, and left out from then on.

use std::{path::PathBuf, sync::Arc};

use flemma_model::{Attachment, AttachmentContent, Part, Role};
use flemma_provider::{
    ErrorKind, ErrorResponse, ProviderError, Refusal, Refusals, Request, RequestParameters, Server, Thinking,
    ThinkingLevel, auth::Environment,
};
use serde_json::{Value, json};

use crate::conversation::{call, conversation, exchange, provider_of, text};

const ADDRESS: &str = "http://localhost:8080/v1";

fn image(path: &str) -> Attachment {
    Attachment { content: AttachmentContent::Read(Arc::from(&b"x"[..])), ..Attachment::unread(path, "image/png") }
}

/// A request with everything that can be refused.
fn request() -> Request {
    let result =
        Part::ToolResult { id: "a".into(), output: "".into(), is_error: false, attachments: vec![image("/b.png")] };
    let mut request = conversation(vec![
        (Role::User, vec![text("See"), Part::Attachment(image("a.png"))]),
        (Role::Assistant, vec![call("a", json!({}))]),
        (Role::User, vec![result]),
    ]);
    request.parameters = RequestParameters {
        max_tokens: Some(100),
        temperature: Some(0.5),
        thinking: Thinking::Level(ThinkingLevel::Low),
        ..RequestParameters::default()
    };
    request
}

fn server(provider: &str, address: &str) -> Server {
    provider_of(provider, json!({ "base_url": address }), Environment::new(|_| Some("sk-secret".to_owned())))
}

fn refuse(server: &Server, request: &Request, status: u16, body: &Value) -> ProviderError {
    let body = body.to_string().into_bytes();
    let decoder = exchange(server, request).unwrap().1;
    decoder.decode_error(&ErrorResponse { status, body, request_id: None, retry_after: None })
}

/// What servers have written, the status, and the field that they mean; an empty one for images.
const SEEN: [(u16, &str, &str); 27] = [
    (
        400,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "max_tokens",
    ),
    (
        400,
        "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.",
        "temperature",
    ),
    (
        422,
        r#"{"detail":[{"type":"extra_forbidden","loc":["body","stream_options","include_usage"],"msg":"Extra inputs are not permitted"}]}"#,
        "stream_options",
    ),
    (400, "Unrecognized request argument supplied: stream_options", "stream_options"),
    (400, "`reasoning_effort` is not supported with this model", "reasoning_effort"),
    (400, "`reasoning_effort` must be one of `none` or `default`", "reasoning_effort"),
    (400, "Model grok-4-latest does not support parameter reasoningEffort.", "reasoning_effort"),
    (400, "\"gemma3:4b\" does not support thinking", "reasoning_effort"),
    (400, "Unknown name \"stream_options\": Cannot find field.", "stream_options"),
    (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj", ""),
    (500, "this server was not started with `--mmproj`", ""),
    (
        400,
        "Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text` at line 1 column 679289",
        "",
    ),
    (404, "No endpoints found that support image input", ""),
    (400, "Invalid content type. image_url is only supported by certain models.", ""),
    (400, "meta-llama/Llama-3.1-8B-Instruct is not a multimodal model", ""),
    (400, "At most 0 image(s) may be provided in one request.", ""),
    (400, "Model does not support images. Please use a model that does.", ""),
    (400, "Image input is not enabled for this model", ""),
    (400, "Unsupported content part type: file", ""),
    // These are no reason to leave anything out.
    (400, "temperature must be between 0 and 1", "-"),
    (400, "This model does not support tools", "-"),
    (400, "image is too large: 12 MB", "-"),
    (400, "Could not process image", "-"),
    (
        400,
        "You uploaded an unsupported image. Please make sure your image is of one of the following formats: png",
        "-",
    ),
    (400, "Unsupported MIME type: image/gif", "-"),
    (400, "image exceeds 5 MB maximum, which is not supported", "-"),
    (429, "temperature is unsupported, and you ask too often", "-"),
];

#[test]
fn what_a_host_does_not_take_is_recognised_by_its_words() {
    for (status, words, field) in SEEN {
        let body = json!({ "error": { "message": words, "code": status } });
        let error = refuse(&server("openai_compatible", ADDRESS), &request(), status, &body);
        let why = "localhost:8080 with the model test-model takes no images or PDFs".to_owned();
        let files = || vec![PathBuf::from("a.png"), PathBuf::from("/b.png")];
        match (field, &error.refused) {
            ("-", found) => assert_eq!(*found, None, "{words}"),
            ("", found) => assert_eq!(*found, Some(Refusal::Files(files(), why)), "{words}"),
            (field, Some(Refusal::Field(found))) => assert_eq!(*found, field, "{words}"),
            (_, found) => panic!("{found:?}: {words}"),
        }
        if error.refused.is_some() {
            assert_eq!(error.kind, ErrorKind::InvalidRequest, "{error}");
            assert!(error.message.contains("left out from now on"), "{error}");
        }
    }
    // What was not sent was not refused.
    let mut bare = request();
    bare.parameters = RequestParameters::default();
    bare.attachments_mut().for_each(|(_, file)| file.content = AttachmentContent::LeftOut("it is gone".to_owned()));
    for (status, words, field) in SEEN.into_iter().filter(|(.., field)| *field != "stream_options") {
        let body = json!({ "error": { "message": words } });
        let error = refuse(&server("openai_compatible", ADDRESS), &bare, status, &body);
        assert_eq!(error.refused, None, "{field}: {words}");
    }
}

#[test]
fn a_field_may_be_named_beside_the_message() {
    let detail = json!([{ "type": "extra_forbidden", "loc": ["body", "stream_options", "include_usage"],
                          "msg": "Extra inputs are not permitted", "input": true }]);
    for (status, body, field) in [
        (
            422,
            json!({ "object": "error", "message": { "detail": detail }, "type": "invalid_request_error", "code": null }),
            "stream_options",
        ),
        (422, json!({ "detail": detail }), "stream_options"),
        (
            400,
            json!({ "error": { "message": "Unsupported parameter.", "param": "max_tokens", "code": "unsupported_parameter" } }),
            "max_tokens",
        ),
        (
            400,
            json!({ "error": { "message": "Provider returned error", "code": 400,
                               "metadata": { "raw": "temperature is not supported" } } }),
            "temperature",
        ),
    ] {
        let error = refuse(&server("openai_compatible", ADDRESS), &request(), status, &body);
        assert_eq!(error.refused, Some(Refusal::Field(field)), "{error}");
    }
}

#[test]
fn what_was_refused_is_left_out_at_that_host_for_that_model() {
    let refusals = Refusals::default();
    let told = |address: &str, model: &str| refusals.tell(server("openai_compatible", address), model);
    let body = |server: &Server, model: &str| -> Value {
        let request = Request { model: model.to_owned(), ..request() };
        serde_json::from_slice(&exchange(server, &request).unwrap().0.body).unwrap()
    };
    let mut refused = Vec::new();
    for field in ["stream_options", "temperature", "max_tokens", "reasoning_effort"] {
        let server = told(ADDRESS, "m");
        let sent = body(&server, "m");
        assert!(sent.get(field).is_some() && refused.iter().all(|refused| sent.get(refused).is_none()), "{sent}");
        let words = json!({ "error": { "message": format!("'{field}' is not supported") } });
        refusals.learn(&server, "m", &refuse(&server, &Request { model: "m".to_owned(), ..request() }, 400, &words));
        refused.push(field);
    }
    let sent = body(&told(ADDRESS, "m"), "m");
    assert_eq!(sent.as_object().unwrap().keys().collect::<Vec<_>>(), ["model", "stream", "messages"]);
    for (address, model) in [(ADDRESS, "other"), ("http://localhost:8081/v1", "m")] {
        let sent = body(&told(address, model), model);
        assert!(refused.iter().all(|field| sent.get(field).is_some()), "{sent}");
    }
    // And images, which nobody reads any more.
    let server = told(ADDRESS, "m");
    let words = json!({ "error": { "message": "this model does not support image input" } });
    refusals.learn(&server, "m", &refuse(&server, &request(), 400, &words));
    assert!(told(ADDRESS, "m").attachment_limits("m").unwrap().kinds.is_empty());
    assert!(!told(ADDRESS, "other").attachment_limits("other").unwrap().kinds.is_empty());
}

#[test]
fn the_other_protocols_leave_out_what_is_refused_too() {
    let refusals = Refusals::default();
    for (provider, address, model, field) in [
        ("anthropic", "https://api.moonshot.ai/anthropic", "claude-opus-5-5", "output_config"),
        ("anthropic", "https://api.moonshot.ai/anthropic", "claude-opus-5-5", "thinking"),
        ("openai", "http://localhost:8080/v1", "gpt-5.6-terra", "reasoning"),
        ("openai", "http://localhost:8080/v1", "gpt-5.6-terra", "max_output_tokens"),
    ] {
        let request = Request { model: model.to_owned(), ..request() };
        let sent =
            |server: &Server| -> Value { serde_json::from_slice(&exchange(server, &request).unwrap().0.body).unwrap() };
        let server = refusals.tell(server(provider, address), model);
        assert!(sent(&server).get(field).is_some(), "{field} of {provider}");
        let words = json!({ "error": { "type": "invalid_request_error", "message": format!("{field}: Extra inputs are not permitted") } });
        refusals.learn(&server, model, &refuse(&server, &request, 400, &words));
        assert!(sent(&refusals.tell(server, model)).get(field).is_none(), "{field} of {provider}");
    }
}
