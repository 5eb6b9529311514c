//! Ctrl-C, in every phase: everything stops, the turn is closed, and no call is left to reach a provider.

use flemma::{
    agent::{Answer, Input},
    model::{Event, StopReason},
    provider::ErrorKind,
};
use serde_json::json;

use super::desk::{Desk, call, prose};

fn asking() -> Desk {
    let desk = Desk::new("@You:\nHello");
    desk.go();
    desk.log(&[]);
    desk
}

#[test]
fn with_nothing_to_stop_it_says_so() {
    let desk = Desk::new("@You:\nHello");
    desk.stop();
    assert_eq!(desk.told(), ["info: Nothing is running here."]);
}

#[test]
fn before_anything_came_the_request_is_dropped() {
    let desk = asking();
    desk.stop();
    assert_eq!(
        desk.log(&["abort", "info", "unlock", "moment", "edit"]),
        ["abort 1", "info: Request cancelled.", "unlock", "moment: incomplete"]
    );
    desk.event(prose("late"));
    desk.shows("@You:\nHello");
}

#[test]
fn during_the_pause_before_a_retry_nothing_is_sent_again() {
    let desk = asking();
    desk.fails(ErrorKind::Server);
    desk.stop();
    assert!(!desk.locked.get());
    desk.wait();
    assert_eq!(desk.requests(), 1);
}

#[test]
fn in_the_middle_of_a_reply_what_came_is_kept_and_marked() {
    let desk = asking();
    desk.event(Event::ThinkingStarted);
    desk.event(Event::Thinking("Hm".into()));
    desk.stop();
    desk.shows(
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
    assert_eq!(desk.log(&["abort", "moment", "unlock"]), ["abort 1", "moment: incomplete", "unlock"]);
    desk.event(prose("late"));
    assert!(!desk.text().contains("late"));
}

#[test]
fn calls_of_a_reply_that_was_stopped_never_run() {
    let desk = asking();
    desk.event(call("a", "read", json!({})));
    desk.stop();
    assert!(desk.text().contains("`a` (error)\n\n```\nThe reply was aborted before this call could run.\n```"));
    let text = desk.text();
    desk.replace(&text, &format!("{text}Go on."));
    desk.go();
    assert_eq!(desk.running(), [""; 0]);
    assert_eq!(desk.sent_results(), ["a!: The reply was aborted before this call could run."]);
}

#[test]
fn running_tools_are_killed_and_get_their_results_at_once() {
    let desk = asking();
    desk.calls([("a", "read"), ("b", "read"), ("c", "bash")]);
    desk.log(&[]);
    desk.stop();
    assert_eq!(
        desk.log(&["kill", "moment", "unlock"]),
        ["kill a", "moment: finished a", "kill b", "moment: finished b", "unlock"]
    );
    assert_eq!(desk.statuses(), ["c pending"], "what waited still waits");
    assert!(desk.text().contains("`a` (error)\n\n```\nThe user cancelled this call while it ran.\n```"));
    desk.tool("a", "late");
    assert!(!desk.text().contains("late"));
    assert_eq!(desk.requests(), 1, "autopilot is disarmed");
}

#[test]
fn a_call_that_was_still_in_the_queue_waits_for_the_user_again() {
    let desk = Desk::new("@You:\nHello");
    desk.set(|settings| settings.max_concurrent = 1);
    desk.go();
    desk.reply([call("a", "read", json!({})), call("b", "read", json!({"path": "x"}))], StopReason::ToolUse);
    desk.log(&[]);
    desk.stop();
    assert_eq!(desk.statuses(), ["b pending"]);
    assert_eq!(desk.log(&["moment"]), ["moment: finished a", "moment: pending b"]);
    desk.go();
    assert_eq!((desk.running(), desk.requests()), (vec![], 1), "policy approved it, the user stopped it");

    // The user's own approval is for what stands there, not for what policy saw.
    let desk = desk.with_policy(|_| flemma::agent::Verdict::Ask);
    desk.replace("\"x\"", "\"y\"");
    desk.replace("status=pending", "status=approved");
    desk.log(&[]);
    desk.go();
    assert_eq!((desk.told(), desk.running()), (vec![], vec!["b".to_owned()]));
}

#[test]
fn one_tool_is_stopped_and_the_others_run_on() {
    let desk = asking();
    desk.calls([("a", "read"), ("b", "read")]);
    desk.stop_tool("a");
    assert_eq!(desk.log(&["kill"]), ["kill a"]);
    assert_eq!(desk.running(), ["b"]);
    desk.tool("a", "late");
    desk.tool("b", "two");
    assert_eq!(desk.sent_results(), ["a!: The user cancelled this call while it ran.", "b: two"]);
}

#[test]
fn stopping_the_only_tool_lets_the_model_know_and_goes_on() {
    let desk = asking();
    desk.calls([("a", "read")]);
    desk.stop_tool("a");
    assert_eq!(desk.requests(), 2);
    assert_eq!(desk.sent_results(), ["a!: The user cancelled this call while it ran."]);
}

#[test]
fn a_queued_tool_can_be_stopped_before_it_runs() {
    let desk = Desk::new("@You:\nHello");
    desk.set(|settings| settings.max_concurrent = 1);
    desk.go();
    desk.calls([("a", "read"), ("b", "read"), ("c", "read")]);
    desk.stop_tool("b");
    assert_eq!(desk.statuses(), ["a running", "c approved"]);
    desk.tool("a", "one");
    desk.tool("c", "three");
    assert_eq!(desk.log(&["run", "kill"]), ["run a read", "run c read"]);
    assert_eq!(desk.sent_results(), ["a: one", "b!: The user cancelled this call before it ran.", "c: three"]);
}

#[test]
fn a_tool_that_does_not_run_cannot_be_stopped() {
    let desk = asking();
    desk.stop_tool("a");
    assert_eq!(desk.told(), ["info: The call a is not running."]);
    desk.calls([("b", "bash")]);
    desk.stop_tool("b");
    assert_eq!(desk.told(), ["info: The call b is not running."]);
    assert_eq!(desk.statuses(), ["b pending"]);
}

#[test]
fn an_answer_that_nobody_waits_for_is_dropped() {
    let desk = asking();
    desk.calls([("a", "bash")]);
    let before = desk.text();
    for id in ["a", "z"] {
        desk.feed([Input::ToolFinished { call: id.into(), answer: Answer::text("whose?") }]);
    }
    assert_eq!(desk.text(), before);
    desk.execute("a");
    desk.tool("a", "one");
    desk.feed([Input::ToolFinished { call: "a".into(), answer: Answer::text("twice") }]);
    assert!(desk.text().contains("\none\n") && !desk.text().contains("twice"));
}

#[test]
fn a_key_after_a_stop_goes_on() {
    let desk = asking();
    desk.calls([("a", "read")]);
    desk.stop();
    desk.go();
    assert_eq!(desk.requests(), 2);
    desk.calls([("b", "read")]);
    assert_eq!(desk.running(), ["b"], "autopilot is armed again");
}
