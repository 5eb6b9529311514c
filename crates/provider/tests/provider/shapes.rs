//! What is sent after every way in which a reply can stop: nothing in it can be refused for its shape.
//!
//! A way to stop is a file of `tests/fixtures/stops`, in which `SIGNED` stands for the signature of the host that is
//! asked. The next request comes at once, or after the user's words, or a turn later. Each goes to every protocol and to
//! every host that is known to want something of its own, and the JSON is held against the rules of that protocol.

use std::{collections::HashSet, fs, path::PathBuf, sync::Arc};

use flemma_chat as chat;
use flemma_model::AttachmentContent;
use flemma_provider::{Request, RequestParameters, Server, Thinking, ThinkingLevel, auth::Environment};
use serde_json::{Value, json};

use crate::{
    conversation::{exchange, provider_of},
    providers::{folder, two_tools},
};

/// A host, a model, and what is refused there.
#[derive(Clone, Copy, Default)]
struct Host {
    provider: &'static str,
    address: &'static str,
    model: &'static str,
    user_first: bool,
    user_last: bool,
    reply_after_results: bool,
    nine: bool,
    /// The field of the limit, the role of the instructions, and fields that are not taken.
    limit: &'static str,
    role: &'static str,
    without: &'static [&'static str],
}

const COMPATIBLE: Host = Host {
    provider: "openai_compatible",
    address: "http://localhost:11434/v1",
    model: "llama",
    limit: "max_tokens",
    role: "system",
    user_first: false,
    user_last: false,
    reply_after_results: false,
    nine: false,
    without: &[],
};

const MISTRAL: Host = Host { user_first: true, user_last: true, reply_after_results: true, nine: true, ..COMPATIBLE };

const OPENAI: Host = Host { limit: "max_completion_tokens", without: &["temperature"], ..COMPATIBLE };

/// What each host refuses, as the pages in `dialects.json` have it.
fn hosts() -> Vec<Host> {
    let anthropic = Host { provider: "anthropic", user_first: true, ..Host::default() };
    let vertex = Host { provider: "vertex", user_first: true, user_last: true, ..Host::default() };
    let at = |host: Host, address, model| Host { address, model, ..host };
    vec![
        at(Host { user_last: true, ..anthropic }, "https://api.anthropic.com", "claude-opus-5-5"),
        at(anthropic, "https://api.anthropic.com", "claude-sonnet-4-5"),
        at(anthropic, "https://api.deepseek.com/anthropic", "deepseek-v4"),
        at(Host { provider: "openai", ..Host::default() }, "https://api.openai.com/v1", "gpt-5.6-terra"),
        at(Host { provider: "openai", ..Host::default() }, "https://api.openai.com/v1", "gpt-4.1"),
        at(vertex, "https://aiplatform.googleapis.com", "gemini-2.5-pro"),
        at(vertex, "https://aiplatform.googleapis.com", "gemini-3-pro-preview"),
        COMPATIBLE,
        Host { user_first: false, without: &["stream_options"], ..at(MISTRAL, "https://api.mistral.ai/v1", "glm-5") },
        Host { without: &["stream_options"], ..at(MISTRAL, "https://api.mistral.ai/v1", "mistral-large-latest") },
        at(MISTRAL, "https://openrouter.ai/api/v1", "mistralai/Mistral-Small-4"),
        at(MISTRAL, "http://spark.local:8000/v1", "devstral:24b"),
        Host { role: "developer", ..at(OPENAI, "https://api.openai.com/v1", "gpt-5.6-terra") },
        Host { role: "developer", ..at(OPENAI, "https://me.openai.azure.com/openai/v1", "o3-mini") },
        Host { without: &[], ..at(OPENAI, "https://api.openai.com/v1", "gpt-4.1") },
        at(OPENAI, "https://openrouter.ai/api/v1", "openai/gpt-5.4"),
        at(
            Host { user_first: true, user_last: true, ..COMPATIBLE },
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "gemini-3-pro-preview",
        ),
        at(Host { user_first: true, user_last: true, ..COMPATIBLE }, "https://api.perplexity.ai/v1", "sonar-pro"),
        at(Host { user_last: true, ..COMPATIBLE }, "https://openrouter.ai/api/v1", "anthropic/claude-opus-4.6"),
        at(Host { without: &["reasoning_effort"], ..COMPATIBLE }, "https://api.groq.com/openai/v1", "llama-3.3-70b"),
        at(COMPATIBLE, "https://api.groq.com/openai/v1", "openai/gpt-oss-120b"),
        at(Host { without: &["reasoning_effort"], ..COMPATIBLE }, "https://api.x.ai/v1", "grok-4"),
        at(COMPATIBLE, "https://api.deepseek.com/v1", "deepseek-v4"),
    ]
}

impl Host {
    fn server(&self, dialect: Value) -> Server {
        let mut options = json!({ "base_url": self.address, "dialect": dialect });
        if self.provider == "vertex" {
            options = json!({ "project_id": "p", "location": "global" });
        }
        provider_of(self.provider, options, Environment::new(|_| Some("sk-secret".to_owned())))
    }

    /// The attribute of thinking that this host has signed.
    fn signed(&self) -> String {
        let host = self.address.split('/').nth(2).unwrap();
        let value = match self.provider {
            "anthropic" if host == "api.anthropic.com" => "EqQBCgIYAhIMWW91+sO/w7/DvwgBEgwIARIMwqDC".to_owned(),
            "anthropic" => format!("@{host}"),
            "openai" => json!({ "id": "rs_1", "encrypted_content": "gAAAAABo+/3n6d8c1b=" }).to_string(),
            "openai_compatible" => format!("reasoning_content@{host}"),
            _ => "c2lnbmF0dXJl".to_owned(),
        };
        format!("{}:signature={}", self.provider, Value::from(value))
    }

    fn body(&self, server: &Server, document: &str) -> Value {
        let document = document.replace("SIGNED", &self.signed());
        let conversation = chat::read(&document).unwrap_or_else(|errors| panic!("{errors:?}\n{document}"));
        let parameters = RequestParameters {
            max_tokens: Some(4_096),
            temperature: Some(0.5),
            thinking: Thinking::Level(ThinkingLevel::Low),
            ..RequestParameters::default()
        };
        let mut request = Request {
            model: self.model.to_owned(),
            system: conversation.system,
            messages: conversation.messages,
            tools: two_tools(),
            parameters,
            ..Request::default()
        };
        for (_, attachment) in request.attachments_mut() {
            attachment.content = AttachmentContent::Read(Arc::from(&b"pixels"[..]));
        }
        serde_json::from_slice(&exchange(server, &request).unwrap().0.body).unwrap()
    }

    /// Holds a body against the rules.
    fn check(&self, body: &Value) {
        match self.provider {
            "anthropic" => self.check_messages(body),
            "openai" => check_items(body),
            "vertex" => check_contents(body),
            _ => self.check_completions(body),
        }
    }

    fn check_messages(&self, body: &Value) {
        let messages = list(body, "messages");
        check_roles(messages, "assistant", self.user_first, self.user_last);
        let mut ids = HashSet::new();
        let mut open: Vec<String> = Vec::new();
        for message in messages {
            let blocks = list(message, "content");
            let answered = blocks.iter().take_while(|block| block["type"] == "tool_result");
            let mut answered: Vec<_> = answered.map(|block| string(block, "tool_use_id")).collect();
            answered.sort();
            open.sort();
            assert_eq!(answered, open, "the calls before are answered first, and nothing else is");
            for block in blocks {
                assert!(block["text"].as_str().is_none_or(|text| !text.trim().is_empty()), "{block} says nothing");
            }
            let last = blocks.last().unwrap();
            assert!(!string(last, "type").ends_with("thinking"), "{message} ends in thinking");
            open = blocks.iter().filter(|block| block["type"] == "tool_use").map(|block| string(block, "id")).collect();
            let later = blocks.iter().skip(answered.len()).filter(|block| block["type"] == "tool_result").count();
            assert_eq!(later, 0, "a result is behind something else");
            for id in &open {
                assert!(ids.insert(id.clone()), "{id} comes twice");
                assert!(id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)));
            }
        }
        assert!(open.is_empty(), "{open:?} are not answered");
    }

    fn check_completions(&self, body: &Value) {
        for field in self.without {
            assert!(body.get(field).is_none(), "{field} is sent");
        }
        for field in ["stream_options", "temperature", "reasoning_effort"] {
            assert!(self.without.contains(&field) || body.get(field).is_some(), "{field} is not sent");
        }
        for field in ["max_tokens", "max_completion_tokens"] {
            assert_eq!(body.get(field).is_some(), field == self.limit, "{field}");
        }
        let (instructions, messages): (Vec<_>, Vec<_>) =
            list(body, "messages").iter().cloned().partition(|message| message["role"] == self.role);
        assert!(instructions.iter().all(|message| message["content"] == "Be brief."), "{instructions:?}");
        let said: Vec<_> = messages.iter().filter(|message| message["role"] != "tool").cloned().collect();
        let mut ids = HashSet::new();
        let mut open: Vec<String> = Vec::new();
        let mut before = "";
        for message in &messages {
            let role = message["role"].as_str().unwrap();
            if role == "tool" {
                let id = string(message, "tool_call_id");
                let call = open.iter().position(|call| *call == id).unwrap_or_else(|| panic!("{id} answers nothing"));
                open.remove(call);
                assert!(!string(message, "content").trim().is_empty(), "{message} says nothing");
            } else {
                assert!(open.is_empty(), "{open:?} are not answered before {message}");
                assert_ne!(role, before);
                assert!(
                    !(self.reply_after_results && before == "tool" && role == "user"),
                    "{message} is behind results"
                );
                let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
                open = calls.iter().map(|call| string(call, "id")).collect();
                for id in &open {
                    assert!(ids.insert(id.clone()), "{id} comes twice");
                    let plain = |id: &str| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
                    let nine = |id: &str| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
                    let is_openai = self.limit == OPENAI.limit;
                    assert!(if self.nine { nine(id) } else { !is_openai || (id.len() <= 40 && plain(id)) }, "{id}");
                }
                let says = match &message["content"] {
                    Value::String(text) => !text.trim().is_empty(),
                    content => content.as_array().is_some_and(|parts| !parts.is_empty()),
                };
                assert!(says || !open.is_empty(), "{message} says nothing");
            }
            before = role;
        }
        assert!(open.is_empty(), "{open:?} are not answered");
        let ends_with_results = before == "tool";
        assert!(!self.user_first || said[0]["role"] == "user", "begins with {}", said[0]);
        assert!(!self.user_last || ends_with_results || before == "user", "ends with the model");
    }
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    let list = value[field].as_array().unwrap_or_else(|| panic!("no list `{field}` in {value}"));
    assert!(!list.is_empty(), "`{field}` is empty in {value}");
    list
}

fn string(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_else(|| panic!("no `{field}` in {value}")).to_owned()
}

fn check_roles(messages: &[Value], model: &str, user_first: bool, user_last: bool) {
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert!(roles.iter().all(|role| ["user", model].contains(role)), "{roles:?}");
    assert!(roles.windows(2).all(|pair| pair[0] != pair[1]), "{roles:?}");
    assert!(!user_first || roles[0] == "user", "{roles:?}");
    assert!(!user_last || roles.last() == Some(&"user"), "{roles:?}");
}

/// The items of OpenAI's Responses.
fn check_items(body: &Value) {
    let items = list(body, "input");
    let (mut calls, mut results, mut ids) = (HashSet::new(), HashSet::new(), HashSet::new());
    for (nth, item) in items.iter().enumerate() {
        let next = items.get(nth + 1).unwrap_or(&Value::Null);
        assert!(item.get("id").is_none() || ids.insert(string(item, "id")), "{item} comes twice");
        match item["type"].as_str().unwrap() {
            "reasoning" => {
                let is_models = next["role"] == "assistant" || next["type"] == "function_call";
                assert!(is_models || next["type"] == "reasoning", "{item} leads to nothing");
            }
            "function_call" => assert!(calls.insert(string(item, "call_id")), "{item} comes twice"),
            "function_call_output" => {
                let id = string(item, "call_id");
                assert!(calls.contains(&id) && results.insert(id), "{item} answers nothing");
            }
            _ if item["role"] == "user" => {
                assert!(!list(item, "content").is_empty());
                assert_ne!(next["role"], "user", "two messages of the user's in a row");
            }
            _ => assert!(!string(item, "content").trim().is_empty(), "{item} says nothing"),
        }
    }
    assert_eq!(calls, results, "calls and results");
    assert!(calls.iter().all(|id| id.len() <= 64));
}

/// The contents of Gemini.
fn check_contents(body: &Value) {
    let contents = list(body, "contents");
    check_roles(contents, "model", true, true);
    let mut open = 0;
    for content in contents {
        let parts = list(content, "parts");
        let count = |field: &str| parts.iter().filter(|part| part.get(field).is_some()).count();
        assert_eq!(count("functionResponse"), open, "the calls before are answered, and nothing else is");
        assert!(parts.iter().take(open).all(|part| part.get("functionResponse").is_some()), "{content}");
        open = count("functionCall");
        assert_ne!(parts.last().unwrap()["thought"], true, "{content} ends in thinking");
        let says = |part: &Value| part["thought"] != true && part["text"] != "";
        assert!(parts.iter().any(says), "{content} says nothing");
    }
    assert_eq!(open, 0, "calls are not answered");
}

/// The ways to stop: the name and the document.
fn stops() -> Vec<(String, String)> {
    let path = folder("fixtures/stops");
    let mut files: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 20, "{} ways to stop", files.len());
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

/// The document when the next request is sent.
fn next(document: &str) -> [(&'static str, String); 3] {
    let says = format!("{document}\n@You:\nAnd now?\n");
    let later = format!("{says}\n@Assistant:\nNow that.\n\n@You:\nThanks.\n");
    [("at once", document.to_owned()), ("after words", says), ("a turn later", later)]
}

#[test]
fn whatever_a_reply_stopped_in_the_next_request_is_taken() {
    let mut wrong = Vec::new();
    for (stop, document) in stops() {
        for (when, document) in next(&document) {
            for host in hosts() {
                let body = host.body(&host.server(Value::Null), &document);
                if let Err(panic) = std::panic::catch_unwind(|| host.check(&body)) {
                    let said = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
                    let words = said.or(panic.downcast_ref::<String>().cloned()).unwrap_or_default();
                    wrong.push(format!("{stop}, {when}, {} {}: {words}", host.address, host.model));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

/// The body for a host like `host`, with the user's own `dialect`, after calls that were answered and after a reply.
fn with_options(host: Host, dialect: &Value) -> Value {
    let [_, (_, said), _] = next(&fs::read_to_string(folder("fixtures/stops/begins-with-a-call.chat")).unwrap());
    host.body(&host.server(dialect.clone()), &format!("@System:\nBe brief.\n\n{said}\n@Assistant:\nTwo files.\n"))
}

#[test]
fn the_users_options_beat_what_is_known_of_a_host() {
    let strict = Host {
        user_first: true,
        user_last: true,
        reply_after_results: true,
        nine: true,
        limit: "max_completion_tokens",
        role: "developer",
        without: &["stream_options", "temperature", "reasoning_effort"],
        ..COMPATIBLE
    };
    let options = json!({
        "limit": "max_completion_tokens", "system_role": "developer", "call_ids": "nine", "user_first": true,
        "user_last": true, "reply_after_results": true, "without": ["stream_options", "temperature", "reasoning_effort"],
    });
    strict.check(&with_options(COMPATIBLE, &options));
    // And the other way round, one by one.
    let mistral = Host { address: "https://api.mistral.ai/v1", model: "mistral-large", ..COMPATIBLE };
    let usual = json!({
        "limit": "max_tokens", "system_role": "system", "call_ids": "any", "user_first": false, "user_last": false,
        "reply_after_results": false, "without": [],
    });
    let (known, plain) = (with_options(mistral, &Value::Null), with_options(COMPATIBLE, &Value::Null));
    let roles = |body: &Value| {
        let roles = list(body, "messages").iter().map(|message| string(message, "role").remove(0));
        roles.collect::<String>()
    };
    assert_eq!((roles(&known), roles(&plain)), ("suatauau".to_owned(), "satua".to_owned()));
    for (option, found) in [
        ("call_ids", "suatauau"),
        ("user_first", "satauau"),
        ("user_last", "suataua"),
        ("reply_after_results", "suatuau"),
    ] {
        let body = with_options(mistral, &json!({ option: usual[option] }));
        assert_eq!(roles(&body), found, "{option}");
        let id = string(
            body["messages"].as_array().unwrap().iter().find(|one| one["role"] == "tool").unwrap(),
            "tool_call_id",
        );
        assert_eq!(id == "call_1", option == "call_ids", "{id}");
    }
    let body = with_options(mistral, &json!({ "without": [] }));
    assert!(body.get("stream_options").is_some());
    let all = with_options(Host { model: "llama", ..mistral }, &usual);
    assert_eq!(all["messages"], plain["messages"]);
}

#[test]
fn ids_of_nine_letters_are_kept_and_no_two_are_one() {
    let round = |id: &str| {
        format!(
            "@Assistant:\n**Tool Use:** `bash` (`{id}`)\n\n```json\n{{}}\n```\n\n@You:\n**Tool Result:** `{id}`\n\n```\nx\n```\n\n"
        )
    };
    let host = Host { address: "https://api.mistral.ai/v1", model: "mistral-large", ..COMPATIBLE };
    let ids = |rounds: &[&str]| {
        let document = format!("@You:\nGo\n\n{}", rounds.iter().map(|id| round(id)).collect::<String>());
        let body = host.body(&host.server(Value::Null), &document);
        let calls = list(&body, "messages").iter().filter_map(|message| message["tool_calls"].as_array().cloned());
        calls.flatten().map(|call| string(&call, "id")).collect::<Vec<_>>()
    };
    let found = ids(&["D681PevKs", "call_1", "D681PevKs", "call_1", "toolu_01ABCDEFGHIJ", "D681PevKs"]);
    assert_eq!(found[0], "D681PevKs");
    assert_eq!(found.iter().collect::<HashSet<_>>().len(), 6, "{found:?}");
    assert!(found.iter().all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())), "{found:?}");
    assert_eq!(ids(&["D681PevKs", "call_1", "D681PevKs"]), found[..3], "what comes later changes nothing");
}

#[test]
fn images_are_left_out_where_a_model_takes_none() {
    let kinds = |address: &str, dialect: Value| {
        let host = Host { address: Box::leak(address.to_owned().into_boxed_str()), ..COMPATIBLE };
        host.server(dialect).attachment_limits("deepseek-v4").unwrap().kinds.len()
    };
    assert_eq!(kinds("https://api.deepseek.com/v1", Value::Null), 0);
    assert_eq!(kinds("https://deepseek.com.example/v1", Value::Null), 5);
    assert_eq!(kinds("https://api.deepseek.com/v1", json!({ "files": true })), 5);
    assert_eq!(kinds("http://localhost:8080/v1", json!({ "files": false })), 0);
}

#[test]
fn the_table_of_hosts_names_its_sources() {
    let table: Value = serde_json::from_str(include_str!("../../src/dialects.json")).unwrap();
    let fields = [
        "limit",
        "system_role",
        "call_ids",
        "user_first",
        "user_last",
        "reply_after_results",
        "thinking_with_calls",
        "null_content",
        "files",
        "without",
    ];
    for row in list(&table, "rows") {
        let takes = row["takes"].as_object().unwrap();
        assert!(!takes.is_empty() && takes.keys().all(|field| fields.contains(&field.as_str())), "{row}");
        assert!(row["read"].as_str().is_some_and(|day| day.len() == 10 && day.starts_with("20")), "{row}");
        assert!(list(row, "sources").iter().all(|source| source.as_str().unwrap().starts_with("https://")), "{row}");
        assert!(["protocol", "hosts", "models"].iter().any(|field| row.get(field).is_some()), "{row}");
        // A name is compared in small letters, and behind its last slash.
        let models = row["models"].as_array().into_iter().flatten().map(|model| model.as_str().unwrap());
        assert!(models.into_iter().all(|model| !model.contains('/') && model.to_lowercase() == model), "{row}");
    }
}
