//! From the document to what a provider is sent.

use std::sync::Arc;

use flemma_chat::{Document, read};
use flemma_model::{Message, Part, Role, Signature};
use serde_json::json;

use super::notation::{Page, screen};

fn parts(text: &str, message: usize) -> Vec<Part> {
    let conversation = read(&screen(text).join("\n"));
    conversation.map(|conversation| conversation.messages[message].parts.clone()).unwrap_or_default()
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

#[test]
fn a_whole_conversation_is_read() {
    let conversation = read(
        &screen(
            "
            ```lua
            flemma.opt.thinking = 'low'
            ```

            @System: You are
            brief.

            @You:

            Hello!

              indented

            @Assistant:
            <thinking anthropic:signature=\"abc\">
            Hm.

            </thinking>
            <thinking redacted anthropic:signature=\"xyz\">
            </thinking>

            Hi.
            <!-- flemma:aborted -->

            @You:
            ",
        )
        .join("\n"),
    )
    .unwrap();
    assert_eq!(conversation.system.as_deref(), Some("You are\nbrief."));
    let signature = |value: &str| Signature { provider: "anthropic".into(), value: value.into() };
    assert_eq!(
        conversation.messages,
        [
            Arc::new(Message { role: Role::User, parts: vec![text("Hello!\n\n  indented")] }),
            Arc::new(Message {
                role: Role::Assistant,
                parts: vec![
                    Part::Thinking { text: "Hm.\n".into(), signature: Some(signature("abc")) },
                    Part::RedactedThinking(signature("xyz")),
                    text("Hi."),
                ],
            }),
        ]
    );
}

#[test]
fn role_markers_count_in_code_and_the_rest_does_not() {
    let page = "
        @You:
        ```
        **Tool Use:** `a` (`b`)
        <thinking>
        \\@You: escaped
        @Assistant: ends it
        ";
    assert_eq!(parts(page, 0), [text("```\n**Tool Use:** `a` (`b`)\n<thinking>\n@You: escaped")]);
    assert_eq!(parts(page, 1), [text("ends it")]);
}

#[test]
fn one_backslash_is_taken_off_and_only_there() {
    assert_eq!(
        parts("@You:\n\\@You: a\n\\\\@You: b\n\\alpha\n\\```flemma:tool", 0),
        [text("@You: a\n\\@You: b\n\\alpha\n```flemma:tool")]
    );
}

#[test]
fn an_input_that_is_no_json_is_sent_as_an_object() {
    let result = "@You:\n**Tool Result:** `a`\n\n```\n```\n";
    let with = |fence: &str| format!("@Assistant:\n**Tool Use:** `x` (`a`)\n\n{fence}\n\n{result}");
    let input = |fence: &str| match &parts(&with(fence), 0)[..] {
        [Part::ToolUse { input, .. }] => input.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(input("```json\n{\"b\":1,\n\"a\":2}\n```").to_string(), "{\"b\":1,\"a\":2}");
    assert_eq!(input("```json\n{\"b\":\n```"), json!({ "malformed_json": "{\"b\":" }));
    assert_eq!(input("```\nls\n```"), json!({ "malformed_json": "ls" }));
    assert_eq!(input("```\n{\"mended\":true}\n```"), json!({ "mended": true }));
}

#[test]
fn a_call_without_a_result_is_never_sent() {
    let call = "@Assistant:\n**Tool Use:** `x` (`a`)\n\n```json\n{}\n```\n\n@You:\n";
    for answer in ["", "**Tool Result:** `a`\n", "**Tool Result:** `a`\n\n```flemma:tool status=approved\n```\n"] {
        let errors = read(&format!("{call}{answer}")).unwrap_err();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert_eq!(errors[0].line, 1);
        assert!(errors[0].message.contains("`a` has no result"), "{errors:?}");
    }
}

#[test]
fn a_hosted_block_that_is_no_json_any_more_is_refused() {
    let errors = read("@Assistant:\n**Tool Result:** `h` (provider)\n\n```json\n[1,\n```\n").unwrap_err();
    assert_eq!((errors.len(), errors[0].line), (1, 1), "{errors:?}");
}

#[test]
fn a_message_that_nobody_touched_is_not_built_again() {
    let mut page = Page::new("@You:\na\n\n@Assistant:\nb\n\n@You:\nc");
    let before = page.document.transcript(&page.text).unwrap();
    page.replace(4..5, vec!["b".into(), "more".into()]);
    let after = page.document.transcript(&page.text).unwrap();
    let same: Vec<bool> = before.messages.iter().zip(&after.messages).map(|(a, b)| Arc::ptr_eq(a, b)).collect();
    assert_eq!(same, [true, false, true]);
    assert_eq!(after.messages[1].parts, [text("b\nmore")]);
}

#[test]
fn carriage_returns_are_no_part_of_what_is_said() {
    let file = "@You:\r\nhi\r\n\r\n@Assistant:\r\n**Tool Use:** `x` (`a`)\r\n\r\n```json\r\n{}\r\n```\r\n\
        @You:\r\n**Tool Result:** `a` (error)\r\n\r\n```\r\no\r\n```\r\n";
    let conversation = read(file).unwrap();
    assert_eq!(conversation.messages[0].parts, [text("hi")]);
    let result = Part::ToolResult { id: "a".into(), output: "o".into(), is_error: true, attachments: Vec::new() };
    assert_eq!(conversation.messages[2].parts, [result]);
}

#[test]
fn a_megabyte_on_one_line_and_replacement_characters_are_text() {
    let long = "x\u{FFFD}".repeat(300_000);
    for line in [long.clone(), "`".repeat(1 << 20), format!("@You: {long}"), " ".repeat(1 << 20)] {
        let lines = vec!["@You:".to_owned(), line];
        let mut document = Document::parse(&lines);
        assert!(document.transcript(&lines).is_ok());
    }
    assert_eq!(read(&format!("@You:\n{long}")).unwrap().messages[0].parts, [Part::Text(long)]);
}
