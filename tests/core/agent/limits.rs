//! Where autopilot stops by itself.

use flemma::model::StopReason;
use serde_json::json;

use super::desk::{Desk, call};

/// Replies with one call, and answers it.
fn round(desk: &Desk, n: usize, path: &str, output: &str) {
    let id = format!("call_{n}");
    desk.reply([call(&id, "read", json!({ "path": path }))], StopReason::ToolUse);
    desk.tool(&id, output);
}

const LOOP: &str = "warn: Autopilot paused: read gave the same result for the same input three times; Ctrl-] goes on.";

#[test]
fn autopilot_pauses_after_max_turns_and_a_key_goes_on() {
    let desk = Desk::new("@You:\nHello");
    desk.set(|settings| settings.max_turns = 2);
    desk.go();
    round(&desk, 1, "a", "1");
    assert_eq!((desk.requests(), desk.told()), (2, vec![]));
    round(&desk, 2, "b", "2");
    assert_eq!(desk.requests(), 2);
    assert_eq!(desk.told(), ["warn: Autopilot paused after 2 requests (tools.autopilot.max_turns); Ctrl-] goes on."]);
    assert!(!desk.session.is_busy());
    desk.go();
    round(&desk, 3, "c", "3");
    assert_eq!(desk.requests(), 4, "the count begins anew");
}

#[test]
fn a_provider_that_pauses_for_ever_is_not_followed_for_ever() {
    let desk = Desk::new("@You:\nHello");
    desk.set(|settings| settings.max_turns = 3);
    desk.go();
    for _ in 0..3 {
        desk.reply([super::desk::prose("…")], StopReason::Pause);
    }
    assert_eq!(desk.requests(), 3);
    assert_eq!(desk.told().len(), 1);
    assert!(!desk.session.is_busy());
}

#[test]
fn the_same_call_with_the_same_result_three_times_pauses() {
    let desk = Desk::new("@You:\nHello");
    desk.go();
    for n in 1..=2 {
        round(&desk, n, "a", "no such file");
        assert_eq!((desk.requests(), desk.told()), (n + 1, vec![]));
    }
    round(&desk, 3, "a", "no such file");
    assert_eq!(desk.requests(), 3);
    assert_eq!(desk.told(), [LOOP]);
    desk.go();
    assert_eq!(desk.requests(), 4, "a key goes on");
    round(&desk, 4, "a", "no such file");
    assert_eq!(desk.requests(), 5, "and the count begins anew");
}

#[test]
fn another_input_or_another_result_is_no_loop() {
    for (path, output) in [("b", "no such file"), ("a", "here it is")] {
        let desk = Desk::new("@You:\nHello");
        desk.go();
        round(&desk, 1, "a", "no such file");
        round(&desk, 2, "a", "no such file");
        round(&desk, 3, path, output);
        round(&desk, 4, "a", "no such file");
        assert_eq!((desk.requests(), desk.told()), (5, vec![]));
    }
}

#[test]
fn parallel_calls_are_a_loop_whatever_order_they_finish_in() {
    let desk = Desk::new("@You:\nHello");
    desk.go();
    for n in 1..=3 {
        let (a, b) = (format!("a{n}"), format!("b{n}"));
        desk.reply([call(&a, "read", json!({"n": 1})), call(&b, "read", json!({"n": 2}))], StopReason::ToolUse);
        let order = if n % 2 == 0 { [(&a, "1"), (&b, "2")] } else { [(&b, "2"), (&a, "1")] };
        for (id, output) in order {
            desk.tool(id, output);
        }
    }
    assert_eq!(desk.told(), [LOOP]);
}

#[test]
fn a_loop_of_errors_is_a_loop() {
    let desk = Desk::new("@You:\nHello");
    desk.go();
    for n in 1..=3 {
        desk.reply([call(&format!("call_{n}"), "nonsense", json!({}))], StopReason::ToolUse);
    }
    assert_eq!(desk.requests(), 3);
    assert_eq!(desk.told(), [LOOP.replace("read", "nonsense")]);
}

#[test]
fn rounds_in_which_the_user_has_a_say_are_no_loop() {
    let desk = Desk::new("@You:\nHello");
    desk.go();
    for n in 1..=4 {
        let id = format!("call_{n}");
        desk.reply([call(&id, "bash", json!({}))], StopReason::ToolUse);
        desk.execute(&id);
        desk.tool(&id, "the same");
    }
    assert_eq!((desk.requests(), desk.told()), (5, vec![]));
}
