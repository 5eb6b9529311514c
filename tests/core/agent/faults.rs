//! A document that is broken, a shell that calls back, a shell that panics, and a buffer that somebody else changes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use flemma::{
    agent::{Input, Verdict},
    model::{Event, StopReason},
};
use serde_json::json;

use super::desk::{Desk, Prank, call, prose};

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
            let desk = Desk::new(text);
            if alt_enter {
                desk.execute("a")
            } else {
                desk.go()
            }
            desk.shows(text);
            let log = desk.log(&["run", "send", "error", "warn", "info", "diagnose"]);
            assert_eq!(log.len(), 2, "the user is told once: {log:?}");
            assert_eq!(log[0], format!("diagnose {line}"));
            assert!(log[1].starts_with(&format!("error: No tool was run: line {line}: ")), "{log:?}");
            assert!(!desk.session.is_busy());
        }
    }
}

#[test]
fn once_it_is_mended_it_goes_on() {
    let desk = Desk::new(UNCLOSED_THINKING);
    desk.go();
    desk.replace("<thinking>\nWell", "Well");
    desk.go();
    assert_eq!(desk.running(), ["a"]);
    desk.tool("a", "one");
    assert_eq!(desk.sent_results(), ["a: one"]);
}

#[test]
fn a_model_that_gives_two_calls_one_id_is_stopped_before_either_runs() {
    let desk = Desk::new("@You:\nHello");
    desk.go();
    desk.calls([("a", "read"), ("a", "read")]);
    assert_eq!(desk.log(&["run"]), [""; 0]);
    assert!(!desk.session.is_busy());
}

// A shell that calls back.

#[test]
fn a_key_pressed_while_an_effect_is_performed_comes_after_it() {
    let desk = Desk::new("@You:\nHello");
    desk.prank("send 1", Prank::Feed(Input::Cancel));
    desk.go();
    assert_eq!(
        desk.log(&["lock", "unlock", "send", "abort", "moment"]),
        ["lock", "moment: sending", "send 1", "abort 1", "unlock", "moment: incomplete"]
    );
}

#[test]
fn a_tool_that_answers_at_once_is_heard() {
    let desk = Desk::new("@You:\nHello");
    desk.go();
    desk.prank("moment: executing a", Prank::Feed(Input::CancelTool("b".into())));
    desk.prank("moment: executing b", Prank::Feed(Input::Cancel));
    desk.calls([("a", "read"), ("b", "read")]);
    assert_eq!(desk.statuses(), [""; 0]);
    assert!(!desk.session.is_busy());
}

#[test]
fn a_key_pressed_while_the_last_words_are_written_or_shown_is_not_left_lying() {
    for words in ["edit", "show Writing"] {
        let desk = Desk::new("@You:\nHello");
        desk.go();
        desk.prank(words, Prank::Feed(Input::Cancel));
        desk.event(prose("Well"));
        assert!(!desk.session.is_busy(), "{words}");
        assert!(desk.text().contains("Well\n\n<!-- flemma:aborted -->"), "{words}: {}", desk.text());
    }
}

#[test]
fn a_policy_may_look_at_the_session_that_asks_it_and_stop_it() {
    use std::rc::{Rc, Weak};
    let desk = Rc::new_cyclic(|own: &Weak<Desk>| {
        let own = own.clone();
        Desk::new("@You:\nHello").with_policy(move |_| {
            let desk = own.upgrade().unwrap();
            assert!(desk.session.is_busy());
            let _ = (desk.session.activity(), desk.session.running());
            desk.session.feed([Input::Cancel], &*desk);
            Verdict::Run
        })
    });
    desk.go();
    desk.calls([("a", "read")]);
    assert_eq!(desk.log(&["run", "kill"]), ["run a read", "kill a"]);
    assert!(!desk.session.is_busy());
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
        let desk = Desk::new("@You:\nHello");
        desk.prank(place, Prank::Panic);
        let story = || {
            desk.go();
            desk.event(prose("Well"));
            desk.calls([("a", "read"), ("b", "read"), ("c", "bash")]);
            desk.tool("a", "one");
            desk.tool("b", "two");
        };
        shaken(story);
        // Whatever is left is stopped with the ordinary key, and the buffer is the user's again.
        desk.feed([Input::Cancel]);
        assert!(!desk.session.is_busy(), "{place}");
        assert!(!desk.locked.get(), "{place}");
        // And the next conversation works.
        let text = desk.text();
        desk.replace(&text, "@You:\nAgain");
        desk.go();
        desk.calls([("x", "read")]);
        desk.tool("x", "fine");
        desk.says("Good.");
        assert!(desk.text().ends_with("`x`\n\n```\nfine\n```\n\n@Assistant:\nGood.\n\n@You:\n"), "{place}");
    }
}

#[test]
fn a_panic_costs_no_more_than_the_effect_that_it_hit() {
    let desk = Desk::new("@You:\nHello");
    desk.go();
    desk.prank("undo step", Prank::Panic);
    let request = desk.request();
    let events = [prose("Well, "), prose("yes."), Event::Finished(StopReason::EndTurn)];
    shaken(|| desk.feed(events.map(|event| Input::Event { request, event })));
    desk.check();
    assert!(desk.text().ends_with("@Assistant:\nWell, yes.\n\n@You:\n"), "{}", desk.text());
    assert!(!desk.locked.get());
}

#[test]
fn a_decision_that_fails_stops_everything_and_unlocks_the_buffer() {
    let desk = Desk::new("@You:\nHello");
    desk.go();
    desk.prank("verdict on b", Prank::Panic);
    shaken(|| desk.calls([("a", "read"), ("b", "read")]));
    desk.check();
    assert!(!desk.session.is_busy());
    assert_eq!(desk.log(&["run"]), [""; 0]);
    desk.go();
    assert_eq!(desk.running(), ["a", "b"]);
}

#[test]
fn a_reply_whose_words_could_not_be_written_is_stopped() {
    let desk = Desk::new("@You:\nHello");
    desk.go();
    desk.prank("edit", Prank::Panic);
    shaken(|| desk.event(prose("Well")));
    desk.check();
    assert_eq!(desk.log(&["abort", "unlock"]), ["abort 1", "unlock"]);
    assert!(desk.text().ends_with("@Assistant:\nWell\n\n@You:\n"), "{}", desk.text());
}

#[test]
fn a_tool_that_could_not_be_started_gets_an_error_for_a_result() {
    let desk = Desk::new("@You:\nHello");
    desk.go();
    desk.event(call("a", "read", json!({})));
    desk.prank("moment: executing a", Prank::Panic);
    shaken(|| desk.event(Event::Finished(StopReason::ToolUse)));
    desk.check();
    assert_eq!(desk.requests(), 2);
    assert_eq!(desk.sent_results(), ["a!: The tool `read` could not be started: a bug of Flemma's, not of the call."]);
}

#[test]
fn a_request_that_could_not_be_started_unlocks_the_buffer() {
    let desk = Desk::new("@You:\nHello");
    desk.prank("moment: sending", Prank::Panic);
    shaken(|| desk.go());
    desk.check();
    assert!(!desk.session.is_busy());
    assert_eq!(desk.told().len(), 1);
    desk.go();
    assert_eq!(desk.requests(), 1);

    // Should it be out already, it is dropped.
    desk.says("Hi.");
    desk.prank("send 3", Prank::Panic);
    let text = desk.text();
    desk.replace(&text, "@You:\nAgain");
    shaken(|| desk.go());
    desk.check();
    assert_eq!(desk.log(&["send", "abort", "unlock"])[3..], ["abort 3", "unlock"]);
}

// A buffer that somebody else changes.

#[test]
fn an_abandoned_session_does_nothing_more_and_begins_anew() {
    let desk = Desk::new("@You:\nHello");
    desk.go();
    let old = desk.request();
    desk.event(prose("Well"));
    desk.prank("edit", Prank::Abandon);
    desk.reply([prose(" then"), call("a", "read", json!({}))], StopReason::ToolUse);
    assert!(!desk.session.is_busy());
    let text = desk.text();
    desk.event(prose("late"));
    assert_eq!(desk.text(), text);

    desk.replace(&text, "@You:\nAgain");
    desk.go();
    assert_ne!(desk.request(), old, "what still comes for the old request is not taken for the new one's");
}

#[test]
fn whoever_hears_of_a_request_or_a_tool_may_still_prevent_it_by_changing_the_buffer() {
    let desk = Desk::new("@You:\nHello");
    desk.prank("moment: sending", Prank::Abandon);
    desk.go();
    assert_eq!((desk.requests(), desk.told()), (0, vec![]));

    desk.go();
    desk.prank("moment: executing a", Prank::Abandon);
    desk.calls([("a", "read"), ("b", "read")]);
    assert_eq!(desk.log(&["run"]), [""; 0]);
    assert!(!desk.locked.get());
}

#[test]
fn what_policy_approved_is_asked_again_if_it_was_changed_meanwhile() {
    let desk = Desk::new("@You:\nHello")
        .with_policy(|call| if format!("{:?}", call.input).contains("ls") { Verdict::Run } else { Verdict::Ask });
    desk.set(|settings| settings.max_concurrent = 1);
    desk.go();
    let uses = ["a", "b"].map(|id| call(id, "bash", json!({"command": format!("ls {id}")})));
    desk.reply(uses, StopReason::ToolUse);
    desk.prank("info", Prank::Abandon);
    desk.go();
    assert_eq!(desk.statuses(), ["a running", "b approved"]);
    desk.replace("ls b", "rm b");
    desk.go();
    assert_eq!((desk.statuses(), desk.running()), (vec!["a pending".to_owned(), "b pending".to_owned()], vec![]));
}

#[test]
fn a_policy_under_which_the_buffer_changes_does_not_bring_the_session_down() {
    let desk = Desk::new("@You:\nHello");
    desk.go();
    desk.prank("verdict on a", Prank::Abandon);
    desk.calls([("a", "read")]);
    assert_eq!(desk.log(&["run"]), [""; 0]);
    assert!(!desk.session.is_busy());
    assert!(!desk.locked.get());
    desk.go();
    assert_eq!(desk.running(), ["a"]);
}
