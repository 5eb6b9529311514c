//! Which files a message may show: no byte of a file that the user denies is sent, however it is referred to.

use std::{fs, os::unix::fs::symlink};

use flemma_chat::Severity;
use flemma_workspace::ports::Question;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::harness::{Harness, Setup, prose};

const SECRET: &str = "KEY=1234";

const FILES: &[(&str, &str)] =
    &[("a.rs", "one\ntwo\n"), ("private/secret.env", "KEY=1234\nKEY=1234\n"), ("sub/b.rs", "alpha\nbeta\n")];

/// A conversation with this text and these rules, beside a denied file and other names of it.
fn opened(text: &str, options: Value) -> Harness {
    let chat = Harness::start(Setup { text, files: FILES, options, ..Setup::default() }, [prose("ok"), prose("ok")]);
    for (target, name) in [("private/secret.env", "link.rs"), ("link.rs", "chain.rs"), ("private", "linked")] {
        symlink(target, chat.work(name)).unwrap();
    }
    fs::hard_link(chat.work("private/secret.env"), chat.work("hard.rs")).unwrap();
    chat
}

/// The same, where the user types this.
fn typing(words: &str, options: Value) -> Harness {
    let chat = opened("@You:", options);
    chat.type_below(words);
    chat
}

/// Rules that deny the secret, each with words of the error.
fn rules() -> [(Value, &'static str); 4] {
    [
        (
            json!({ "tools": { "auto_approve": ["!read(private/**)"] } }),
            "the rule `!read(private/**)` denies reading it",
        ),
        (
            json!({ "tools": { "auto_approve": ["!read(private/secret.env)"] } }),
            "the rule `!read(private/secret.env)` denies reading it",
        ),
        (json!({ "tools": { "auto_approve": ["!read(**/*.env)"] } }), "the rule `!read(**/*.env)` denies reading it"),
        (
            json!({ "agent": "coder", "agents": { "coder": { "allowed_read_paths": ["./a.rs", "./sub"] } } }),
            "the agent `coder` does not allow",
        ),
    ]
}

/// Ways to refer to the secret.
const SPELLINGS: [&str; 9] = [
    "@./private/secret.env",
    "@./private/../private/./secret.env",
    "@./sub/../private/secret.env",
    "@../work/private/secret.env",
    "@./private/secret%2Eenv",
    "@./private/secret.env;type=text/plain",
    "@./link.rs",
    "@./linked/secret.env",
    "@./sub/../linked/secret.env",
];

/// Sends, and checks that nothing is sent because of this reference. Gives what the user is told.
fn refused(chat: &Harness, reference: &str, words: &str) -> String {
    let before = chat.text();
    chat.go();
    chat.wait_for_words(words);
    chat.drain_until("rest", |chat| !chat.conversation().is_busy());
    assert_eq!((chat.sent(), chat.server.requests().len()), (0, 0), "{reference}");
    assert_eq!(chat.text(), before, "{reference}: nothing is written");
    let told = chat.told().join("\n");
    assert!(told.contains(&format!("error: Not sent: line 2: {reference}: ")), "{told}");
    assert!(told.contains("Remove the reference, or change the rule"), "{told}");
    assert!(!told.contains(SECRET), "{told}");
    let diagnostics = chat.buffer().diagnostics.borrow().clone();
    let found = diagnostics.iter().find(|found| found.message.contains(words)).expect("a diagnostic");
    assert_eq!((found.line, found.severity), (1, Severity::Warning));
    told
}

#[test]
#[ignore = "slow"]
fn a_denied_file_that_the_user_types_is_not_sent() {
    for (options, words) in rules() {
        for reference in SPELLINGS.into_iter().flat_map(|path| match path.contains(';') {
            true => vec![path.to_owned()],
            false => vec![path.to_owned(), format!("{path}#L1"), format!("{path}#L1-L2")],
        }) {
            let chat = typing(&format!("See {reference} and @./a.rs."), options.clone());
            refused(&chat, &reference, words);
        }
    }
}

#[test]
fn another_name_of_a_denied_file_is_denied() {
    for (options, words) in rules().into_iter().filter(|(options, _)| options.get("agents").is_none()) {
        for reference in ["@./hard.rs", "@./hard.rs#L1"] {
            let chat = typing(&format!("See {reference}"), options.clone());
            let told = refused(&chat, reference, words);
            assert!(told.contains("because it is the same file as"), "{told}");
        }
    }
}

#[test]
fn a_denial_does_not_tell_what_is_there() {
    for name in ["secret.env", "nothing-here"] {
        let reference = format!("@./private/{name}");
        let chat = typing(&format!("See {reference}"), rules()[0].0.clone());
        refused(&chat, &reference, "the rule `!read(private/**)` denies reading it");
    }
}

#[test]
fn a_reference_of_an_earlier_message_is_denied_too() {
    let chat = typing("See @./private/secret.env", json!({}));
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert!(chat.body(0).to_string().contains(SECRET));
    chat.set_up(rules()[0].0.clone(), None).unwrap();
    chat.type_below("And now?");
    chat.go();
    chat.wait_for_words("Not sent: line 2: @./private/secret.env: the rule");
    chat.drain_until("rest", |chat| !chat.conversation().is_busy());
    assert_eq!(chat.server.requests().len(), 1);
}

#[test]
fn nothing_is_captured_for_a_message_that_is_refused() {
    let chat = typing("See @./private/secret.env and @./a.rs#L1", rules()[0].0.clone());
    refused(&chat, "@./private/secret.env", "the rule `!read(private/**)` denies reading it");
    chat.replace_line(1, "See @./a.rs#L1");
    chat.put("a.rs", "changed\ntwo\n");
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert!(chat.text().contains("1\tchanged"), "{}", chat.text());
}

#[test]
fn a_mended_reference_is_sent() {
    let chat = typing("See @./private/secret.env", rules()[0].0.clone());
    chat.go();
    chat.wait_for_words("denies reading it");
    chat.drain_until("rest", |chat| !chat.conversation().is_busy());
    chat.replace_line(1, "See @./a.rs");
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert!(chat.body(0).to_string().contains("one\\ntwo"));
    assert_eq!(chat.buffer().diagnostics.borrow().len(), 0);
}

#[test]
fn a_foreign_link_leads_where_it_led_when_it_was_allowed() {
    let files = &[("docs/a.md", "public\n"), ("../outside/a.md", "KEY=1234\n")];
    for reference in ["@./docs/a.md", "@./docs/a.md#L1"] {
        let text = format!("@You:\nSee {reference}");
        let chat = Harness::start(Setup { text: &text, files, ..Setup::default() }, [prose("ok"), prose("ok")]);
        // It is looked up, and leads nowhere else.
        chat.go();
        chat.wait_for("@Assistant:\nok");
        assert_eq!(chat.questions(), 0);
        fs::remove_dir_all(chat.work("docs")).unwrap();
        symlink(chat.root().join("outside"), chat.work("docs")).unwrap();
        if reference.contains('#') {
            // Its lines were captured, and are not read again.
            chat.type_below("And?");
            chat.go();
            chat.wait_for("And?\n\n@Assistant:\nok");
        } else {
            chat.type_below("And?");
            chat.go();
            chat.wait_for_words("it was named in the file before you opened it, and leads to");
            assert_eq!(chat.server.requests().len(), 1);
        }
        assert!(chat.server.requests().iter().all(|request| !request.json().to_string().contains(SECRET)));
    }
}

#[test]
fn a_foreign_link_to_a_denied_file_is_not_sent() {
    let files = &[("private/secret.env", "KEY=1234\n")];
    let setup = Setup { text: "@You:\nSee @./notes.md", files, options: rules()[0].0.clone(), ..Setup::default() };
    let chat = Harness::start(setup, [prose("ok")]);
    symlink("private/secret.env", chat.work("notes.md")).unwrap();
    refused(&chat, "@./notes.md", "the rule `!read(private/**)` denies reading it");
}

#[test]
fn an_allowed_file_outside_the_folder_is_sent_again_and_again() {
    let files = &[("../outside.md", "public\n")];
    let setup = Setup { text: "@You:\nSee @../outside.md", files, ..Setup::default() };
    let chat = Harness::start(setup, [prose("ok"), prose("ok")]);
    chat.go();
    assert!(matches!(chat.wait_for_question(), Question::Files { .. }));
    chat.answer(true);
    chat.wait_for("@Assistant:\nok");
    chat.type_below("And?");
    chat.go();
    chat.wait_for("And?\n\n@Assistant:\nok");
    assert!(chat.body(1).to_string().contains("public"));
}

#[test]
fn a_result_with_a_denied_file_shows_only_its_text() {
    let text = "
        @You:
        Look

        @Assistant:
        **Tool Use:** `read` (`a`)

        ```json
        {\"label\": \"x\", \"path\": \"private/pic.png\"}
        ```

        @You:
        **Tool Result:** `a`

        ```flemma:attachment type=image/png path=\"private/pic.png\"
        private/pic.png: PNG image
        ```

        @Assistant:
        I see.

        @You:
        And?";
    let setup = Setup { text, options: rules()[0].0.clone(), ..Setup::default() };
    let chat = Harness::start(setup, [prose("ok")]);
    chat.put("private/pic.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU");
    chat.go();
    chat.wait_for("And?\n\n@Assistant:\nok");
    let body = chat.body(0).to_string();
    assert!(!body.contains("iVBOR") && body.contains("left out of this request"), "{body}");
}

fn spelling() -> impl Strategy<Value = String> {
    let step = prop::sample::select(vec!["./", "../work/", "private/../", "sub/../", "linked/../", ".//", "sub/.././"]);
    let name = prop::sample::select(vec![
        "private/secret.env",
        "private/./secret.env",
        "linked/secret.env",
        "link.rs",
        "chain.rs",
        "hard.rs",
        "priv%61te/secret.env",
        "Private/secret.env",
        "a.rs",
        "sub/b.rs",
    ]);
    let end = prop::sample::select(vec!["", "#L1", "#L1-L2", "#L1-2", ";type=text/plain", ".", "#L9", "#l1", "%23L1"]);
    (prop::collection::vec(step, 0..3), name, end)
        .prop_map(|(steps, name, end)| format!("@./{}{name}{end}", steps.concat()))
}

fn any_rules() -> impl Strategy<Value = Value> {
    let deny = |rule: &str| json!({ "tools": { "auto_approve": [rule] } });
    let agent = |paths: Value| json!({ "agent": "c", "agents": { "c": { "allowed_read_paths": paths } } });
    prop::sample::select(vec![
        deny("!read(private/**)"),
        deny("!read(private)"),
        deny("!read(./private/*.env)"),
        deny("!read(**/secret.*)"),
        deny("!read(linked/**)"),
        agent(json!(["./a.rs", "./sub"])),
        json!({ "agent": "c", "agents": { "c": { "allowed_read_paths": ["./"] } },
                "tools": { "auto_approve": ["!read(private/secret.env)"] } }),
    ])
}

/// Whether a rule covers the secret by this name. `!read(private)` denies the folder's own name only, and an agent judges a file by
/// the name it was opened by.
fn covers(rules: &Value, reference: &str) -> bool {
    let rules = rules.to_string();
    let is_hard = reference.contains("hard.rs");
    !rules.contains("!read(private)\"") && (!is_hard || rules.contains("!read"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    #[ignore = "slow"]
    fn no_denied_byte_is_ever_sent(references in prop::collection::vec(spelling(), 1..4), rules in any_rules(), typed: bool) {
        let words = format!("See {}", references.join(" and "));
        let chat = if typed { typing(&words, rules.clone()) } else { opened(&format!("@You:\n{words}"), rules.clone()) };
        let mut answered = 0;
        chat.go();
        chat.drain_until("the end", |chat| {
            while answered < chat.questions() {
                answered += 1;
                chat.answer(true);
            }
            chat.workspace.is_at_rest(chat.current())
        });
        let covered = references.iter().all(|reference| covers(&rules, reference));
        for request in chat.server.requests() {
            let body = request.json().to_string();
            prop_assert!(!covered || !body.contains(SECRET), "{references:?} {rules} {body}");
        }
        prop_assert!(!covered || !chat.text().contains(SECRET), "{}", chat.text());
    }
}
