//! The frontmatter of a file from elsewhere has no effect before the user has said so.

use std::fs;

use flemma_tools::approval::Decision;
use flemma_workspace::ports::Question;
use serde_json::json;

use super::harness::{Act, Harness, Setup, prose};

const FOUND: &str = "
    ```lua
    flemma.opt.model = \"from-the-file\"
    ```

    @You:
    Hello
    ";

fn lua() -> Question {
    Question::Frontmatter { language: "lua".to_owned() }
}

#[test]
fn foreign_code_needs_trust_before_it_runs() {
    let chat = Harness::new(FOUND, [prose("ok"), prose("again")]);
    for asked in 1..=2 {
        chat.go();
        assert_eq!(chat.wait_for_question(), lua());
        chat.answer(false);
        assert_eq!((chat.questions(), chat.sent()), (asked, 0));
        assert!(chat.scripts.ran.borrow().is_empty(), "code that is not trusted does not run");
    }
    // After the code is trusted, the action of the key continues.
    chat.go();
    chat.wait_for_question();
    chat.answer(true);
    chat.wait_for("@Assistant:\nok");
    assert_eq!(chat.body(0)["model"], "from-the-file");

    // The trust is kept: there is no question when the file is opened again.
    chat.wait_for_disk(&chat.state("trust.jsonl"), "notes.chat");
    chat.write();
    let chat = chat.restart(Setup { text: FOUND, ..Setup::default() }, [prose("again")]);
    chat.go();
    chat.wait_for("@Assistant:\nagain");
    assert_eq!(chat.body(0)["model"], "from-the-file");
    assert_eq!(chat.questions(), 0);
}

#[test]
fn json_with_a_policy_needs_trust_and_parameters_do_not() {
    let policy = "
        ```json
        { \"tools\": { \"auto_approve\": [\"bash\"] } }
        ```

        @You:
        Hello
        ";
    let chat = Harness::new(policy, [prose("ok")]);
    assert_eq!(chat.decision("bash", json!({})).0, Decision::RequireApproval);
    chat.go();
    assert_eq!(chat.wait_for_question(), Question::Frontmatter { language: "json".to_owned() });
    chat.answer(true);
    chat.wait_for("@Assistant:\nok");
    let by = Some("urn:flemma:approval:frontmatter".to_owned());
    assert_eq!(chat.decision("bash", json!({})), (Decision::Approve, by));

    let plain = policy.replace("\"tools\": { \"auto_approve\": [\"bash\"] }", "\"max_tokens\": 5");
    let chat = Harness::new(&plain, [prose("ok")]);
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert_eq!((chat.body(0)["max_tokens"].as_u64(), chat.questions()), (Some(5), 0));
}

#[test]
fn a_store_that_cannot_be_read_trusts_nothing() {
    let chat = Harness::new(FOUND, []);
    fs::create_dir(chat.state("trust.jsonl")).unwrap();
    chat.go();
    assert_eq!(chat.wait_for_question(), lua());
    assert_eq!(chat.sent(), 0);
}

#[test]
fn a_store_that_cannot_be_written_is_mentioned_once() {
    let chat = Harness::new(FOUND, [prose("ok"), prose("fine")]);
    chat.go();
    assert_eq!(chat.wait_for_question(), lua());
    // It has been read by now.
    fs::create_dir(chat.state("trust.jsonl")).unwrap();
    chat.answer(true);
    chat.wait_for("@Assistant:\nok");
    let message = format!("warn: the trust store {} could not be written (", chat.state("trust.jsonl").display());
    chat.wait_for_words(&message);
    chat.wait_for_words("; the next session asks again");
    chat.reload(&FOUND.replace("from-the-file", "from-another-file"));
    chat.go();
    chat.wait_for_question();
    chat.answer(true);
    chat.wait_for("@Assistant:\nfine");
    let told = chat.told().into_iter().filter(|told| told.starts_with(&message)).count();
    assert_eq!(told, 1);
}

#[test]
fn an_answer_trusts_only_the_code_that_was_asked_about() {
    let chat = Harness::new(FOUND, [prose("ok")]);
    chat.go();
    assert_eq!(chat.wait_for_question(), lua());
    chat.reload(&FOUND.replace("from-the-file", "from-another-file"));
    chat.answer(true);
    assert_eq!(chat.wait_for_question(), lua());
    assert!(chat.scripts.ran.borrow().is_empty(), "{:?}", chat.scripts.ran.borrow());
    chat.answer(true);
    chat.wait_for("@Assistant:\nok");
    assert_eq!(chat.body(0)["model"], "from-another-file");
}

#[test]
fn an_answer_to_an_old_question_trusts_nothing() {
    let chat = Harness::new(FOUND, []);
    chat.go();
    chat.wait_for_question();
    chat.answer(false);
    chat.reload(&FOUND.replace("from-the-file", "from-another-file"));
    chat.answer(true);
    let _ = chat.status();
    assert!(chat.scripts.ran.borrow().is_empty(), "{:?}", chat.scripts.ran.borrow());
}

#[test]
fn ctrl_c_takes_back_what_waits_for_trust() {
    // While the store is read, and while the question is open.
    for is_asked in [false, true] {
        let chat = Harness::new(FOUND, [prose("ok")]);
        chat.go();
        if is_asked {
            chat.wait_for_question();
        }
        chat.stop();
        if is_asked {
            chat.answer(true);
        }
        // Another conversation is sent meanwhile, so that everything before that has been heard of.
        chat.put("other.chat", "@You:\nHello\n");
        chat.edit("other.chat");
        chat.go();
        chat.wait_for("@Assistant:\nok");
        assert_eq!((chat.sent(), chat.questions()), (1, usize::from(is_asked)));
    }
}

#[test]
fn always_goes_on_after_the_frontmatter_is_trusted() {
    let text = "
        ```lua
        flemma.opt.max_tokens = 5
        ```

        @You:
        Hello

        @Assistant:
        **Tool Use:** `bash` (`a`)

        ```json
        {\"label\":null,\"command\":\"echo one\",\"timeout\":null}
        ```

        @You:
        **Tool Result:** `a`

        ```flemma:tool status=pending
        ```
        ";
    let chat = Harness::new(text, [prose("fine")]);
    chat.always("Tool Result");
    assert_eq!(chat.wait_for_question(), lua());
    assert_eq!(chat.text(), crate::notation::screen(text).join("\n"), "nothing is written before the answer");
    chat.answer(true);
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.buffer().lines()[2], "flemma.opt.tools.auto_approve:append(\"bash(echo one)\")", "{}", chat.text());
    assert_eq!(chat.results(0), ["one"]);
}

#[test]
fn changing_a_letter_does_not_make_foreign_code_trusted() {
    let chat = Harness::new(FOUND, []);
    chat.replace("from-the-file\"", "mine\"");
    chat.go();
    assert_eq!(chat.wait_for_question(), lua());
    chat.answer(false);
    // It stays untrusted when it is deleted and restored by undo, and when that is redone and undone.
    chat.delete(0..3);
    chat.undo();
    chat.go();
    assert_eq!(chat.wait_for_question(), lua());
    chat.answer(false);
    chat.redo();
    chat.undo();
    chat.go();
    assert_eq!(chat.wait_for_question(), lua());
    assert_eq!((chat.sent(), chat.scripts.ran.borrow().len()), (0, 0));
}

#[test]
fn foreign_code_that_becomes_frontmatter_stays_untrusted() {
    let found = crate::notation::screen(FOUND).join("\n");
    let cases: [(String, Act); 5] = [
        (format!("\n\n{found}"), |chat| chat.delete(0..1)),
        (format!("@You:\n{found}"), |chat| chat.delete(0..1)),
        (found.replace("```\n\n@You", "@You"), |chat| chat.type_at(2, "```\n")),
        (format!("@You:\nHello\n{found}"), |chat| chat.move_lines(2..5, 0)),
        ("@You:\nHello".to_owned(), |chat| chat.read_in(0, FOUND)),
    ];
    for (text, change) in cases {
        let chat = Harness::new(&text, []);
        change(&chat);
        assert!(chat.text().starts_with("```lua\n"), "{}", chat.text());
        chat.go();
        assert_eq!(chat.wait_for_question(), lua(), "{text}");
        assert_eq!((chat.sent(), chat.scripts.ran.borrow().len()), (0, 0), "{text}");
    }
}

#[test]
fn what_the_user_typed_is_theirs_and_saving_keeps_it_so() {
    let chat = Harness::new("@You:\nHello", [prose("ok")]);
    chat.type_at(0, "```lua\nflemma.opt.model = \"mine\"\n```");
    chat.write();
    chat.wait_for_disk(&chat.state("trust.jsonl"), "notes.chat");
    chat.wipe(chat.current());
    chat.edit("notes.chat");
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert_eq!(chat.body(0)["model"], "mine");
    // Later edits are trusted as well.
    chat.server.push(prose("again"));
    chat.replace("mine", "other");
    chat.type_below("more");
    chat.go();
    chat.wait_for("@Assistant:\nagain");
    assert_eq!((chat.body(1)["model"].as_str(), chat.questions()), (Some("other"), 0));
}

#[test]
fn only_the_latest_question_can_be_answered() {
    // A picker shows its questions beside each other, and each was about the text of its moment.
    let chat = Harness::new(FOUND, []);
    chat.go();
    assert_eq!(chat.wait_for_question(), lua());
    chat.go();
    assert_eq!(chat.wait_for_question(), lua());
    chat.read_in(1, "flemma.opt.model = \"worse\"");
    chat.answer_question(1, true);
    assert_eq!(chat.wait_for_question(), lua(), "the text is another one now");
    for old in [0, 1] {
        chat.answer_question(old, true);
    }
    assert_eq!((chat.sent(), chat.questions(), chat.scripts.ran.borrow().len()), (0, 3, 0));
    assert!(!chat.state("trust.jsonl").exists());
    // What was answered once is not answered again.
    chat.answer(false);
    chat.answer(true);
    assert_eq!((chat.sent(), chat.questions()), (0, 3));
}
