//! Whole conversations: what the user sees, and what the peer received.

use serde_json::{Value, json};

use crate::{
    aimock::{Peer, understood},
    editor::{ANTHROPIC, COMPATIBLE, Editor, OPENAI, Protocol, VERTEX},
    for_every_protocol,
};

for_every_protocol! {
    a_conversation_with_tools_goes_through
}

/// A call of `read`, as a fixture has it.
fn read(id: &str, path: &str) -> Value {
    let input = json!({"label": "looking", "path": path, "offset": null, "limit": null});
    json!({"name": "read", "id": id, "arguments": input.to_string()})
}

/// A reply that calls tools.
fn calling(protocol: &Protocol, reply: &Value) -> Value {
    let mut reply = reply.clone();
    if protocol.provider == VERTEX.provider {
        // The peer would say FUNCTION_CALL, which is not a `FinishReason` of Google's. They end calls with STOP.
        reply["finishReason"] = json!("stop");
    }
    reply
}

const SHOWN: &str = "\
@You:
What do the two files say?

@Assistant:
<thinking>
Two files: I look.
</thinking>

I look at both.

**Tool Use:** `read` (`call_1`)

```json
{\"label\":\"looking\",\"path\":\"a.txt\",\"offset\":null,\"limit\":null}
```

**Tool Use:** `read` (`call_2`)

```json
{\"label\":\"looking\",\"path\":\"missing.txt\",\"offset\":null,\"limit\":null}
```

@You:
**Tool Result:** `call_1`

```
one
```

**Tool Result:** `call_2` (error)

```
missing.txt does not exist.
```

@Assistant:
The first says:

```
one
\\@You:
```

\\@You: there is no other.

@You:

";

fn a_conversation_with_tools_goes_through(protocol: &Protocol) {
    let calls = json!({
        "reasoning": "Two files: I look.",
        "content": "I look at both.",
        "toolCalls": [read("call_1", "a.txt"), read("call_2", "missing.txt")],
    });
    let question = "What do the two files say?";
    let answer = "The first says:\n\n```\none\n@You:\n```\n\n@You: there is no other.";
    let peer = Peer::start(&json!([
        {"match": {"userMessage": question, "hasToolResult": false}, "response": calling(protocol, &calls)},
        {"match": {"userMessage": question, "hasToolResult": true}, "response": {"content": answer}},
        {"match": {"userMessage": "Thanks."}, "response": {"content": "You are welcome. 🌱"}},
    ]));
    let mut editor = Editor::open(protocol, &peer, &format!("@You:\n{question}\n"), "");

    // One key: both calls run by themselves, and the answer follows.
    editor.send();
    editor.wait_for(SHOWN);
    editor.say("Thanks.");
    let before = SHOWN.trim_end();
    editor.wait_for(&format!("{before}\nThanks.\n\n@Assistant:\nYou are welcome. 🌱\n\n@You:\n\n"));
    assert_eq!(editor.told(), "", "nothing was worth a message");

    // The peer has read the same conversation from the requests in each protocol.
    let missing = "missing.txt does not exist.";
    let (found, missing) = match protocol.provider {
        "anthropic" => ("one".to_owned(), missing.to_owned()),
        "vertex" => (json!({"output": "one"}).to_string(), json!({"error": missing}).to_string()),
        _ => ("one".to_owned(), format!("Error: {missing}")),
    };
    let whole = [
        format!("user: {question}"),
        "assistant: I look at both.".to_owned(),
        format!("call_1: {}", read("", "a.txt")["arguments"].as_str().unwrap()),
        format!("call_2: {}", read("", "missing.txt")["arguments"].as_str().unwrap()),
        format!("call_1 = {found}"),
        format!("call_2 = {missing}"),
        format!("assistant: {answer}"),
        "user: Thanks.".to_owned(),
    ];
    let journal = peer.journal();
    assert_eq!(peer.statuses(), [200, 200, 200]);
    for (entry, length) in journal.iter().zip([1, 6, 8]) {
        assert_eq!(understood(entry), whole[..length]);
        assert_eq!(entry["path"].as_str().unwrap().split('?').next(), Some(protocol.path));
        assert_eq!(entry["body"]["model"], protocol.model);
        assert_eq!(entry["body"]["stream"], true);
        let tools = entry["body"]["tools"].as_array().unwrap();
        let tools: Vec<_> = tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
        assert_eq!(tools, ["ask_user", "bash", "calculator", "edit", "find", "grep", "ls", "read", "write"]);
    }
}

/// A file that is written with one vendor is read by the next, tools and thinking included.
#[test]
fn one_file_goes_to_every_vendor_and_back_to_the_first() {
    let journey = [ANTHROPIC, OPENAI, VERTEX, COMPATIBLE, ANTHROPIC];
    let fixtures: Vec<_> = journey
        .iter()
        .enumerate()
        .flat_map(|(nth, protocol)| {
            let asked = format!("Step {nth}.");
            let calls = json!({
                "reasoning": format!("Thought {nth}."),
                "toolCalls": [read(&format!("call_{nth}"), "a.txt")],
            });
            [
                json!({"match": {"userMessage": asked, "hasToolResult": false}, "response": calling(protocol, &calls)}),
                json!({"match": {"userMessage": asked, "hasToolResult": true},
                       "response": {"content": format!("Done {nth}.")}}),
            ]
        })
        .collect();
    let peer = Peer::start(&json!(fixtures));
    let (mut text, mut shown) = ("@You:\n\n".to_owned(), String::new());
    for (nth, protocol) in journey.iter().enumerate() {
        let mut editor = Editor::open(protocol, &peer, &text, "");
        editor.say(&format!("Step {nth}."));
        shown += &format!(
            "@You:\nStep {nth}.\n\n@Assistant:\n<thinking>\nThought {nth}.\n</thinking>\n\n\
             **Tool Use:** `read` (`call_{nth}`)\n\n```json\n{}\n```\n\n\
             @You:\n**Tool Result:** `call_{nth}`\n\n```\none\n```\n\n@Assistant:\nDone {nth}.\n\n",
            read("", "a.txt")["arguments"].as_str().unwrap()
        );
        editor.wait_for(&format!("{shown}@You:\n\n"));
        assert_eq!(editor.told(), "", "{}", protocol.provider);
        text = editor.nvim.text();
    }
    assert_eq!(peer.statuses(), [200; 10]);

    // The last request has all of it, each call with its result right behind it.
    let last = understood(peer.journal().last().unwrap());
    assert_eq!(last.iter().filter(|line| line.starts_with("user: Step")).count(), 5, "{last:?}");
    let calls: Vec<_> = last.iter().filter(|line| line.contains("call_")).collect();
    assert_eq!(calls.len(), 10, "{last:?}");
    for pair in calls.chunks(2) {
        let id = pair[0].split(": {").next().unwrap();
        assert_eq!(pair[1], &format!("{id} = one"), "{last:?}");
    }
    for nth in 0..4 {
        assert!(last.contains(&format!("assistant: Done {nth}.")), "{last:?}");
    }
}
