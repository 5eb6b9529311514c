//! Where autopilot stops by itself.

use flemma_model::StopReason;
use serde_json::json;

use super::harness::{Harness, call};

/// Replies with one call, and answers it.
fn round(harness: &Harness, n: usize, path: &str, output: &str) {
    let id = format!("call_{n}");
    harness.reply([call(&id, "read", json!({ "path": path }))], StopReason::ToolUse);
    harness.tool(&id, output);
}

const LOOP: &str =
    "warn: Autopilot paused; Ctrl-] continues: read gave the same result for the same input three times.";

#[test]
fn autopilot_pauses_after_max_turns_and_a_key_goes_on() {
    let harness = Harness::new("@You:\nHello");
    harness.set(|settings| settings.max_turns = 2);
    harness.go();
    round(&harness, 1, "a", "1");
    assert_eq!((harness.requests(), harness.told()), (2, vec![]));
    round(&harness, 2, "b", "2");
    assert_eq!(harness.requests(), 2);
    assert_eq!(
        harness.told(),
        ["warn: Autopilot paused after 2 requests; Ctrl-] continues (tools.autopilot.max_turns)."]
    );
    assert!(!harness.session.is_busy());
    harness.go();
    round(&harness, 3, "c", "3");
    assert_eq!(harness.requests(), 4, "the count begins anew");
}

#[test]
fn a_provider_that_pauses_for_ever_is_not_followed_for_ever() {
    let harness = Harness::new("@You:\nHello");
    harness.set(|settings| settings.max_turns = 3);
    harness.go();
    for _ in 0..3 {
        harness.reply([super::harness::prose("…")], StopReason::Pause);
    }
    assert_eq!(harness.requests(), 3);
    assert_eq!(harness.told().len(), 1);
    assert!(!harness.session.is_busy());
}

#[test]
fn the_same_call_with_the_same_result_three_times_pauses() {
    let harness = Harness::new("@You:\nHello");
    harness.go();
    for n in 1..=2 {
        round(&harness, n, "a", "no such file");
        assert_eq!((harness.requests(), harness.told()), (n + 1, vec![]));
    }
    round(&harness, 3, "a", "no such file");
    assert_eq!(harness.requests(), 3);
    assert_eq!(harness.told(), [LOOP]);
    harness.go();
    assert_eq!(harness.requests(), 4, "a key goes on");
    round(&harness, 4, "a", "no such file");
    assert_eq!(harness.requests(), 5, "and the count begins anew");
}

#[test]
fn another_input_or_another_result_is_no_loop() {
    for (path, output) in [("b", "no such file"), ("a", "here it is")] {
        let harness = Harness::new("@You:\nHello");
        harness.go();
        round(&harness, 1, "a", "no such file");
        round(&harness, 2, "a", "no such file");
        round(&harness, 3, path, output);
        round(&harness, 4, "a", "no such file");
        assert_eq!((harness.requests(), harness.told()), (5, vec![]));
    }
}

#[test]
fn parallel_calls_are_a_loop_whatever_order_they_finish_in() {
    let harness = Harness::new("@You:\nHello");
    harness.go();
    for n in 1..=3 {
        let (a, b) = (format!("a{n}"), format!("b{n}"));
        harness.reply([call(&a, "read", json!({"n": 1})), call(&b, "read", json!({"n": 2}))], StopReason::ToolUse);
        let order = if n % 2 == 0 { [(&a, "1"), (&b, "2")] } else { [(&b, "2"), (&a, "1")] };
        for (id, output) in order {
            harness.tool(id, output);
        }
    }
    assert_eq!(harness.told(), [LOOP]);
}

#[test]
fn a_loop_of_errors_is_a_loop() {
    let harness = Harness::new("@You:\nHello");
    harness.go();
    for n in 1..=3 {
        harness.reply([call(&format!("call_{n}"), "nonsense", json!({}))], StopReason::ToolUse);
    }
    assert_eq!(harness.requests(), 3);
    assert_eq!(harness.told(), [LOOP.replace("read", "nonsense")]);
}

#[test]
fn rounds_in_which_the_user_has_a_say_are_no_loop() {
    let harness = Harness::new("@You:\nHello");
    harness.go();
    for n in 1..=4 {
        let id = format!("call_{n}");
        harness.reply([call(&id, "bash", json!({}))], StopReason::ToolUse);
        harness.execute(&id);
        harness.tool(&id, "the same");
    }
    assert_eq!((harness.requests(), harness.told()), (5, vec![]));
}

#[test]
fn a_round_in_parts_ends_as_one_at_once() {
    let tools = ["read", "bash", "rm", "nonsense", "ask"];
    let ids: Vec<String> = (0..60).map(|call| format!("call_{call}")).collect();
    let round = |is_late: bool, autopilot: bool| {
        let harness = Harness::new("@You:\nHello");
        harness.is_late.set(is_late);
        harness.set(|settings| (settings.autopilot, settings.max_concurrent) = (autopilot, 100));
        harness.go();
        harness.calls(ids.iter().enumerate().map(|(at, id)| (id.as_str(), tools[at % tools.len()])));
        let placed = harness.text();
        harness.go();
        let running = harness.running();
        running.iter().for_each(|call| harness.tool(call, "done"));
        ((placed, harness.text(), running, harness.told()), harness.pauses.get())
    };
    for autopilot in [true, false] {
        let (at_once, none) = round(false, autopilot);
        let (in_parts, pauses) = round(true, autopilot);
        assert_eq!(at_once, in_parts);
        assert!(none == 0 && pauses >= 7, "{pauses} pauses for 60 calls");
    }
}
