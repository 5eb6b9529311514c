//! The body of a request to the Messages API.

use std::sync::Arc;

use flemma_model::{Part, Role, Signature};
use flemma_provider::{
    CacheRetention, ErrorKind, Headers, ProviderError, Request, RequestParameters, Server, Thinking, ThinkingLevel,
    ToolSpec, auth::Environment,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::conversation::{self, call, exchange, keyed, provider_of, result, text, turn_of};

fn anthropic(base_url: &str) -> Server {
    keyed("anthropic", base_url, "sk-secret")
}

fn prepare(base_url: &str, request: &Request) -> Result<(String, Vec<u8>), ProviderError> {
    exchange(&anthropic(base_url), request).map(|(request, _)| (request.url, request.body))
}

fn bytes(request: &Request) -> Vec<u8> {
    prepare("https://api.anthropic.com", request).unwrap().1
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(&bytes(request)).unwrap()
}

fn conversation(messages: Vec<(Role, Vec<Part>)>) -> Request {
    Request { model: "claude-test".to_owned(), ..conversation::conversation(messages) }
}

fn messages(messages: Vec<(Role, Vec<Part>)>) -> Value {
    body(&conversation(messages))["messages"].take()
}

fn signature(provider: &str) -> Signature {
    Signature { provider: provider.to_owned(), value: "c2ln".to_owned() }
}

fn asking(parameters: RequestParameters) -> Value {
    body(&Request { parameters, ..conversation(vec![(Role::User, vec![text("Hi")])]) })
}

use Role::{Assistant, User};

#[test]
fn a_plain_question_is_exactly_this() {
    let mut request = conversation(vec![(User, vec![text("Hi")])]);
    request.system = Some("Be brief.".to_owned());
    request.parameters =
        RequestParameters { max_tokens: Some(100), temperature: Some(0.5), ..RequestParameters::default() };
    request.tools = Arc::new([ToolSpec {
        name: "read".to_owned(),
        description: "Reads a file.".to_owned(),
        input_schema: Arc::new(json!({"type": "object", "properties": {"path": {"type": "string"}}})),
        strict: true,
        prompt: None,
    }]);
    // Bytes, not values: the order of the keys is a part of what is promised.
    assert_eq!(
        String::from_utf8(bytes(&request)).unwrap(),
        concat!(
            r#"{"model":"claude-test","max_tokens":100,"stream":true,"temperature":0.5,"#,
            r#""tools":[{"name":"read","description":"Reads a file.","#,
            r#""input_schema":{"type":"object","properties":{"path":{"type":"string"}}}}],"#,
            r#""system":"Be brief.","messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}"#
        )
    );
}

#[test]
fn a_round_of_tools_goes_back_as_the_api_wants_it() {
    let found = messages(vec![
        (User, vec![text("Fix it")]),
        (
            Assistant,
            vec![
                Part::Thinking { text: "Hm.".to_owned(), signature: Some(signature("anthropic")) },
                Part::RedactedThinking(signature("anthropic")),
                text("I look."),
                call("toolu_1", json!({"b": 1, "a": 2})),
                call("toolu_2", json!({})),
            ],
        ),
        (User, vec![text("Be careful"), result("toolu_1", "fine", false), result("toolu_2", "no such file", true)]),
    ]);
    assert_eq!(
        found,
        json!([
            {"role": "user", "content": [{"type": "text", "text": "Fix it"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "c2ln"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"b": 1, "a": 2}},
                {"type": "tool_use", "id": "toolu_2", "name": "bash", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "fine"},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no such file", "is_error": true},
                {"type": "text", "text": "Be careful"}]}
        ])
    );
    assert_eq!(found[1]["content"][3]["input"].to_string(), r#"{"b":1,"a":2}"#, "the model's key order is kept");
}

#[test]
fn thinking_goes_back_only_to_who_signed_it() {
    let found = messages(vec![
        (User, vec![text("Hi")]),
        (
            Assistant,
            vec![
                Part::Thinking { text: "unsigned".to_owned(), signature: None },
                Part::Thinking { text: "foreign".to_owned(), signature: Some(signature("openai")) },
                Part::RedactedThinking(signature("openai")),
                text("Hello"),
            ],
        ),
        (User, vec![text("Go on")]),
    ]);
    assert_eq!(found[1]["content"], json!([{"type": "text", "text": "Hello"}]));
}

#[test]
fn thinking_that_shows_nothing_keeps_its_signature() {
    let hidden = Part::Thinking { text: String::new(), signature: Some(signature("anthropic")) };
    let found =
        messages(vec![(User, vec![text("Hi")]), (Assistant, vec![hidden, text("Hello")]), (User, vec![text("?")])]);
    assert_eq!(found[1]["content"][0], json!({"type": "thinking", "thinking": "", "signature": "c2ln"}));
}

#[test]
fn messages_of_one_role_are_joined_across_empty_ones() {
    let found = messages(vec![
        (User, vec![text("one")]),
        (User, vec![text("two")]),
        (Assistant, vec![text(" \n\t")]),
        (User, vec![text("three"), text("  ")]),
    ]);
    let texts = ["one", "two", "three"].map(|text| json!({"type": "text", "text": text}));
    assert_eq!(found, json!([{"role": "user", "content": texts}]));
}

#[test]
fn results_of_joined_messages_stand_first_in_their_order() {
    let found = messages(vec![
        (User, vec![text("go")]),
        (Assistant, vec![call("a", json!({})), call("b", json!({}))]),
        (User, vec![result("a", "1", false), text("and")]),
        (User, vec![result("b", "2", false)]),
    ]);
    let kinds: Vec<_> = found[2]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["tool_use_id"].as_str().unwrap_or("text"))
        .collect();
    assert_eq!(kinds, ["a", "b", "text"]);
}

#[test]
fn an_empty_result_is_sent_and_an_empty_error_is_explained() {
    let found = messages(vec![
        (User, vec![text("go")]),
        (Assistant, vec![call("a", json!({})), call("b", json!({}))]),
        (User, vec![result("a", "", false), result("b", " \n", true)]),
    ]);
    assert_eq!(found[2]["content"][0], json!({"type": "tool_result", "tool_use_id": "a"}));
    assert_eq!(found[2]["content"][1]["content"], "The tool failed and said nothing.");
    assert_eq!(found[2]["content"][1]["is_error"], true);
}

#[test]
fn an_input_that_is_no_object_goes_along_as_its_text() {
    for (input, sent) in [(json!([1, 2]), "[1,2]"), (json!("x"), "\"x\""), (Value::Null, "null")] {
        let found = messages(vec![(User, vec![text("go")]), (Assistant, vec![call("a", input)])]);
        assert_eq!(found[1]["content"][0]["input"], json!({"malformed_json": sent}));
    }
}

#[test]
fn ids_of_other_vendors_are_written_in_the_letters_of_the_api() {
    let found = messages(vec![
        (User, vec![text("go")]),
        (Assistant, vec![call("call|1.ü", json!({})), call("toolu_A-1", json!({}))]),
        (User, vec![result("call|1.ü", "x", false), result("toolu_A-1", "y", false)]),
    ]);
    assert_eq!(found[1]["content"][0]["id"], "call_7c1_2e_c3_bc");
    assert_eq!(found[2]["content"][0]["tool_use_id"], "call_7c1_2e_c3_bc");
    assert_eq!(found[1]["content"][1]["id"], "toolu_A-1");
}

#[test]
fn a_reply_to_be_continued_does_not_end_in_white_space() {
    let found = messages(vec![(User, vec![text("go \n")]), (Assistant, vec![text("and so \n")])]);
    assert_eq!(found[1]["content"][0]["text"], "and so");
    assert_eq!(found[0]["content"][0]["text"], "go \n", "elsewhere nothing is trimmed");
}

#[test]
fn a_conversation_with_nothing_to_send_says_what_to_do() {
    for parts in [vec![], vec![(User, vec![])], vec![(User, vec![text(" ")])]] {
        let error = prepare("https://api.anthropic.com", &conversation(parts)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidRequest);
        assert!(error.message.contains("@You:"), "{error}");
    }
}

#[test]
fn thinking_always_leaves_room_for_the_reply() {
    let ask = |max_tokens, thinking_budget: Option<u32>| {
        let thinking = thinking_budget.map_or(Thinking::Off, Thinking::Budget);
        let body =
            asking(RequestParameters { max_tokens, thinking, temperature: Some(0.3), ..RequestParameters::default() });
        (
            body["max_tokens"].as_u64().unwrap(),
            body["thinking"]["budget_tokens"].as_u64(),
            body.get("temperature").cloned(),
        )
    };
    assert_eq!(ask(Some(100), None), (100, None, Some(json!(0.3))));
    assert_eq!(ask(Some(100), Some(0)), (100, None, Some(json!(0.3))), "a budget of nothing is no thinking");
    assert_eq!(ask(Some(8_000), Some(2_000)), (8_000, Some(2_000), None), "no temperature while thinking");
    assert_eq!(ask(Some(2_000), Some(2_000)), (4_000, Some(2_000), None));
    assert_eq!(ask(Some(100), Some(1)), (1_124, Some(1_024), None), "the API's smallest budget");
    assert_eq!(ask(None, Some(16_000)), (24_192, Some(16_000), None));
    for budget in [u32::MAX - 1, u32::MAX] {
        let (max_tokens, thinking, _) = ask(Some(u32::MAX), Some(budget));
        assert!(max_tokens > thinking.unwrap());
    }
    let thinking = asking(RequestParameters { thinking: Thinking::Budget(2_000), ..RequestParameters::default() });
    assert_eq!(thinking["thinking"], json!({"type": "enabled", "budget_tokens": 2_000}));
}

#[test]
fn newer_models_are_told_an_effort_and_no_temperature() {
    let ask = |model: &str, thinking: Thinking| {
        let parameters = RequestParameters {
            max_tokens: Some(1_000),
            thinking,
            temperature: Some(0.3),
            ..RequestParameters::default()
        };
        let body =
            body(&Request { model: model.to_owned(), parameters, ..conversation(vec![(User, vec![text("Hi")])]) });
        let field = |name: &str| body.get(name).cloned().unwrap_or_default();
        (field("thinking"), field("output_config"), field("temperature"), body["max_tokens"].as_u64().unwrap())
    };
    let high = Thinking::Level(ThinkingLevel::High);
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let (low, disabled, between) =
        (json!({"effort": "low"}), json!({"type": "disabled"}), json!({"type": "between_tools"}));
    for (model, off, least) in [
        ("claude-opus-4-7", Value::Null, Value::Null),
        ("anthropic/claude-opus-4.8", Value::Null, Value::Null),
        ("claude-opus-5", disabled.clone(), Value::Null),
        ("claude-opus-5-5", Value::Null, low.clone()),
        ("claude-sonnet-5", disabled.clone(), Value::Null),
        ("claude-sonnet-5-5-20261001", between.clone(), Value::Null),
        ("claude-haiku-5-5", disabled.clone(), Value::Null),
        ("claude-fable-5-1", Value::Null, low.clone()),
        ("claude-mythos-preview", Value::Null, low.clone()),
        ("claude-saga-7", Value::Null, Value::Null),
        // As other platforms and gateways write them.
        ("claude-opus-5-5@20260922", Value::Null, low.clone()),
        ("us.anthropic.claude-opus-5-5-v1:0", Value::Null, low),
        ("anthropic.claude-sonnet-5-5", between.clone(), Value::Null),
        ("anthropic/claude-haiku-5.5", disabled.clone(), Value::Null),
        ("anthropic/claude-4.7-opus", Value::Null, Value::Null),
    ] {
        assert_eq!(ask(model, Thinking::Off), (off, least, Value::Null, 1_000), "{model}");
        let thinks = (adaptive.clone(), json!({"effort": "high"}), Value::Null, 17_384);
        assert_eq!(ask(model, high), thinks, "{model}");
    }
    for model in [
        "claude-opus-4-6",
        "claude-opus-4-6@20260205",
        "claude-sonnet-4-20250514",
        "claude-haiku-4-5",
        "claude-3-7-sonnet-latest",
        "claude-2.1",
        "claude-instant-1.2",
        "claude-",
        "mine",
    ] {
        assert_eq!(ask(model, Thinking::Off), (Value::Null, Value::Null, json!(0.3), 1_000), "{model}");
        let thinks = (json!({"type": "enabled", "budget_tokens": 16_384}), Value::Null, Value::Null, 17_384);
        assert_eq!(ask(model, high), thinks, "{model}");
    }
    let efforts = ThinkingLevel::ALL.map(|level| ask("claude-opus-5", Thinking::Level(level)).1["effort"].clone());
    assert_eq!(efforts, ["low", "low", "medium", "high", "max"]);
}

#[test]
fn tools_system_prompt_and_messages_are_marked_for_the_cache() {
    let ask = |cache_retention| {
        let turns =
            vec![(User, vec![text("one")]), (Assistant, vec![text("two")]), (User, vec![text("three"), text("four")])];
        let tool = |name: &str| ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            input_schema: Arc::new(json!({"type": "object"})),
            strict: false,
            prompt: None,
        };
        body(&Request {
            system: Some("Be brief.".to_owned()),
            tools: Arc::new([tool("bash"), tool("read")]),
            parameters: RequestParameters { cache_retention, ..RequestParameters::default() },
            ..conversation(turns)
        })
    };
    for (retention, mark) in [
        (CacheRetention::Short, json!({"type": "ephemeral"})),
        (CacheRetention::Long, json!({"type": "ephemeral", "ttl": "1h"})),
    ] {
        let body = ask(retention);
        assert_eq!(body["tools"][1]["cache_control"], mark);
        assert_eq!(body["system"], json!([{"type": "text", "text": "Be brief.", "cache_control": mark}]));
        assert_eq!(body["messages"][2]["content"][1], json!({"type": "text", "text": "four", "cache_control": mark}));
        assert_eq!(body.to_string().matches("cache_control").count(), 3);
    }
    let plain = ask(CacheRetention::None);
    assert_eq!(plain["system"], "Be brief.");
    assert!(!plain.to_string().contains("cache_control"));
}

#[test]
fn what_is_not_set_is_not_sent() {
    let body = asking(RequestParameters::default());
    let keys: Vec<_> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["model", "max_tokens", "stream", "messages"]);
    assert_eq!(body["max_tokens"], 8_192);
    assert!(
        asking(RequestParameters { temperature: Some(f64::NAN), ..RequestParameters::default() })
            .get("temperature")
            .is_none()
    );
}

#[test]
fn the_address_is_the_host_and_our_path() {
    let request = conversation(vec![(User, vec![text("Hi")])]);
    for (base, url) in [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1/messages"),
        (" https://gateway.example/anthropic// ", "https://gateway.example/anthropic/v1/messages"),
    ] {
        assert_eq!(prepare(base, &request).unwrap().0, url);
    }
}

#[test]
fn an_address_that_cannot_be_one_is_named_with_the_option() {
    let request = conversation(vec![(User, vec![text("Hi")])]);
    for base in ["", "api.anthropic.com", "ftp://x", "https://", "https://x/#key", "localhost:8080"] {
        let error = prepare(base, &request).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Options, "{base}");
        assert!(error.message.contains("`parameters.anthropic.base_url`") && error.message.contains(base), "{error}");
    }
    let error = prepare("user:password@host", &request).unwrap_err();
    assert!(!error.message.contains("password"), "{error}");
}

#[test]
fn headers_of_the_users_go_along_and_may_bring_the_key() {
    let asked = |headers: &[(&str, &str)], key: Option<&str>| {
        let mut further = Headers::default();
        for (name, value) in headers {
            further.insert(name, value).unwrap();
        }
        let key = key.map(str::to_owned);
        let options = json!({"base_url": "https://gateway.example", "headers": further});
        let provider = provider_of("anthropic", options, Environment::new(move |_| key.clone()));
        exchange(&provider, &conversation(vec![(User, vec![text("Hi")])])).map(|(request, _)| request.headers)
    };
    let of = |headers: &[(std::borrow::Cow<'static, str>, String)], name: &str| -> Vec<String> {
        headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value.clone()).collect()
    };
    let headers = asked(&[("X-Team", "core"), ("User-Agent", "mine")], Some("sk-secret")).unwrap();
    assert_eq!(of(&headers, "x-team"), ["core"]);
    assert_eq!(of(&headers, "user-agent"), ["mine"], "one of ours is replaced, not doubled");
    assert_eq!(of(&headers, "x-api-key"), ["sk-secret"]);
    let headers = asked(&[("X-Api-Key", "of the gateway")], None).unwrap();
    assert_eq!(of(&headers, "x-api-key"), ["of the gateway"]);
    assert_eq!(asked(&[("x-team", "core")], None).unwrap_err().kind, ErrorKind::Authentication);
}

#[test]
fn nothing_that_can_be_printed_shows_the_key() {
    let mut headers = Headers::default();
    headers.insert("x-token", "sk-other").unwrap();
    let key = Environment::new(|_| Some("sk-secret".to_owned()));
    let shown = format!("{:?}", provider_of("anthropic", json!({"headers": headers}), key));
    assert!(shown.contains("x-token") && !shown.contains("sk-"), "{shown}");
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        "[ a-z\\n\"]{0,12}".prop_map(Part::Text),
        ("[a-z|]{0,4}", any::<bool>(), "[a-z ]{0,5}").prop_map(|(id, is_error, output)| result(&id, &output, is_error)),
        "[a-z|]{0,4}".prop_map(|id| call(&id, json!({"command": "ls"}))),
        "[a-z]{0,5}".prop_map(|text| Part::Thinking { text, signature: Some(signature("anthropic")) }),
    ]
}

proptest! {
    #[test]
    fn roles_alternate_and_no_block_is_empty(turns in prop::collection::vec(
        prop_oneof![turn_of(User, part()), turn_of(Assistant, part()), Just((User, vec![])), Just((Assistant, vec![text("")]))], 1..8)) {
        let request = conversation(turns);
        let Ok((_, bytes)) = prepare("https://api.anthropic.com", &request) else { return Ok(()) };
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        let messages = body["messages"].as_array().unwrap();
        prop_assert!(messages.windows(2).all(|pair| pair[0]["role"] != pair[1]["role"]));
        for block in messages.iter().flat_map(|message| message["content"].as_array().unwrap()) {
            if block["type"] == "text" {
                prop_assert!(!block["text"].as_str().unwrap().trim().is_empty());
            }
        }
    }
}
