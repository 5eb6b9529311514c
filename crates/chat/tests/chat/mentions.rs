//! Names of tools in what the user wrote last.

use flemma_chat::{Document, Text};

use super::notation::screen;

/// The names above a line, each with its line.
fn above(before: usize, text: &str) -> Vec<(usize, String)> {
    let lines = screen(text);
    let found = flemma_chat::mentioned(Document::parse(&lines).messages(), before, &lines);
    assert!(found.iter().all(|mention| mention.line < lines.line_count()));
    found.into_iter().map(|mention| (mention.line, mention.name)).collect()
}

fn names(text: &str) -> Vec<String> {
    above(usize::MAX, text).into_iter().map(|(_, name)| name).collect()
}

const CALL: &str = "@Assistant:\n@not\n\n**Tool Use:** `bash` (`a`)\n\n```json\n{}\n```\n\n@You:\n**Tool Result:** `a`\n\n```\n@not\n```\n";

#[test]
fn the_latest_message_with_text_names_tools() {
    assert_eq!(names("@You:\n@one"), ["one"]);
    assert_eq!(names("@You: @one"), ["one"]);
    assert_eq!(names("@You:\n@one\n\n@Assistant:\n@not\n\n@You:\n@two"), ["two"]);
    assert_eq!(names("@You:\n@one\n\n@Assistant:\n@not\n\n@You:\nnothing"), [""; 0]);
    assert_eq!(names("@You:\n@one\n\n@Assistant:\n@not\n\n@You:\n\n"), ["one"], "an empty one is no message");
    assert_eq!(names("@You:\n@one\n\n@You:\n@two"), ["one", "two"], "they are one for the model");
    assert_eq!(names("@System:\n@not\n\n@You:\n@one\n\n@System:\n@not"), ["one"]);
}

#[test]
fn results_are_no_text_of_the_user() {
    let text = format!("@You:\n@one\n\n{CALL}");
    assert_eq!(names(&text), ["one"]);
    assert_eq!(names(&format!("{text}\n{CALL}")), ["one"]);
    assert_eq!(names(&format!("{text}\nnow @two")), ["two"]);
    assert_eq!(names(&format!("{text}\nnow nothing")), [""; 0]);
    let pending = text.replace("```\n@not\n```\n", "```flemma:tool status=pending\n@not\n```\n");
    assert_eq!(names(&pending), ["one"]);
}

#[test]
fn code_of_the_user_names_nothing() {
    assert_eq!(names("@You:\n```\n@not\n```\n@one `@not`\n~~~ lua\n@not\n~~~"), ["one"]);
    assert_eq!(names("@You:\n@not\n\n@Assistant:\nhm\n\n@You:\n```\n@not\n```"), [""; 0], "it is a message");
}

#[test]
fn what_stands_above_a_call_is_found_again() {
    let text = format!("@You:\n@one\n\n{CALL}\nnow @two");
    let lines = screen(&text);
    let call = lines.iter().position(|line| line.contains("Tool Use")).unwrap();
    assert_eq!(above(call, &text), [(1, "one".to_owned())]);
    assert_eq!(above(usize::MAX, &text), [(lines.len() - 1, "two".to_owned())]);
    assert_eq!(above(0, &text), []);
}
