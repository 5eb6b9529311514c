//! The body of a request to the Responses API.

use std::sync::Arc;

use flemma_model::{Part, Role, Signature};
use flemma_provider::{
    CacheRetention, ErrorKind, Headers, Request, RequestParameters, Server, Thinking, ThinkingLevel, ToolSpec,
    auth::Environment, openai::Effort,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::conversation::{
    any_turns, call, conversation, exchange, header, hello, keyed, provider_of, result, text, thinking, tool,
};

use Role::{Assistant, User};

const SIGNED: &str = r#"{"id":"rs_1","encrypted_content":"c2VjcmV0","summary":["Look","Then act"]}"#;

fn openai(base_url: &str) -> Server {
    keyed("openai", base_url, "sk-secret")
}

fn bytes(request: &Request) -> Vec<u8> {
    exchange(&openai("https://api.openai.com/v1"), request).unwrap().0.body
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(&bytes(request)).unwrap()
}

/// The items of a conversation with a model that reasons.
fn input(turns: Vec<(Role, Vec<Part>)>) -> Value {
    body(&Request { model: "gpt-5".to_owned(), ..conversation(turns) })["input"].take()
}

fn asking(model: &str, parameters: RequestParameters) -> Value {
    body(&Request { model: model.to_owned(), parameters, ..hello() })
}

fn said(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

fn answered(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": text})
}

#[test]
fn a_plain_question_is_exactly_this() {
    let mut request = hello();
    request.model = "gpt-4.1".to_owned();
    request.system = Some("Be brief.".to_owned());
    request.parameters =
        RequestParameters { max_tokens: Some(100), temperature: Some(0.5), ..RequestParameters::default() };
    request.tools = Arc::new([tool("read", true)]);
    // Bytes, not values: the order of the keys is a part of what is promised.
    assert_eq!(
        String::from_utf8(bytes(&request)).unwrap(),
        concat!(
            r#"{"model":"gpt-4.1","stream":true,"store":false,"temperature":0.5,"max_output_tokens":100,"#,
            r#""parallel_tool_calls":true,"#,
            r#""tools":[{"type":"function","name":"read","description":"Reads a file.","#,
            r#""parameters":{"type":"object","properties":{"path":{"type":"string"}}},"strict":true}],"#,
            r#""instructions":"Be brief.","#,
            r#""input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}]}"#
        )
    );
}

#[test]
fn a_round_of_tools_goes_back_as_the_api_wants_it() {
    let found = input(vec![
        (User, vec![text("Fix it")]),
        (
            Assistant,
            vec![
                thinking("Corrected by hand", "openai", SIGNED),
                text("I look."),
                call("call_1", json!({"b": 1, "a": 2})),
                call("call_2", json!({})),
            ],
        ),
        (User, vec![text("Be careful"), result("call_1", "fine", false), result("call_2", "no such file", true)]),
    ]);
    assert_eq!(
        found,
        json!([
            said("Fix it"),
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "c2VjcmV0",
             "summary": [{"type": "summary_text", "text": "Look"}, {"type": "summary_text", "text": "Then act"}]},
            answered("I look."),
            {"type": "function_call", "call_id": "call_1", "name": "bash", "arguments": "{\"b\":1,\"a\":2}"},
            {"type": "function_call", "call_id": "call_2", "name": "bash", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "fine"},
            {"type": "function_call_output", "call_id": "call_2", "output": "Error: no such file"},
            said("Be careful"),
        ])
    );
}

#[test]
fn a_failure_says_so_in_its_words() {
    for (output, sent) in [
        ("no such file", "Error: no such file"),
        ("error: it broke", "Error: error: it broke"),
        ("Error: it is broken", "Error: it is broken"),
        ("\nError: it is broken", "\nError: it is broken"),
        ("Errors: 3", "Error: Errors: 3"),
        ("errors.log: no such file", "Error: errors.log: no such file"),
        (" \n", "The tool failed and said nothing."),
        ("", "The tool failed and said nothing."),
    ] {
        let found = input(vec![(User, vec![result("a", output, true)])]);
        assert_eq!(found[0]["output"], sent, "{output:?}");
    }
    assert_eq!(input(vec![(User, vec![result("a", "", false)])])[0]["output"], "");
}

#[test]
fn reasoning_is_returned_to_its_signer_if_something_follows() {
    let found = input(vec![
        (User, vec![text("Hi")]),
        (
            Assistant,
            vec![
                Part::Thinking { text: "unsigned".to_owned(), signature: None },
                thinking("foreign", "anthropic", SIGNED),
                thinking("damaged", "openai", "{\"id\":"),
                thinking("of the future", "openai", r#"{"id":"rs_1","encrypted_content":"x","more":1}"#),
                Part::RedactedThinking(Signature { provider: "vertex".to_owned(), value: "x".to_owned() }),
                text("Hello"),
                thinking("cut short here", "openai", SIGNED),
            ],
        ),
        (User, vec![text("Go on")]),
    ]);
    assert_eq!(found, json!([said("Hi"), answered("Hello"), said("Go on")]));
    // A turn that is nothing but reasoning is nothing.
    let found = input(vec![(User, vec![text("Hi")]), (Assistant, vec![thinking("", "openai", SIGNED)])]);
    assert_eq!(found, json!([said("Hi")]));
}

#[test]
fn a_model_that_does_not_reason_gets_no_reasoning() {
    let turns = vec![
        (User, vec![text("Hi")]),
        (Assistant, vec![thinking("", "openai", SIGNED), text("Hello")]),
        (User, vec![text("?")]),
    ];
    let ask = |model: &str| body(&Request { model: model.to_owned(), ..conversation(turns.clone()) });
    assert_eq!(ask("gpt-4.1")["input"], json!([said("Hi"), answered("Hello"), said("?")]));
    assert_eq!(ask("gpt-4.1").get("include"), None);
    assert_eq!(ask("gpt-5.6-luna")["input"][1]["type"], "reasoning");
    assert_eq!(ask("my-deployment")["input"][1]["type"], "reasoning");
}

#[test]
fn newer_models_get_commentary_and_answer_marked() {
    let turns = || {
        vec![
            (User, vec![text("Fix it")]),
            (Assistant, vec![text("I look."), call("a", json!({})), text("And wait.")]),
            (User, vec![result("a", "ok", false)]),
            (Assistant, vec![text("Done.")]),
            (User, vec![text("Thanks")]),
        ]
    };
    let phases = |model: &str| -> Vec<Value> {
        let body = body(&Request { model: model.to_owned(), ..conversation(turns()) });
        let items = body["input"].as_array().unwrap().clone();
        items.into_iter().filter(|item| item["role"] == "assistant").map(|item| item["phase"].clone()).collect()
    };
    assert_eq!(phases("gpt-5.6-terra"), ["commentary", "final_answer", "final_answer"]);
    assert_eq!(phases("gpt-5"), [Value::Null, Value::Null, Value::Null]);
}

#[test]
fn messages_of_one_role_are_joined_across_empty_ones() {
    let found = input(vec![
        (User, vec![text("one")]),
        (User, vec![text("two")]),
        (Assistant, vec![text(" \n\t")]),
        (User, vec![text("three"), text("  "), result("a", "x", false)]),
    ]);
    let texts = ["one", "two", "three"].map(|text| json!({"type": "input_text", "text": text}));
    assert_eq!(
        found,
        json!([{"type": "function_call_output", "call_id": "a", "output": "x"},
               {"type": "message", "role": "user", "content": texts}])
    );
}

#[test]
fn an_input_that_is_no_object_goes_along_as_its_text() {
    let found = input(vec![(User, vec![text("go")]), (Assistant, vec![call("a", json!([1, 2]))])]);
    assert_eq!(found[1]["arguments"], r#"{"malformed_json":"[1,2]"}"#);
}

#[test]
fn ids_of_other_vendors_are_written_as_the_api_takes_them() {
    let long = format!("toolu_{}", "x".repeat(80));
    let other = format!("{long}y");
    let found = input(vec![
        (User, vec![text("go")]),
        (Assistant, vec![call("call|1.ü", json!({})), call(&long, json!({})), call(&other, json!({}))]),
        (User, vec![result("call|1.ü", "x", false), result(&long, "y", false), result(&other, "z", false)]),
    ]);
    assert_eq!(found[1]["call_id"], "call_7c1_2e_c3_bc");
    let id = |index: usize| found[index]["call_id"].as_str().unwrap();
    for nth in 1..4 {
        assert_eq!(id(nth), id(nth + 3), "a call and its result have the same id");
        assert!(id(nth).len() <= 64, "{}", id(nth));
    }
    assert_ne!(id(2), id(3), "ids that differ only at the end stay different");
}

#[test]
fn every_tool_declares_strictness_and_properties() {
    let bare = ToolSpec { input_schema: Arc::new(json!({"type": "object"})), ..tool("now", false) };
    let body = body(&Request { tools: Arc::new([bare, tool("read", true)]), ..hello() });
    assert_eq!(body["tools"][0]["strict"], false);
    assert_eq!(body["tools"][0]["parameters"], json!({"type": "object", "properties": {}}));
    assert_eq!(body["tools"][1]["strict"], true);
}

#[test]
fn each_model_is_asked_for_an_effort_that_it_takes() {
    use ThinkingLevel::*;
    let effort = |model: &str, thinking| {
        let body = asking(model, RequestParameters { thinking, ..RequestParameters::default() });
        body["reasoning"]["effort"].as_str().map(str::to_owned).unwrap_or_default()
    };
    let row = |model: &str| {
        let levels = [Minimal, Low, Medium, High, Max].map(|level| effort(model, Thinking::Level(level)));
        [&[effort(model, Thinking::Off)], &levels[..]].concat().join(" ")
    };
    for (model, efforts) in [
        ("gpt-6-astra", "low low low medium high max"),
        ("gpt-6.2-sol", "none low low medium high max"),
        ("gpt-5.6-luna", "none low low medium high max"),
        ("gpt-5.5-2026-04-23", "none low low medium high xhigh"),
        ("gpt-5.4-pro", "medium medium medium medium high xhigh"),
        ("gpt-5.3-codex", "low low low medium high xhigh"),
        ("gpt-5.1", "none low low medium high high"),
        ("gpt-5.1-codex", "low low low medium high high"),
        ("gpt-5-mini", "minimal minimal low medium high high"),
        ("openai/gpt-5", "minimal minimal low medium high high"),
        ("gpt-5-pro", "high high high high high high"),
        ("o3-mini", "low low low medium high high"),
        ("ft:o4-mini:mine", "low low low medium high high"),
    ] {
        assert_eq!(row(model), efforts, "{model}");
    }
    for model in ["gpt-4.1", "gpt-4o-mini", "gpt-5-chat-latest", "chatgpt-4o-latest"] {
        assert_eq!(row(model).trim(), "", "{model}");
    }
    // Nothing is known of these: nothing is said unless it is asked for.
    for model in ["my-deployment", "gpt-5.9", "gpt-7"] {
        assert_eq!(row(model), " low low medium high high", "{model}");
    }
    assert_eq!(effort("gpt-5.5", Thinking::Budget(9_000)), "medium");
}

#[test]
fn an_effort_of_the_users_own_is_sent_as_it_is() {
    let ask = |model: &str, effort, thinking| -> Value {
        let parameters = RequestParameters { thinking, max_tokens: Some(1_000), ..RequestParameters::default() };
        let request = Request { model: model.to_owned(), parameters, ..hello() };
        let key = Environment::new(|_| Some("sk-secret".to_owned()));
        let provider = provider_of("openai", json!({"reasoning": effort}), key);
        serde_json::from_slice(&exchange(&provider, &request).unwrap().0.body).unwrap()
    };
    let body = ask("gpt-5.1", Effort::Xhigh, Thinking::Off);
    assert_eq!(body["reasoning"], json!({"effort": "xhigh", "summary": "auto"}));
    let body = ask("gpt-5.6-sol", Effort::None, Thinking::Level(ThinkingLevel::High));
    assert_eq!(body["reasoning"], json!({"effort": "none"}));
    assert_eq!(body["max_output_tokens"], 1_000);
}

#[test]
fn thinking_leaves_room_for_the_reply() {
    let limit = |max_tokens, thinking| {
        asking("gpt-5", RequestParameters { max_tokens, thinking, ..RequestParameters::default() })["max_output_tokens"]
            .as_u64()
    };
    assert_eq!(limit(None, Thinking::Off), None);
    assert_eq!(limit(Some(1), Thinking::Off), Some(16), "the API's smallest limit");
    assert_eq!(limit(Some(8_192), Thinking::Level(ThinkingLevel::High)), Some(16_384 + 8_192));
    assert_eq!(limit(Some(20_000), Thinking::Level(ThinkingLevel::High)), Some(20_000));
    assert_eq!(limit(Some(u32::MAX), Thinking::Level(ThinkingLevel::Max)), Some(u64::from(u32::MAX)));
}

#[test]
fn a_reasoning_model_gets_no_temperature() {
    let ask = |model: &str, thinking| {
        asking(model, RequestParameters { thinking, temperature: Some(0.3), ..RequestParameters::default() })
    };
    let level = Thinking::Level(ThinkingLevel::Low);
    for (model, thinking, temperature, include, summary) in [
        ("gpt-5.6-terra", level, false, true, true),
        ("gpt-5.6-terra", Thinking::Off, false, true, false),
        ("gpt-4.1", level, true, false, false),
        ("my-deployment", level, false, true, true),
        ("my-deployment", Thinking::Off, true, false, false),
    ] {
        let body = ask(model, thinking);
        assert_eq!(body.get("temperature").is_some(), temperature, "{model} {thinking:?}");
        assert_eq!(body.get("include"), include.then_some(&json!(["reasoning.encrypted_content"])), "{model}");
        assert_eq!(body["reasoning"].get("summary").is_some(), summary, "{model} {thinking:?}");
    }
    let odd = asking("gpt-4.1", RequestParameters { temperature: Some(f64::NAN), ..RequestParameters::default() });
    assert_eq!(odd.get("temperature"), None);
}

#[test]
fn the_cache_is_asked_to_keep_what_the_user_wants_kept() {
    let ask = |model: &str, cache_retention| {
        let body = asking(model, RequestParameters { cache_retention, ..RequestParameters::default() });
        ["prompt_cache_retention", "prompt_cache_options"].map(|field| body.get(field).cloned())
    };
    use CacheRetention::{Long, None as Nothing, Short};
    assert_eq!(ask("gpt-5.6-sol", Short), [None, None]);
    assert_eq!(ask("gpt-5.6-sol", Long), [None, Some(json!({"ttl": "12h"}))]);
    assert_eq!(ask("gpt-5.6-sol", Nothing), [None, Some(json!({"mode": "explicit"}))]);
    assert_eq!(ask("gpt-5.4", Long), [Some(json!("24h")), None]);
    assert_eq!(ask("gpt-5.4", Nothing), [None, None]);
    assert_eq!(ask("o3", Long), [None, None]);
    assert_eq!(ask("my-deployment", Long), [None, None]);
}

#[test]
fn the_cache_key_is_stable_and_unique_per_conversation() {
    let ask = |first: &str, more: bool, system: &str| {
        let mut turns = vec![(User, vec![text(first)])];
        if more {
            turns.push((Assistant, vec![text("Hello")]));
            turns.push((User, vec![text("Go on")]));
        }
        let parameters = RequestParameters { cache_retention: CacheRetention::Short, ..RequestParameters::default() };
        let body = body(&Request { parameters, system: Some(system.to_owned()), ..conversation(turns) });
        body["prompt_cache_key"].as_str().unwrap().to_owned()
    };
    let key = ask("my secret", false, "Be brief.");
    assert_eq!(key, ask("my secret", true, "Be brief."));
    assert_ne!(key, ask("another", true, "Be brief."));
    assert_ne!(key, ask("my secret", true, "Be long."));
    assert!(key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit()), "{key} is a hash");
}

#[test]
fn what_is_not_set_is_not_sent() {
    let body = asking("gpt-4.1", RequestParameters::default());
    let keys: Vec<_> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["model", "stream", "store", "input"]);
    assert_eq!(body["store"], false, "nothing stays at the vendor's");
}

#[test]
fn a_conversation_with_nothing_to_send_says_what_to_do() {
    for parts in [vec![], vec![(User, vec![])], vec![(User, vec![text(" ")])]] {
        let error = exchange(&openai("https://api.openai.com/v1"), &conversation(parts)).err().unwrap();
        assert_eq!(error.kind, ErrorKind::InvalidRequest);
        assert!(error.message.contains("@You:"), "{error}");
    }
}

#[test]
fn the_address_ends_in_the_version_and_our_path() {
    for (base, url) in [
        ("https://api.openai.com/v1", "https://api.openai.com/v1/responses"),
        (" http://127.0.0.1:8080/v1// ", "http://127.0.0.1:8080/v1/responses"),
    ] {
        assert_eq!(exchange(&openai(base), &hello()).unwrap().0.url, url);
    }
    let error = exchange(&openai("api.openai.com"), &hello()).err().unwrap();
    assert!(error.message.contains("`parameters.openai.base_url` is \"api.openai.com\""), "{error}");
}

#[test]
fn the_key_goes_along_and_is_shown_nowhere() {
    let request = exchange(&openai("https://api.openai.com/v1"), &hello()).unwrap().0;
    assert_eq!(header(&request, "authorization"), Some("Bearer sk-secret"));
    assert_eq!(header(&request, "accept"), Some("text/event-stream"));
    assert!(!format!("{:?}", openai("https://api.openai.com/v1")).contains("sk-secret"));

    let mut headers = Headers::default();
    headers.insert("OpenAI-Project", "proj_1").unwrap();
    headers.insert("Authorization", "Bearer mine").unwrap();
    let keyless = |options| provider_of("openai", options, Environment::new(|_| None));
    let error = exchange(&keyless(json!({})), &hello()).err().unwrap();
    assert!(error.kind == ErrorKind::Authentication && error.message.contains("OPENAI_API_KEY"), "{error}");
    let request = exchange(&keyless(json!({"headers": headers})), &hello()).unwrap().0;
    assert_eq!(header(&request, "authorization"), Some("Bearer mine"));
    assert_eq!(header(&request, "openai-project"), Some("proj_1"));
}

fn signed() -> Part {
    thinking("Hm.", "openai", SIGNED)
}

proptest! {
    #[test]
    fn nothing_empty_is_sent_and_reasoning_is_always_followed(turns in any_turns(&signed())) {
        let items = input(turns);
        let items = items.as_array().unwrap();
        for (nth, item) in items.iter().enumerate() {
            match item["type"].as_str().unwrap() {
                "reasoning" => {
                    let next = items.get(nth + 1).unwrap();
                    prop_assert!(next["role"] != "user" && next["type"] != "function_call_output");
                }
                "message" if item["role"] == "assistant" => {
                    prop_assert!(!item["content"].as_str().unwrap().trim().is_empty());
                }
                "message" => {
                    let parts = item["content"].as_array().unwrap();
                    prop_assert!(!parts.is_empty());
                    prop_assert!(parts.iter().all(|part| !part["text"].as_str().unwrap().trim().is_empty()));
                }
                _ => {}
            }
        }
    }
}
