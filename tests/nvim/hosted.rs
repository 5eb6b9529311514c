//! Tools that the provider runs itself, on the screen and on the wire.

use serde_json::{Value, json};

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, prose, reply},
    http::Reply,
};

const ASKING: &str = "\
```lua
flemma.opt.tools:append(\"web_search\")
```

@You:
Do otters hold hands?
";

const SHOWN: &str = "\
```lua
flemma.opt.tools:append(\"web_search\")
```

@You:
Do otters hold hands?

@Assistant:
**Tool Use:** `web_search` (`srvtoolu_1`) (provider)

```json provider=anthropic
{
  \"type\": \"server_tool_use\",
  \"id\": \"srvtoolu_1\",
  \"name\": \"web_search\",
  \"input\": {
    \"query\": \"otters\"
  }
}
```

**Tool Result:** `srvtoolu_1` (provider)

```json provider=anthropic
{
  \"type\": \"web_search_tool_result\",
  \"tool_use_id\": \"srvtoolu_1\",
  \"content\": [
    {
      \"type\": \"web_search_result\",
      \"url\": \"https://otters.example\",
      \"title\": \"Otters\",
      \"encrypted_content\": \"EqgfCio\"
    }
  ]
}
```

Yes: otters hold hands.

**Tool Result:** `sources` (provider)

```sources provider=anthropic
- https://otters.example Otters

[{\"text\":\"otters hold hands.\",\"citations\":[{\"type\":\"web_search_result_location\",\"url\":\"https://otters.example\",\"title\":\"Otters\",\"encrypted_index\":\"Eo8B\",\"cited_text\":\"hands\"}]}]
```

@You:

";

fn call() -> Value {
    json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "otters"}})
}

fn found() -> Value {
    json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result",
        "url": "https://otters.example", "title": "Otters", "encrypted_content": "EqgfCio"}]})
}

fn citation() -> Value {
    json!({"type": "web_search_result_location", "url": "https://otters.example", "title": "Otters",
           "encrypted_index": "Eo8B", "cited_text": "hands"})
}

fn answered(stream: Stream) -> Stream {
    let deltas = vec![
        json!({"type": "citations_delta", "citation": citation()}),
        json!({"type": "text_delta", "text": "otters hold hands."}),
    ];
    stream.text(&["Yes: "]).block(json!({"type": "text", "text": ""}), deltas).end("end_turn")
}

/// A conversation that the user has typed, so that its frontmatter is trusted.
fn typed(text: &str, replies: impl IntoIterator<Item = Reply>) -> Chat {
    let options = "tools = { web_search = { max_uses = 2, allowed_domains = { 'otters.example' } } }";
    let mut chat = Chat::start(&Setup { text: None, options, ..Setup::default() }, replies);
    let lines: Vec<&str> = text.lines().collect();
    chat.nvim.request("nvim_buf_set_lines", &[json!(0), json!(0), json!(-1), json!(false), json!(lines)]);
    chat
}

#[test]
fn a_search_of_the_providers_is_shown_and_goes_back_as_it_came() {
    let first = reply(&answered(Stream::new().block(call(), vec![]).block(found(), vec![])));
    let mut chat = typed(ASKING, [first, prose(&["You are welcome."])]);
    chat.nvim.input("<C-]>");
    chat.wait_for_text(SHOWN);
    chat.wait_until_idle();
    let requests = chat.server.wait_for_requests(1);
    let tools = requests[0].json()["tools"].clone();
    assert_eq!(
        tools.as_array().unwrap().last().unwrap(),
        &json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 2,
                "allowed_domains": ["otters.example"], "cache_control": {"type": "ephemeral"}})
    );
    assert!(tools.as_array().unwrap().len() > 1, "the tools that run here are on offer too: {tools}");

    chat.nvim.input("GiThanks<Esc><C-]>");
    let content = chat.messages(1)[1]["content"].clone();
    let expected = json!([
        call(),
        found(),
        {"type": "text", "text": "Yes: "},
        {"type": "text", "text": "otters hold hands.", "citations": [citation()]},
    ]);
    assert_eq!(content.to_string(), expected.to_string());
}

#[test]
fn status_lists_the_tools_that_the_provider_lacks() {
    let mut chat = typed(ASKING, []);
    chat.nvim.command("Flemma status");
    chat.nvim.wait_for("the float", |nvim| nvim.text().contains("web_search"));
    assert!(!chat.nvim.text().contains("left out"), "{}", chat.nvim.text());
    chat.nvim.input("q");
    chat.nvim.wait_for("the conversation", |nvim| nvim.text().contains("@You:"));
    let lua = "require('flemma').setup({ provider = 'openai_compatible', model = 'llama', parameters = {
                 openai_compatible = { base_url = 'http://127.0.0.1:1/v1' } } })";
    chat.nvim.lua(lua, &[]);
    for command in ["Flemma status", "Flemma tool:list"] {
        chat.nvim.command(command);
        chat.nvim.wait_for("the reason", |nvim| {
            // A long line wraps.
            let words = nvim.text().split_whitespace().collect::<Vec<_>>().join(" ");
            words.contains("openai_compatible has no such tool")
        });
        chat.nvim.input("q");
        chat.nvim.wait_for("the conversation", |nvim| nvim.text().contains("@You:"));
    }
}
