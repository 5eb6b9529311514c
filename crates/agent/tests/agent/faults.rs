//! A document that is broken, a shell that calls back, a shell that panics, and a buffer that somebody else changes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use flemma_agent::{Input, Verdict};
use flemma_model::{Event, StopReason};
use serde_json::json;

use super::harness::{Harness, Prank, call, prose};

/// Runs with a shell that panics once, and swallows the panic as the editor does.
#[track_caller]
fn shaken(work: impl FnOnce()) {
    assert!(catch_unwind(AssertUnwindSafe(work)).is_err(), "the panic is not hidden");
}

// A document that is broken.

const UNCLOSED_THINKING: &str = "
    @You:
    Hello

    @Assistant:
    **Tool Use:** `read` (`a`)

    ```json
    {}
    ```

    <thinking>
    Well
    ";

const UNCLOSED_BLOCK: &str = "
    @You:
    Hello

    @Assistant:
    **Tool Use:** `read` (`a`)

    ```json
    {}
    ```

    @You:
    **Tool Result:** `a`

    ```flemma:tool status=approved

    Not an answer, just what comes below.
    ";

#[test]
fn nothing_runs_in_a_document_that_could_not_take_the_result() {
    for (text, line) in [(UNCLOSED_THINKING, 11), (UNCLOSED_BLOCK, 14)] {
        for alt_enter in [false, true] {
            let harness = Harness::new(text);
            if alt_enter {
                harness.execute("a")
            } else {
                harness.go()
            }
            harness.shows(text);
            let log = harness.log(&["run", "send", "error", "warn", "info", "diagnose"]);
            assert_eq!(log.len(), 2, "the user is told once: {log:?}");
            assert_eq!(log[0], format!("diagnose {line}"));
            assert!(log[1].starts_with(&format!("error: No tool was run: line {line}: ")), "{log:?}");
            assert!(!harness.session.is_busy());
        }
    }
}

#[test]
fn once_it_is_mended_it_goes_on() {
    let harness = Harness::new(UNCLOSED_THINKING);
    harness.go();
    harness.replace("<thinking>\nWell", "Well");
    harness.go();
    assert_eq!(harness.running(), ["a"]);
    harness.tool("a", "one");
    assert_eq!(harness.sent_results(), ["a: one"]);
}

#[test]
fn two_calls_with_one_id_get_ids_of_their_own() {
    let harness = Harness::new("@You:\nHello");
    harness.go();
    harness.calls([("a", "read"), ("a", "read")]);
    assert_eq!(harness.log(&["run"]), ["run a read", "run a_2 read"]);
}

// A shell that calls back.

#[test]
fn a_key_pressed_while_an_effect_is_performed_comes_after_it() {
    let harness = Harness::new("@You:\nHello");
    harness.prank("send 1", Prank::Feed(Input::Cancel));
    harness.go();
    assert_eq!(
        harness.log(&["lock", "unlock", "send", "abort", "moment"]),
        ["lock", "moment: sending", "send 1", "abort 1", "unlock", "moment: incomplete"]
    );
}

#[test]
fn a_tool_that_answers_at_once_is_heard() {
    let harness = Harness::new("@You:\nHello");
    harness.go();
    harness.prank("moment: executing a", Prank::Feed(Input::CancelTool("b".into())));
    harness.prank("moment: executing b", Prank::Feed(Input::Cancel));
    harness.calls([("a", "read"), ("b", "read")]);
    assert_eq!(harness.statuses(), [""; 0]);
    assert!(!harness.session.is_busy());
}

#[test]
fn a_key_pressed_during_the_last_write_is_handled() {
    for words in ["edit", "show Writing"] {
        let harness = Harness::new("@You:\nHello");
        harness.go();
        harness.prank(words, Prank::Feed(Input::Cancel));
        harness.event(prose("Well"));
        assert!(!harness.session.is_busy(), "{words}");
        assert!(harness.text().contains("Well\n\n<!-- flemma:aborted -->"), "{words}: {}", harness.text());
    }
}

#[test]
fn a_policy_may_look_at_the_session_that_asks_it_and_stop_it() {
    use std::rc::{Rc, Weak};
    let harness = Rc::new_cyclic(|own: &Weak<Harness>| {
        let own = own.clone();
        Harness::new("@You:\nHello").with_policy(move |_| {
            let harness = own.upgrade().unwrap();
            assert!(harness.session.is_busy());
            let _ = (harness.session.activity(), harness.session.running());
            harness.session.feed([Input::Cancel], &*harness);
            Verdict::Run
        })
    });
    harness.go();
    harness.calls([("a", "read")]);
    assert_eq!(harness.log(&["run", "kill"]), [""; 0]);
    assert!(!harness.session.is_busy());
}

// A shell that panics.

#[test]
fn a_shell_that_panics_anywhere_leaves_a_session_that_works() {
    // The round: request, reply, tools, next request; with every place in which the shell may fail.
    for place in [
        "lock",
        "moment: sending",
        "send 1",
        "undo step",
        "follow",
        "edit",
        "show Writing",
        "moment: complete",
        "verdict on a",
        "moment: pending c",
        "moment: executing a",
        "run b",
        "cursor result",
        "moment: finished b",
        "cursor pending",
        "unlock",
        "show Idle",
    ] {
        let harness = Harness::new("@You:\nHello");
        harness.prank(place, Prank::Panic);
        let story = || {
            harness.go();
            harness.event(prose("Well"));
            harness.calls([("a", "read"), ("b", "read"), ("c", "bash")]);
            harness.tool("a", "one");
            harness.tool("b", "two");
        };
        shaken(story);
        // Whatever is left is stopped with the ordinary key, and the buffer is the user's again.
        harness.feed([Input::Cancel]);
        assert!(!harness.session.is_busy(), "{place}");
        assert!(!harness.locked.get(), "{place}");
        // And the next conversation works.
        let text = harness.text();
        harness.replace(&text, "@You:\nAgain");
        harness.go();
        harness.calls([("x", "read")]);
        harness.tool("x", "fine");
        harness.says("Good.");
        assert!(harness.text().ends_with("`x`\n\n```\nfine\n```\n\n@Assistant:\nGood.\n\n@You:\n"), "{place}");
    }
}

#[test]
fn a_panic_costs_no_more_than_the_effect_that_it_hit() {
    let harness = Harness::new("@You:\nHello");
    harness.go();
    harness.prank("undo step", Prank::Panic);
    let request = harness.request();
    let events = [prose("Well, "), prose("yes."), Event::Finished(StopReason::EndTurn)];
    shaken(|| harness.feed(events.map(|event| Input::Event { request, event })));
    harness.check();
    assert!(harness.text().ends_with("@Assistant:\nWell, yes.\n\n@You:\n"), "{}", harness.text());
    assert!(!harness.locked.get());
}

#[test]
fn a_failing_decision_stops_everything_and_unlocks() {
    let harness = Harness::new("@You:\nHello");
    harness.go();
    harness.prank("verdict on b", Prank::Panic);
    shaken(|| harness.calls([("a", "read"), ("b", "read")]));
    harness.check();
    assert!(!harness.session.is_busy());
    assert_eq!(harness.log(&["run"]), [""; 0]);
    harness.go();
    assert_eq!(harness.running(), ["a", "b"]);
}

#[test]
fn a_reply_whose_words_could_not_be_written_is_stopped() {
    let harness = Harness::new("@You:\nHello");
    harness.go();
    harness.prank("edit", Prank::Panic);
    shaken(|| harness.event(prose("Well")));
    harness.check();
    assert_eq!(harness.log(&["abort", "unlock"]), ["abort 1", "unlock"]);
    assert!(harness.text().ends_with("@Assistant:\nWell\n\n@You:\n"), "{}", harness.text());
}

#[test]
fn a_tool_that_could_not_be_started_gets_an_error_for_a_result() {
    let harness = Harness::new("@You:\nHello");
    harness.go();
    harness.event(call("a", "read", json!({})));
    harness.prank("moment: executing a", Prank::Panic);
    shaken(|| harness.event(Event::Finished(StopReason::ToolUse)));
    harness.check();
    assert_eq!(harness.requests(), 2);
    assert_eq!(
        harness.sent_results(),
        ["a!: The tool `read` could not be started. This is a bug in Flemma, not in the call."]
    );
}

#[test]
fn a_request_that_could_not_be_started_unlocks_the_buffer() {
    let harness = Harness::new("@You:\nHello");
    harness.prank("moment: sending", Prank::Panic);
    shaken(|| harness.go());
    harness.check();
    assert!(!harness.session.is_busy());
    assert_eq!(harness.told().len(), 1);
    harness.go();
    assert_eq!(harness.requests(), 1);

    // Should it be out already, it is dropped.
    harness.says("Hi.");
    harness.prank("send 3", Prank::Panic);
    let text = harness.text();
    harness.replace(&text, "@You:\nAgain");
    shaken(|| harness.go());
    harness.check();
    assert_eq!(harness.log(&["send", "abort", "unlock"])[3..], ["abort 3", "unlock"]);
}

// A buffer that somebody else changes.

#[test]
fn an_abandoned_session_does_nothing_more_and_begins_anew() {
    let harness = Harness::new("@You:\nHello");
    harness.go();
    let old = harness.request();
    harness.event(prose("Well"));
    harness.prank("edit", Prank::Abandon);
    harness.reply([prose(" then"), call("a", "read", json!({}))], StopReason::ToolUse);
    assert!(!harness.session.is_busy());
    let text = harness.text();
    harness.event(prose("late"));
    assert_eq!(harness.text(), text);

    harness.replace(&text, "@You:\nAgain");
    harness.go();
    assert_ne!(harness.request(), old, "what still comes for the old request is not taken for the new one's");
}

#[test]
fn a_listener_can_prevent_a_request_by_editing_the_buffer() {
    let harness = Harness::new("@You:\nHello");
    harness.prank("moment: sending", Prank::Abandon);
    harness.go();
    assert_eq!((harness.requests(), harness.told()), (0, vec![]));

    harness.go();
    harness.prank("moment: executing a", Prank::Abandon);
    harness.calls([("a", "read"), ("b", "read")]);
    assert_eq!(harness.log(&["run"]), [""; 0]);
    assert!(!harness.locked.get());
}

#[test]
fn a_call_edited_after_policy_approval_is_judged_again() {
    let harness = Harness::new("@You:\nHello")
        .with_policy(|call| if format!("{:?}", call.input).contains("ls") { Verdict::Run } else { Verdict::Ask });
    harness.set(|settings| settings.max_concurrent = 1);
    harness.go();
    let uses = ["a", "b"].map(|id| call(id, "bash", json!({"command": format!("ls {id}")})));
    harness.reply(uses, StopReason::ToolUse);
    harness.prank("info", Prank::Abandon);
    harness.go();
    assert_eq!(harness.statuses(), ["a running", "b approved"]);
    harness.replace("ls b", "rm b");
    harness.go();
    assert_eq!((harness.statuses(), harness.running()), (vec!["a pending".to_owned(), "b pending".to_owned()], vec![]));
}

#[test]
fn a_policy_may_change_the_buffer_without_a_panic() {
    let harness = Harness::new("@You:\nHello");
    harness.go();
    harness.prank("verdict on a", Prank::Abandon);
    harness.calls([("a", "read")]);
    assert_eq!(harness.log(&["run"]), [""; 0]);
    assert!(!harness.session.is_busy());
    assert!(!harness.locked.get());
    harness.go();
    assert_eq!(harness.running(), ["a"]);
}
