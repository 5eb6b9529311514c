//! A call whose files do not answer holds up only the calls below it that may be about the same files.

use std::sync::Arc;

use flemma_tools::{FileClass, Protected, builtin::WriteTarget};
use serde_json::{Value, json};

use super::{
    harness::{Harness, Setup, calls, prose},
    review::{edit, write},
};

const SLOW: &str = "The change of this call is still being computed.";
const WAITS: &str = "Waits for the proposal of the call above, edit (call_0).";

/// A file that nobody gets hold of until this is dropped.
pub fn hold(chat: &Harness, name: &str) -> WriteTarget {
    let protected: Protected = Arc::new(|_| FileClass::Ordinary);
    WriteTarget::at(&chat.work(name).canonicalize().unwrap(), name, &protected, None).unwrap()
}

fn start(files: &[(&str, &str)], all: Vec<(&str, Value)>) -> Harness {
    let options = json!({ "tools": { "auto_approve": [] } });
    Harness::start(Setup { options, files, ..Setup::default() }, [calls(all), prose("fine")])
}

fn decide(chat: &Harness, id: &str) {
    let line = chat.line_with(&format!("Tool Result:** `{id}`"));
    let choice = flemma_agent::Choice::Approve;
    chat.press(flemma_workspace::Command::Decide { lines: line..line + 1, choice });
}

#[test]
fn only_calls_about_the_same_file_wait_for_a_slow_one() {
    let all = vec![
        ("edit", edit("a.txt", "one", "two")),
        ("edit", edit("b.txt", "old", "new")),
        ("edit", edit("./a.txt", "two", "three")),
    ];
    let chat = start(&[("a.txt", "one\n"), ("b.txt", "old\n")], all);
    let held = hold(&chat, "a.txt");
    chat.go();
    chat.wait_for_diff(0, SLOW);
    chat.wait_for_diff(1, "+new");
    chat.wait_for_diff(2, WAITS);
    decide(&chat, "call_1");
    chat.drain_until("the second change", |chat| chat.content("b.txt") == "new\n");
    chat.wait_for_diff(1, WAITS);
    drop(held);
    chat.wait_for_diff(0, "+two");
    chat.wait_for_diff(1, "+three");
    chat.wait_for_diff(1, "after the call above, edit (call_0)");
    decide(&chat, "call_0");
    decide(&chat, "call_2");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "three\n");
}

#[test]
fn a_link_to_the_file_of_a_slow_call_waits_too() {
    let all = vec![("edit", edit("a.txt", "one", "two")), ("edit", edit("link.txt", "two", "three"))];
    let chat = start(&[("a.txt", "one\n")], all);
    std::os::unix::fs::symlink(chat.work("a.txt"), chat.work("link.txt")).unwrap();
    let held = hold(&chat, "a.txt");
    chat.go();
    // Only its tool finds out where the link leads.
    chat.wait_for_diff(0, SLOW);
    chat.wait_for_diff(1, SLOW);
    drop(held);
    chat.wait_for_diff(0, "+two");
    chat.wait_for_diff(1, "+three");
}

#[test]
fn a_slow_change_that_is_impossible_ends_its_call() {
    let all = vec![("edit", edit("a.txt", "missing", "two")), ("write", write("b.txt", "new\n"))];
    let chat = start(&[("a.txt", "one\n"), ("b.txt", "old\n")], all);
    let held = hold(&chat, "a.txt");
    chat.go();
    chat.wait_for_diff(0, SLOW);
    chat.wait_for_diff(1, "+new");
    chat.wait_for_pending(2);
    drop(held);
    chat.wait_for_pending(1);
    chat.wait_for_diff(0, "+new");
    chat.wait_for("`old_text` was not found");
}

#[test]
fn a_change_can_be_reviewed_below_a_slow_call() {
    let all = vec![("edit", edit("a.txt", "one", "two")), ("edit", edit("b.txt", "old", "new"))];
    let chat = start(&[("a.txt", "one\n"), ("b.txt", "old\n")], all);
    let held = hold(&chat, "a.txt");
    chat.go();
    chat.wait_for_diff(1, "+new");
    let reviewed = chat.review("call_1").unwrap();
    assert_eq!(chat.accept("call_1", &reviewed.revision, vec![flemma_workspace::Taken::Proposed]), Ok(()));
    chat.drain_until("the change", |chat| chat.content("b.txt") == "new\n");
    // A review of the slow one opens when it is there.
    let (tell, told) = std::sync::mpsc::channel();
    chat.workspace.reviews.review(chat.current(), &flemma_model::CallId("call_0".into()), move |_, found| {
        tell.send(found.map(|found| found.files.len()).map_err(|problem| problem.to_string())).unwrap();
    });
    chat.drain_until("the words", |chat| chat.previews()[0].diff[0].text.contains(SLOW));
    assert!(told.try_recv().is_err());
    drop(held);
    chat.drain_until("the review", |_| told.try_recv() == Ok(Ok(1)));
}

#[test]
fn a_call_at_work_holds_up_only_its_own_file() {
    let all = vec![
        ("edit", edit("a.txt", "one", "two")),
        ("edit", edit("b.txt", "old", "new")),
        ("edit", edit("a.txt", "two", "three")),
    ];
    let chat = start(&[("a.txt", "one\n"), ("b.txt", "old\n")], all);
    chat.go();
    chat.wait_for_diff(2, "+three");
    let held = hold(&chat, "a.txt");
    decide(&chat, "call_0");
    chat.drain_until("the run", |chat| chat.previews().len() == 2);
    chat.put("b.txt", "old\nmore\n");
    chat.workspace.reviews.check_proposals();
    chat.wait_for_diff(0, " more");
    // What was known of the last one still stands there.
    chat.wait_for_diff(1, "+three");
    drop(held);
    chat.drain_until("the first change", |chat| chat.content("a.txt") == "two\n");
    chat.drain_until("the call above to be over", |chat| {
        chat.previews().get(1).is_some_and(|preview| !preview.diff.iter().any(|line| line.text.contains("after")))
    });
}
