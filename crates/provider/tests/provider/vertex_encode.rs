//! The body of a request to Vertex AI, and where it goes.

use std::sync::Arc;

use flemma_model::{Part, Role, Signature};
use flemma_provider::{
    ErrorKind, Exchange, ProviderError, Request, RequestParameters, Thinking, ThinkingLevel, ToolSpec,
    auth::Environment,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    conversation::{provider_of, result, text, thinking, turn_of},
    vertex::{TOKEN, conversation, exchange, vertex},
};
use Role::{Assistant, User};

/// Thinks in tokens, and asks for no signatures.
const OLD: &str = "gemini-2.5-flash";

/// Thinks in levels, and refuses calls without a signature.
const NEW: &str = "gemini-3.1-pro";

fn bytes(request: &Request) -> Vec<u8> {
    exchange(request).unwrap().0.body
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(&bytes(request)).unwrap()
}

fn contents(messages: Vec<(Role, Vec<Part>)>) -> Value {
    body(&conversation(OLD, messages))["contents"].take()
}

fn call(id: &str, name: &str) -> Part {
    Part::ToolUse { id: id.into(), name: name.to_owned(), input: json!({"a": id}) }
}

fn tool(name: &str, input_schema: Value) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: "Does it.".to_owned(),
        input_schema: Arc::new(input_schema),
        strict: true,
        prompt: None,
    }
}

fn asking(model: &str, parameters: RequestParameters) -> Value {
    body(&Request { parameters, ..conversation(model, vec![(User, vec![text("Hi")])]) })["generationConfig"].take()
}

#[test]
fn a_plain_question_is_exactly_this() {
    let mut request = conversation(OLD, vec![(User, vec![text("Hi")])]);
    request.system = Some("Be brief.".to_owned());
    request.parameters = RequestParameters {
        max_tokens: Some(9_000),
        temperature: Some(0.5),
        thinking: Thinking::Budget(2_000),
        ..RequestParameters::default()
    };
    request.tools = Arc::new([
        tool("now", json!({"type": "object", "properties": {}})),
        tool("read", json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})),
    ]);
    // Bytes, not values: the order of the keys is a part of what is promised.
    assert_eq!(
        String::from_utf8(bytes(&request)).unwrap(),
        concat!(
            r#"{"systemInstruction":{"parts":[{"text":"Be brief."}]},"#,
            r#""tools":[{"functionDeclarations":[{"name":"now","description":"Does it."},"#,
            r#"{"name":"read","description":"Does it.","parametersJsonSchema":"#,
            r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}]}],"#,
            r#""generationConfig":{"maxOutputTokens":9000,"temperature":0.5,"#,
            r#""thinkingConfig":{"includeThoughts":true,"thinkingBudget":2000}},"#,
            r#""contents":[{"role":"user","parts":[{"text":"Hi"}]}]}"#
        )
    );
}

#[test]
fn a_round_of_tools_goes_back_as_the_api_wants_it() {
    let found = contents(vec![
        (User, vec![text("Fix it")]),
        (Assistant, vec![thinking("Hm.", "vertex", "c2ln"), call("vertex_1", "read"), call("vertex_2", "bash")]),
        (User, vec![text("Be careful"), result("vertex_1", "fine", false), result("vertex_2", "no such file", true)]),
    ]);
    assert_eq!(
        found,
        json!([
            {"role": "user", "parts": [{"text": "Fix it"}]},
            {"role": "model", "parts": [
                {"text": "Hm.", "thought": true},
                {"functionCall": {"name": "read", "args": {"a": "vertex_1"}}, "thoughtSignature": "c2ln"},
                {"functionCall": {"name": "bash", "args": {"a": "vertex_2"}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "read", "response": {"output": "fine"}}},
                {"functionResponse": {"name": "bash", "response": {"error": "no such file"}}},
                {"text": "Be careful"}]}
        ])
    );
}

#[test]
fn a_signature_goes_back_on_the_part_that_it_came_with() {
    let parts = |parts: Vec<Part>| contents(vec![(User, vec![text("go")]), (Assistant, parts)])[1]["parts"].take();
    assert_eq!(
        parts(vec![thinking("", "vertex", "c2ln"), text("Hello")]),
        json!([{"text": "Hello", "thoughtSignature": "c2ln"}])
    );
    assert_eq!(
        parts(vec![
            thinking("Hm.", "vertex", "b25l thought"),
            thinking("", "vertex", "dHdv"),
            call("vertex_1", "read")
        ]),
        json!([
            {"text": "Hm.", "thought": true, "thoughtSignature": "b25l"},
            {"functionCall": {"name": "read", "args": {"a": "vertex_1"}}, "thoughtSignature": "dHdv"}])
    );
    assert_eq!(
        parts(vec![text("Hello"), thinking("", "vertex", "c2ln text"), call("vertex_1", "read")]),
        json!([
            {"text": "Hello"},
            {"text": "", "thoughtSignature": "c2ln"},
            {"functionCall": {"name": "read", "args": {"a": "vertex_1"}}}])
    );
    assert_eq!(
        parts(vec![thinking("", "vertex", "c2ln thought"), text("Hello")]),
        json!([{"text": "", "thought": true, "thoughtSignature": "c2ln"}, {"text": "Hello"}])
    );
    // What it signed is gone.
    assert_eq!(parts(vec![text("Hello"), thinking("", "vertex", "c2ln")]), json!([{"text": "Hello"}]));
}

#[test]
fn thinking_goes_back_only_to_who_signed_it() {
    let found = contents(vec![
        (User, vec![text("Hi")]),
        (
            Assistant,
            vec![
                Part::Thinking { text: "unsigned".to_owned(), signature: None },
                thinking("foreign", "anthropic", "c2ln"),
                Part::RedactedThinking(Signature { provider: "vertex".to_owned(), value: "x".to_owned() }),
                text("Hello"),
            ],
        ),
    ]);
    assert_eq!(found[1]["parts"], json!([{"text": "Hello"}]));
}

#[test]
fn unsigned_calls_go_to_gemini_3_with_a_placeholder_signature() {
    let turns = || {
        vec![
            (User, vec![text("go")]),
            (Assistant, vec![text("I look."), call("toolu_1", "read"), call("toolu_2", "read")]),
            (User, vec![result("toolu_1", "x", false), result("toolu_2", "y", false)]),
            (Assistant, vec![thinking("", "vertex", "c2ln"), call("vertex_1", "read")]),
            (User, vec![result("vertex_1", "z", false)]),
        ]
    };
    let signatures = |model: &str| {
        let body = body(&conversation(model, turns()));
        let parts =
            body["contents"].as_array().unwrap().iter().flat_map(|content| content["parts"].as_array().unwrap());
        let calls = parts.filter(|part| part.get("functionCall").is_some());
        calls.map(|part| part["thoughtSignature"].as_str().unwrap_or("none").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(signatures(NEW), ["skip_thought_signature_validator", "none", "c2ln"]);
    assert_eq!(signatures(OLD), ["none", "none", "c2ln"]);
}

#[test]
fn only_ids_that_the_api_gave_go_back_to_it() {
    let found = contents(vec![
        (User, vec![text("go")]),
        (Assistant, vec![call("vertex:abc-1", "read"), call("vertex_1", "read"), call("toolu_1", "read")]),
        (User, vec![result("vertex:abc-1", "x", false), result("vertex_1", "y", false), result("toolu_1", "z", false)]),
    ]);
    let ids = |turn: usize, field: &str| {
        let parts = found[turn]["parts"].as_array().unwrap().iter();
        parts.map(|part| part[field]["id"].as_str().unwrap_or("none").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(1, "functionCall"), ["abc-1", "none", "none"]);
    assert_eq!(ids(2, "functionResponse"), ["abc-1", "none", "none"]);
}

#[test]
fn results_of_joined_messages_come_first_in_call_order() {
    let found = contents(vec![
        (User, vec![text("go")]),
        (Assistant, vec![call("a", "one"), call("b", "two"), call("c", "three")]),
        (User, vec![result("c", "3", false), text("and")]),
        (User, vec![result("a", "1", false), result("b", "2", false)]),
    ]);
    let parts = found[2]["parts"].as_array().unwrap().iter();
    let names: Vec<_> = parts.map(|part| part["functionResponse"]["name"].as_str().unwrap_or("text")).collect();
    assert_eq!(names, ["one", "two", "three", "text"]);
    assert_eq!(found.as_array().unwrap().len(), 3);
}

#[test]
fn an_id_that_comes_twice_means_the_call_before_it() {
    let found = contents(vec![
        (User, vec![text("go")]),
        (Assistant, vec![call("call_1", "read")]),
        (User, vec![result("call_1", "x", false)]),
        (Assistant, vec![call("call_1", "bash")]),
        (User, vec![result("call_1", "y", false)]),
    ]);
    assert_eq!(found[2]["parts"][0]["functionResponse"]["name"], "read");
    assert_eq!(found[4]["parts"][0]["functionResponse"]["name"], "bash");
}

#[test]
fn a_result_without_its_call_is_kept_as_text() {
    let found = contents(vec![(User, vec![text("go"), result("gone", "what it said", false)])]);
    assert_eq!(found[0]["parts"], json!([{"text": "go"}, {"text": "what it said"}]));
}

#[test]
fn empty_results_are_sent_and_empty_errors_are_explained() {
    let found = contents(vec![
        (User, vec![text("go")]),
        (Assistant, vec![call("a", "read"), call("b", "read")]),
        (User, vec![result("a", "", false), result("b", " \n", true)]),
    ]);
    assert_eq!(found[2]["parts"][0]["functionResponse"]["response"], json!({"output": ""}));
    assert_eq!(
        found[2]["parts"][1]["functionResponse"]["response"],
        json!({"error": "The tool failed and said nothing."})
    );
}

#[test]
fn messages_of_one_role_are_joined_across_empty_ones() {
    let found = contents(vec![
        (User, vec![text("one")]),
        (User, vec![text("two")]),
        (Assistant, vec![text(" \n\t")]),
        (User, vec![text("three"), text("  ")]),
    ]);
    assert_eq!(found, json!([{"role": "user", "parts": [{"text": "one"}, {"text": "two"}, {"text": "three"}]}]));
}

#[test]
fn an_input_that_is_no_object_goes_along_as_its_text() {
    for (input, sent) in [(json!([1, 2]), "[1,2]"), (json!("x"), "\"x\""), (Value::Null, "null")] {
        let use_ = Part::ToolUse { id: "a".into(), name: "read".to_owned(), input };
        let found = contents(vec![(User, vec![text("go")]), (Assistant, vec![use_])]);
        assert_eq!(found[1]["parts"][0]["functionCall"]["args"], json!({"malformed_json": sent}));
    }
}

#[test]
fn names_are_written_in_the_letters_of_the_api() {
    let long = "x".repeat(100);
    let found = contents(vec![
        (User, vec![text("go")]),
        (Assistant, vec![call("a", "mcp/read file"), call("b", "3d-render"), call("c", &long)]),
        (User, vec![result("a", "", false), result("b", "", false), result("c", "", false)]),
    ]);
    for (turn, field) in [(1, "functionCall"), (2, "functionResponse")] {
        let names = found[turn]["parts"].as_array().unwrap().iter().map(|part| part[field]["name"].as_str().unwrap());
        assert_eq!(names.collect::<Vec<_>>(), ["mcp_read_file", "_3d-render", &long[..64]]);
    }
}

#[test]
fn thinking_always_leaves_room_for_the_reply() {
    let ask = |model: &str, max_tokens: u32, thinking| {
        asking(model, RequestParameters { max_tokens: Some(max_tokens), thinking, ..RequestParameters::default() })
    };
    assert_eq!(ask(OLD, 100, Thinking::Off), json!({"maxOutputTokens": 100, "thinkingConfig": {"thinkingBudget": 0}}));
    assert_eq!(ask(OLD, 100, Thinking::Budget(1_000))["maxOutputTokens"], 1_100);
    assert_eq!(ask(OLD, 8_000, Thinking::Budget(2_000))["maxOutputTokens"], 8_000);
    let high = ask(NEW, 8_192, Thinking::Level(ThinkingLevel::High));
    let config = json!({"includeThoughts": true, "thinkingLevel": "HIGH"});
    assert_eq!(high, json!({"maxOutputTokens": 24_576, "thinkingConfig": config}));
    // No current model writes more; who asks for more is answered by the API.
    assert_eq!(ask("gemini-2.5-pro", 32_768, Thinking::Level(ThinkingLevel::Max))["maxOutputTokens"], 65_535);
    assert_eq!(ask(NEW, 100_000, Thinking::Budget(u32::MAX))["maxOutputTokens"], 100_000);
}

#[test]
fn what_is_not_set_is_not_sent() {
    let body = body(&conversation("gemini-2.0-flash", vec![(User, vec![text("Hi")])]));
    assert_eq!(body, json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}));
    let parameters =
        RequestParameters { temperature: Some(f64::NAN), max_tokens: Some(1), ..RequestParameters::default() };
    assert_eq!(asking("gemini-2.0-flash", parameters), json!({"maxOutputTokens": 1}));
}

#[test]
fn a_conversation_with_nothing_to_send_says_what_to_do() {
    for parts in [vec![], vec![(User, vec![])], vec![(User, vec![text(" ")])]] {
        let error = exchange(&conversation(OLD, parts)).err().unwrap();
        assert_eq!(error.kind, ErrorKind::InvalidRequest);
        assert!(error.message.contains("@You:"), "{error}");
    }
}

fn prepare(options: Value, model: &str) -> Result<String, ProviderError> {
    let environment = Environment::new(|name| (name == "VERTEX_AI_ACCESS_TOKEN").then(|| TOKEN.to_owned()));
    match provider_of("vertex", options, environment).prepare(&conversation(model, vec![(User, vec![text("Hi")])]))? {
        Exchange::Http { request, .. } => Ok(request.url),
        Exchange::Script(_) => panic!("Vertex AI is no script"),
    }
}

fn at(base_url: Option<&str>, project_id: &str, location: &str) -> Value {
    json!({"base_url": base_url, "project_id": project_id, "location": location})
}

#[test]
fn the_host_is_that_of_the_location_and_a_base_url_replaces_it() {
    for (base, location, host) in [
        (None, "global", "https://aiplatform.googleapis.com"),
        (None, "europe-west4", "https://europe-west4-aiplatform.googleapis.com"),
        (None, "eu", "https://aiplatform.eu.rep.googleapis.com"),
        (Some("http://127.0.0.1:8080/"), "us-central1", "http://127.0.0.1:8080"),
        (Some(" https://gateway.example/google// "), "global", "https://gateway.example/google"),
    ] {
        let path = format!(
            "/v1/projects/p/locations/{location}/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
        );
        assert_eq!(prepare(at(base, "p", location), "gemini-2.5-pro").unwrap(), format!("{host}{path}"));
    }
}

#[test]
fn what_cannot_stand_in_the_address_is_named_with_its_option() {
    for (options, model, option) in [
        (at(None, "p/../q", "global"), OLD, "`parameters.vertex.project_id`"),
        (at(None, "p", "glo bal"), OLD, "`parameters.vertex.location`"),
        (at(None, "p", ""), OLD, "`parameters.vertex.location`"),
        (at(None, "p", "global"), "gemini/2?x", "`model`"),
        (at(None, "p", "global"), "", "`model`"),
        (at(Some("aiplatform.googleapis.com"), "p", "global"), OLD, "`parameters.vertex.base_url`"),
        (at(Some("ftp://x"), "p", "global"), OLD, "`parameters.vertex.base_url`"),
        (at(Some("https://x/#key"), "p", "global"), OLD, "`parameters.vertex.base_url`"),
    ] {
        let error = prepare(options, model).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Options);
        assert!(error.message.contains(option), "{option}: {error}");
    }
    let queried = prepare(at(Some("https://x/?key=1"), "p", "global"), OLD).unwrap();
    assert!(queried.ends_with(":streamGenerateContent?alt=sse&key=1"), "{queried}");
    let error = prepare(at(Some("user:password@host"), "p", "global"), OLD).unwrap_err();
    assert!(!error.message.contains("password"), "{error}");
}

#[test]
fn the_project_may_stand_in_the_environment() {
    let request = conversation(OLD, vec![(User, vec![text("Hi")])]);
    let environment = |project: Option<&'static str>| {
        Environment::new(move |name| match name {
            "VERTEX_AI_ACCESS_TOKEN" => Some(TOKEN.to_owned()),
            "GOOGLE_CLOUD_PROJECT" => project.map(str::to_owned),
            _ => None,
        })
    };
    match provider_of("vertex", json!({}), environment(Some("from-shell\n"))).prepare(&request).unwrap() {
        Exchange::Http { request, .. } => assert!(request.url.contains("/projects/from-shell/")),
        Exchange::Script(_) => panic!("Vertex AI is no script"),
    }
    for project in [None, Some(" ")] {
        let error = provider_of("vertex", json!({}), environment(project)).prepare(&request).err().unwrap();
        assert!(error.message.contains("`parameters.vertex.project_id`"), "{error}");
        assert!(error.message.contains("GOOGLE_CLOUD_PROJECT"), "{error}");
    }
}

#[test]
fn without_a_token_every_way_to_one_is_named() {
    let request = conversation(OLD, vec![(User, vec![text("Hi")])]);
    let error =
        provider_of("vertex", at(None, "p", "global"), Environment::new(|_| None)).prepare(&request).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Authentication);
    for way in ["GOOGLE_APPLICATION_CREDENTIALS", "gcloud auth login", "VERTEX_AI_ACCESS_TOKEN"] {
        assert!(error.message.contains(way), "{way} is not in {error}");
    }
}

#[test]
fn nothing_that_can_be_printed_shows_the_token() {
    assert!(!format!("{:?}", vertex(None)).contains(TOKEN));
}

fn part() -> impl Strategy<Value = Part> {
    let word = || "[a-z ]{0,5}";
    prop_oneof![
        word().prop_map(Part::Text),
        ("[a-c]", any::<bool>(), word()).prop_map(|(id, is_error, output)| result(&id, &output, is_error)),
        "[a-c]".prop_map(|id| call(&id, "bash")),
        (word(), prop::sample::select(vec!["c2ln", "c2ln thought", "c2ln text"]))
            .prop_map(|(text, value)| thinking(&text, "vertex", value)),
        word().prop_map(|text| thinking(&text, "anthropic", "c2ln")),
    ]
}

proptest! {
    #[test]
    fn roles_alternate_and_no_part_is_empty_but_for_its_signature(turns in prop::collection::vec(
        prop_oneof![turn_of(User, part()), turn_of(Assistant, part()), Just((User, vec![])), Just((Assistant, vec![text("")]))], 1..8)) {
        let Ok((request, _)) = exchange(&conversation(NEW, turns)) else { return Ok(()) };
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let contents = body["contents"].as_array().unwrap();
        prop_assert!(contents.windows(2).all(|pair| pair[0]["role"] != pair[1]["role"]));
        for content in contents {
            let mut calls = 0;
            for part in content["parts"].as_array().unwrap() {
                let blank = part["text"].as_str().is_some_and(|text| text.trim().is_empty());
                prop_assert!(!blank || part.get("thoughtSignature").is_some(), "{}", part);
                if part.get("functionCall").is_some() {
                    calls += 1;
                    prop_assert!(calls > 1 || part.get("thoughtSignature").is_some(), "{}", part);
                }
            }
        }
    }
}
