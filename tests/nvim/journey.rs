//! One conversation goes from vendor to vendor and back, with tools and thinking, and loses nothing.

use serde_json::{Value, json};

use super::{
    anthropic,
    chat::{Chat, reply, said},
    completions,
    http::{Recorded, Reply, Server},
    responses, sdk,
    support::{Nvim, Options},
    vertex,
};

const KEYS: [(&str, &str); 4] = [
    ("ANTHROPIC_API_KEY", "sk-ant-journey-1111"),
    ("OPENAI_API_KEY", "sk-openai-journey-2222"),
    ("VERTEX_AI_ACCESS_TOKEN", "ya29.journey-3333"),
    ("OPENAI_COMPATIBLE_API_KEY", "sk-compatible-journey-4444"),
];

/// The signature of each vendor, and the provider that it belongs to.
const SIGNATURES: [(&str, &str); 3] =
    [("EqQBjourneyA", "anthropic"), ("gAAAAjourney", "openai"), ("CiQBjourneys", "vertex")];

/// A round of each vendor: a call with thinking before it, and then an answer.
fn rounds(provider: &str) -> [Reply; 2] {
    let stream = |bytes: Vec<u8>| Reply::stream().chunk(bytes);
    let input = json!({"label": null, "path": "greet.txt", "offset": null, "limit": null}).to_string();
    match provider {
        "anthropic" => [
            reply(
                &anthropic::Stream::new()
                    .thinking(&["I look ", "first."], SIGNATURES[0].0)
                    .text(&["Reading."])
                    .tool_use("toolu_A1", "read", &[&input])
                    .end("tool_use"),
            ),
            reply(&anthropic::Stream::new().text(&["It greets (A)."]).end("end_turn")),
        ],
        "openai" => [
            stream(
                responses::Stream::new()
                    .reasoning(&[&["Look ", "again."]], SIGNATURES[1].0)
                    .call("call_B1", "read", &[&input])
                    .end()
                    .bytes(),
            ),
            stream(responses::Stream::new().text(&["It greets (B)."]).end().bytes()),
        ],
        "vertex" => [
            stream(
                vertex::Stream::new()
                    .thought(&["Once more."])
                    .parts(json!([{
                        "functionCall": {"name": "read", "args": {"path": "greet.txt"}},
                        "thoughtSignature": SIGNATURES[2].0,
                    }]))
                    .end("STOP")
                    .bytes(),
            ),
            stream(vertex::Stream::new().text(&["It greets (C)."]).end("STOP").bytes()),
        ],
        _ => [
            stream(
                completions::Stream::new()
                    .thinking("reasoning_content", &["And again."])
                    .call(0, "call_D1", "read", &[&input])
                    .end("tool_calls")
                    .bytes(),
            ),
            stream(completions::Stream::new().text(&["It greets (D)."]).end("stop").bytes()),
        ],
    }
}

/// The requests that a server got.
fn bodies(server: &Server, count: usize) -> Vec<Value> {
    server.wait_for_requests(count).iter().map(Recorded::json).collect()
}

/// The values under `key` anywhere in a body, in its order.
fn all(body: &Value, key: &str) -> Vec<String> {
    match body {
        Value::Object(entries) => entries
            .iter()
            .flat_map(|(name, value)| match value.as_str().filter(|_| name == key) {
                Some(text) => vec![text.to_owned()],
                None => all(value, key),
            })
            .collect(),
        Value::Array(list) => list.iter().flat_map(|value| all(value, key)).collect(),
        _ => Vec::new(),
    }
}

/// The ids of calls and of results, as each vendor has them.
fn calls_and_results(provider: &str, body: &Value) -> (Vec<String>, Vec<String>) {
    match provider {
        "anthropic" => {
            let parts =
                body["messages"].as_array().unwrap().iter().flat_map(|turn| turn["content"].as_array().unwrap());
            let calls =
                parts.filter(|part| part["type"] == "tool_use").map(|part| part["id"].as_str().unwrap().to_owned());
            (calls.collect(), all(body, "tool_use_id"))
        }
        "openai" => {
            let of = |kind: &str| -> Vec<String> {
                let items = body["input"].as_array().unwrap().iter().filter(|item| item["type"] == kind);
                items.map(|item| item["call_id"].as_str().unwrap().to_owned()).collect()
            };
            (of("function_call"), of("function_call_output"))
        }
        "vertex" => {
            let of = |kind: &str| -> Vec<String> {
                let turns = body["contents"].as_array().unwrap().iter();
                let parts = turns.flat_map(|turn| turn["parts"].as_array().unwrap());
                parts.filter_map(|part| part[kind]["name"].as_str()).map(str::to_owned).collect()
            };
            (of("functionCall"), of("functionResponse"))
        }
        _ => {
            let messages = body["messages"].as_array().unwrap();
            let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
            (calls.map(|call| call["id"].as_str().unwrap().to_owned()).collect(), all(body, "tool_call_id"))
        }
    }
}

#[test]
fn a_conversation_survives_a_journey_through_all_vendors() {
    let providers = ["anthropic", "openai", "vertex", "openai_compatible"];
    let servers = providers.map(|provider| Server::start(rounds(provider)));
    servers[0].push(reply(&anthropic::Stream::new().text(&["Home again."]).end("end_turn")));
    let [a, o, v, c] = servers.each_ref().map(Server::base_url);
    let init = format!(
        "require('flemma').setup({{ provider = 'anthropic', model = 'claude-sonnet-4-5', parameters = {{
           max_tokens = 4096, thinking = 'low',
           anthropic = {{ base_url = '{a}' }},
           openai = {{ base_url = '{o}/v1' }},
           vertex = {{ base_url = '{v}', project_id = 'my-project' }},
           openai_compatible = {{ base_url = '{c}/v1' }},
         }} }})"
    );
    let nvim = Nvim::start(&Options {
        files: &[("notes.chat", "@System:\nBe brief.\n\n@You:\nWhat does greet.txt say?\n"), ("greet.txt", "Hello\n")],
        arguments: &["notes.chat"],
        init: &init,
        environment: &KEYS,
        screen: Some((100, 40)),
    });
    let [anthropic, others @ ..] = servers;
    let mut chat = Chat { nvim, server: anthropic };

    chat.send_until("It greets (A).");
    let stations = [
        ("openai gpt-5.6-terra", "(B)"),
        ("vertex gemini-3.8-flash", "(C)"),
        ("openai_compatible qwen3", "(D)"),
        ("anthropic claude-sonnet-4-5", "Home again."),
    ];
    for (words, answer) in stations {
        chat.nvim.command(&format!("Flemma switch {words} thinking=low"));
        chat.nvim.input("GiAnd now?<Esc><C-]>");
        chat.nvim.wait_for(answer, |nvim| nvim.text().contains(answer));
        chat.wait_until_idle();
    }

    let sent: Vec<(String, &str, Value)> = bodies(&chat.server, 3)
        .into_iter()
        .map(|body| ("anthropic", body))
        .chain(
            others
                .iter()
                .zip(&providers[1..])
                .flat_map(|(server, provider)| bodies(server, 2).into_iter().map(|body| (*provider, body))),
        )
        .enumerate()
        .map(|(n, (provider, body))| (format!("request {n}"), provider, body))
        .collect();
    assert_eq!(sent.len(), 9);
    for (name, provider, body) in &sent {
        let text = body.to_string();
        for (signature, owner) in SIGNATURES {
            let is_foreign = owner != *provider;
            assert!(!(is_foreign && text.contains(signature)), "{owner}'s signature in {name} to {provider}: {text}");
        }
        let (calls, results) = calls_and_results(provider, body);
        assert_eq!(calls, results, "{name} to {provider}");
        for (_, key) in KEYS {
            assert!(!text.contains(key), "a key in {name}");
        }
        assert!(text.contains("Be brief."), "{name}");
    }
    sdk::assert_valid(&sent);

    // Each vendor gets its own parts back, and what the others wrote.
    let last = |provider: &str| &sent.iter().rfind(|(_, to, _)| *to == provider).unwrap().2;
    for (provider, calls) in [("anthropic", 4), ("openai", 2), ("vertex", 3), ("openai_compatible", 4)] {
        assert_eq!(calls_and_results(provider, last(provider)).0.len(), calls, "{provider}");
    }
    for (signature, owner) in SIGNATURES {
        assert!(last(owner).to_string().contains(signature), "{owner} gets its own signature back");
    }
    assert!(last("openai_compatible").to_string().contains("\"reasoning_content\":\"And again.\""));
    let home = last("anthropic").to_string();
    for words in ["It greets (A).", "It greets (B).", "It greets (C).", "It greets (D).", "I look first.", "toolu_A1"] {
        assert!(home.contains(words), "{words} in {home}");
    }
    for foreign in ["Look again.", "Once more.", "And again."] {
        assert!(!home.contains(foreign), "thinking of another vendor: {foreign}");
    }
    // The file keeps all of it.
    let text = chat.nvim.text();
    for words in ["I look first.", "Look again.", "Once more.", "And again.", "toolu_A1", "call_B1", "call_D1"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let (messages, text) = (said(&mut chat.nvim), text);
    for (_, key) in KEYS {
        assert!(!messages.contains(key) && !text.contains(key), "a key on the screen");
    }
}
