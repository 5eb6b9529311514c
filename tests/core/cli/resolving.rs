//! `resolve`: what it writes, what it refuses, and who may.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::json;

use super::harness::{Shell, WAITING};
use crate::other_holder::Other;

/// The records of the calls, in their order.
fn records(shell: &Shell) -> Vec<String> {
    let mut all = Vec::new();
    for file in fs::read_dir(shell.state().join("journal")).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        for line in text.lines() {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            let [call, event, role] = ["call", "event", "role"].map(|name| record[name].as_str().unwrap().to_owned());
            all.push(format!("{call} {event} {role}"));
        }
    }
    all
}

#[test]
fn an_answer_is_recorded_and_written_and_nothing_runs() {
    let shell = Shell::with_notes();
    let sent = "has its result; it is sent when the conversation is opened next and no call waits";
    for (call, result, outcome) in [
        ("call_bash", ["--approve"].as_slice(), "is approved; it runs when the conversation is opened next"),
        ("call_ask", &["--result", "\"Because.\""], sent),
        ("call_theirs", &["--result", "{\"a\": [1, null]}"], sent),
    ] {
        let said = shell.flemma(&[&["resolve", "notes.chat", call], result].concat());
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{call}");
        assert_eq!(said.out, format!("notes.chat: {call} {outcome}\n"));
    }
    let text = shell.text("notes.chat");
    let (before, after) = text.split_once("@You:\n**Tool Result:**").unwrap();
    assert!(WAITING.starts_with(before), "the rest is as it was");
    assert_eq!(
        after,
        " `call_ask`\n\n```\nBecause.\n```\n\n**Tool Result:** `call_bash`\n\n```flemma:tool status=approved\n```\n\n\
         **Tool Result:** `call_theirs`\n\n```json\n{\"a\":[1,null]}\n```\n"
    );
    assert_eq!(
        records(&shell),
        [
            "call_bash opened command-line",
            "call_bash approved command-line",
            "call_ask opened command-line",
            "call_ask resolved command-line",
            "call_theirs opened command-line",
            "call_theirs resolved command-line",
        ]
    );
    assert!(!shell.path("ran").exists());
    // It holds nothing any more.
    let left: Vec<_> = fs::read_dir(shell.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["notes.chat"]);
    assert_eq!(shell.flemma(&["pending"]).out, "");
}

#[test]
fn a_rejection_and_an_error_reach_the_model_in_the_users_words() {
    let shell = Shell::with_notes();
    assert_eq!(shell.flemma(&["resolve", "notes.chat", "call_bash", "--reject", "-- not \"here\""]).code, 0);
    assert_eq!(shell.flemma(&["resolve", "notes.chat", "call_ask", "--error", "nobody knows"]).code, 0);
    let text = shell.text("notes.chat");
    assert!(text.contains("**Tool Result:** `call_bash` (error)"), "{text}");
    assert!(text.contains("-- not \"here\"") && text.contains("nobody knows"), "{text}");
}

#[test]
fn a_call_is_resolved_once_and_only_with_what_it_waits_for() {
    let shell = Shell::with_notes();
    let refused = |call: &str, result: &[&str], why: &str| {
        let said = shell.flemma(&[&["resolve", "notes.chat", call], result].concat());
        assert_eq!(said.code, 1, "{result:?}");
        assert!(said.err.starts_with(&format!("flemma: notes.chat: {call}: stale: {why}")), "{said:?}");
    };
    refused("call_ask", &["--approve"], "it waits for an answer: use --result or --error\n");
    refused("call_bash", &["--result", "1"], "it waits for your approval: use --approve or --reject\n");
    let missing = "there is no call `call_none` here (pending: call_ask, call_bash, call_theirs)\n";
    refused("call_none", &["--approve"], missing);
    assert_eq!(shell.text("notes.chat"), WAITING);
    assert_eq!(shell.flemma(&["resolve", "notes.chat", "call_bash", "--approve"]).code, 0);
    refused("call_bash", &["--approve"], "it was approved before by the command line (");
    assert_eq!(shell.flemma(&["resolve", "notes.chat", "call_ask", "--error", "no"]).code, 0);
    refused("call_ask", &["--result", "1"], "it was resolved before by the command line (");
    shell.put("late.chat", WAITING.replace("2999", "2020"));
    let said = shell.flemma(&["resolve", "late.chat", "call_theirs", "--result", "1"]);
    assert_eq!(said.code, 1);
    assert!(said.err.ends_with("stale: its deadline passed at 2020-01-01T00:00:00Z\n"), "{said:?}");
    assert!(shell.text("late.chat").contains("The user did not respond in time."));
}

#[test]
fn an_approval_can_be_taken_back_before_the_start() {
    for is_written in [true, false] {
        let shell = Shell::with_notes();
        assert_eq!(shell.flemma(&["resolve", "notes.chat", "call_bash", "--approve"]).code, 0);
        if !is_written {
            // As if the file could not have been written.
            shell.put("notes.chat", WAITING);
        }
        let said = shell.flemma(&["resolve", "notes.chat", "call_bash", "--reject", "on second thoughts"]);
        assert_eq!((said.code, said.err.as_str()), (0, ""));
        let text = shell.text("notes.chat");
        assert!(text.contains("**Tool Result:** `call_bash` (error)\n\n```\non second thoughts"), "{text}");
        let said = shell.flemma(&["resolve", "notes.chat", "call_bash", "--approve"]);
        assert!(said.code == 1 && said.err.contains("stale: it was resolved before by the command line"), "{said:?}");
        assert!(!shell.path("ran").exists());
    }
}

#[test]
fn the_words_of_a_file_are_no_decision() {
    let shell = Shell::new();
    shell.put("notes.chat", WAITING.replace("status=pending\n", "status=approved\n"));
    // It still waits for the user's own decision, and that is recorded.
    assert_eq!(shell.flemma(&["resolve", "notes.chat", "call_bash", "--approve"]).code, 0);
    assert_eq!(records(&shell), ["call_bash opened command-line", "call_bash approved command-line"]);
}

#[test]
fn hostile_names_and_results_are_data() {
    let shell = Shell::new();
    for name in ["-n.chat", "a b\n'\"$(touch ran)`touch ran`.chat", "%s|!q.chat", "ü.chat"] {
        shell.put(name, WAITING);
        let result = json!("'\"\n$(touch ran)\u{0}\u{1b}`@You:\n```\nflemma").to_string();
        let said = shell.flemma(&["resolve", "--result", &result, "--", name, "call_ask"]);
        assert_eq!(said.code, 0, "{name:?}: {}", said.err);
        assert!(shell.flemma(&["check", &format!("./{name}")]).out.is_empty());
        let said = shell.flemma(&["pending", "--json", &format!("./{name}")]).json();
        assert_eq!(said["pending"].as_array().unwrap().len(), 2, "{name:?}");
    }
    assert!(!shell.path("ran").exists());
    // 10 MB, by standard input.
    shell.put("notes.chat", WAITING);
    let long = json!("long\n".repeat(2 << 20)).to_string();
    let said = shell.flemma_with(&["resolve", "notes.chat", "call_ask", "--result", "-"], long.as_bytes());
    assert_eq!(said.code, 0, "{}", said.err);
    let text = shell.text("notes.chat");
    let note = text.lines().find(|line| line.starts_with("[Showing lines 1-2000 of 2097152.")).unwrap();
    let whole = note.rsplit_once(" is in ").unwrap().1.trim_end_matches(']');
    assert_eq!(fs::read_to_string(whole).unwrap().matches("long\n").count(), 2 << 20);
    let said = shell.flemma_with(&["resolve", "notes.chat", "call_theirs", "--result", "-"], b"{\"a\": ");
    assert_eq!(said.code, 2);
    let said = shell.flemma_with(&["resolve", "notes.chat", "call_theirs", "--result", "-"], b"\xff");
    assert_eq!(said.code, 1, "{}", said.err);
}

#[test]
fn a_conversation_that_is_held_elsewhere_is_left_alone() {
    let shell = Shell::with_notes();
    let mut other = Other::hold(&shell.state().join("locks"), &shell.path("notes.chat"));
    let mut child = shell.spawn(&["--json", "resolve", "notes.chat", "call_bash", "--approve"]);
    // It waits, as the other may be a `flemma` that ends soon.
    assert_eq!(child.try_wait().unwrap(), None);
    other.kill();
    assert!(child.wait().unwrap().success());
    assert!(shell.text("notes.chat").contains("status=approved"));
}

#[test]
fn what_cannot_be_recorded_is_not_done() {
    let shell = Shell::with_notes();
    // Something else is in the place of the journal's folder.
    fs::create_dir_all(shell.state()).unwrap();
    fs::write(shell.state().join("journal"), "").unwrap();
    let said = shell.flemma(&["resolve", "notes.chat", "call_bash", "--approve"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("journal"), "{}", said.err);
    assert_eq!(shell.text("notes.chat"), WAITING);
}

#[test]
fn what_is_recorded_is_done_even_if_the_file_cannot_be_written() {
    if rustix::process::geteuid().is_root() {
        // Nothing is read-only for root.
        return;
    }
    let shell = Shell::with_notes();
    fs::set_permissions(shell.path(""), fs::Permissions::from_mode(0o555)).unwrap();
    fs::set_permissions(shell.path("notes.chat"), fs::Permissions::from_mode(0o444)).unwrap();
    let said = shell.flemma(&["resolve", "notes.chat", "call_ask", "--result", "1"]);
    fs::set_permissions(shell.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.err.contains("The file gets it when the conversation is opened next."), "{}", said.err);
}

#[test]
fn the_first_decision_counts_also_where_the_file_lacks_it() {
    let shell = Shell::with_notes();
    assert_eq!(shell.flemma(&["resolve", "notes.chat", "call_bash", "--approve"]).code, 0);
    assert_eq!(shell.flemma(&["resolve", "notes.chat", "call_ask", "--result", "1"]).code, 0);
    // As if it could not have been written.
    shell.put("notes.chat", WAITING);
    for (call, result) in [("call_bash", ["--approve"].as_slice()), ("call_ask", &["--result", "2"])] {
        let said = shell.flemma(&[&["resolve", "notes.chat", call], result].concat());
        assert!(said.code == 1 && said.err.contains("stale"), "{said:?}");
    }
}

#[test]
fn what_is_no_regular_file_is_named_and_not_read() {
    let shell = Shell::with_notes();
    let pipe = std::process::Command::new("mkfifo").arg(shell.path("pipe.chat")).status().unwrap();
    assert!(pipe.success());
    std::os::unix::fs::symlink("/dev/zero", shell.path("zero.chat")).unwrap();
    for command in ["pending", "check", "sweep"] {
        for (place, name) in [(".", "./pipe.chat"), ("zero.chat", "zero.chat")] {
            let said = shell.flemma(&[command, place]);
            let problem = format!("flemma: {name} is not a regular file\n");
            assert_eq!((said.code, said.err), (1, problem), "{command}");
        }
    }
    let said = shell.flemma(&["resolve", "pipe.chat", "call_bash", "--approve"]);
    assert_eq!(
        (said.code, said.err.as_str()),
        (1, format!("flemma: {} is not a regular file\n", shell.path("pipe.chat").display()).as_str())
    );
}

#[test]
fn a_state_folder_that_no_editor_has_is_refused() {
    let shell = Shell::with_notes();
    for (name, value) in
        [("NVIM_APPNAME", "/abs"), ("NVIM_APPNAME", "../x"), ("XDG_STATE_HOME", "relative/p"), ("HOME", "")]
    {
        let mut command = shell.command(&["resolve", "notes.chat", "call_bash", "--approve"]);
        let output = command.env(name, value).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}={value}");
        assert!(String::from_utf8(output.stderr).unwrap().contains(name), "{name}={value}");
    }
    assert_eq!(shell.text("notes.chat"), WAITING);
}

#[test]
fn a_long_conversation_is_resolved_and_swept() {
    let shell = Shell::new();
    let long =
        format!("@You:\nHello\n\n@Assistant:\n{}\n{}", "A line.\n".repeat(30_000), WAITING.replace("2999", "2020"));
    shell.put("notes.chat", &long);
    assert_eq!(shell.flemma(&["sweep"]).out, "./notes.chat: call_theirs has expired\n");
    assert_eq!(shell.flemma(&["resolve", "notes.chat", "call_ask", "--result", "1"]).code, 0);
    let text = shell.text("notes.chat");
    assert!(text.contains("```json\n1\n```") && text.contains("The user did not respond in time."));
}

#[test]
fn the_layout_of_a_file_stays() {
    let shell = Shell::new();
    let dos = WAITING.replace('\n', "\r\n");
    for (name, text) in [
        ("mark.chat", format!("\u{feff}{WAITING}")),
        ("dos.chat", dos.clone()),
        ("open.chat", WAITING.trim_end().to_owned()),
        ("dos-open.chat", dos.trim_end().to_owned()),
    ] {
        shell.put(name, &text);
        let said = shell.flemma(&["resolve", name, "call_ask", "--result", "\"x\""]);
        assert_eq!(said.code, 0, "{name}: {}", said.err);
        let now = shell.text(name);
        let line_break = if name.starts_with("dos") { "\r\n" } else { "\n" };
        let pending = text.split(line_break).position(|line| line.contains("question=\"Why?\"")).unwrap();
        let mut lines: Vec<_> = text.split(line_break).collect();
        lines.splice(pending..=pending, ["```", "x"]);
        assert_eq!(now, lines.join(line_break), "{name}");
    }
}

#[test]
fn a_link_to_a_conversation_is_the_conversation() {
    let shell = Shell::with_notes();
    std::os::unix::fs::symlink("notes.chat", shell.path("link.chat")).unwrap();
    assert_eq!(shell.flemma(&["resolve", "link.chat", "call_bash", "--approve"]).code, 0);
    assert!(shell.path("link.chat").is_symlink());
    let said = shell.flemma(&["resolve", "./notes.chat", "call_bash", "--approve"]);
    assert_eq!(said.code, 1, "the same journal has it");
    assert!(Path::new(&shell.path("notes.chat")).exists() && shell.text("notes.chat").contains("status=approved"));
}
