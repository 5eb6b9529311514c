//! How a reply comes, ends early, fails, and is asked for again.

use std::time::Duration;

use flemma::{
    agent::{Activity, Input, RequestId},
    model::{Event, StopReason, Usage},
    provider::{ErrorKind, ProviderError, retry::MAX_ATTEMPTS},
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
fn the_activity_follows_the_reply() {
    let desk = asking();
    assert_eq!(desk.session.activity(), Activity::Waiting);
    desk.event(Event::ThinkingStarted);
    assert_eq!(desk.session.activity(), Activity::Thinking);
    desk.event(Event::ThinkingFinished { signature: None });
    assert_eq!(desk.session.activity(), Activity::Waiting);
    desk.event(prose("Well"));
    assert_eq!(desk.session.activity(), Activity::Writing);
    desk.event(Event::ToolUseProgress { name: "read".into(), bytes: 7 });
    assert_eq!(desk.session.activity(), Activity::Calling { tool: "read".into(), bytes: 7 });
    desk.reply([call("a", "read", json!({}))], StopReason::ToolUse);
    assert_eq!(desk.session.activity(), Activity::Executing { running: 1 });
    desk.tool("a", "one");
    assert_eq!(desk.session.activity(), Activity::Waiting);
    desk.says("Done");
    assert_eq!(desk.session.activity(), Activity::Idle);
}

#[test]
fn pieces_that_come_together_are_written_together() {
    let desk = asking();
    let request = desk.request();
    desk.feed(["one ", "two ", "three"].map(|words| Input::Event { request, event: prose(words) }));
    assert!(desk.text().ends_with("@Assistant:\none two three"));
    assert_eq!(desk.log(&["edit"]), ["edit"]);
}

#[test]
fn a_failure_before_anything_was_shown_is_tried_again_in_silence() {
    let desk = asking();
    for (attempt, pause) in [(2, 500), (3, 1000), (4, 2000)] {
        desk.fails(ErrorKind::Overloaded);
        let reason = "The provider failed.".to_owned();
        assert_eq!(desk.session.activity(), Activity::Retrying { attempt, reason });
        assert!(desk.locked.get());
        assert_eq!(desk.wait(), Duration::from_millis(pause));
    }
    assert_eq!(desk.requests() as u32, MAX_ATTEMPTS);
    assert_eq!(desk.log(&["info", "warn", "error", "edit", "moment"]), [""; 0]);
    desk.fails(ErrorKind::Overloaded);
    assert_eq!(
        desk.log(&["error", "unlock", "moment"]),
        ["error: The provider failed.", "unlock", "moment: incomplete"]
    );
    desk.shows("@You:\nHello");
}

#[test]
fn usage_shows_nothing_so_a_retry_is_still_invisible() {
    let desk = asking();
    desk.event(Event::Usage(Usage::default()));
    desk.fails(ErrorKind::Interrupted);
    desk.wait();
    desk.says("Hi.");
    assert!(desk.text().ends_with("@You:\nHello\n\n@Assistant:\nHi.\n\n@You:\n"));
}

#[test]
fn a_failure_that_no_retry_can_mend_is_told_at_once() {
    let desk = asking();
    desk.fails(ErrorKind::Authentication);
    assert_eq!(desk.log(&["error", "later"]), ["error: The provider failed."]);
    assert!(!desk.locked.get());
    desk.go();
    assert_eq!(desk.requests(), 2, "a key asks again");
}

#[test]
fn a_failure_in_the_middle_keeps_what_came_marks_it_and_is_not_tried_again() {
    let desk = asking();
    desk.event(prose("Let me "));
    desk.event(call("a", "read", json!({})));
    desk.fails(ErrorKind::Interrupted);
    desk.shows(
        "
        @You:
        Hello

        @Assistant:
        Let me 

        **Tool Use:** `read` (`a`)

        ```json
        {}
        ```

        <!-- flemma:aborted -->

        @You:
        **Tool Result:** `a` (error)

        ```
        The reply was aborted before this call could run.
        ```

        |
        ",
    );
    assert_eq!(desk.log(&["error", "later", "run"]), ["error: The provider failed."]);
    assert!(!desk.locked.get());
}

#[test]
fn a_reply_that_says_nothing_says_so() {
    for events in [vec![], vec![Event::Usage(Usage::default())]] {
        let desk = asking();
        desk.reply(events, StopReason::EndTurn);
        assert_eq!(desk.told(), ["warn: The model answered nothing; Ctrl-] asks it again."]);
        desk.shows("@You:\nHello");
        desk.go();
        assert_eq!(desk.requests(), 2);
    }
}

#[test]
fn a_refusal_without_a_word_is_told_once() {
    let desk = asking();
    desk.reply([], StopReason::Refusal);
    assert_eq!(desk.told(), ["warn: The provider ended the reply: the model refused to go on."]);
    assert!(!desk.locked.get());
}

#[test]
fn a_reply_that_was_cut_off_says_why_and_leaves_a_prompt() {
    for (reason, words) in [
        (
            StopReason::MaxTokens,
            "The reply was cut off at max_tokens; raise parameters.max_tokens, or ask it to go on.",
        ),
        (StopReason::Refusal, "The provider ended the reply: the model refused to go on."),
        (StopReason::Blocked("SAFETY".into()), "The provider ended the reply: it was blocked (SAFETY)."),
        (
            StopReason::ContextFull,
            "The reply was cut off: the model's context is full, and a higher max_tokens would not help. Shorten the \
             conversation, or give the server a larger context.",
        ),
        (StopReason::Other("tired".into()), "The provider ended the reply: tired."),
    ] {
        let desk = asking();
        desk.reply([prose("Once upon")], reason);
        assert_eq!(desk.told(), [format!("warn: {words}")]);
        assert!(desk.text().ends_with("@Assistant:\nOnce upon\n\n@You:\n"));
    }
}

#[test]
fn nothing_of_a_reply_that_was_refused_runs_by_itself() {
    for stop in [StopReason::Refusal, StopReason::Blocked("SAFETY".into())] {
        let desk = asking();
        desk.reply([call("a", "read", json!({}))], stop);
        assert_eq!((desk.running(), desk.locked.get()), (vec![], false));
        assert_eq!(desk.statuses(), ["a open"]);
        desk.go();
        assert_eq!(desk.running(), ["a"], "but the user may");
    }
}

#[test]
fn a_pause_of_the_providers_is_answered_with_the_conversation_as_it_is() {
    for desk in [Desk::new("@You:\nHello"), Desk::new("@You:\nHello").without_autopilot()] {
        desk.go();
        desk.reply([prose("Searching.")], StopReason::Pause);
        assert_eq!(desk.told(), [""; 0]);
        assert_eq!(desk.requests(), 2);
        assert_eq!(desk.sent.borrow()[1].1.messages.len(), 2, "the reply so far is the last message");
        desk.says("Found it.");
        desk.shows(
            "
            @You:
            Hello

            @Assistant:
            Searching.

            @Assistant:
            Found it.

            @You:
            |
            ",
        );
    }
}

#[test]
fn a_pause_that_is_not_followed_up_leaves_a_prompt() {
    for stop in [true, false] {
        let desk = asking();
        desk.reply([prose("Searching.")], StopReason::Pause);
        desk.fails(ErrorKind::Overloaded);
        desk.wait();
        assert_eq!(desk.requests(), 3, "a retry asks for the same");
        if stop {
            desk.stop()
        } else {
            desk.fails(ErrorKind::Authentication)
        }
        assert!(desk.text().ends_with("@Assistant:\nSearching.\n\n@You:\n"), "{}", desk.text());
        assert!(!desk.locked.get());
    }
}

#[test]
fn what_comes_for_an_older_request_is_dropped() {
    let desk = asking();
    let old = desk.request();
    desk.stop();
    desk.go();
    assert_ne!(desk.request(), old);
    let error = ProviderError::new(ErrorKind::Server, "old");
    desk.feed([
        Input::Event { request: old, event: prose("old") },
        Input::Event { request: old, event: Event::Finished(StopReason::EndTurn) },
        Input::Failed { request: old, error, jitter: 0.0 },
        Input::BackoffOver { request: old },
        Input::BackoffOver { request: desk.request() },
        Input::Review,
        Input::Event { request: RequestId(99), event: prose("whose?") },
    ]);
    desk.shows("@You:\nHello");
    assert_eq!(desk.requests(), 2);
    desk.says("Hi.");
    desk.feed([Input::Event { request: desk.request(), event: prose("late") }]);
    assert!(!desk.text().contains("late"));
}

#[test]
fn a_document_that_cannot_be_sent_says_where_and_unlocks() {
    let desk = Desk::new("stray\n\n@You:\nHello");
    desk.go();
    let log = desk.log(&["error", "diagnose", "unlock", "send", "moment"]);
    assert_eq!(log[0], "diagnose 1");
    assert!(log[1].starts_with("error: Not sent: line 1: "), "{log:?}");
    assert_eq!(log[2..], ["unlock"]);
}

#[test]
fn nothing_typed_means_nothing_to_send() {
    for text in ["", "@You:\n", "@You:\nHello\n\n@Assistant:\nHi.\n\n@You:\n", "@You:\nHello\n\n@Assistant:\nHi."] {
        let desk = Desk::new(text);
        desk.go();
        assert_eq!(desk.told(), ["error: Nothing to send: type your message under `@You:` first."], "{text}");
        assert_eq!(desk.requests(), 0);
    }
}

fn used(input: u64, output: u64) -> Event {
    Event::Usage(Usage { input, output, ..Usage::default() })
}

#[test]
fn a_request_is_accounted_for_once_with_the_last_count_before_its_end_is_announced() {
    let desk = asking();
    desk.event(used(10, 1));
    desk.event(prose("Well"));
    desk.event(used(10, 34));
    assert_eq!(desk.log(&["used"]), [""; 0]);
    desk.event(Event::Finished(StopReason::EndTurn));
    assert_eq!(desk.log(&["used", "moment"]), ["used: 10 in, 34 out, complete", "moment: complete"]);
}

#[test]
fn what_is_cut_off_is_accounted_for_as_far_as_it_was_counted() {
    let desk = asking();
    desk.event(used(10, 1));
    desk.event(prose("Well"));
    desk.stop();
    assert_eq!(desk.log(&["used", "moment"]), ["used: 10 in, 1 out, cut off", "moment: incomplete"]);

    let desk = asking();
    desk.event(used(20, 0));
    desk.stop();
    assert_eq!(desk.log(&["used", "moment"]), ["used: 20 in, 0 out, cut off", "moment: incomplete"]);
}

#[test]
fn every_attempt_is_accounted_for_by_itself() {
    let desk = asking();
    desk.event(used(10, 1));
    desk.fails(ErrorKind::Overloaded);
    desk.wait();
    desk.event(used(11, 2));
    desk.says("Well");
    let expected = ["used: 10 in, 1 out, cut off", "used: 11 in, 2 out, complete"];
    assert_eq!(desk.log(&["used"]), expected);
}

#[test]
fn a_provider_that_counts_nothing_uses_nothing() {
    let desk = asking();
    desk.event(used(0, 0));
    desk.says("Well");
    assert_eq!(desk.log(&["used"]), [""; 0]);
}
