//! The instructions of a conversation, as they are written into its file and read from it.

use flemma_chat::{
    Capture, Document, TextEdit, captured_instructions, fence_of, lacks_instructions, read, write_instructions,
};
use proptest::prelude::*;

fn lines(text: &str) -> Vec<String> {
    text.split('\n').map(str::to_owned).collect()
}

fn capture(written: &str, content: &str) -> Capture {
    Capture { line: 0, written: written.to_owned(), content: content.to_owned(), cut: None }
}

/// The text after these instructions were written.
fn instructed(text: &str, prompt: &str, files: &[Capture]) -> String {
    let mut text = lines(text);
    let edits: Vec<TextEdit> = write_instructions(&Document::parse(&text), &text, prompt, files);
    for edit in edits {
        edit.apply(&mut text);
    }
    text.join("\n")
}

#[test]
fn instructions_are_written_once_and_replaced_in_place() {
    let rules = [capture("AGENTS.md", "Run `make`.\n@You:\n```sh\nmake\n```")];
    let first = "@System:\nBe brief.\n\n````flemma:captured of=\"AGENTS.md\"\nRun `make`.\n\\@You:\n```sh\nmake\n```\n````\n\n@You:\nHi";
    assert_eq!(instructed("@You:\nHi", "Be brief.", &rules), first);
    // Frontmatter stays first.
    let matter = "```json\n{}\n```\n";
    assert_eq!(instructed(&format!("{matter}@You:\nHi"), "Be brief.", &rules), format!("{matter}{first}"));
    // What the user writes around it stays.
    let edited = first.replace("Be brief.", "Be brief.\nMore.").replace("````\n\n@You", "````\nBelow.\n\n@You");
    let again = instructed(&edited, "ignored", &[capture("AGENTS.md", "New."), capture("skills", "- a: b")]);
    let fences = "```flemma:captured of=\"AGENTS.md\"\nNew.\n```\n\n```flemma:captured of=\"skills\"\n- a: b\n```";
    assert_eq!(again, format!("@System:\nBe brief.\nMore.\n\n{fences}\nBelow.\n\n@You:\nHi"));
    // A prompt of the user's own gets the rules below it, and loses them again.
    let own = "@System:\nMine.\n\n@You:\nHi";
    let with = format!("@System:\nMine.\n\n{fences}\n\n@You:\nHi");
    let files = [capture("AGENTS.md", "New."), capture("skills", "- a: b")];
    assert_eq!(instructed(own, "ignored", &files), with);
    assert_eq!(instructed(&with, "", &[]), own);
    for (text, lacks) in [("@You:\nHi", true), ("", true), (own, false), ("@You:\nHi\n\n@Assistant:\nYes", false)] {
        assert_eq!(lacks_instructions(&Document::parse(&lines(text))), lacks, "{text}");
    }
}

/// Lines that look like structure, and others.
fn any_text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[ -~]{0,12}",
        Just("@You:".to_owned()),
        Just("@System: x".to_owned()),
        Just("```".to_owned()),
        Just("~~~~flemma:captured of=\"x\"".to_owned()),
        Just("**Tool Use:** `bash` (`1`)".to_owned()),
        Just("\\@You:".to_owned()),
        Just("</thinking>".to_owned()),
    ];
    prop::collection::vec(line, 0..6).prop_map(|lines| lines.join("\n"))
}

proptest! {
    /// The model is told what the file shows, whatever rules say; and nothing of them becomes a message.
    #[test]
    fn what_is_written_is_what_is_sent(prompt in any_text(), rules in prop::collection::vec(any_text(), 0..3)) {
        let files: Vec<Capture> = rules.iter().enumerate().map(|(n, text)| capture(&format!("{n}.md"), text)).collect();
        let text = instructed("@You:\nHi", &prompt, &files);
        let sent = read(&text).expect("it can be sent");
        prop_assert_eq!(sent.messages.len(), 1);
        let written = lines(&text);
        let found = captured_instructions(&Document::parse(&written), &written);
        let system = sent.system.unwrap_or_default();
        let known: Vec<_> = files.iter().map(|file| (file.written.clone(), fence_of(file))).collect();
        prop_assert_eq!(&found, &known);
        for line in rules.iter().flat_map(|text| text.lines()) {
            prop_assert!(system.contains(line), "{} in {}", line, system);
        }
        // Taking them in again changes nothing.
        prop_assert_eq!(instructed(&text, &prompt, &files), text);
    }
}
