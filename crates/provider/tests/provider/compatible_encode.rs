//! The body of a request to a server of Chat Completions.

use std::sync::Arc;

use flemma_model::{Part, Role, Signature};
use flemma_provider::{
    ErrorKind, Headers, Request, RequestParameters, Server, Thinking, ThinkingLevel, auth::Environment,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::conversation::{
    any_turns, call, conversation, exchange, header, hello, keyed, provider_of, result, text, thinking, tool,
};

use Role::{Assistant, User};

const BASE_URL: &str = "http://localhost:11434/v1";

fn server(base_url: &str) -> Server {
    provider_of("openai_compatible", json!({"base_url": base_url}), Environment::new(|_| None))
}

fn bytes(request: &Request) -> Vec<u8> {
    exchange(&server(BASE_URL), request).unwrap().0.body
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(&bytes(request)).unwrap()
}

fn messages(turns: Vec<(Role, Vec<Part>)>) -> Value {
    body(&conversation(turns))["messages"].take()
}

fn asking(parameters: RequestParameters) -> Value {
    body(&Request { parameters, ..hello() })
}

fn sent_call(id: &str, arguments: &str) -> Value {
    json!({"type": "function", "id": id, "function": {"name": "bash", "arguments": arguments}})
}

#[test]
fn a_plain_question_is_exactly_this() {
    let mut request = hello();
    request.system = Some("Be brief.".to_owned());
    request.parameters =
        RequestParameters { max_tokens: Some(100), temperature: Some(0.5), ..RequestParameters::default() };
    request.tools = Arc::new([tool("read", true)]);
    // Bytes, not values: the order of the keys is a part of what is promised.
    assert_eq!(
        String::from_utf8(bytes(&request)).unwrap(),
        concat!(
            r#"{"model":"test-model","stream":true,"stream_options":{"include_usage":true},"max_tokens":100,"#,
            r#""temperature":0.5,"tools":[{"type":"function","function":{"name":"read","#,
            r#""description":"Reads a file.","#,
            r#""parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}],"#,
            r#""messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]}"#
        )
    );
}

#[test]
fn a_round_of_tools_goes_back_as_the_api_wants_it() {
    let found = messages(vec![
        (User, vec![text("Fix it")]),
        (Assistant, vec![text("I look."), call("call_1", json!({"b": 1, "a": 2})), call("call_2", json!({}))]),
        (User, vec![text("Be careful"), result("call_1", "fine", false), result("call_2", "no such file", true)]),
        (Assistant, vec![call("call_3", json!([1]))]),
        (User, vec![result("call_3", "", false)]),
    ]);
    assert_eq!(
        found,
        json!([
            {"role": "user", "content": "Fix it"},
            {"role": "assistant", "content": "I look.",
             "tool_calls": [sent_call("call_1", "{\"b\":1,\"a\":2}"), sent_call("call_2", "{}")]},
            {"role": "tool", "tool_call_id": "call_1", "content": "fine"},
            {"role": "tool", "tool_call_id": "call_2", "content": "Error: no such file"},
            {"role": "user", "content": "Be careful"},
            {"role": "assistant", "content": null, "tool_calls": [sent_call("call_3", "{\"malformed_json\":\"[1]\"}")]},
            {"role": "tool", "tool_call_id": "call_3", "content": "(no output)"},
        ])
    );
}

#[test]
fn roles_alternate_whatever_is_left_out_between_them() {
    let found = messages(vec![
        (User, vec![text("one")]),
        (User, vec![text("two"), text(" \n")]),
        (Assistant, vec![Part::Thinking { text: "Hm".to_owned(), signature: None }, text(" ")]),
        (User, vec![text("three")]),
        (Assistant, vec![text("four"), text("five")]),
    ]);
    assert_eq!(
        found,
        json!([{"role": "user", "content": "one\n\ntwo\n\nthree"}, {"role": "assistant", "content": "four\n\nfive"}])
    );
    // Thinking that may go back is nothing without a call, either.
    let found = messages(vec![
        (User, vec![text("one")]),
        (Assistant, vec![thinking("Hm", "openai_compatible", "reasoning@localhost:11434")]),
        (User, vec![text("two")]),
    ]);
    assert_eq!(found, json!([{"role": "user", "content": "one\n\ntwo"}]));
}

#[test]
fn thinking_is_returned_with_calls_to_its_own_server() {
    let sent = |signature: &str, with_call: bool| {
        let mut parts = vec![thinking("Hm.\n", "openai_compatible", signature), text("x")];
        if with_call {
            parts.push(call("a", json!({})));
        }
        let mut found = messages(vec![(User, vec![text("go")]), (Assistant, parts)]);
        let message = found[1].as_object_mut().unwrap();
        message.retain(|field, _| field.starts_with("reasoning"));
        found[1].take()
    };
    assert_eq!(sent("reasoning_content@localhost:11434", true), json!({"reasoning_content": "Hm."}));
    assert_eq!(sent("reasoning@localhost:11434", true), json!({"reasoning": "Hm."}));
    for (signature, with_call) in [
        ("reasoning_content@localhost:11434", false),
        ("reasoning_content@api.deepseek.com", true),
        ("content@localhost:11434", true),
        ("", true),
    ] {
        assert_eq!(sent(signature, with_call), json!({}), "{signature}");
    }
    let foreign = Part::RedactedThinking(Signature { provider: "anthropic".to_owned(), value: "x".to_owned() });
    let parts = vec![thinking("Hm", "openai", "reasoning@localhost:11434"), foreign, call("a", json!({}))];
    let found = messages(vec![(User, vec![text("go")]), (Assistant, parts)]);
    assert_eq!(found[1], json!({"role": "assistant", "content": null, "tool_calls": [sent_call("a", "{}")]}));
}

#[test]
fn ids_go_back_as_they_came_but_where_they_are_refused() {
    let long = format!("toolu_{}", "x".repeat(80));
    let asked = conversation(vec![
        (User, vec![text("go")]),
        (Assistant, vec![call("functions.read:0", json!({})), call(&long, json!({}))]),
        (User, vec![result("functions.read:0", "x", false), result(&long, "y", false)]),
    ]);
    let ids = |address: &str| {
        let server = keyed("openai_compatible", address, "sk-secret");
        let found: Value = serde_json::from_slice(&exchange(&server, &asked).unwrap().0.body).unwrap();
        [0, 1].map(|nth| {
            let id = found["messages"][1]["tool_calls"][nth]["id"].as_str().unwrap().to_owned();
            assert_eq!(found["messages"][2 + nth]["tool_call_id"], id);
            id
        })
    };
    assert_eq!(ids("http://localhost:8000/v1"), ["functions.read:0".to_owned(), long.clone()]);
    let [plain, short] = ids("https://api.openai.com/v1");
    assert_eq!((plain.as_str(), short.len()), ("functions_2eread_3a0", 40));
}

#[test]
fn thinking_is_requested_if_set_and_leaves_room_for_the_reply() {
    let ask = |thinking| {
        let body = asking(RequestParameters { thinking, max_tokens: Some(1_000), ..RequestParameters::default() });
        (body["reasoning_effort"].as_str().map(str::to_owned), body["max_tokens"].as_u64().unwrap())
    };
    use ThinkingLevel::*;
    assert_eq!(ask(Thinking::Off), (None, 1_000));
    for (level, effort, limit) in [
        (Minimal, "low", 2_024),
        (Low, "low", 3_048),
        (Medium, "medium", 9_192),
        (High, "high", 17_384),
        (Max, "high", 33_768),
    ] {
        assert_eq!(ask(Thinking::Level(level)), (Some(effort.to_owned()), limit), "{level:?}");
    }
}

#[test]
fn what_is_not_set_is_not_sent() {
    let body = asking(RequestParameters { temperature: Some(f64::INFINITY), ..RequestParameters::default() });
    let keys: Vec<_> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["model", "stream", "stream_options", "messages"]);
}

#[test]
fn what_is_missing_is_named_with_the_mend() {
    let refusal = |base_url: &str, request: &Request| exchange(&server(base_url), request).err().unwrap();
    let error = refusal("", &hello());
    assert_eq!(error.kind, ErrorKind::Options);
    assert_eq!(
        error.message,
        "`parameters.openai_compatible.base_url` is not set; write the server's address, as in http://localhost:11434/v1"
    );
    let error = refusal(BASE_URL, &Request { model: " ".to_owned(), ..hello() });
    assert_eq!(error.message, "`model` is not set; write the name of a model that localhost:11434 has");
    let error = refusal(BASE_URL, &Request { system: Some("x".to_owned()), ..conversation(vec![]) });
    assert!(error.message.contains("@You:"), "{error}");
    let error = refusal("localhost:11434", &hello());
    assert!(error.message.contains("write http:// or https://"), "{error}");
}

#[test]
fn a_key_goes_along_only_where_there_is_one() {
    let asked_with = |key: Option<&str>, headers: Headers| {
        let key = key.map(str::to_owned);
        let known = move |name: &str| (name == "OPENAI_COMPATIBLE_API_KEY").then(|| key.clone()).flatten();
        let options = json!({"base_url": "https://openrouter.ai/api/v1", "headers": headers});
        provider_of("openai_compatible", options, Environment::new(known))
    };
    let asked = |key| asked_with(key, Headers::default());
    let request = exchange(&asked(None), &hello()).unwrap().0;
    assert_eq!(request.url, "https://openrouter.ai/api/v1/chat/completions");
    assert_eq!(header(&request, "authorization"), None);
    assert_eq!(header(&exchange(&asked(Some(" ")), &hello()).unwrap().0, "authorization"), None);
    let request = exchange(&asked(Some("sk-or-secret\n")), &hello()).unwrap().0;
    assert_eq!(header(&request, "authorization"), Some("Bearer sk-or-secret"));
    let error = exchange(&asked(Some("two words")), &hello()).err().unwrap();
    assert!(error.message.contains("OPENAI_COMPATIBLE_API_KEY cannot be used"), "{error}");

    let mut headers = Headers::default();
    headers.insert("X-Title", "Flemma").unwrap();
    let request = exchange(&asked_with(None, headers), &hello()).unwrap().0;
    assert_eq!(header(&request, "x-title"), Some("Flemma"));
}

#[test]
fn the_models_of_a_server_are_asked_for_and_read_in_every_form() {
    let request = keyed("openai_compatible", BASE_URL, "sk-secret").list_models().unwrap().unwrap();
    assert_eq!(request.request.url, "http://localhost:11434/v1/models");
    assert!(request.request.headers.contains(&("authorization".into(), "Bearer sk-secret".to_owned())));
    let read = |body: Value| request.read(body.to_string().as_bytes());
    let models = Ok(vec!["b".to_owned(), "a".to_owned()]);
    assert_eq!(
        read(json!({"object": "list", "data": [{"id": "b"}, {"id": "a"}, {"id": "b"}, {"object": "x"}]})),
        models
    );
    assert_eq!(read(json!({"models": [{"name": "b:latest", "model": "b"}, {"name": "a"}]})), models);
    assert_eq!(read(json!([{"id": "b"}, "a"])), models);
    assert_eq!(read(json!({"data": []})), Ok(vec![]));
    for body in [json!({"data": 7}), json!({}), json!("models")] {
        let error = read(body).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Malformed);
        assert!(error.message.contains("localhost:11434") && error.message.contains("no list of models"), "{error}");
    }
    assert_eq!(request.read(b"<html>").unwrap_err().kind, ErrorKind::Malformed);
    let error = read(json!({"error": {"message": "bad key sk-secret", "code": 401}})).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Authentication);
    assert!(error.message.contains("bad key …"), "{error}");
}

fn signed() -> Part {
    thinking("Hm.", "openai_compatible", "reasoning_content@localhost:11434")
}

proptest! {
    #[test]
    fn no_two_neighbours_have_one_role_and_no_message_is_empty(turns in any_turns(&signed())) {
        let found = messages(turns);
        let found = found.as_array().unwrap();
        for pair in found.windows(2) {
            prop_assert!(pair[0]["role"] == "tool" || pair[0]["role"] != pair[1]["role"]);
        }
        for message in found.iter().filter(|message| message["role"] != "tool") {
            let says = message["content"].as_str().is_some_and(|text| !text.trim().is_empty());
            prop_assert!(says || message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty()));
        }
    }
}
