//! Parts of a request that a host refuses: they are recognised by what it writes, and left out from then on.

use std::{path::PathBuf, sync::Arc};

use flemma_model::{Attachment, AttachmentContent, Event, Part, Role, Signature};
use flemma_provider::{
    ErrorKind, ErrorResponse, ProviderError, Refusal, Refusals, Request, RequestParameters, Server, Thinking,
    ThinkingLevel, auth::Environment, is_readable,
};
use serde_json::{Value, json};

use crate::{
    conversation::{call, conversation, decode, exchange, provider_of, result, text, tool},
    responses::Stream,
};

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
    provider_of(
        provider,
        json!({ "base_url": address, "project_id": "p" }),
        Environment::new(|_| Some("sk-secret".to_owned())),
    )
}

fn refuse(server: &Server, request: &Request, status: u16, body: &Value) -> ProviderError {
    let body = body.to_string().into_bytes();
    let decoder = exchange(server, request).unwrap().1;
    decoder.decode_error(&ErrorResponse { status, body, request_id: None, retry_after: None })
}

/// What servers have written, the status, and the field that they mean; an empty one for images.
const SEEN: [(u16, &str, &str); 37] = [
    (400, "Unsupported parameter: 'max_tokens' is not supported with this model.", "max_tokens"),
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
    (400, "Stream options are not supported", "stream_options"),
    (400, "Stream options can only be defined when `stream=True`.", "stream_options"),
    (400, "`temperature` and `top_p` cannot both be specified for this model. Please use only one.", "temperature"),
    (400, "messages[0].content must be a string", ""),
    (400, "this model is missing data required for image input", ""),
    // These are no reason to leave anything out.
    (400, r#"request {"stream_options":{"include_usage":true}} not allowed for unsupported region"#, "-"),
    (400, r#"unsupported: {\"temperature\": 0.5, \"max_tokens\":100}"#, "-"),
    (400, r#"unsupported request {"messages":[{"content":[{"type":"image_url"}]}]}"#, "-"),
    (400, "content policy: image not allowed for this user", "-"),
    (400, "temperature is fine. Something else is not supported", "-"),
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
    // Without images, the content that is no string is that of the call.
    let is_other = |(_, words, field): &(u16, &str, &str)| *field == "stream_options" || words.contains("a string");
    for (status, words, field) in SEEN.into_iter().filter(|seen| !is_other(seen)) {
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

/// The message and the next request after a host has written this about a request.
fn after(provider: &str, address: &str, request: &Request, words: &Value) -> (ProviderError, Value) {
    let refusals = Refusals::default();
    let server = refusals.tell(server(provider, address), &request.model);
    let error = refuse(&server, request, 400, words);
    refusals.learn(&server, &request.model, &error);
    let body = exchange(&refusals.tell(server, &request.model), request).unwrap().0.body;
    (error, serde_json::from_slice(&body).unwrap())
}

fn said(words: &str) -> Value {
    json!({ "error": { "message": words } })
}

#[test]
fn the_field_that_a_host_names_instead_is_sent() {
    let words =
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    let (error, next) = after("openai_compatible", ADDRESS, &request(), &said(words));
    assert!(
        error.message.contains("it takes `max_completion_tokens`") && error.message.contains("`dialect.limit`"),
        "{error}"
    );
    assert_eq!((next.get("max_tokens"), &next["max_completion_tokens"]), (None, &json!(2148)));
}

#[test]
fn instructions_that_are_refused_are_said_by_the_user() {
    for (provider, address, words) in [
        ("openai_compatible", ADDRESS, "System role not supported"),
        ("openai_compatible", ADDRESS, "Conversation roles must alternate user/assistant/user/assistant/..."),
        ("openai_compatible", ADDRESS, "Only user and assistant roles are supported!"),
        ("vertex", "http://localhost:8080", "Developer instruction is not enabled for models/gemma-3-27b-it"),
        ("anthropic", "http://localhost:8080", "system prompt is not supported"),
    ] {
        let request =
            Request { system: Some("Be brief.".to_owned()), ..conversation(vec![(Role::User, vec![text("Hi")])]) };
        let (error, next) = after(provider, address, &request, &said(words));
        assert!(error.message.contains("in front of your first message from now on"), "{error}");
        let next = next.to_string();
        let (system, hi) = (next.find("Be brief.").unwrap(), next.find("Hi").unwrap());
        assert!(system < hi && !next.to_lowercase().contains("system"), "{next}");
        // Nothing else is in front of a reply.
        let request =
            Request { messages: conversation(vec![(Role::Assistant, vec![text("Yes")])]).messages, ..request };
        let (_, next) = after("openai_compatible", ADDRESS, &request, &said(words));
        assert_eq!(next["messages"][0], json!({ "role": "user", "content": "Be brief." }));
    }
}

#[test]
fn signatures_that_are_refused_are_left_out() {
    let signed = |provider: &str, value: &str| {
        let signature = Some(Signature { provider: provider.to_owned(), value: value.to_owned() });
        conversation(vec![
            (Role::User, vec![text("Hi")]),
            (Role::Assistant, vec![Part::Thinking { text: "hm".to_owned(), signature }, text("Yes")]),
            (Role::User, vec![text("And?")]),
        ])
    };
    let item = r#"{"id":"rs_1","encrypted_content":"secret","summary":[]}"#;
    for (provider, address, value, words) in [
        (
            "anthropic",
            "https://api.anthropic.com",
            "c2VjcmV0",
            said("messages.1.content.0: Invalid `signature` in `thinking` block"),
        ),
        (
            "openai",
            "https://api.openai.com/v1",
            item,
            json!({ "error": { "code": "invalid_encrypted_content", "message": "The encrypted content for item rs_1 could not be verified." } }),
        ),
    ] {
        let request = signed(provider, value);
        let sent = exchange(&server(provider, address), &request).unwrap().0.body;
        let sent = String::from_utf8(sent).unwrap();
        assert!(sent.contains("secret") || sent.contains("c2VjcmV0"), "{sent}");
        let (error, next) = after(provider, address, &request, &words);
        assert!(error.message.contains("signed thinking is left out from now on"), "{error}");
        let next = next.to_string();
        assert!(!next.contains("secret") && !next.contains("c2VjcmV0") && next.contains("Yes"), "{next}");
    }
}

#[test]
fn the_form_of_a_message_with_calls_is_learned() {
    let request = conversation(vec![
        (Role::User, vec![text("Hi")]),
        (Role::Assistant, vec![call("a", json!({}))]),
        (Role::User, vec![result("a", "fine", false)]),
    ]);
    let sent =
        |provider: &Server| -> Value { serde_json::from_slice(&exchange(provider, &request).unwrap().0.body).unwrap() };
    let message = &sent(&server("openai_compatible", ADDRESS))["messages"][1];
    assert_eq!((&message["content"], message.get("reasoning_content")), (&Value::Null, None));
    for words in [
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
    ] {
        let (error, next) = after("openai_compatible", ADDRESS, &request, &said(words));
        assert_eq!(next["messages"][1]["reasoning_content"], ".", "{error}");
    }
    for words in ["invalid message content type: <nil>", "messages[1].content must be a string"] {
        let (error, next) = after("openai_compatible", ADDRESS, &request, &said(words));
        assert_eq!(next["messages"][1]["content"], "", "{error}");
    }
    // And known.
    for (address, field, value) in [
        ("https://api.moonshot.ai/v1", "reasoning_content", "."),
        ("https://api.deepseek.com", "reasoning_content", "."),
        ("https://ollama.com/v1", "content", ""),
    ] {
        assert_eq!(sent(&server("openai_compatible", address))["messages"][1][field], value, "{address}");
    }
}

#[test]
fn what_only_the_user_can_change_is_named() {
    let request = Request { tools: Arc::new([tool("read", false)]), ..request() };
    let mut long = request.clone();
    long.parameters.max_tokens = Some(8192);
    let (tools, lower) = ("`flemma.opt.tools = {}`", "lower `parameters.max_tokens` to at most 4096; it is 8192");
    for (status, words, advice) in [
        (400, "registry.ollama.ai/library/gemma3:4b does not support tools", tools),
        (400, "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set", tools),
        (500, "tools param requires --jinja flag", tools),
        (404, "No endpoints found that support tool use. To learn more, visit https://openrouter.ai", tools),
        (400, "Unknown parameter: 'tools'.", tools),
        (400, "unknown variant `tool`, expected one of `system`, `user`, `assistant`", tools),
        (
            400,
            "max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you provided 8192.",
            lower,
        ),
        (400, "`max_tokens` must be less than or equal to `4096`, the maximum value for this model", lower),
        (400, "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for claude-x", lower),
        (400, "Range of max_tokens should be [1, 4096]", lower),
        (
            400,
            "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 8192 tokens and \
             your request has 2100 input tokens (8192 > 8192 - 2100).",
            "lower `parameters.max_tokens`; it is 8192",
        ),
        (
            402,
            "This request requires more credits, or fewer max_tokens. You requested up to 8192 tokens, but can only afford 4096.",
            lower,
        ),
    ] {
        let error = refuse(&server("openai_compatible", ADDRESS), &long, status, &said(words));
        assert!(error.message.contains(advice) && error.refused.is_none(), "{error}");
        assert!(!error.message.contains("no such model"), "{error}");
    }
    let schema = "Unknown name \"type\" at 'tools[0].function_declarations[0].parameters': Cannot find field.";
    let error = refuse(&server("openai_compatible", ADDRESS), &long, 400, &said(schema));
    assert!(!error.message.contains(tools), "{error}");
    let error = refuse(
        &server("openai_compatible", ADDRESS),
        &long,
        400,
        &said("max_tokens must be greater than thinking.budget_tokens"),
    );
    assert!(!error.message.contains("lower"), "{error}");
    let failed = json!({ "error": { "message": "Failed to call a function.", "code": "tool_use_failed", "failed_generation": "<read>" } });
    let error = refuse(&server("openai_compatible", ADDRESS), &long, 400, &failed);
    assert!(error.message.ends_with("Failed to call a function. (the model wrote: <read>)"), "{error}");
}

#[test]
fn an_include_that_is_refused_is_left_out() {
    let request = Request { model: "gpt-5.6-terra".to_owned(), ..request() };
    let words =
        json!({ "error": { "message": "Unknown parameter.", "param": "include", "code": "unknown_parameter" } });
    let (error, next) = after("openai", "http://localhost:8080/v1", &request, &words);
    assert_eq!((error.refused, next.get("include")), (Some(Refusal::Field("include")), None));
}

#[test]
fn what_another_host_signs_goes_back_to_it_alone() {
    const AZURE: &str = "https://me.openai.azure.com/openai/v1";
    let with = |address: &str, thinking: Part| {
        let turns = vec![(Role::User, vec![text("Hi")]), (Role::Assistant, vec![thinking, text("Yes")])];
        let request = Request { model: "gpt-5.6-terra".to_owned(), ..conversation(turns) };
        let body = exchange(&server("openai", address), &request).unwrap().0.body;
        String::from_utf8(body).unwrap().contains("c2VjcmV0")
    };
    for (address, elsewhere) in [(AZURE, false), ("https://api.openai.com/v1", true)] {
        let decoder = exchange(&server("openai", address), &request()).unwrap().1;
        let reply = Stream::new().reasoning(&[&["Mail a@b.c: {}@d"]], "c2VjcmV0").text(&["Yes"]).end();
        let (events, _) = decode(decoder, [&*reply.bytes()]);
        let signature = events.into_iter().find_map(|event| match event {
            Event::ThinkingFinished { signature } => signature,
            _ => None,
        });
        assert!(is_readable(signature.as_ref().unwrap()));
        let thinking = Part::Thinking { text: "Mail".to_owned(), signature };
        assert!(with(address, thinking.clone()));
        for other in ["https://other.openai.azure.com/openai/v1", "http://localhost:8080/v1"] {
            assert_eq!(with(other, thinking.clone()), elsewhere, "{address} {other}");
        }
    }
}
