//! `pending`, `show`, `check`, `sweep`, and what comes with every program.

use std::{
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::Path,
};

use serde_json::json;

use super::harness::{Shell, WAITING};
use crate::said::Said;

#[test]
fn calls_that_wait_are_listed_from_all_folders() {
    let shell = Shell::with_notes();
    shell.put("deep/er/more.chat", WAITING);
    shell.put("deep/done.chat", "@You:\nHello\n");
    shell.put("deep/notes.md", WAITING);
    let said = shell.flemma(&["pending"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert_eq!(
        said.out.lines().collect::<Vec<_>>(),
        [
            "./deep/er/more.chat:26: call_ask ask_user elicitation: Why?",
            "./deep/er/more.chat:31: call_bash bash approval: $ touch ran",
            "./deep/er/more.chat:36: call_theirs theirs elicitation (as the file says), expires 2999-01-01T00:00:00Z: text=\"a␛[31m\"",
            "./notes.chat:26: call_ask ask_user elicitation: Why?",
            "./notes.chat:31: call_bash bash approval: $ touch ran",
            "./notes.chat:36: call_theirs theirs elicitation (as the file says), expires 2999-01-01T00:00:00Z: text=\"a␛[31m\"",
        ]
    );
    let said = shell.flemma(&["pending", "notes.chat", "--json"]).json();
    assert_eq!(said["pending"].as_array().unwrap().len(), 3);
    assert_eq!(
        said["pending"][1],
        json!({
            "file": "notes.chat", "line": 31, "call": "call_bash", "tool": "bash", "kind": "approval", "expires": null,
            "known": true, "state": "waiting", "started": null, "by": null, "at": null,
            "overdue": false, "question": "$ touch ran", "input": { "label": null, "command": "touch ran", "timeout": null },
        })
    );
}

#[test]
fn conversations_of_the_project_are_listed_too() {
    let shell = Shell::new();
    shell.put(".git/HEAD", "ref: refs/heads/main\n");
    shell.put("src/main.rs", "");
    let project = shell.path(".").canonicalize().unwrap();
    let theirs = |folder: &Path| shell.state().join("conversations").join(folder.strip_prefix("/").unwrap());
    for (folder, name) in [(project.as_path(), "own.chat"), (project.parent().unwrap(), "of another.chat")] {
        fs::create_dir_all(theirs(folder)).unwrap();
        fs::write(theirs(folder).join(name), WAITING).unwrap();
    }
    shell.put("here.chat", WAITING);
    let mut command = shell.command(&["pending", "--json"]);
    let in_folder = Said::from(command.current_dir(shell.path("src")).output().unwrap()).json();
    for (listed, files) in [
        (shell.flemma(&["pending", "--json"]).json(), ["here.chat", "own.chat"].as_slice()),
        (in_folder, &["own.chat"]),
    ] {
        let calls = listed["pending"].as_array().unwrap();
        let mut names: Vec<&str> = calls.iter().map(|call| call["file"].as_str().unwrap()).collect();
        names.dedup();
        let names = names.iter().map(|name| name.rsplit('/').next().unwrap());
        assert!(names.eq(files.iter().copied()), "{listed}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let shell = Shell::with_notes();
    shell.put("a.chat", b"\xff\xfe\n");
    fs::set_permissions(shell.path("a.chat"), fs::Permissions::from_mode(0o644)).unwrap();
    let said = shell.flemma(&["pending"]);
    assert_eq!((said.code, said.out.lines().count()), (1, 3));
    assert_eq!(said.err, "flemma: ./a.chat is not UTF-8 text (byte 0); open it in an editor\n");
    let said = shell.flemma(&["pending", "none.chat"]);
    assert_eq!((said.code, said.err.as_str()), (1, "flemma: none.chat: No such file or directory\n"));
    let said = shell.flemma(&["--json", "show", "none.chat"]);
    assert_eq!(said.code, 1);
    assert_eq!(said.json(), json!({ "ok": false, "error": "none.chat cannot be read: No such file or directory" }));
}

#[test]
fn a_conversation_is_shown_with_its_inputs() {
    let shell = Shell::with_notes();
    let said = shell.flemma(&["show", "notes.chat"]);
    assert_eq!(said.code, 0);
    assert!(said.out.contains("calls     3 without a result, 3 waiting"), "{}", said.out);
    assert!(said.out.contains("    \"command\": \"touch ran\""), "{}", said.out);
    // What a file says cannot control the terminal.
    assert!(!said.out.contains('\u{1b}'), "{:?}", said.out);
    let said = shell.flemma(&["show", "notes.chat", "--json"]).json();
    assert_eq!(said["messages"], json!({ "user": 2, "assistant": 1 }));
}

#[test]
fn a_question_is_that_of_the_input() {
    let shell = Shell::new();
    let forged = WAITING.replace("question=\"Why?\"", "question=\"Keep the backups?\"");
    shell.put("notes.chat", forged.replace("status=pending\n", "status=pending question=\"Run ls?\"\n"));
    for command in ["pending", "show"] {
        let said = shell.flemma(&[command, "notes.chat"]);
        assert!(said.out.contains("call_ask ask_user elicitation: Why?\n"), "{}", said.out);
        assert!(said.out.contains("call_bash bash approval: $ touch ran\n"), "{}", said.out);
        let json = shell.flemma(&[command, "notes.chat", "--json"]).json().to_string();
        assert!(!json.contains("backups") && !json.contains("Run ls?") && !json.contains("Which?"), "{json}");
    }
}

#[test]
fn what_cannot_be_seen_is_escaped() {
    let shell = Shell::new();
    shell.put("notes.chat", WAITING.replace("touch ran", "rm a\u{200b}b\u{a0}c\u{202e}d\u{7f}e\u{e0041}"));
    for command in ["pending", "show"] {
        let said = shell.flemma(&[command, "notes.chat"]);
        let shown = r"rm a\u{200b}b\u{a0}c\u{202e}d";
        assert!(said.out.matches(shown).count() == if command == "show" { 2 } else { 1 }, "{}", said.out);
        assert!(said.out.contains(r"e\u{e0041}") && !said.out.contains('\u{7f}'), "{}", said.out);
        let said = shell.flemma(&[command, "notes.chat", "--json"]);
        assert!(said.out.contains(r"a\u200bb\u00a0c\u202ed\u007fe\udb40\udc41"), "{}", said.out);
        let input = &said.json()["pending"][1]["input"]["command"];
        assert_eq!(input, "rm a\u{200b}b\u{a0}c\u{202e}d\u{7f}e\u{e0041}");
    }
}

#[test]
fn words_of_a_file_do_not_control_the_terminal() {
    let shell = Shell::new();
    let hostile = WAITING.replace("question=\"Why?\"", "question=\"Why\u{1b}[2J\u{7}?\"");
    shell.put("a\u{1b}]0;b\n.chat", &hostile);
    let said = shell.flemma(&["pending"]);
    assert_eq!((said.code, said.out.lines().count()), (0, 3));
    assert!(said.out.chars().all(|letter| letter == '\n' || !letter.is_control()), "{:?}", said.out);
    assert_eq!(shell.flemma(&["pending", "--json"]).json()["pending"][0]["file"], "./a\u{1b}]0;b\n.chat");
}

#[test]
fn mistakes_are_listed_and_errors_count() {
    let shell = Shell::with_notes();
    assert_eq!(shell.flemma(&["check"]).code, 0);
    shell.put("bad.chat", "@You:\n**Tool Result:** `call_x`\n\n```\nwhat\n```\n");
    let said = shell.flemma(&["check"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.starts_with("./bad.chat:2: error: "), "{}", said.out);
    assert_eq!(shell.flemma(&["check", "--json"]).json()["ok"], false);
}

#[test]
fn a_check_names_the_agent_that_a_file_chooses() {
    let shell = Shell::new();
    shell.put("a.chat", "```json\n{ \"agent\": \"diary\" }\n```\n\n@You:\nHello\n");
    shell.put("b.chat", "```lua\nflemma.opt.agent = \"diary\"\n```\n\n@You:\nHello\n");
    let said = shell.flemma(&["check"]);
    assert_eq!((said.code, said.out.as_str()), (0, "./a.chat: agent: diary\n"));
    let json = shell.flemma(&["check", "--json"]).json();
    assert_eq!((&json["ok"], &json["agents"][0]["agent"]), (&true.into(), &"diary".into()));
}

#[test]
fn calls_whose_deadline_has_passed_get_an_error_result() {
    let shell = Shell::with_notes();
    shell.put("old.chat", WAITING.replace("2999", "2020"));
    shell.put("older.chat", WAITING.replace("question=\"Why?\"", "expires=2020-01-01T00:00:00Z question=\"Why?\""));
    let said = shell.flemma(&["sweep"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert_eq!(said.out, "./old.chat: call_theirs has expired\n./older.chat: call_ask has expired\n");
    assert!(shell.text("old.chat").contains("**Tool Result:** `call_theirs` (error)\n\n```\nThe user did not respond"));
    assert_eq!(shell.text("notes.chat"), WAITING, "nothing there is over");
    assert_eq!(shell.flemma(&["sweep", "--json"]).json()["expired"], json!([]));
}

#[test]
fn a_link_out_of_the_folder_is_not_followed() {
    let shell = Shell::new();
    let overdue = WAITING.replace("2999", "2020");
    for name in ["elsewhere/away.chat", "here/in/near.chat"] {
        shell.put(name, &overdue);
    }
    symlink("../elsewhere/away.chat", shell.path("here/out.chat")).unwrap();
    symlink("../elsewhere", shell.path("here/folder")).unwrap();
    symlink("in/near.chat", shell.path("here/link.chat")).unwrap();
    let said = shell.flemma(&["sweep", "here"]);
    assert_eq!((said.code, said.out.as_str()), (0, "here/in/near.chat: call_theirs has expired\n"), "{said:?}");
    assert_eq!(shell.text("elsewhere/away.chat"), overdue);
    // One that is named is meant.
    assert!(shell.flemma(&["sweep", "here/out.chat"]).out.contains("call_theirs has expired"));
}

#[test]
fn what_sweep_leaves_as_it_is_is_named() {
    let shell = Shell::new();
    let late = WAITING.replace("2999", "2020");
    shell.put("bad.chat", format!("{late}\n**Tool Result:** `call_x`\n\n```\nwhat\n```\n"));
    shell.put("text.chat", late.replace("question=\"Which?\"\n", "question=\"Which?\"\nnot sent\n"));
    // A stranger's claims, and frontmatter that nobody has trusted, do not keep a call from ending.
    let forged = late.replace("status=pending\n", "status=approved\n").replace("executor=human", "executor=x");
    shell.put("theirs.chat", format!("```lua\nerror('no')\n```\n\n{forged}"));
    let said = shell.flemma(&["sweep"]);
    assert_eq!(said.code, 1);
    assert_eq!(
        said.out,
        "./text.chat: call_theirs was left as it is: its deadline has passed, but its block has text that was not sent; \
         open it in an editor\n./theirs.chat: call_theirs has expired\n"
    );
    let left = "flemma: ./bad.chat: call_theirs was left as it is: nothing was changed, because the file has an error in line 41";
    assert!(said.err.starts_with(left) && said.err.contains("(`flemma check` lists all)"), "{said:?}");
    assert!(shell.text("text.chat").contains("not sent"));
    let left = shell.flemma(&["sweep", "--json"]).json()["left"].clone();
    let files: Vec<_> = left.as_array().unwrap().iter().map(|left| left["file"].as_str().unwrap()).collect();
    assert_eq!(files, ["./bad.chat", "./text.chat"]);
    // Another process watches the deadlines of what it has open.
    shell.put("text.chat", &late);
    let mut other = crate::other_holder::Other::hold(&shell.state().join("locks"), &shell.path("text.chat"));
    let said = shell.flemma(&["sweep", "text.chat"]);
    assert!(said.code == 0 && said.out.starts_with("text.chat: left to process "), "{said:?}");
    other.kill();
}

#[test]
fn every_name_is_on_one_line_and_can_be_told_apart() {
    let shell = Shell::new();
    for (name, shown) in [
        ("a\nb.chat", "$'./a\\nb.chat'"),
        ("a b.chat", "./a b.chat"),
        ("a\u{1b}[2Jb.chat", "$'./a\\x1b[2Jb.chat'"),
        ("a\u{202e}b.chat", "$'./a\\u202eb.chat'"),
        ("a\\nb.chat", "./a\\nb.chat"),
        ("it's\t.chat", "$'./it\\'s\\t.chat'"),
        ("ü\u{200d}.chat", "./ü\u{200d}.chat"),
    ] {
        shell.put(name, WAITING);
        let said = shell.flemma(&["pending"]);
        let lines: Vec<_> = said.out.lines().collect();
        assert_eq!(lines.len(), 3, "{said:?}");
        assert!(lines.iter().all(|line| line.starts_with(&format!("{shown}:"))), "{said:?}");
        let said = shell.flemma(&["pending", "--json"]).json();
        assert_eq!(said["pending"][0]["file"], format!("./{name}"));
        let said = shell.flemma(&["resolve", &format!("./{name}"), "call_ask", "--error", "x"]);
        assert_eq!((said.code, said.out.lines().count()), (0, 1), "{said:?}");
        fs::remove_file(shell.path(name)).unwrap();
    }
    shell.put("-n.chat", WAITING);
    assert!(shell.flemma(&["show", "--", "-n.chat"]).out.starts_with("./-n.chat\n"));
    // An id is quoted as well.
    shell.put("id.chat", WAITING.replace("call_ask", "call ask\u{1b}"));
    assert!(shell.flemma(&["pending", "id.chat"]).out.starts_with("id.chat:26: $'call ask\\x1b' ask_user"));
    let other = shell.path("").join(std::ffi::OsStr::from_bytes(b"n\xff.chat"));
    fs::write(&other, WAITING).unwrap();
    let said = shell.flemma(&["pending"]);
    let problem =
        "flemma: $'./n\\xff.chat' is no name that a conversation can have, because it is not UTF-8: rename the file\n";
    assert_eq!((said.code, said.err.as_str()), (1, problem));
}

#[test]
fn no_error_has_the_words_of_a_library() {
    let shell = Shell::with_notes();
    let deep = "[".repeat(200) + &"]".repeat(200);
    let said = shell.flemma(&["resolve", "notes.chat", "call_ask", "--result", &deep]);
    assert_eq!(said.err, "flemma: --result is nested too deeply: lists and objects may be 127 levels deep\n");
    shell.put("loop/notes.chat", WAITING);
    let folder = shell.path("gone");
    std::os::unix::fs::symlink("nowhere", &folder).unwrap();
    for arguments in [["pending", "gone"], ["sweep", "gone"], ["check", "gone"], ["show", "gone"]] {
        let said = shell.flemma(&arguments);
        assert!(said.code == 1 && !said.err.contains("os error"), "{said:?}");
    }
    // Who reads the help is gone.
    for arguments in [["--help", "--json"], ["resolve", "--help"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = shell.command(&arguments).stdout(full).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(1), b"".as_slice()), "{arguments:?}");
    }
}

#[test]
fn completions_and_the_manual_page_name_every_command() {
    let shell = Shell::new();
    for (arguments, begin) in [
        (["completions", "bash"].as_slice(), "_flemma"),
        (&["completions", "zsh"], "#compdef flemma"),
        (&["completions", "fish"], "# Print"),
        (&["man"], ".ie"),
    ] {
        let said = shell.flemma(arguments);
        assert_eq!(said.code, 0, "{said:?}");
        assert!(said.out.starts_with(begin), "{arguments:?}: {}", said.out.lines().next().unwrap());
        for command in ["pending", "show", "resolve", "sweep", "check"] {
            assert!(said.out.contains(command), "{arguments:?} {command}");
        }
    }
}

#[test]
fn wrong_usage_has_an_exit_code_of_its_own() {
    let shell = Shell::with_notes();
    for arguments in [
        [].as_slice(),
        &["pendin"],
        &["resolve", "notes.chat"],
        &["resolve", "notes.chat", "call_ask"],
        &["resolve", "notes.chat", "call_ask", "--approve", "--reject", "no"],
        &["resolve", "notes.chat", "call_ask", "--result", "yes"],
        &["resolve", "notes.chat", "call_ask", "--result"],
        &["run", "notes.chat", "--model", ""],
        &["run", "notes.chat", "--provider", ""],
    ] {
        let said = shell.flemma(arguments);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{arguments:?}: {}", said.err);
        assert!(!said.err.is_empty(), "{arguments:?}");
        if let ["run", _, option, _] = arguments {
            assert!(said.err.contains(option), "{said:?}");
        }
    }
    let said = shell.flemma(&["--json", "resolve", "notes.chat"]);
    assert_eq!((said.code, said.err.as_str()), (2, ""));
    assert_eq!(said.json()["ok"], false);
    assert!(said.json()["error"].as_str().unwrap().starts_with("the following required"), "{said:?}");
    assert_eq!(shell.text("notes.chat"), WAITING);
}
