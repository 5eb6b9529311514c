//! Conversations that other tools of this format have written: what can be read is read, and what cannot is said.

use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD, Engine as _};
use flemma_chat as chat;
use flemma_chat::{Document, Ending, ReplyWriter, Severity};
use flemma_model::{Event, Signature, ToolInput};
use flemma_provider::Request;
use serde_json::{Value, json};

use crate::{conversation::exchange, providers::providers};

/// What the API signs with: bytes that are no text, in base64.
const SIGNATURE: &str = "EqQBCgIYAhIMWW91+sO/w7/DvwgBEgwIARIMwqDCocKiGgwIARIMWW91+sO/w78=";

/// Encrypted thoughts of OpenAI's.
const ENCRYPTED: &str = "gAAAAABo+/3n6d8c1b=";

const CALL: &str = "**Tool Use:** `ls` (`call_1`)\n\n```json\n{\"path\":\".\"}\n```\n";
const REST: &str = "@You:\n**Tool Result:** `call_1`\n\n```\na.txt\n```\n";

/// A conversation with this reply, which calls a tool.
fn file(reply: &str) -> String {
    format!("@You:\nWhat is here?\n\n@Assistant:\n{reply}\n{REST}")
}

/// The body that the provider with this number among all is sent.
fn body(nth: usize, model: &str, file: &str) -> Value {
    let conversation = chat::read(file).unwrap_or_else(|errors| panic!("{errors:?}\n{file}"));
    let (provider, _) = providers().swap_remove(nth);
    let request = Request { model: model.to_owned(), messages: conversation.messages, ..Request::default() };
    serde_json::from_slice(&exchange(&provider, &request).unwrap().0.body).unwrap()
}

/// The model's blocks for Anthropic.
fn anthropic(reply: &str) -> Vec<Value> {
    body(0, "claude-sonnet-4-5", &file(reply))["messages"][1]["content"].as_array().unwrap().clone()
}

/// The types of the items for OpenAI.
fn openai(reply: &str) -> Vec<Value> {
    body(1, "gpt-5.6-terra", &file(reply))["input"].as_array().unwrap()[1..].to_vec()
}

fn kinds(blocks: &[Value]) -> Vec<&str> {
    blocks.iter().map(|block| block["type"].as_str().unwrap()).collect()
}

/// The warnings about a file, as lines and texts.
fn warnings(file: &str) -> Vec<(usize, String)> {
    let lines: Vec<String> = file.lines().map(str::to_owned).collect();
    let document = Document::parse(&lines);
    assert_eq!(flemma_chat::diagnostics(&document, &lines), [], "it can be sent");
    let found = flemma_chat::unsent(document.messages(), &lines);
    assert!(found.iter().all(|one| one.severity == Severity::Warning), "{found:?}");
    found.into_iter().map(|one| (one.line, one.message)).collect()
}

#[test]
fn redacted_thinking_without_a_provider_is_read_as_anthropics() {
    let data = format!("<thinking redacted>\n{SIGNATURE}\n</thinking>\n\n");
    let blocks = anthropic(&format!("{data}I look.\n\n{CALL}"));
    assert_eq!(blocks[0], json!({"type": "redacted_thinking", "data": SIGNATURE}));
    assert_eq!(kinds(&blocks), ["redacted_thinking", "text", "tool_use"]);
    // Cut into lines, as some editors do with long ones.
    let wrapped = format!("<thinking redacted>\n{}\n{}\n</thinking>\n\n", &SIGNATURE[..20], &SIGNATURE[20..]);
    assert_eq!(anthropic(&format!("{wrapped}{CALL}"))[0], json!({"type": "redacted_thinking", "data": SIGNATURE}));
    assert_eq!(warnings(&file(&format!("{data}{wrapped}{CALL}"))), []);
    // Nobody else gets it.
    assert_eq!(kinds(&openai(&format!("{data}{CALL}")))[0], "function_call");
}

#[test]
fn a_signature_behind_its_call_goes_back_before_it() {
    let thinking = format!("<thinking anthropic:signature=\"{SIGNATURE}\">\nLook first.\n</thinking>\n");
    let redacted = format!("<thinking redacted anthropic:signature=\"{SIGNATURE}\">\n</thinking>\n");
    for (reply, expected) in [
        (format!("I look.\n\n{CALL}\n{thinking}"), vec!["thinking", "text", "tool_use"]),
        (format!("{CALL}\n{redacted}\n{thinking}"), vec!["redacted_thinking", "thinking", "tool_use"]),
        (format!("I look.\n\n{thinking}\n{CALL}"), vec!["text", "thinking", "tool_use"]),
        (format!("{thinking}\nI look.\n\n{CALL}"), vec!["thinking", "text", "tool_use"]),
        // Nobody signed what stands in front.
        (format!("<thinking>\nHm.\n</thinking>\n\n{CALL}\n{thinking}"), vec!["thinking", "tool_use"]),
    ] {
        assert_eq!(kinds(&anthropic(&reply)), expected, "{reply}");
        assert_eq!(warnings(&file(&reply)), [], "{reply}");
    }
    let item = json!({"id": "rs_1", "encrypted_content": ENCRYPTED});
    let thinking = format!("<thinking openai:signature={}>\nLook.\n</thinking>\n", Value::from(item.to_string()));
    let items = openai(&format!("I look.\n\n{CALL}\n{thinking}"));
    assert_eq!(kinds(&items), ["reasoning", "message", "function_call", "function_call_output"]);
    assert_eq!(items[0]["encrypted_content"], ENCRYPTED);
}

#[test]
fn a_signature_that_was_put_into_base64_is_taken_out_of_it() {
    for value in [BASE64_STANDARD.encode(SIGNATURE), BASE64_URL_SAFE_NO_PAD.encode(SIGNATURE), SIGNATURE.to_owned()] {
        for tag in [format!("anthropic:signature=\"{value}\""), format!("anthropic:signature={value}")] {
            let reply = format!("<thinking {tag}>\nLook.\n</thinking>\n\n{CALL}");
            let expected = json!({"type": "thinking", "thinking": "Look.", "signature": SIGNATURE});
            assert_eq!(anthropic(&reply)[0], expected, "{tag}");
            assert_eq!(warnings(&file(&reply)), [], "{tag}");
        }
    }
    let ours = json!({"id": "rs_1", "encrypted_content": ENCRYPTED, "summary": ["Look"]});
    let theirs = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": ENCRYPTED, "status": "completed",
                        "summary": [{"type": "summary_text", "text": "Look"}]});
    let item = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": ENCRYPTED,
                      "summary": [{"type": "summary_text", "text": "Look"}]});
    for value in [ours, theirs].map(|value| value.to_string()) {
        for value in [value.clone(), BASE64_STANDARD.encode(&value), BASE64_URL_SAFE_NO_PAD.encode(&value)] {
            let reply = format!("<thinking openai:signature={}>\nLook.\n</thinking>\n\n{CALL}", Value::from(value));
            assert_eq!(openai(&reply)[0], item, "{reply}");
            assert_eq!(warnings(&file(&reply)), [], "{reply}");
        }
    }
}

/// The conversation with a reply of this thinking as it is written, which calls a tool.
fn signed(provider: &str, value: &str, thought: &str) -> String {
    let mut lines = ["@You:", "What is here?"].map(str::to_owned).to_vec();
    let mut reply = ReplyWriter::open(&lines);
    for event in [
        Event::Thinking(thought.to_owned()),
        Event::ThinkingFinished { signature: Some(Signature { provider: provider.into(), value: value.into() }) },
        Event::ToolUse { id: "call_1".into(), name: "ls".into(), input: ToolInput::Json(json!({ "path": "." })) },
    ] {
        reply.push(&event);
    }
    reply.close(Ending::Complete).iter().for_each(|edit| edit.apply(&mut lines));
    format!("{}\n\n{REST}", lines.join("\n"))
}

#[test]
fn a_signature_is_not_sent_with_a_changed_text() {
    const THOUGHT: &str = "Look first.  \n\n\tThen act. \n   \nDone.";
    type Change = fn(&str) -> String;
    let changes: [(&str, Change); 4] = [
        ("trailing spaces", |text| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")),
        ("tabs", |text| text.replace('\t', "    ")),
        ("a word", |text| text.replace("first", "last")),
        ("a line", |text| format!("{text}\nReally.")),
    ];
    let item = json!({ "id": "rs_1", "encrypted_content": ENCRYPTED, "summary": ["Look first."] }).to_string();
    for (nth, model, provider, value, sent, is_of_text) in [
        (0, "claude-sonnet-4-5", "anthropic", SIGNATURE, SIGNATURE, true),
        (3, "gemini-3.8-flash", "vertex", "c2lnbmVk thought", "c2lnbmVk", true),
        // These are about what follows, and about a summary of their own.
        (3, "gemini-3.8-flash", "vertex", "c2lnbmVk", "c2lnbmVk", false),
        (1, "gpt-5.6-terra", "openai", item.as_str(), ENCRYPTED, false),
    ] {
        let whole = signed(provider, value, THOUGHT);
        let body = |file: &str| body(nth, model, file).to_string();
        let diagnostics = |file: &str| {
            let lines: Vec<String> = file.split('\n').map(str::to_owned).collect();
            flemma_chat::unsent(Document::parse(&lines).messages(), &lines)
        };
        assert!(body(&whole).contains(sent), "{provider}: {whole}");
        assert_eq!(diagnostics(&whole), [], "{whole}");
        for (what, change) in changes {
            let changed = whole.replace(THOUGHT, &change(THOUGHT));
            assert_ne!(changed, whole);
            assert_eq!(body(&changed).contains(sent), !is_of_text, "{provider}, {what}: {changed}");
            let said = diagnostics(&changed);
            assert_eq!(said.len(), usize::from(is_of_text), "{provider}, {what}: {said:?}");
            assert!(said.iter().all(|one| one.line == 4 && one.message.contains("This is not the text")), "{said:?}");
            // A file from before, or of another tool, does not say what was signed.
            let digest = whole.find(" sha256=").map_or("", |at| &whole[at..at + " sha256=".len() + 16]);
            assert_eq!(digest.is_empty(), !is_of_text, "{whole}");
            assert!(body(&changed.replacen(digest, "", 1)).contains(sent), "{provider}, {what}");
        }
        // Carriage returns are not read. Where they were signed, the text is not the one that was.
        let windows = whole.replace('\n', "\r\n");
        assert_eq!((body(&windows).contains(sent), diagnostics(&windows)), (true, vec![]), "{windows}");
        assert_eq!(body(&signed(provider, value, "One.\r\nTwo.")).contains(sent), !is_of_text, "{provider}");
        // What is written with a backslash is read without it.
        assert!(body(&signed(provider, value, "@You: hm\n</thinking>\n\\@You:\n")).contains(sent), "{provider}");
    }
}

#[test]
fn thinking_that_cannot_be_sent_back_is_said_at_its_line() {
    for (block, words) in [
        ("<thinking redacted>\n</thinking>", "no data"),
        ("<thinking redacted>\nSome words that are no data.\n</thinking>", "no data"),
        ("<thinking signature=\"EqQBCgIYAhIM\">\nHm.\n</thinking>", "does not name its provider"),
        ("<thinking somebody:signature=\"EqQBCgIYAhIM\">\nHm.\n</thinking>", "`somebody`"),
        ("<thinking antropic:signature=\"EqQBCgIYAhIM\">\nHm.\n</thinking>", "did you mean `anthropic`?"),
        ("<thinking anthropic:signature=\"\">\nHm.\n</thinking>", "is not valid"),
        ("<thinking anthropic:signature=\"Eq QB\">\nHm.\n</thinking>", "is not valid"),
        ("<thinking anthropic:signature>\nHm.\n</thinking>", "is not valid"),
        ("<thinking openai:signature=\"gAAAAABo\">\nHm.\n</thinking>", "is not valid"),
        ("<thinking openai:signature=\"{}\">\nHm.\n</thinking>", "is not valid"),
        ("<thinking openai_compatible:signature=\"thoughts\">\nHm.\n</thinking>", "is not valid"),
        ("<thinking vertex:signature=\"c2ln what\">\nHm.\n</thinking>", "is not valid"),
        ("<thinking anthropic:signature=\"Eq+/\" openai:signature=\"Eq+/\">\nHm.\n</thinking>", "Only the first"),
    ] {
        let file = file(&format!("I look.\n\n{block}\n\n{CALL}"));
        let warnings = warnings(&file);
        assert_eq!(warnings.len(), 1, "{block}: {warnings:?}");
        let line = file.lines().position(|line| line.starts_with("<thinking")).unwrap();
        assert_eq!(warnings[0].0, line, "{block}");
        assert!(warnings[0].1.contains(words), "{block}: {}", warnings[0].1);
        // The rest is sent all the same.
        chat::read(&file).unwrap();
    }
    // What is sent as it is, or is no loss, is nobody's business.
    for block in [
        "<thinking>\nHm.\n</thinking>",
        "<thinking redacted anthropic:signature=\"EmwKAhgB\">\n</thinking>",
        "<thinking openai_compatible:signature=\"reasoning@localhost:11434\">\nHm.\n</thinking>",
        "<thinking vertex:signature=\"c2ln text\">\n</thinking>",
        "<thinking vertex:signature=\"c2ln\">\nHm.\n</thinking>",
    ] {
        assert_eq!(warnings(&file(&format!("{block}\n\n{CALL}"))), [], "{block}");
    }
}
