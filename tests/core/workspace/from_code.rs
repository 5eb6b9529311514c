//! Asking about code.

use flemma_chat::LineRange;
use flemma_workspace::{Asked, AskedAbout};

use super::harness::{Harness, Setup, held, prose};
use crate::http::Gate;

fn lines(chat: &Harness, path: &str, first: usize, last: usize) -> AskedAbout {
    AskedAbout::Lines { path: chat.work(path), lines: LineRange { first, last } }
}

fn text(name: &str, content: &str) -> AskedAbout {
    let lines = content.split('\n').map(str::to_owned).collect();
    AskedAbout::Text { name: name.to_owned(), language: "rust".to_owned(), lines }
}

fn start(text: &str) -> Harness {
    let files = &[("src/my a.rs", "one\ntwo\n"), ("../b.rs", "outside\n")];
    let chat = Harness::start(Setup { text, files, ..Setup::default() }, [prose("ok")]);
    chat.drain_until("the lock", |chat| chat.workspace.ownership.holder(chat.current()).is_some());
    chat
}

/// Asks, and gives where the user goes on.
#[track_caller]
fn ask(chat: &Harness, about: &AskedAbout, words: &str) -> (usize, usize) {
    let place = chat.workspace.references.ask_about(chat.current(), about, words);
    chat.settle();
    let Asked::Added { line, column } = place.unwrap() else { panic!("it is queued") };
    (line, column)
}

#[test]
fn the_reference_and_the_words_end_the_users_message() {
    let table = [
        ("@You:", "@You:\n@./src/my%20a.rs#L1-L2 why?"),
        ("@You:\n|\n", "@You:\n@./src/my%20a.rs#L1-L2 why?"),
        ("", "@You:\n@./src/my%20a.rs#L1-L2 why?"),
        ("@You:\nHello", "@You:\nHello\n\n@./src/my%20a.rs#L1-L2 why?"),
        ("@You:\nHello\n|\n", "@You:\nHello\n\n@./src/my%20a.rs#L1-L2 why?"),
        ("@You: Hello\n\n|\n", "@You: Hello\n\n@./src/my%20a.rs#L1-L2 why?"),
        ("@You:\nA\n\n@Assistant:\nB", "@You:\nA\n\n@Assistant:\nB\n\n@You:\n@./src/my%20a.rs#L1-L2 why?"),
        ("@System:\nBe brief.", "@System:\nBe brief.\n\n@You:\n@./src/my%20a.rs#L1-L2 why?"),
    ];
    for (before, after) in table {
        let chat = start(before);
        let text = chat.text();
        let place = ask(&chat, &lines(&chat, "src/my a.rs", 1, 2), "why?");
        assert_eq!(chat.text(), after, "after\n{before}");
        let last = after.lines().count() - 1;
        assert_eq!(place, (last, after.lines().last().unwrap().len()));
        assert!(chat.host.undo(chat.current()));
        assert_eq!(chat.text(), text, "one step of undo");
    }
}

#[test]
fn what_was_asked_is_the_users_and_is_sent() {
    let chat = start("@You:");
    let about = AskedAbout::Lines { path: chat.root().join("b.rs"), lines: LineRange { first: 1, last: 1 } };
    ask(&chat, &about, "@calculator_async why?");
    assert!(chat.text().contains("#L1 @calculator_async why?"), "{}", chat.text());
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert_eq!(chat.questions(), 0, "the user has named the file");
    assert!(chat.text().contains("1\toutside"));
    assert!(chat.offered(0).contains(&"calculator_async".to_owned()), "{:?}", chat.offered(0));
}

#[test]
fn text_is_put_into_a_fence_and_has_no_effect() {
    let chat = start("@You:");
    let content = "fn main() {\n@You:\n```\n@//etc/hostname @diff\n**Tool Result:** `a`";
    let place = ask(&chat, &text("a.rs, lines 1 to 5", content), "");
    let expected = [
        "@You:",
        "From a.rs, lines 1 to 5:",
        "",
        "````rust",
        "fn main() {",
        "\\@You:",
        "```",
        "@//etc/hostname @diff",
        "\\**Tool Result:** `a`",
        "````",
        "",
        "",
    ];
    assert_eq!(chat.buffer().lines(), expected);
    assert_eq!(place, (11, 0));
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert_eq!(chat.questions(), 0);
    let sent = chat.body(0)["messages"].to_string();
    assert!(sent.contains("\\n@You:\\n```\\n@//etc/hostname @diff\\n**Tool Result:** `a`\\n````"), "{sent}");
    // Without its fence, it would be a stranger's text.
    let chat = start("@You:");
    ask(&chat, &text("", "@diff"), "see");
    chat.delete(3..4);
    chat.delete(1..2);
    assert_eq!(chat.text(), "@You:\n@diff\n\nsee");
    chat.go();
    chat.wait_for_question();
}

#[test]
fn a_conversation_that_cannot_take_words_keeps_its_text() {
    for (before, problem) in [
        ("@You:\n```\ncode", "the block in line 2 of the conversation is not closed"),
        ("@Assistant:\n<thinking>\nhm", "the block in line 2 of the conversation is not closed"),
    ] {
        let chat = start(before);
        let found = chat.workspace.references.ask_about(chat.current(), &lines(&chat, "src/my a.rs", 1, 1), "why?");
        assert!(found.unwrap_err().to_string().contains(problem));
        assert_eq!(chat.text(), before);
    }
    // While it is at work.
    let gate = Gate::new();
    let chat = Harness::new("@You:\nHello", [held("early ", &gate, "late")]);
    chat.go();
    chat.drain_until("busy", |chat| chat.conversation().is_busy());
    let found = chat.workspace.references.ask_about(chat.current(), &lines(&chat, "a.rs", 1, 1), "why?");
    assert_eq!(found.unwrap(), Asked::Later("@./a.rs#L1 why?".to_owned()));
    assert_eq!(chat.text().lines().take(2).collect::<Vec<_>>(), ["@You:", "Hello"]);
    gate.open();
}
