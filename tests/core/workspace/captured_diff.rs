//! `@diff`: the differences of the working tree, captured when the message is sent.

use std::{fs, path::Path, process::Command};

use serde_json::json;

use super::{
    captures::{showing, typing},
    harness::Harness,
};

fn git(folder: &Path, arguments: &[&str]) {
    let who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
    let done = Command::new("git").args(who).args(arguments).current_dir(folder).output().expect("git is there");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// A repository with changes, beside a conversation in which the user types this.
fn repository(typed: &str, replies: usize) -> Harness {
    let chat = typing(typed, replies);
    showing(&chat);
    let folder = chat.work("");
    git(&folder, &["init", "-q"]);
    chat.put("secret.env", "KEY=1\n");
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "one"]);
    chat.put("a.rs", "one\n2\nthree\nfour\n");
    chat.put("sub/b.rs", "alpha\nBETA\n");
    chat.put("secret.env", "KEY=1234\n");
    chat
}

#[test]
fn the_differences_of_the_working_tree_are_captured() {
    let chat = repository("Review @diff", 1);
    chat.go();
    chat.wait_for("@Assistant:\nok");
    let sent = chat.words(0);
    assert!(sent.contains(&format!("git diff in {}", chat.work("").to_str().unwrap().trim_end_matches('/'))), "{sent}");
    for words in ["-two\n+2\n", "-beta\n+BETA\n", "+KEY=1234"] {
        assert!(sent.contains(words), "{sent}");
    }
}

#[test]
fn differences_of_denied_files_are_left_out() {
    for options in [
        json!({ "tools": { "auto_approve": ["!read(**/secret.env)"] } }),
        json!({ "agent": "coder", "agents": { "coder": { "allowed_read_paths": ["./a.rs", "./sub"] } } }),
    ] {
        let chat = repository("Review @diff", 1);
        chat.set_up(options, None).unwrap();
        chat.go();
        chat.wait_for("@Assistant:\nok");
        let sent = chat.words(0);
        assert!(sent.contains("+2\n") && sent.contains("+BETA\n"), "{sent}");
        assert!(
            !sent.contains("KEY") && sent.contains("[1 file left out, because reading there is denied.]"),
            "{sent}"
        );
    }
}

#[test]
fn differences_begin_with_a_list_of_all_files() {
    let chat = repository("Review @diff", 1);
    chat.put("a.rs", "x\n".repeat(4000));
    chat.go();
    chat.wait_for("@Assistant:\nok");
    let sent = chat.words(0);
    for words in [
        ": 3 files with +4002 -6\na.rs | +4000 -4\nsecret.env | +1 -1\nsub/b.rs | +1 -1\ndiff --git a/a.rs",
        "lines about this file are here.]\ndiff --git",
        "+KEY=1234",
        "+BETA",
    ] {
        assert!(sent.contains(words), "`{words}` is not in\n{sent}");
    }
    assert!(chat.text().contains("of=\"@diff\" cut=\"part of the differences\""));
    assert!(chat.told().join("\n").contains("@diff: diff truncated"));
    assert!(chat.text().len() < 60 * 1024);
}

#[test]
fn differences_of_what_is_not_there_are_an_error() {
    let table = [
        ("@diff:./nope", "there is no such file or folder"),
        ("@diff:./nope/deeper", "there is no such file or folder"),
        ("@diff:./new.rs", "git does not know the file: it is new, or ignored"),
    ];
    for (reference, problem) in table {
        let chat = repository(&format!("Review {reference}"), 1);
        chat.put("new.rs", "new\n");
        chat.go();
        chat.wait_for_words(&format!("{reference}: {problem}"));
        assert_eq!(chat.sent(), 0, "{reference}");
    }
    for (name, words) in [("odd#L2", "no unstaged changes"), ("sub/b.rs", "sub/b.rs | +0 -2")] {
        let chat = repository(&format!("Review @diff:./{}", name.replace('#', "%23")), 1);
        if name == "sub/b.rs" {
            fs::remove_file(chat.work(name)).unwrap();
        }
        chat.go();
        chat.wait_for("@Assistant:\nok");
        assert!(chat.words(0).contains(words), "{}", chat.words(0));
    }
}

#[test]
fn differences_of_a_denied_file_alone_are_an_error() {
    let chat = repository("Review @diff:./secret.env", 1);
    chat.set_up(json!({ "tools": { "auto_approve": ["!read(**/secret.env)"] } }), None).unwrap();
    chat.go();
    chat.wait_for_words("@diff:./secret.env: the rule `!read(**/secret.env)` denies reading it");
    assert_eq!(chat.sent(), 0);
}

#[test]
fn differences_say_what_is_not_saved() {
    let chat = repository("Review @diff", 1);
    chat.set_up(json!({ "tools": { "auto_approve": ["!read(**/secret.env)"] } }), None).unwrap();
    let unsaved = ["a.rs", "secret.env", "../outside.rs"].map(|name| chat.work(name));
    chat.host.unsaved.borrow_mut().extend(unsaved);
    chat.go();
    chat.wait_for("@Assistant:\nok");
    let (sent, told) = (chat.words(0), chat.told().join("\n"));
    assert!(sent.contains("[a.rs has unsaved changes in the editor, which are not in this diff.]"), "{sent}");
    assert!(told.contains("@diff: a.rs has unsaved changes, which are not in the diff"), "{told}");
    assert!(!sent.contains("secret.env has") && !sent.contains("outside.rs has"), "{sent}");
}

#[test]
fn a_path_limits_the_differences() {
    for path in ["./sub", "./sub/b.rs"] {
        let chat = repository(&format!("Review @diff:{path}"), 1);
        chat.go();
        chat.wait_for("@Assistant:\nok");
        let sent = chat.words(0);
        assert!(sent.contains("+BETA") && !sent.contains("+2\n") && !sent.contains("KEY"), "{sent}");
    }
}

#[test]
fn a_repository_runs_nothing_when_its_differences_are_captured() {
    let chat = repository("Review @diff", 1);
    let folder = chat.work("");
    let trap = format!("touch {}", chat.work("trapped").display());
    for option in ["core.fsmonitor", "diff.external", "core.pager", "diff.x.textconv", "diff.x.command"] {
        git(&folder, &["config", option, &trap]);
    }
    chat.put(".git/info/attributes", "*.rs diff=x\n");
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert!(chat.words(0).contains("+BETA"));
    assert!(!chat.work("trapped").exists());
}

#[test]
fn a_folder_without_a_repository_is_an_error() {
    let chat = typing("@diff", 0);
    showing(&chat);
    chat.go();
    chat.wait_for_words("Not sent: line 2: @diff: `git diff` failed in");
    assert_eq!(chat.sent(), 0);
}
