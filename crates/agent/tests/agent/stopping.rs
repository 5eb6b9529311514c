//! Ctrl-C, in every phase: everything stops, the turn is closed, and no call is left to reach a provider.

use flemma_agent::{CallResult, Input};
use flemma_model::{Event, StopReason};
use flemma_provider::ErrorKind;
use serde_json::json;

use super::harness::{Harness, call, prose};

fn asking() -> Harness {
    let harness = Harness::new("@You:\nHello");
    harness.go();
    harness.log(&[]);
    harness
}

#[test]
fn with_nothing_to_stop_it_says_so() {
    let harness = Harness::new("@You:\nHello");
    harness.stop();
    assert_eq!(harness.told(), ["info: nothing is running here"]);
}

#[test]
fn before_anything_came_the_request_is_dropped() {
    let harness = asking();
    harness.stop();
    assert_eq!(
        harness.log(&["abort", "info", "unlock", "moment", "edit"]),
        ["abort 1", "info: request cancelled", "unlock", "moment: incomplete"]
    );
    harness.event(prose("late"));
    harness.shows("@You:\nHello");
}

#[test]
fn during_the_pause_before_a_retry_nothing_is_sent_again() {
    let harness = asking();
    harness.fails(ErrorKind::Server);
    harness.stop();
    assert!(!harness.locked.get());
    harness.wait();
    assert_eq!(harness.requests(), 1);
}

#[test]
fn in_the_middle_of_a_reply_what_came_is_kept_and_marked() {
    let harness = asking();
    harness.event(Event::ThinkingStarted);
    harness.event(Event::Thinking("Hm".into()));
    harness.stop();
    harness.shows(
        "
        @You:
        Hello

        @Assistant:
        <thinking>
        Hm
        </thinking>

        <!-- flemma:aborted -->

        @You:
        |
        ",
    );
    assert_eq!(harness.log(&["abort", "moment", "unlock"]), ["abort 1", "moment: incomplete", "unlock"]);
    harness.event(prose("late"));
    assert!(!harness.text().contains("late"));
}

#[test]
fn calls_of_a_reply_that_was_stopped_never_run() {
    let harness = asking();
    harness.event(call("a", "read", json!({})));
    harness.stop();
    assert!(harness.text().contains("`a` (error)\n\n```\nThe reply was aborted before this call could run.\n```"));
    let text = harness.text();
    harness.replace(&text, &format!("{text}Go on."));
    harness.go();
    assert_eq!(harness.running(), [""; 0]);
    assert_eq!(harness.sent_results(), ["a!: The reply was aborted before this call could run."]);
}

#[test]
fn running_tools_are_killed_and_get_their_results_at_once() {
    let harness = asking();
    harness.calls([("a", "read"), ("b", "read"), ("c", "bash")]);
    harness.log(&[]);
    harness.stop();
    assert_eq!(
        harness.log(&["kill", "moment", "unlock"]),
        ["kill a", "moment: finished a", "kill b", "moment: finished b", "unlock"]
    );
    assert_eq!(harness.statuses(), ["c pending"], "what waited still waits");
    assert!(harness.text().contains("`a` (error)\n\n```\nThe user cancelled this call while it was running. What it had done by then, such as a file that it had written, stays done.\n```"));
    harness.tool("a", "late");
    assert!(!harness.text().contains("late"));
    assert_eq!(harness.requests(), 1, "autopilot is disarmed");
}

#[test]
fn a_call_that_was_still_in_the_queue_waits_for_the_user_again() {
    let harness = Harness::new("@You:\nHello");
    harness.set(|settings| settings.max_concurrent = 1);
    harness.go();
    harness.reply([call("a", "read", json!({})), call("b", "read", json!({"path": "x"}))], StopReason::ToolUse);
    harness.log(&[]);
    harness.stop();
    assert_eq!(harness.statuses(), ["b pending"]);
    assert_eq!(harness.log(&["moment"]), ["moment: finished a", "moment: pending b"]);
    harness.go();
    assert_eq!((harness.running(), harness.requests()), (vec![], 1), "policy approved it, the user stopped it");

    // The user's own approval is for what stands there, not for what policy saw.
    let harness = harness.with_policy(|_| flemma_agent::Verdict::Ask);
    harness.replace("\"x\"", "\"y\"");
    harness.replace("status=pending", "status=approved");
    harness.log(&[]);
    harness.go();
    assert_eq!((harness.told(), harness.running()), (vec![], vec!["b".to_owned()]));
}

#[test]
fn one_tool_is_stopped_and_the_others_run_on() {
    let harness = asking();
    harness.calls([("a", "read"), ("b", "read")]);
    harness.stop_tool("a");
    assert_eq!(harness.log(&["kill"]), ["kill a"]);
    assert_eq!(harness.running(), ["b"]);
    harness.tool("a", "late");
    harness.tool("b", "two");
    assert_eq!(
        harness.sent_results(),
        [
            "a!: The user cancelled this call while it was running. What it had done by then, such as a file that it had written, stays done.",
            "b: two"
        ]
    );
}

#[test]
fn a_tool_that_is_changing_files_ends_by_itself() {
    let harness = asking();
    harness.calls([("a", "read"), ("b", "read")]);
    harness.begins_to_change("a");
    harness.log(&[]);
    harness.stop();
    assert_eq!(
        harness.log(&["kill", "hurry", "info", "moment", "unlock"]),
        [
            "hurry a",
            "kill b",
            "moment: finished b",
            "info: read (a): too late to cancel, files are being changed; the result follows"
        ]
    );
    assert_eq!((harness.statuses(), harness.locked.get()), (vec!["a running".to_owned()], true));
    harness.tool("a", "written");
    assert!(harness.text().contains("**Tool Result:** `a`\n\n```\nwritten\n```"), "{}", harness.text());
    assert_eq!(harness.requests(), 1, "autopilot is disarmed");
    assert!(!harness.locked.get());
    // The next key goes on with what the tool has said.
    harness.go();
    assert_eq!(harness.sent_results()[0], "a: written");
}

#[test]
fn a_call_that_is_approved_after_a_stop_runs_and_is_told() {
    for limit in [1, 4] {
        let harness = asking();
        harness.set(|settings| settings.max_concurrent = limit);
        harness.calls([("a", "read"), ("b", "bash")]);
        harness.begins_to_change("a");
        harness.stop();
        harness.approve(&["b"]);
        harness.tool("a", "written");
        assert_eq!(harness.running(), ["b"], "{limit}");
        harness.tool("b", "done");
        assert_eq!(harness.sent_results(), ["a: written", "b: done"], "{limit}");
    }
}

/// It is no last result, and yet the end of a round that the user has stopped.
#[test]
fn a_stopped_round_whose_last_call_waits_again_is_over() {
    let harness = asking();
    harness.calls([("a", "read")]);
    harness.begins_to_change("a");
    harness.stop();
    harness.tool_is_outdated("a");
    assert_eq!((harness.statuses(), harness.locked.get()), (vec!["a pending".to_owned()], false));
    // The next round is not a stopped one.
    harness.approve(&["a"]);
    harness.tool("a", "written");
    assert_eq!(harness.sent_results(), ["a: written"]);
}

#[test]
fn one_tool_that_is_changing_files_is_not_stopped() {
    let harness = asking();
    harness.calls([("a", "read")]);
    harness.begins_to_change("a");
    harness.stop_tool("a");
    assert_eq!(harness.statuses(), ["a running"]);
    assert_eq!(harness.told(), ["info: read (a): too late to cancel, files are being changed; the result follows"]);
    harness.tool("a", "written");
    assert_eq!(harness.sent_results(), ["a: written"], "only the tool was to be stopped");
}

#[test]
fn stopping_the_only_tool_lets_the_model_know_and_goes_on() {
    let harness = asking();
    harness.calls([("a", "read")]);
    harness.stop_tool("a");
    assert_eq!(harness.requests(), 2);
    assert_eq!(
        harness.sent_results(),
        [
            "a!: The user cancelled this call while it was running. What it had done by then, such as a file that it had written, stays done."
        ]
    );
}

#[test]
fn a_queued_tool_can_be_stopped_before_it_runs() {
    let harness = Harness::new("@You:\nHello");
    harness.set(|settings| settings.max_concurrent = 1);
    harness.go();
    harness.calls([("a", "read"), ("b", "read"), ("c", "read")]);
    harness.stop_tool("b");
    assert_eq!(harness.statuses(), ["a running", "c approved"]);
    harness.tool("a", "one");
    harness.tool("c", "three");
    assert_eq!(harness.log(&["run", "kill"]), ["run a read", "run c read"]);
    assert_eq!(harness.sent_results(), ["a: one", "b!: The user cancelled this call before it ran.", "c: three"]);
}

#[test]
fn a_tool_that_does_not_run_cannot_be_stopped() {
    let harness = asking();
    harness.stop_tool("a");
    assert_eq!(harness.told(), ["info: the call a is not running"]);
    harness.calls([("b", "bash")]);
    harness.stop_tool("b");
    assert_eq!(harness.told(), ["info: the call b is not running"]);
    assert_eq!(harness.statuses(), ["b pending"]);
}

#[test]
fn an_answer_that_nobody_waits_for_is_dropped() {
    let harness = asking();
    harness.calls([("a", "bash")]);
    let before = harness.text();
    for id in ["a", "z"] {
        harness.feed([Input::ToolFinished { call: id.into(), answer: CallResult::text("whose?") }]);
    }
    assert_eq!(harness.text(), before);
    harness.execute("a");
    harness.tool("a", "one");
    harness.feed([Input::ToolFinished { call: "a".into(), answer: CallResult::text("twice") }]);
    assert!(harness.text().contains("\none\n") && !harness.text().contains("twice"));
}

#[test]
fn a_key_after_a_stop_goes_on() {
    let harness = asking();
    harness.calls([("a", "read")]);
    harness.stop();
    harness.go();
    assert_eq!(harness.requests(), 2);
    harness.calls([("b", "read")]);
    assert_eq!(harness.running(), ["b"], "autopilot is armed again");
}
