//! References that are captured when the message is sent.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use flemma_chat::{EditorSubject, Severity};
use flemma_model::UserError;
use flemma_workspace::{EditorItem, EditorView, LookStyle, Signs, ports::Question};
use serde_json::json;

use super::harness::{Harness, Setup, commands, prose};

const FILES: &[(&str, &str)] = &[
    ("a.rs", "one\ntwo\nthree\nfour\n"),
    ("odd#L2", "a file with an odd name\n"),
    ("empty.rs", ""),
    ("sub/b.rs", "alpha\nbeta\n"),
    ("../outside.rs", "secret one\nsecret two\n"),
];

/// A conversation in which the user types this.
pub(super) fn typing(words: &str, replies: usize) -> Harness {
    let setup = Setup { text: "@You:", files: FILES, ..Setup::default() };
    let chat = Harness::start(setup, (0..replies).map(|_| prose("ok")));
    chat.type_below(words);
    chat
}

/// An editor that shows a buffer with the name of the reference's file.
pub(super) fn showing(chat: &Harness) {
    let name = chat.work("a.rs");
    *chat.host.view.borrow_mut() = Some(Box::new(move |subject, path| {
        let name = path.map_or_else(|| name.clone(), Path::to_owned);
        let lines = ["fn main() {", "}"].map(str::to_owned).to_vec();
        let view = EditorView { name: name.clone(), first: 1, total: 2, ..EditorView::default() };
        Ok(match subject {
            EditorSubject::Buffer => EditorView { lines, is_modified: true, ..view },
            EditorSubject::Symbol => EditorView { lines, symbol: "main".to_owned(), ..view },
            EditorSubject::Diagnostics | EditorSubject::Quickfix => {
                let item = |name: &Path, text: &str| EditorItem {
                    name: name.to_owned(),
                    line: 2,
                    column: 1,
                    kind: "error".to_owned(),
                    text: text.to_owned(),
                };
                let secret = name.with_file_name("secret.env");
                let mut items = vec![item(&name, "no such field\nsee above")];
                if subject == EditorSubject::Quickfix {
                    items.push(item(&secret, "KEY=1234"));
                }
                EditorView { items, ..view }
            }
            EditorSubject::Diff => view,
        })
    }));
}

#[test]
fn lines_of_a_file_are_sent_with_their_numbers() {
    let chat = typing("What is @./a.rs#L2-L3 for?", 2);
    chat.go();
    chat.wait_for("@Assistant:\nok");
    chat.shows(
        "
        @You:
        What is @./a.rs#L2-L3 for?

        ```flemma:captured of=\"@./a.rs#L2-L3\"
        ./a.rs, lines 2 to 3 of 4
        2\ttwo
        3\tthree
        ```

        @Assistant:
        ok

        @You:
        |
        ",
    );
    let sent = chat.words(0);
    assert!(sent.contains("2\ttwo\n3\tthree") && !sent.contains("one") && !sent.contains("four"), "{sent}");
    // Every later request says the same, whatever the file has become.
    chat.put("a.rs", "changed\n");
    chat.type_below("And now?");
    chat.go();
    chat.wait_for("And now?\n\n@Assistant:\nok");
    assert!(chat.words(1).contains("2\ttwo\n3\tthree"));
    assert_eq!(chat.text().matches("flemma:captured").count(), 1);
}

#[test]
fn a_file_with_unsaved_changes_is_said_to_have_them() {
    for (words, said) in [
        ("See @./a.rs#L1", "./a.rs, line 1 of 4, without the changes in the editor, which are not saved\n1\tone"),
        ("See @./a.rs", "a.rs (text/x-rust, without the changes in the editor, which are not saved):\n\n```\none\n"),
    ] {
        for is_unsaved in [false, true] {
            let chat = typing(words, 1);
            if is_unsaved {
                *chat.host.unsaved.borrow_mut() = vec![chat.work("a.rs"), chat.work("sub/b.rs")];
            }
            chat.go();
            chat.wait_for("@Assistant:\nok");
            let body = chat.body(0).to_string();
            let said = serde_json::to_string(said).unwrap();
            assert_eq!(body.contains(said.trim_matches('"')), is_unsaved, "{body}");
            assert_eq!(body.contains("not saved"), is_unsaved, "{body}");
        }
    }
}

#[test]
fn a_range_that_the_file_lacks_is_not_sent() {
    let table = [
        ("@./a.rs#L3-L9", "./a.rs has 4 lines, and `#L3-L9` goes beyond them"),
        ("@./a.rs#L5", "./a.rs has 4 lines, and `#L5` goes beyond them"),
        ("@./a.rs#L0", "`#L0` names a line 0, and the first line is line 1"),
        ("@./a.rs#L3-L2", "`#L3-L2` ends before it begins. Write `#L2-L3`"),
        ("@./a.rs#L1-", "there is no such file, and `#L1-` names no lines. Write `#L1`"),
        ("@./a.rs#L1C3-L2C4", "there is no such file, and `#L1C3-L2C4` names no lines. Write `#L1-L2`"),
        ("@./a.rs#l3", "there is no such file, and `#l3` names no lines. Write `#L3`"),
        ("@./a.rs#2-3", "there is no such file, and `#2-3` names no lines. Write `#L2-L3`"),
        ("@./a.rs#L", "there is no such file, and `#L` names no lines. Write `#L10` or `#L10-L20`"),
        ("@./a.rs#L1-L2-L3", "there is no such file, and `#L1-L2-L3` names no lines"),
        ("@./a.rs#L99999999999999999999999", "./a.rs has 4 lines, and `#L99999999999999999999999` goes beyond them"),
        ("@./empty.rs#L1", "./empty.rs has 0 lines, and `#L1` goes beyond them"),
        ("@./sub#L1", "./sub is a folder, so it has no lines"),
        ("@./gone.rs#L1", "./gone.rs cannot be read: No such file"),
        ("@./pic.png#L1", "./pic.png is a PNG image, which has no lines. Name it without `#L`"),
        ("@./raw#L1", "./raw is not text, so it has no lines"),
    ];
    for (reference, problem) in table {
        let chat = typing(&format!("See {reference}"), 1);
        chat.put("pic.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU");
        chat.put("raw", b"\xff\xfe\0");
        let before = chat.text();
        chat.go();
        chat.wait_for_words(problem);
        chat.drain_until("rest", |chat| !chat.conversation().is_busy());
        assert_eq!(chat.sent(), 0, "{reference}");
        assert_eq!(chat.text(), before, "nothing is written");
        let told = chat.told().join("\n");
        assert!(told.contains(&format!("error: Not sent: line 2: {reference}: {problem}")), "{told}");
        let diagnostics = chat.buffer().diagnostics.borrow().clone();
        let found = diagnostics.iter().find(|found| found.message.contains(problem)).expect("a diagnostic");
        assert_eq!((found.line, found.severity), (1, Severity::Warning));
        // A reference that is mended is sent.
        chat.replace_line(1, "See @./a.rs#L1");
        chat.workspace.diagnose_again(chat.current());
        assert!(chat.buffer().diagnostics.borrow().is_empty());
        chat.go();
        chat.wait_for("@Assistant:\nok");
    }
}

#[test]
fn a_misspelt_end_may_be_the_name_of_a_file() {
    for (name, reference) in [("odd#L2-", "@./odd#L2-"), ("odd#3", "@./odd#3"), ("odd#L2", "@./odd%23L2")] {
        let chat = typing(&format!("See {reference}"), 1);
        chat.put(name, "the whole of it\n");
        chat.go();
        chat.wait_for("@Assistant:\nok");
        assert!(chat.words(0).contains("the whole of it"), "{reference}");
        assert!(!chat.text().contains("flemma:captured"), "{reference}");
    }
}

#[test]
fn a_line_that_is_too_long_is_cut_and_says_so() {
    let chat = typing("See @./long.js#L1-L2", 1);
    chat.put("long.js", format!("{}\nend\n", "é".repeat(150_000)));
    chat.go();
    chat.wait_for("@Assistant:\nok");
    let sent = chat.words(0);
    assert!(sent.contains("éééé") && sent.contains("[Only the beginning of the first of 2 lines is here."), "{sent}");
    assert!(chat.text().contains("of=\"@./long.js#L1-L2\" cut=\"part of 2 lines\""), "{}", chat.text());
    let told = chat.told().join("\n");
    assert!(
        told.contains("warn")
            && told.contains("line 2: @./long.js#L1-L2: only the beginning of the first of 2 lines is sent"),
        "{told}"
    );
}

#[test]
fn a_cut_reference_is_told_and_drawn() {
    let chat = typing("See @./long.rs#L1-L3000", 1);
    chat.put("long.rs", "x\n".repeat(3000));
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert!(chat.told().join("\n").contains("@./long.rs#L1-L3000: only the first 2000 of 3000 lines are sent"));
    let first = chat.line_with("flemma:captured");
    let last = chat.line_with("[2000 of 3000 lines are here.") + 1;
    let line = |width| {
        let style = LookStyle { width, signs: Signs::default(), offset: jiff::SignedDuration::ZERO };
        let chunks = chat.workspace.views.fold_text(&chat.conversation(), &(first..last + 1), style).expect("a fold");
        chunks.iter().map(|chunk| chunk.text.as_str()).collect::<String>()
    };
    for width in [30, 45, 50, 55, 60, 200] {
        assert!(line(width).ends_with("2000 of 3000 lines "), "{width}: {}", line(width));
    }
    let line = line(75);
    assert!(line.contains("@./long.rs#L1-L3000  lines 1") && line.ends_with("2000 of 3000 lines "), "{line}");
}

#[test]
fn an_empty_buffer_is_not_sent() {
    let chat = typing("See @buffer", 1);
    *chat.host.view.borrow_mut() = Some(Box::new(|_, _| {
        Ok(EditorView { first: 1, lines: vec![String::new()], total: 1, ..EditorView::default() })
    }));
    chat.go();
    chat.wait_for_words("@buffer: the buffer is empty (a buffer without a name)");
    assert_eq!(chat.sent(), 0);
}

#[test]
fn an_old_reference_to_lines_gets_no_warning() {
    let chat = typing("See @./a.rs#L1", 2);
    chat.go();
    chat.wait_for("@Assistant:\nok");
    fs::remove_file(chat.work("a.rs")).unwrap();
    chat.type_below("Now @./a.rs");
    chat.go();
    chat.wait_for("Now @./a.rs\n\n@Assistant:\nok");
    let lines: Vec<_> = chat.buffer().diagnostics.borrow().iter().map(|found| found.line).collect();
    assert_eq!(lines, [chat.line_with("Now @./a.rs")]);
}

#[test]
fn a_file_with_such_a_name_is_meant() {
    let chat = typing("See @./odd#L2", 1);
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert!(chat.words(0).contains("./odd#L2, line 1 of 1\n1\ta file with an odd name"));
}

#[test]
fn what_the_editor_shows_is_captured_once() {
    let chat = typing("Fix @diagnostics in @buffer, see @symbol", 2);
    showing(&chat);
    chat.go();
    chat.wait_for("@Assistant:\nok");
    chat.shows(
        "
        @You:
        Fix @diagnostics in @buffer, see @symbol

        ```flemma:captured of=\"@diagnostics\"
        a.rs: 1 diagnostic
        a.rs:2:1 error: no such field
            see above
        ```

        ```flemma:captured of=\"@buffer\"
        a.rs, 2 lines, with unsaved changes
        1\tfn main() {
        2\t}
        ```

        ```flemma:captured of=\"@symbol\"
        a.rs, lines 1 to 2: `main`
        1\tfn main() {
        2\t}
        ```

        @Assistant:
        ok

        @You:
        |
        ",
    );
    chat.type_below("Again");
    chat.go();
    chat.wait_for("Again\n\n@Assistant:\nok");
    assert_eq!(*chat.host.looked_up.borrow(), ["diagnostics", "buffer", "symbol"]);
    assert!(chat.words(1).contains("no such field"));
}

#[test]
fn a_path_limits_a_reference() {
    let chat = typing("@buffer:./sub/b.rs and @diagnostics:../outside.rs", 1);
    showing(&chat);
    chat.go();
    chat.wait_for("@Assistant:\nok");
    let expected = [("buffer", "sub/b.rs"), ("diagnostics", "../outside.rs")].map(|(subject, path)| {
        let path = if path.starts_with("..") { chat.root().join("outside.rs") } else { chat.work(path) };
        format!("{subject} {}", path.display())
    });
    assert_eq!(*chat.host.looked_up.borrow(), expected);
}

#[test]
fn an_editor_that_cannot_say_it_stops_the_message() {
    let chat = typing("@symbol", 0);
    *chat.host.view.borrow_mut() = Some(Box::new(|_, _| Err(UserError::new("nothing is there"))));
    chat.go();
    chat.wait_for_words("error: Not sent: line 2: @symbol: nothing is there");
    assert_eq!(chat.sent(), 0);
    // Without an editor too.
    let chat = typing("@buffer", 0);
    chat.go();
    chat.wait_for_words("this reference needs an editor");
    assert_eq!(chat.sent(), 0);
}

#[test]
fn stopping_while_the_editor_looks_sends_and_writes_nothing() {
    let chat = typing("@buffer", 1);
    showing(&chat);
    chat.host.looks_later.set(true);
    let before = chat.text();
    chat.go();
    chat.drain_until("busy", |chat| chat.conversation().is_busy());
    chat.stop();
    assert!(!chat.conversation().is_busy());
    chat.host.answer_look();
    // The next time has its own answer.
    chat.go();
    chat.drain_until("busy", |chat| chat.conversation().is_busy());
    assert_eq!(chat.text(), before);
    assert_eq!(chat.sent(), 0);
    chat.host.answer_look();
    chat.wait_for("@Assistant:\nok");
    assert_eq!(chat.text().matches("flemma:captured").count(), 1);
}

#[test]
fn what_must_not_be_read_is_not_captured() {
    let table = [
        ("@buffer:./secret.env", Err("@buffer:./secret.env: secret.env: the ")),
        ("@symbol:./secret.env", Err("@symbol:./secret.env: secret.env: the ")),
        ("@diagnostics:./secret.env", Err("@diagnostics:./secret.env: secret.env: the ")),
        ("@quickfix", Ok("[1 entry left out, because reading there is denied.]")),
    ];
    for options in [
        json!({ "tools": { "auto_approve": ["!read(**/secret.env)"] } }),
        json!({ "agent": "coder", "agents": { "coder": { "allowed_read_paths": ["./a.rs"] } } }),
    ] {
        for (reference, outcome) in table {
            let chat = typing(reference, 1);
            chat.set_up(options.clone(), None).unwrap();
            showing(&chat);
            chat.go();
            match outcome {
                Ok(words) => {
                    chat.wait_for("@Assistant:\nok");
                    let text = chat.text();
                    assert!(text.contains(words) && text.contains("quickfix list: 2 entries"), "{text}");
                }
                Err(words) => chat.wait_for_words(words),
            }
            assert!(!chat.text().contains("KEY=1234") && !chat.text().contains("fn main"), "{}", chat.text());
        }
    }
}

#[test]
fn much_text_is_cut_and_says_so() {
    let chat = typing("@buffer", 1);
    *chat.host.view.borrow_mut() = Some(Box::new(|_, _| {
        let lines = (1..=2000).map(|n| format!("line {n} {}", "x".repeat(100))).collect();
        Ok(EditorView { first: 1, lines, total: 90_000, ..EditorView::default() })
    }));
    chat.go();
    chat.wait_for("@Assistant:\nok");
    let text = chat.text();
    assert!(text.contains("a buffer without a name, 90000 lines"));
    assert!(text.contains(" of 90000 lines are here. The rest is left out: up to 50.0 KB are sent.]"), "{text}");
    assert!(text.len() < 60 * 1024);
}

// Trust.

#[test]
fn foreign_references_are_asked_about() {
    let text = "@You:\nHelp: @diagnostics and @buffer";
    let chat = Harness::new(text, [prose("ok")]);
    showing(&chat);
    chat.go();
    let question = chat.wait_for_question();
    let references = ["@diagnostics", "@buffer"].map(str::to_owned).to_vec();
    assert_eq!(question, Question::Files { files: Vec::new(), references, line: 1 });
    chat.answer(false);
    assert!(chat.host.looked_up.borrow().is_empty(), "nothing is looked up");
    assert_eq!((chat.sent(), chat.text().as_str()), (0, "@You:\nHelp: @diagnostics and @buffer"));
    chat.go();
    chat.wait_for_question();
    chat.answer(true);
    chat.wait_for("@Assistant:\nok");
    assert!(chat.words(0).contains("no such field"));
}

/// Ways to bring a reference into a conversation without typing it.
#[test]
fn references_that_were_not_typed_here_are_asked_about() {
    type Bring = fn(&Harness);
    let ways: [(&str, &str, Bring); 7] = [
        ("in the file", "@You:\nsee @buffer", |_| {}),
        ("on the marker's line", "@You: see @buffer", |_| {}),
        ("with a path", "@You:\n@buffer:./a.rs", |_| {}),
        ("read in", "@You:", |chat| chat.read_in(1, "see @buffer")),
        ("beside words of the user's", "@You:\nsee @buffer", |chat| chat.replace("see", "please see")),
        ("in a fence that is taken away", "@You:\n```\n@buffer\n```\nHello", |chat| {
            chat.delete(3..4);
            chat.delete(1..2);
        }),
        ("in what a model wrote", "@You:\nHi\n\n@Assistant:\n@buffer", |chat| chat.replace_line(3, "@You:")),
    ];
    for (way, text, bring) in ways {
        let chat = Harness::new(text, [prose("ok")]);
        showing(&chat);
        bring(&chat);
        chat.go();
        let question = chat.wait_for_question();
        assert!(
            matches!(&question, Question::Files { references, .. } if references.len() == 1),
            "{way}: {question:?}"
        );
        assert!(chat.host.looked_up.borrow().is_empty(), "{way}");
        assert_eq!(chat.sent(), 0, "{way}");
    }
}

#[test]
fn references_are_asked_about_with_files_in_one_question() {
    let files = FILES;
    let text = "@You:\n@../outside.rs#L2 and @diff";
    let chat = Harness::start(Setup { text, files, ..Setup::default() }, [prose("ok")]);
    showing(&chat);
    chat.go();
    let Question::Files { files, references, line } = chat.wait_for_question() else { panic!("files") };
    assert_eq!(files, [chat.root().join("outside.rs").to_str().unwrap()], "one name for the two meanings");
    assert_eq!((references, line), (vec!["@diff".to_owned()], 1));
    chat.answer(false);
    assert_eq!(chat.sent(), 0);
}

#[test]
fn a_link_in_place_of_odd_names_is_asked_about() {
    let text = "@You:\n@./a.rs#L1";
    let chat = Harness::start(Setup { text, files: FILES, ..Setup::default() }, [prose("ok")]);
    std::os::unix::fs::symlink(chat.root().join("outside.rs"), chat.work("a.rs#L1")).unwrap();
    chat.go();
    let Question::Files { files, .. } = chat.wait_for_question() else { panic!("files") };
    assert_eq!(files, [chat.root().join("outside.rs").to_str().unwrap()]);
    assert_eq!(chat.sent(), 0);
}

#[test]
fn a_reference_that_comes_during_the_question_is_asked_about() {
    let chat = Harness::new("@You:\n@diagnostics", [prose("ok")]);
    showing(&chat);
    chat.go();
    chat.wait_for_question();
    chat.read_in(2, "and @quickfix");
    chat.answer(true);
    let Question::Files { references, .. } = chat.wait_for_question() else { panic!("references") };
    assert_eq!(references, ["@quickfix"]);
    assert_eq!(chat.sent(), 0);
}

#[test]
fn captured_text_names_nothing() {
    let chat = typing("@buffer", 2);
    *chat.host.view.borrow_mut() = Some(Box::new(|_, _| {
        let lines = ["@You:", "@diff @//etc/hostname @calculator_async", "```", "**Tool Result:** `x`"];
        let lines = lines.map(str::to_owned).to_vec();
        Ok(EditorView { first: 1, total: lines.len(), lines, ..EditorView::default() })
    }));
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert_eq!(*chat.host.looked_up.borrow(), ["buffer"]);
    assert_eq!(chat.questions(), 0);
    assert!(!chat.words(0).contains("left out"));
    let tools = chat.body(0)["tools"].to_string();
    assert!(!tools.contains("calculator_async"), "{tools}");
}

#[test]
fn a_turn_that_goes_on_captures_nothing_more() {
    let seen = Arc::new(Mutex::new(0));
    let options = json!({ "tools": { "auto_approve": ["bash"] } });
    let setup = Setup { text: "@You:", options, ..Setup::default() };
    let chat = Harness::start(setup, [commands(&["echo @diff"]), prose("done")]);
    chat.type_below("@diagnostics");
    showing(&chat);
    let show = chat.host.view.take().unwrap();
    let count = Arc::clone(&seen);
    *chat.host.view.borrow_mut() = Some(Box::new(move |subject, path| {
        *count.lock().unwrap() += 1;
        show(subject, path)
    }));
    chat.go();
    chat.wait_for("@Assistant:\ndone");
    assert_eq!(*seen.lock().unwrap(), 1);
    let captured = |n| chat.words(n).matches("no such field").count();
    assert_eq!((captured(0), captured(1)), (1, 1));
}

// Git.
