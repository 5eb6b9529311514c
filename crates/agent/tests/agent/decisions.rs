//! What the user decides about calls that wait, and what a decision is bound to.

use std::{cell::Cell, rc::Rc};

use flemma_agent::{Choice, Input, UndoStep, Verdict};
use flemma_model::ToolInput;

use super::harness::Harness;

fn waiting(calls: &[(&str, &str)]) -> Harness {
    let harness = Harness::new("@You:\nFix it");
    harness.go();
    harness.calls(calls.iter().copied());
    harness.log(&[]);
    harness
}

impl Harness {
    #[track_caller]
    pub fn approve(&self, calls: &[&str]) {
        self.feed([Input::Decide(calls.iter().map(|&call| call.into()).collect(), Choice::Approve, UndoStep::Own)]);
    }

    #[track_caller]
    fn reject(&self, calls: &[&str], words: Option<&str>) {
        let choice = Choice::Reject(words.map(str::to_owned));
        self.feed([Input::Decide(calls.iter().map(|&call| call.into()).collect(), choice, UndoStep::Own)]);
    }
}

#[test]
fn approving_one_of_several_calls_starts_it_at_once() {
    let harness = waiting(&[("a", "bash"), ("b", "bash"), ("c", "bash")]);
    harness.approve(&["a"]);
    assert_eq!(harness.statuses(), ["a running", "b pending", "c pending"]);
    assert_eq!(harness.running(), ["a"]);
    let fence = harness.open_calls()[1].placeholder.as_ref().unwrap().fence;
    assert_eq!(harness.log(&["cursor"]), [format!("cursor pending {}", fence - 2)], "on to the next");
    harness.reject(&["b"], Some("not this one"));
    assert!(harness.text().contains("**Tool Result:** `b` (error)\n\n```\nnot this one\n```"));
    harness.approve(&["c"]);
    assert_eq!(harness.running(), ["a", "c"]);
    harness.tool("a", "1");
    assert_eq!(harness.requests(), 1, "a call still runs");
    harness.tool("c", "3");
    assert_eq!(harness.sent_results(), ["a: 1", "b!: not this one", "c: 3"]);
}

#[test]
fn a_tool_that_ends_while_another_call_waits_sends_nothing() {
    let harness = waiting(&[("a", "bash"), ("b", "bash")]);
    harness.approve(&["a"]);
    harness.tool("a", "1");
    assert_eq!(harness.statuses(), ["b pending"]);
    assert!(!harness.session.is_busy(), "the buffer is the user's");
    assert_eq!(harness.requests(), 1);
    harness.approve(&["b"]);
    harness.tool("b", "2");
    assert_eq!(harness.sent_results(), ["a: 1", "b: 2"]);
}

#[test]
fn the_last_decision_runs_earlier_manual_approvals_too() {
    let harness = waiting(&[("a", "bash"), ("b", "bash")]);
    harness.replace("`a`\n\n```flemma:tool status=pending", "`a`\n\n```flemma:tool status=approved");
    harness.approve(&["b"]);
    assert_eq!(harness.running(), ["a", "b"]);
}

#[test]
fn text_in_an_approved_block_is_the_result_and_nothing_runs() {
    let harness = waiting(&[("a", "bash"), ("b", "bash")]);
    harness
        .replace("`a`\n\n```flemma:tool status=pending\n", "`a`\n\n```flemma:tool status=pending\nI did it myself.\n");
    harness.approve(&["a"]);
    assert!(harness.running().is_empty());
    harness.reject(&["b"], None);
    assert!(harness.running().is_empty());
    assert!(harness.text().contains("**Tool Result:** `a`\n\n```\nI did it myself."), "{}", harness.text());
}

#[test]
fn an_approval_before_the_tools_load_starts_the_call_later() {
    let harness = waiting(&[("a", "bash"), ("b", "bash")]);
    harness.tools_ready.set(false);
    harness.approve(&["a"]);
    assert_eq!(harness.statuses(), ["a approved", "b pending"]);
    harness.tools_ready.set(true);
    harness.approve(&["b"]);
    assert_eq!(harness.running(), ["a", "b"]);
}

#[test]
fn the_cursor_comes_back_to_what_was_left_out() {
    let harness = waiting(&[("a", "bash"), ("b", "bash")]);
    harness.approve(&["b"]);
    let fence = harness.open_calls()[0].placeholder.as_ref().unwrap().fence;
    assert_eq!(harness.log(&["cursor"]), [format!("cursor pending {}", fence - 2)]);
}

#[test]
fn rejecting_everything_tells_the_model_at_once() {
    let harness = waiting(&[("a", "bash"), ("b", "bash")]);
    harness.reject(&["a", "b"], None);
    assert_eq!(harness.requests(), 2);
    let rejected = "The user rejected this call; it did not run.";
    assert_eq!(harness.sent_results(), [format!("a!: {rejected}"), format!("b!: {rejected}")]);
}

#[test]
fn a_rejection_without_a_message_takes_the_text_in_the_block() {
    let harness = waiting(&[("a", "bash")]);
    harness.replace("status=pending\n", "status=pending\nNot on a Friday.\n");
    harness.reject(&["a"], None);
    assert!(harness.sent_results()[0].starts_with("a!: Not on a Friday."), "{:?}", harness.sent_results());
}

#[test]
fn without_autopilot_an_approved_call_runs_and_nothing_is_sent() {
    let harness = waiting(&[("a", "bash")]).without_autopilot();
    harness.feed([]);
    if harness.statuses() == ["a open"] {
        harness.go();
    }
    harness.approve(&["a"]);
    assert_eq!(harness.running(), ["a"]);
    harness.tool("a", "1");
    assert_eq!(harness.requests(), 1);
    assert!(!harness.session.is_busy());
    harness.go();
    assert_eq!(harness.sent_results(), ["a: 1"]);
}

#[test]
fn what_joins_while_other_tools_run_runs_with_them() {
    let harness = waiting(&[("a", "read"), ("b", "bash")]);
    assert_eq!(harness.running(), ["a"]);
    harness.approve(&["b"]);
    assert_eq!(harness.running(), ["a", "b"]);
    harness.approve(&["a"]);
    assert!(harness.log(&["info"]).last().unwrap().contains("no pending call"));
}

#[test]
fn an_approval_is_bound_to_what_was_approved() {
    let harness = waiting(&[("a", "bash"), ("b", "bash")]);
    harness.replace("`a`\n\n```flemma:tool status=pending", "`a`\n\n```flemma:tool status=approved");
    // The input of the call that was approved is changed before it runs.
    harness.replace(
        "**Tool Use:** `bash` (`a`)\n\n```json\n{}",
        "**Tool Use:** `bash` (`a`)\n\n```json\n{\"command\":\"rm\"}",
    );
    harness.approve(&["b"]);
    assert_eq!(harness.running(), ["b"]);
    assert_eq!(harness.statuses(), ["a pending", "b running"]);
    assert_eq!(
        harness.log(&["warn"]),
        ["warn: bash (a): its input was changed after the approval, so the call is pending again."]
    );
}

/// The input was edited since the approval, and the disk answers only when it is asked again.
#[test]
fn an_edited_call_waits_although_the_disk_answers_late() {
    let questions = Rc::new(Cell::new(0));
    let asked = Rc::clone(&questions);
    let harness = waiting(&[("a", "bash")]).with_policy(move |call| {
        let is_edited = matches!(&*call.input, ToolInput::Json(input) if input.get("command").is_some());
        asked.set(asked.get() + usize::from(is_edited));
        match (is_edited, asked.get()) {
            (false, _) => Verdict::Ask,
            (true, 1) => Verdict::Unclear("the file system does not answer".into()),
            (true, _) => Verdict::Ask,
        }
    });
    harness.replace("status=pending", "status=approved");
    harness.replace(
        "**Tool Use:** `bash` (`a`)\n\n```json\n{}",
        "**Tool Use:** `bash` (`a`)\n\n```json\n{\"command\":\"rm\"}",
    );
    harness.go();
    assert_eq!((harness.statuses(), harness.running()), (vec!["a pending".to_owned()], Vec::new()));
}

#[test]
fn so_is_an_approval_by_hand_from_the_moment_it_is_typed() {
    let harness = waiting(&[("a", "bash")]);
    harness.replace("status=pending", "status=approved");
    harness.replace("```json\n{}", "```json\n{\"command\":\"rm\"}");
    harness.go();
    assert!(harness.running().is_empty());
    assert_eq!(harness.statuses(), ["a pending"]);
    // The other way round is what a user does who corrects a call and then lets it run.
    harness.replace("\"rm\"", "\"ls\"");
    harness.replace("status=pending", "status=approved");
    harness.go();
    assert_eq!(harness.running(), ["a"]);
}

#[test]
fn a_decision_about_a_call_that_has_its_result_says_so() {
    let harness = waiting(&[("a", "bash")]);
    harness.approve(&["nothing"]);
    assert_eq!(harness.log(&["info"]), ["info: no pending call is selected"]);
    assert_eq!(harness.statuses(), ["a pending"]);
}

#[test]
fn undo_makes_no_approval_of_a_strangers_one() {
    let block = "@You:\nFix it\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{}\n```\n\n\
                 @You:\n**Tool Result:** `a`\n\n```flemma:tool status=approved\n```";
    let harness = Harness::new(block);
    harness.go();
    assert_eq!(harness.statuses(), ["a pending"]);
    harness.undo("status=pending", "status=approved");
    harness.go();
    assert!(harness.running().is_empty());
    assert_eq!(harness.statuses(), ["a pending"]);
    // By hand it is the user's word.
    harness.replace("status=pending", "status=approved");
    harness.go();
    assert_eq!(harness.running(), ["a"]);
}

#[test]
fn an_approval_by_hand_of_a_call_that_came_approved_counts() {
    let block = "@You:\nFix it\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{}\n```\n\n\
                 @You:\n**Tool Result:** `a`\n\n```flemma:tool status=approved\n```";
    let harness = Harness::new(block);
    // An edit of something else leaves it what it was.
    harness.replace("Fix it", "Mend it");
    harness.replace("status=approved", "status=pending");
    harness.replace("status=pending", "status=approved");
    harness.go();
    assert_eq!(harness.running(), ["a"]);
}

#[test]
fn a_rejection_includes_what_was_typed_in_the_block() {
    for (message, typed, told) in [
        (Some("not now"), "", "not now"),
        (Some("not now"), "the branch is\nfrozen", "not now\n\nthe branch is\nfrozen"),
        (None, "the branch is frozen", "the branch is frozen"),
    ] {
        let harness = waiting(&[("a", "bash")]);
        if !typed.is_empty() {
            harness.replace("status=pending\n```", &format!("status=pending\n{typed}\n```"));
        }
        harness.reject(&["a"], message);
        assert_eq!(harness.sent_results(), [format!("a!: {told}")]);
    }
}

#[test]
fn a_substitution_edits_the_status_lines_that_it_changes() {
    let harness = waiting(&[("a", "bash")]);
    let lines: Vec<String> = harness.text().replace("pending", "approved").split('\n').map(str::to_owned).collect();
    let mut page = harness.page.borrow_mut();
    let all = 0..page.text.len();
    page.replace(all, lines);
    drop(page);
    harness.go();
    assert_eq!(harness.running(), ["a"]);
}
