//! Replies as servers have been seen to send them, one in each file of `tests/fixtures/replies`: the server's address, a sentence
//! on what is odd, the bytes (`<ff>` is the byte 0xff), and below `==>` what is made of them.
//!
//! A new one is a file without that part. `UPDATE_EXPECT=1 cargo test -p flemma-provider replies` writes it.

use std::{fmt::Write as _, fs, path::PathBuf};

use expect_test::expect_file;
use flemma_model::{Event, Part, Role, Signature, ToolInput};
use flemma_provider::{Decoder, Exchange, HttpRequest, Server, auth::Environment, xml_tools};
use serde_json::{Value, json};

use crate::{
    completions::Stream,
    conversation::{conversation, decode, exchange, provider_of, text, tool},
    providers::folder,
};

/// A question with the tools `read` and `bash`, and what was said after it.
fn ask(provider: &str, address: &str, after: Vec<(Role, Vec<Part>)>) -> (HttpRequest, Box<dyn Decoder>) {
    let options = if provider == "vertex" {
        json!({ "project_id": "p", "location": "global", "base_url": address })
    } else {
        json!({ "base_url": address })
    };
    // Calls in XML come in the text of any protocol.
    let (is_xml, provider) = if provider == "xml" { (true, "openai_compatible") } else { (false, provider) };
    let server: Server = provider_of(provider, options, Environment::new(|_| Some("sk-secret".to_owned())));
    let mut request = conversation([vec![(Role::User, vec![text("Hi")])], after].concat());
    request.tools = [tool("bash", false), tool("read", false)].into();
    match xml_tools::prepare(&server, &request).unwrap() {
        Exchange::Http { request, decoder } if is_xml => (request, decoder),
        _ => exchange(&server, &request).unwrap(),
    }
}

/// The files: the provider, the address, and the path with all that is above the result.
fn files() -> Vec<(String, String, PathBuf, String)> {
    let mut files = Vec::new();
    for vendor in fs::read_dir(folder("fixtures/replies")).unwrap() {
        let vendor = vendor.unwrap();
        for file in fs::read_dir(vendor.path()).unwrap() {
            let path = file.unwrap().path();
            let written = fs::read_to_string(&path).unwrap();
            let question = written.split("\n==>\n").next().unwrap().trim_end().to_owned();
            let address = question.lines().next().unwrap().to_owned();
            files.push((vendor.file_name().into_string().unwrap(), address, path, question));
        }
    }
    assert!(files.len() >= 60, "{} replies", files.len());
    files
}

/// What the bytes bring, a line for each thing.
fn read(provider: &str, address: &str, chunk: usize, bytes: &[u8]) -> String {
    let (events, result) = decode(ask(provider, address, Vec::new()).1, bytes.chunks(chunk));
    let (mut lines, mut open) = (String::new(), "");
    let mut piece = |lines: &mut String, kind: &'static str, text: &str| {
        let begins = if open == kind { String::new() } else { format!("\n{kind}: ") };
        let _ = write!(lines, "{begins}{}", text.escape_debug());
        open = kind;
    };
    for event in &events {
        match event {
            Event::Text(text) => piece(&mut lines, "text", text),
            Event::Thinking(text) => piece(&mut lines, "thinking", text),
            Event::ThinkingFinished { signature: Some(signature) } => piece(&mut lines, "signed", &signature.value),
            Event::RedactedThinking(signature) => piece(&mut lines, "hidden", &signature.value),
            Event::ToolUse { id, name, input: ToolInput::Json(input) } => {
                let _ = write!(lines, "\ncall: {id} {name} {input}");
            }
            Event::ToolUse { id, name, input: ToolInput::Malformed(input) } => {
                let _ = write!(lines, "\ncall: {id} {name} malformed {input}");
            }
            Event::WasThinking => piece(&mut lines, "all of it was thinking", ""),
            Event::Warning(words) => piece(&mut lines, "warning", words),
            Event::Finished(reason) => piece(&mut lines, "finished", &format!("{reason:?}")),
            Event::ThinkingStarted | Event::ThinkingFinished { signature: None } => piece(&mut lines, "", ""),
            Event::ToolUseProgress { .. } | Event::Hosted(_) | Event::Usage(_) => {}
        }
    }
    if let Err(error) = result {
        let _ = write!(lines, "\nerror: {error}");
    }
    lines.lines().filter(|line| !line.is_empty() && *line != ": ").map(|line| format!("{line}\n")).collect()
}

/// The bytes that are written in a file.
fn bytes(question: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let sent = question.splitn(3, '\n').nth(2).unwrap().trim_start();
    for (nth, piece) in format!("{sent}\n\n").split("<ff>").enumerate() {
        bytes.extend((nth > 0).then_some(0xff));
        bytes.extend_from_slice(piece.as_bytes());
    }
    bytes
}

#[test]
fn every_reply_that_was_seen_is_read() {
    for (provider, address, path, question) in files() {
        let sent = bytes(&question);
        let found = read(&provider, &address, usize::MAX, &sent);
        for chunk in [1, 7] {
            assert_eq!(read(&provider, &address, chunk, &sent), found, "{path:?} in pieces of {chunk}");
        }
        expect_file![&path].assert_eq(&format!("{question}\n\n==>\n{found}"));
    }
}

/// The message that a reply becomes.
fn message(events: Vec<Event>) -> Vec<Part> {
    let (mut parts, mut thought) = (Vec::new(), String::new());
    for event in events {
        match event {
            Event::Text(text) => parts.push(Part::Text(text)),
            Event::Thinking(text) => thought.push_str(&text),
            Event::ThinkingFinished { signature } => {
                parts.push(Part::Thinking { text: std::mem::take(&mut thought), signature });
            }
            Event::RedactedThinking(signature) => parts.push(Part::RedactedThinking(signature)),
            Event::ToolUse { id, name, input: ToolInput::Json(input) } => parts.push(Part::ToolUse { id, name, input }),
            _ => {}
        }
    }
    parts
}

#[test]
fn what_a_host_has_thought_goes_back_to_it_alone() {
    let mut came_back = 0;
    for (provider, address, path, question) in files().into_iter().filter(|(provider, ..)| provider != "vertex") {
        let (events, _) = decode(ask(&provider, &address, Vec::new()).1, [&*bytes(&question)]);
        let parts = message(events);
        let is_thinking = |part: &Part| matches!(part, Part::Thinking { .. } | Part::RedactedThinking(_));
        let others: Vec<Part> = parts.iter().filter(|part| !is_thinking(part)).cloned().collect();
        let body = |address: &str, parts: &[Part]| {
            let after = vec![(Role::Assistant, parts.to_vec()), (Role::User, vec![text("Go on")])];
            String::from_utf8(ask(&provider, address, after).0.body).unwrap()
        };
        let other = "https://another.example/v0";
        assert_eq!(body(other, &parts), body(other, &others), "{path:?}");
        came_back += usize::from(body(&address, &parts) != body(&address, &others));
    }
    assert_eq!(came_back, 6, "replies with thinking that goes back");
}

#[test]
fn a_call_at_the_end_of_a_long_reply_is_told() {
    let prose = "Some words of prose. ".repeat(20);
    let call = r#"<tool_call>{"name": "read", "arguments": {}}</tool_call>"#;
    let stream = Stream::new().text(&vec![&*prose; 1_000]).text(&[call]).end("stop");
    let (events, _) = decode(ask("openai_compatible", "http://localhost/v1", Vec::new()).1, [&*stream.bytes()]);
    assert!(events.iter().any(|event| matches!(event, Event::Warning(words) if words.contains("`read`"))));
}

#[test]
fn a_reply_that_stops_while_the_model_thinks_is_not_sent() {
    let signature = Some(Signature { provider: "anthropic".to_owned(), value: "c2ln".to_owned() });
    let thinking = || Part::Thinking { text: "hm".to_owned(), signature: signature.clone() };
    let after = |parts| vec![(Role::Assistant, parts), (Role::User, vec![text("Go on")])];
    let sent = |parts| {
        let body = ask("anthropic", "https://api.anthropic.com", after(parts)).0.body;
        serde_json::from_slice::<Value>(&body).unwrap()["messages"].take()
    };
    let said = |text: &str| json!({ "type": "text", "text": text });
    assert_eq!(sent(vec![thinking()]), json!([{ "role": "user", "content": [said("Hi"), said("Go on")] }]));
    let both = sent(vec![thinking(), text("So"), thinking()]);
    assert_eq!(both[1]["content"].as_array().unwrap().len(), 2, "{both}");
    assert_eq!(both[1]["content"][1], said("So"));
}
