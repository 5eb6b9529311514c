//! Every conversation for every provider: what is sent is valid, by the vendors' own types.
//!
//! The conversations are the files of `tests/fixtures/conversations`. With `FLEMMA_SDK_PYTHON` set, as `make test`
//! does, the bodies are checked by `tests/sdk/validate.py`; without it that one test says so and does nothing.

use std::{
    collections::{HashMap, VecDeque},
    env, fs,
    io::Write,
    process::{Command, Stdio},
    sync::Arc,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use flemma_chat as chat;
use flemma_chat::Transcript;
use flemma_model::{Message, Part, Role};
use flemma_provider::{HostedTool, ProviderName, Request, SearchLimits, ToolSpec};
use flemma_runtime::{Attachments, ConversationId};
use flemma_tools::builtin::Readable;
use serde_json::{Value, json};

use crate::{
    conversation::{exchange, keyed, text, thinking},
    providers::{conversations, folder, providers, settings, two_tools},
};

/// Every tool that the provider runs itself, within as many limits as it keeps to.
fn hosted(provider: &str, model: &str) -> Arc<[HostedTool]> {
    let domains = || vec!["docs.rs".to_owned()];
    let limits = [
        SearchLimits { max_uses: Some(5), allowed_domains: domains(), blocked_domains: Vec::new() },
        SearchLimits { blocked_domains: domains(), ..SearchLimits::default() },
    ];
    let provider = ProviderName::from_name(provider).unwrap();
    let hosts = |tool: &HostedTool| provider.hosts(tool, model, false).is_ok();
    let search = limits.map(HostedTool::WebSearch).into_iter().find(hosts);
    let code = Some(HostedTool::CodeExecution).filter(hosts);
    code.into_iter().chain(search).collect()
}

/// Every body, with its name and its provider's.
fn bodies() -> Vec<(String, &'static str, Value)> {
    let tools: [Arc<[ToolSpec]>; 2] = [Arc::new([]), two_tools()];
    let mut bodies = Vec::new();
    for (name, conversation) in conversations() {
        for (provider, models) in providers() {
            for (model, (setting, parameters)) in
                models.iter().flat_map(|model| settings().into_iter().map(move |setting| (model, setting)))
            {
                for tools in &tools {
                    let mut request = Request {
                        model: (*model).to_owned(),
                        system: conversation.system.clone(),
                        messages: conversation.messages.clone(),
                        hosted: if tools.is_empty() { Arc::new([]) } else { hosted(provider.name(), model) },
                        tools: Arc::clone(tools),
                        parameters: parameters.clone(),
                    };
                    if let Some(limits) = provider.attachment_limits(model) {
                        let folder = Readable::new(folder("fixtures/conversations"), Arc::default(), Arc::default());
                        Attachments::default().read(ConversationId(1), &mut request, &folder, &limits);
                    }
                    let name = format!("{name}, {model}, {setting}, {} tools", tools.len());
                    let sent = exchange(&provider, &request).unwrap_or_else(|error| panic!("{name}: {error}")).0;
                    bodies.push((name, provider.name(), serde_json::from_slice(&sent.body).unwrap()));
                }
            }
        }
    }
    bodies
}

/// The ids of the calls and of the results in a body, in its order; a result as `=id`.
fn ids(provider: &str, body: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of_item = |item: Value| match item["type"].as_str() {
        Some("tool_use") => vec![text(&item["id"])],
        Some("tool_result") => vec![format!("={}", text(&item["tool_use_id"]))],
        Some("function_call") => vec![text(&item["call_id"])],
        Some("function_call_output") => vec![format!("={}", text(&item["call_id"]))],
        _ if item["role"] == "tool" => vec![format!("={}", text(&item["tool_call_id"]))],
        _ => list(&item["tool_calls"]).iter().map(|call| text(&call["id"])).collect(),
    };
    match provider {
        "anthropic" => {
            list(&body["messages"]).iter().flat_map(|turn| list(&turn["content"])).flat_map(of_item).collect()
        }
        "openai" => list(&body["input"]).into_iter().flat_map(of_item).collect(),
        "vertex" => paired(list(&body["contents"]).iter().flat_map(|turn| list(&turn["parts"])).collect()),
        _ => list(&body["messages"]).into_iter().flat_map(of_item).collect(),
    }
}

/// Those with such names, of every provider.
fn bodies_called(is_meant: impl Fn(&str) -> bool) -> Vec<(String, &'static str, Value)> {
    let found: Vec<_> = bodies().into_iter().filter(|(name, ..)| is_meant(name)).collect();
    let missing: Vec<_> = providers().iter().map(|(provider, _)| provider.name()).collect();
    let missing: Vec<_> =
        missing.iter().filter(|name| found.iter().all(|(_, provider, _)| provider != *name)).collect();
    assert!(missing.is_empty(), "no body of {missing:?} is called so");
    found
}

/// Calls and results of Vertex AI, which pairs them by order and name: each result is given the id of its call.
fn paired(parts: Vec<Value>) -> Vec<String> {
    let (mut open, mut ids) = (VecDeque::new(), Vec::new());
    for (nth, part) in parts.iter().enumerate() {
        if let Some(name) = part["functionCall"]["name"].as_str() {
            open.push_back((name.to_owned(), nth));
            ids.push(nth.to_string());
        } else if let Some(name) = part["functionResponse"]["name"].as_str() {
            let call = open.pop_front().filter(|(called, _)| called == name);
            ids.push(call.map_or_else(|| format!("={name} without a call"), |(_, nth)| format!("={nth}")));
        }
    }
    ids
}

#[test]
fn every_call_is_followed_by_its_result_and_no_other() {
    let mut rounds = 0;
    for (name, provider, body) in bodies() {
        let mut open = Vec::new();
        let mut seen = HashMap::new();
        for id in ids(provider, &body) {
            match id.strip_prefix('=') {
                Some(id) => {
                    assert_eq!(open.first().map(String::as_str), Some(id), "{provider}, {name}");
                    open.remove(0);
                }
                None => {
                    assert!(seen.insert(id.clone(), ()).is_none(), "{provider}, {name}: {id} twice");
                    open.push(id);
                    rounds += 1;
                }
            }
        }
        assert!(open.is_empty(), "{provider}, {name}: {open:?} without results");
    }
    assert!(rounds > 100, "{rounds} calls");
}

#[test]
fn words_behind_results_are_sent_behind_all_of_them() {
    for (name, provider, body) in bodies_called(|name| name.starts_with("steered")) {
        let body = body.to_string();
        let at = |words: &str| body.find(words).unwrap_or_else(|| panic!("{provider}, {name}: no `{words}`"));
        let places =
            ["\"one", "There is no such file.", "Leave b.txt out.", "I leave it out.", "12:00", "And hurry."].map(at);
        assert!(places.is_sorted(), "{provider}, {name}: {places:?}");
        assert!(body.contains("\\n\\n@Assistant: is only a word here."), "{provider}, {name}");
    }
}

#[test]
fn a_document_used_with_every_vendor_keeps_each_ones_own_data() {
    let journey = bodies_called(|name| name.starts_with("journey") && name.contains("thinking"));
    for (name, provider, body) in journey {
        let sent = body.to_string();
        let own = |sign: &str, whose: &str| {
            assert_eq!(sent.contains(sign), provider == whose, "{sign} in {provider}, {name}");
        };
        own("EqQBCgIYAhIM", "anthropic");
        own("EmwKAhgB", "anthropic");
        own("CiQB4/H/XpU=", "vertex");
        own("\"reasoning_content\":\"No such file.\"", "openai_compatible");
        if !name.contains("gpt-4.1") {
            own("\"encrypted_content\":\"gAAAAABo+/=\"", "openai");
        }
        for foreign in ["Nobody signed this", "@localhost:11434"] {
            assert!(!sent.contains(foreign), "{foreign} in {provider}, {name}");
        }
    }
}

#[test]
fn every_vendor_gets_the_files_and_a_note_on_a_missing_one() {
    let pixel = BASE64_STANDARD.encode(fs::read(folder("fixtures/files/pixel.png")).unwrap());
    let paper = BASE64_STANDARD.encode(fs::read(folder("fixtures/files/paper.pdf")).unwrap());
    for (name, provider, body) in bodies_called(|name| name.starts_with("shown")) {
        let sent = body.to_string();
        let seen = [sent.matches(&pixel).count(), sent.matches(&paper).count()];
        assert_eq!(seen, [3, 2], "{provider}, {name}");
        for words in [
            "[../files/gone.png was left out of this request: there is no such file.]",
            "../files/notes.md (text/markdown):\\n\\n````\\n# Notes\\n\\n```sh\\nls\\n```\\n````",
            "in @../files/notes.md, and @../files/gone.png is gone.",
        ] {
            assert!(sent.contains(words), "{provider}, {name}: {words}\n{sent}");
        }
    }
}

#[test]
fn reasoning_goes_through_the_document_and_back_unchanged() {
    let summary = ["**Look** at `this` > \"that\"", "a\\b\n</thinking>\n@You:\n```", "🌱"];
    let value = json!({"id": "rs_1", "encrypted_content": "gAA+/=", "summary": summary}).to_string();
    let said = |role, parts| Arc::new(Message { role, parts });
    let conversation = Transcript {
        system: None,
        messages: vec![
            said(Role::User, vec![text("Hi")]),
            said(Role::Assistant, vec![thinking(&summary.join("\n\n"), "openai", &value), text("Hello")]),
            said(Role::User, vec![text("?")]),
        ],
    };
    let read = chat::read(&chat::render(&conversation).join("\n")).unwrap();
    let Part::Thinking { signature, .. } = &read.messages[1].parts[0] else { panic!("{:?}", read.messages[1]) };
    assert_eq!(signature.as_ref().unwrap().value, value);
    let request = Request { model: "gpt-5.6-sol".to_owned(), messages: read.messages, ..Request::default() };
    let provider = keyed("openai", "https://api.openai.com/v1", "sk-secret");
    let body: Value = serde_json::from_slice(&exchange(&provider, &request).unwrap().0.body).unwrap();
    assert_eq!(body["input"].as_array().unwrap().len(), 4);
    let parts = summary.map(|text| json!({"type": "summary_text", "text": text}));
    let item = json!({"type": "reasoning", "id": "rs_1", "summary": parts, "encrypted_content": "gAA+/="});
    assert_eq!(body["input"][1], item);
}

/// The fields called `strict` in a body, wherever they stand.
fn strict(value: &Value) -> Vec<Value> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| if name == "strict" { vec![value.clone()] } else { strict(value) })
            .collect(),
        Value::Array(items) => items.iter().flat_map(strict).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn strict_is_sent_only_to_the_api_that_defaults_to_it() {
    let with_tools = bodies_called(|name| name.ends_with("2 tools"));
    for (name, provider, body) in with_tools {
        // Left out, the Responses API would make the tool that is not strict a strict one.
        let expected: &[bool] = if provider == "openai" { &[false, true] } else { &[] };
        assert_eq!(strict(&body), expected, "{provider}, {name}");
    }
}

/// Bodies that the vendors' types refuse: what shows that the check sees anything.
fn broken() -> Vec<(&'static str, Value)> {
    let user = json!({"role": "user", "content": [{"type": "text", "txt": "Hi"}]});
    vec![
        ("anthropic", json!({"model": "m", "max_tokens": 1, "stream": true, "messages": [user]})),
        ("anthropic", json!({"model": "m", "stream": true, "messages": []})),
        ("openai", json!({"model": "m", "stream": true, "input": [], "max_tokens": 1})),
        ("openai", json!({"model": "m", "stream": true, "input": [{"type": "reasoning", "id": "x", "summary": [7]}]})),
        ("openai_compatible", json!({"model": "m", "stream": true, "messages": [{"role": "tool", "content": "x"}]})),
        ("openai_compatible", json!({"model": "m", "stream": true, "messages": [{"role": "you", "content": "x"}]})),
        ("vertex", json!({"contents": [{"role": "user", "parts": [{"txt": "Hi"}]}]})),
        ("vertex", json!({"contents": [], "generationConfig": {"thinkingConfig": {"budget": 1}}})),
    ]
}

#[test]
#[ignore = "`make test-sdk` runs it"]
fn what_is_sent_is_what_the_vendors_own_types_allow() {
    let python = env::var_os("FLEMMA_SDK_PYTHON").unwrap();
    let valid = bodies().into_iter().map(|(name, provider, body)| (name, provider, body, true));
    let broken = broken().into_iter().map(|(provider, body)| ("broken".to_owned(), provider, body, false));
    let cases: Vec<_> = valid.chain(broken).collect();
    let lines: String = cases
        .iter()
        .map(|(name, provider, body, valid)| {
            json!({"name": name, "provider": provider, "valid": valid, "body": body}).to_string() + "\n"
        })
        .collect();
    let mut child = Command::new(python)
        .arg(folder("sdk/validate.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // All of it is read before anything is written, so neither side waits for the other.
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    let counts: usize =
        said.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse::<usize>().ok()).sum();
    assert_eq!(counts, cases.len(), "{said}");
}
