//! Calls that are judged when the disk has answered: the buffer is locked meanwhile, and everything else goes on.

use flemma_agent::{Activity, CallResult, Choice, Input, UndoStep, Verdict};
use flemma_model::StopReason;
use serde_json::json;

use super::harness::{Harness, call};

/// A reply with these calls has just arrived, and the disk takes its time.
fn asking(calls: &[(&str, &str)]) -> Harness {
    let harness = Harness::new("@You:\nHello");
    harness.is_disk_slow.set(true);
    harness.go();
    harness.calls(calls.iter().copied());
    harness
}

/// The calls of a reply wait for the user, and the disk takes its time from now on.
fn waiting(calls: &[(&str, &str)]) -> Harness {
    let harness = asking(calls);
    harness.disk_answers();
    assert!(!harness.session.is_busy());
    harness.log(&[]);
    harness
}

fn approve(harness: &Harness, call: &str) {
    harness.feed([Input::Decide(vec![call.into()], Choice::Approve, UndoStep::Own)]);
}

#[test]
fn an_approved_call_runs_when_the_disk_has_answered() {
    let harness = asking(&[("a", "read"), ("b", "bash")]);
    assert_eq!(harness.statuses(), ["a open", "b open"]);
    assert!(harness.locked.get());
    assert_eq!(harness.session.activity(), Activity::Executing { running: 0 });
    harness.disk_answers();
    assert_eq!(harness.statuses(), ["a running", "b pending"]);
    assert_eq!(harness.open_questions(), 0);
}

#[test]
fn ctrl_c_takes_it_back_and_a_late_answer_does_nothing() {
    let harness = asking(&[("a", "read")]);
    harness.stop();
    assert!(!harness.session.is_busy());
    assert_eq!(harness.told(), ["info: cancelled: nothing was sent or run"]);
    harness.disk_answers();
    assert_eq!((harness.statuses(), harness.running().len()), (vec!["a open".to_owned()], 0));
    // The next key has it judged as the disk is then, and not as it was.
    harness.go();
    harness.stop();
    harness.go();
    assert_eq!(harness.open_questions(), 2);
    harness.disk_answers();
    assert_eq!(harness.log(&["run"]), ["run a read"]);
}

#[test]
fn ctrl_c_takes_an_approval_back_that_is_being_judged() {
    let harness = waiting(&[("a", "bash")]);
    approve(&harness, "a");
    harness.stop();
    harness.disk_answers();
    assert_eq!((harness.statuses(), harness.running().len()), (vec!["a pending".to_owned()], 0));
}

#[test]
fn decisions_have_their_effect_in_their_order() {
    let harness = waiting(&[("a", "bash"), ("b", "bash"), ("c", "bash")]);
    approve(&harness, "b");
    approve(&harness, "a");
    assert_eq!(harness.open_questions(), 1, "one after the other");
    harness.feed([Input::Decide(vec!["c".into()], Choice::Reject(None), UndoStep::Own)]);
    assert_eq!(harness.statuses(), ["a approved", "b approved"]);
    harness.disk_answers();
    harness.disk_answers();
    assert_eq!(harness.log(&["run"]), ["run b bash", "run a bash"]);
}

#[test]
fn a_tool_gets_its_result_while_a_call_is_judged() {
    let harness = waiting(&[("a", "bash"), ("b", "bash")]);
    approve(&harness, "a");
    harness.disk_answers();
    approve(&harness, "b");
    harness.tool("a", "done");
    assert!(harness.text().contains("`a`\n\n```\ndone\n```"));
    assert_eq!((harness.statuses(), harness.requests()), (vec!["b approved".to_owned()], 1));
    harness.disk_answers();
    harness.tool_answers("b", CallResult::text("done"));
    assert_eq!(harness.requests(), 2);
}

#[test]
fn a_call_that_was_edited_meanwhile_is_judged_as_it_is_now() {
    let harness = Harness::new("@You:\nHello")
        .with_policy(|call| if format!("{:?}", call.input).contains("ls") { Verdict::Run } else { Verdict::Ask });
    harness.is_disk_slow.set(true);
    harness.go();
    harness.reply([call("a", "bash", json!({ "command": "ls" }))], StopReason::ToolUse);
    let was = harness.open_calls().remove(0);
    // Somebody who does not ask about the lock.
    let line = (0..).find(|line| harness.line(*line).contains("ls")).unwrap();
    harness.page.borrow_mut().replace(line..line + 1, vec!["{\"command\":\"rm\"}".to_owned()]);
    harness.feed([Input::Judged { number: 1, verdicts: vec![(was, Verdict::Run)] }]);
    assert_eq!((harness.statuses(), harness.running().len()), (vec!["a open".to_owned()], 0));
    harness.disk_answers();
    harness.disk_answers();
    assert_eq!((harness.statuses(), harness.running().len()), (vec!["a pending".to_owned()], 0));
}

#[test]
fn a_call_decided_about_meanwhile_is_not_placed_again() {
    let harness = asking(&[("a", "bash"), ("b", "read")]);
    harness.execute("a");
    harness.disk_answers();
    harness.disk_answers();
    assert_eq!(harness.statuses(), ["a running", "b running"]);
}

#[test]
fn keys_come_after_a_file_is_brought_together() {
    let text = "@You:\nFix it\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{}\n```\n\n\
                @You:\n**Tool Result:** `a`\n\n```flemma:tool status=running\n```";
    let harness = Harness::new(text);
    harness.is_disk_slow.set(true);
    harness.is_interrupted.set(true);
    harness.feed([Input::Recover(vec!["a".into()])]);
    assert!(harness.locked.get());
    approve(&harness, "a");
    harness.disk_answers();
    assert!(harness.log(&["warn"])[0].contains("may have had an effect"));
    assert_eq!(harness.statuses(), ["a approved"]);
    harness.disk_answers();
    assert_eq!(harness.running(), ["a"]);
}
