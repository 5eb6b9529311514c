//! Conversations that a process elsewhere holds, or one that does not answer.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use super::harness::{Shell, WAITING};
use crate::other_holder::Other;

fn lock_of(shell: &Shell, name: &str) -> PathBuf {
    shell.path(&format!(".{name}.flemma-lock"))
}

/// Another process that holds a conversation and, as its locks say, is on another machine.
fn elsewhere(shell: &Shell, name: &str) -> Other {
    let other = Other::hold(&shell.state().join("locks"), &shell.path(name));
    let own = fs::read_dir(shell.state().join("locks")).unwrap().map(|lock| lock.unwrap().path());
    for lock in own.chain([lock_of(shell, name)]) {
        fs::write(lock, "{\"process\":4711,\"host\":\"far-away\"}\n").unwrap();
    }
    other
}

fn records(shell: &Shell) -> String {
    let files = fs::read_dir(shell.state().join("journal")).into_iter().flatten();
    files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}

#[test]
fn a_holder_on_another_machine_is_named_and_left_alone() {
    let shell = Shell::with_notes();
    let _other = elsewhere(&shell, "notes.chat");
    let said = shell.flemma(&["resolve", "notes.chat", "call_bash", "--approve"]);
    assert_eq!(said.code, 4, "{said:?}");
    for words in ["process 4711 on far-away", "--steal", "Run this command on far-away"] {
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
    let said = shell.flemma(&["--json", "resolve", "notes.chat", "call_bash", "--approve"]);
    assert_eq!((said.code, &said.json()["host"], &said.json()["pid"]), (4, &"far-away".into(), &4711.into()));
    assert_eq!((shell.text("notes.chat").as_str(), records(&shell)), (WAITING, String::new()));
}

#[test]
fn the_timeout_of_a_run_counts_from_its_beginning() {
    let shell = Shell::with_notes();
    let _other = Other::hold(&shell.state().join("locks"), &shell.path("notes.chat"));
    let begin = Instant::now();
    let said = shell.flemma(&["run", "notes.chat", "--timeout", "1"]);
    assert_eq!(said.code, 4, "{said:?}");
    assert!(begin.elapsed() < Duration::from_secs(8), "it waits for ten seconds otherwise");
}

#[test]
fn a_conversation_is_taken_over_from_a_holder_that_is_gone() {
    let shell = Shell::with_notes();
    let _other = elsewhere(&shell, "notes.chat");
    let said = shell.flemma(&["resolve", "--steal", "notes.chat", "call_ask", "--result", "\"mine\""]);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    assert!(shell.text("notes.chat").contains("```\nmine\n```"));
    assert!(records(&shell).contains("\"resolved\""));
    assert!(!lock_of(&shell, "notes.chat").exists(), "it is given back");
    assert_eq!(fs::read_dir(shell.path("")).unwrap().count(), 1);
    // Now it is free.
    assert_eq!(shell.flemma(&["resolve", "notes.chat", "call_bash", "--approve"]).code, 0);
}

#[test]
fn swept_conversations_are_taken_over_too() {
    let shell = Shell::new();
    shell.put("old.chat", WAITING.replace("2999", "2020"));
    let _other = elsewhere(&shell, "old.chat");
    let said = shell.flemma(&["sweep", "--json"]).json();
    assert_eq!((&said["expired"], &said["held"]), (&serde_json::json!([]), &serde_json::json!(["./old.chat"])));
    let said = shell.flemma(&["sweep", "--steal", "--json"]).json();
    assert_eq!(said["expired"], serde_json::json!([{ "file": "./old.chat", "call": "call_theirs" }]));
}

#[test]
#[ignore = "slow"]
fn of_several_that_take_over_one_resolves_the_call() {
    let shell = Shell::new();
    for round in 0..20 {
        let name = format!("{round}.chat");
        shell.put(&name, WAITING);
        let _other = elsewhere(&shell, &name);
        let children = ["\"one\"", "\"two\"", "\"three\""]
            .map(|answer| shell.spawn(&["resolve", "--steal", name.as_str(), "call_ask", "--result", answer]));
        let said = children.map(|child| crate::said::Said::from(child.wait_with_output().unwrap()));
        assert!(said.iter().filter(|said| said.code == 0).count() <= 1, "{said:?}");
        let key = format!("/{name}\"");
        let resolved = records(&shell);
        let resolved = resolved.lines().filter(|line| line.contains(&key) && line.contains("\"resolved\"")).count();
        assert_eq!(resolved, said.iter().filter(|said| said.code == 0).count(), "{said:?}");
        // Whoever lost may try again.
        shell.flemma(&["resolve", "--steal", &name, "call_ask", "--result", "\"four\""]);
        assert!(!shell.text(&name).contains("question=\"Why?\""), "{said:?}");
    }
}
