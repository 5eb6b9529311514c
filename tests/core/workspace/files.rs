//! The files that a conversation names: those that a stranger put there are sent only if the user allows it.

use flemma::workspace::ports::Question;
use serde_json::{Value, json};

use super::harness::{Harness, Setup, prose};

/// A conversation that names files, and the folder beside its own with files in it.
fn naming(text: &str, replies: usize) -> Harness {
    let files =
        &[("../near/a.txt", "the first secret\n"), ("../near/b.txt", "the second secret\n"), ("in.txt", "open\n")];
    Harness::start(Setup { text, files, ..Setup::default() }, (0..replies).map(|_| prose("ok")))
}

fn files(question: Question) -> Vec<String> {
    let Question::Files { files, .. } = question else { panic!("{question:?}") };
    files.iter().map(|file| file.rsplit('/').next().unwrap().to_owned()).collect()
}

/// The words of the `n`th request.
fn words(chat: &Harness, n: usize) -> String {
    fn text(value: &Value, into: &mut String) {
        match value {
            Value::String(words) => into.push_str(words),
            Value::Array(list) => list.iter().for_each(|value| text(value, into)),
            Value::Object(entries) => entries.values().for_each(|value| text(value, into)),
            _ => {}
        }
    }
    let mut all = String::new();
    text(&chat.body(n)["messages"], &mut all);
    all
}

#[test]
fn files_outside_the_folder_need_the_users_word() {
    let chat = naming("@You:\nSee @../near/a.txt and @./in.txt", 2);
    chat.go();
    let question = chat.wait_for_question();
    assert!(matches!(question, Question::Files { line: 1, .. }), "{question:?}");
    assert_eq!(files(question), ["a.txt"]);
    chat.answer(false);
    assert_eq!(chat.sent(), 0);
    chat.go();
    chat.wait_for_question();
    chat.answer(true);
    chat.wait_for("@Assistant:\nok");
    let sent = words(&chat, 0);
    assert!(sent.contains("the first secret") && sent.contains("open"), "{sent}");
    // Once allowed, now and later.
    chat.type_below("Again");
    chat.go();
    chat.wait_for("Again\n\n@Assistant:\nok");
    chat.wait_for_disk(&chat.state("trust.jsonl"), "\"about\":\"file\"");
    let chat = chat.restart(Setup { text: "@You:\nSee @../near/a.txt", ..Setup::default() }, [prose("later")]);
    chat.go();
    chat.wait_for("@Assistant:\nlater");
    assert!(words(&chat, 0).contains("the first secret"));
    assert_eq!(chat.questions(), 0);
}

#[test]
fn a_file_that_comes_while_the_user_is_asked_is_asked_about() {
    let chat = naming("@You:\nSee @../near/a.txt", 1);
    chat.go();
    assert_eq!(files(chat.wait_for_question()), ["a.txt"]);
    chat.read_in(2, "and @../near/b.txt");
    chat.answer(true);
    assert_eq!(files(chat.wait_for_question()), ["b.txt"]);
    assert_eq!(chat.sent(), 0);
    chat.answer(true);
    chat.wait_for("@Assistant:\nok");
    let sent = words(&chat, 0);
    assert!(sent.contains("the first secret") && sent.contains("the second secret"), "{sent}");
}

#[test]
fn code_that_comes_while_the_user_is_asked_is_asked_about() {
    let chat = naming("@You:\nSee @../near/a.txt", 1);
    chat.go();
    assert_eq!(files(chat.wait_for_question()), ["a.txt"]);
    chat.read_in(0, "```lua\nflemma.opt.model = \"theirs\"\n```\n");
    chat.answer(true);
    assert_eq!(chat.wait_for_question(), Question::Frontmatter { language: "lua".to_owned() });
    assert!(chat.scripts.ran.borrow().is_empty());
    chat.answer(true);
    chat.wait_for("@Assistant:\nok");
    assert_eq!(chat.body(0)["model"], json!("theirs"));
}

/// A conversation that names a file of its own folder, which is hidden in the folder `far`.
fn moving(also: &str, replies: usize) -> Harness {
    let chat = naming(&format!("@You:\nSee @./sub/a.txt {also}"), replies);
    chat.put("sub/a.txt", "a file of this folder\n");
    chat.put("far/.sub/a.txt", "a hidden secret\n");
    std::os::unix::fs::symlink(".sub", chat.work("far/sub")).unwrap();
    chat
}

#[test]
fn what_was_located_in_one_folder_vets_nothing_in_another() {
    let chat = moving("@../near/a.txt", 1);
    chat.go();
    chat.wait_for_question();
    chat.answer(false);
    // The disk is asked from the first folder, and its answer arrives in the second one.
    chat.go();
    chat.save_as("far/notes.chat");
    assert_eq!(files(chat.wait_for_question()), ["a.txt"]);
    chat.answer(true);
    let question = chat.wait_for_question();
    let Question::Files { files, .. } = &question else { panic!("{question:?}") };
    assert!(files.iter().any(|file| file.ends_with("far/.sub/a.txt")), "{files:?}");
    assert_eq!(chat.sent(), 0);
}

#[test]
fn a_conversation_in_another_folder_is_vetted_again() {
    let chat = moving("", 2);
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert!(words(&chat, 0).contains("a file of this folder"));
    chat.save_as("far/notes.chat");
    chat.type_below("Again");
    chat.go();
    let question = chat.wait_for_question();
    assert_eq!(files(question), ["a.txt"]);
    assert_eq!(chat.sent(), 1);
}
