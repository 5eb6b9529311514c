//! How a reply comes, ends early, fails, and is asked for again.

use std::time::Duration;

use flemma_agent::{Activity, Input, RequestId};
use flemma_model::{Event, StopReason, ToolInput, Usage};
use flemma_provider::{ErrorKind, ProviderError, retry::MAX_ATTEMPTS};
use serde_json::json;

use super::harness::{Harness, Prank, call, prose};

fn asking() -> Harness {
    let harness = Harness::new("@You:\nHello");
    harness.go();
    harness.log(&[]);
    harness
}

#[test]
fn the_activity_follows_the_reply() {
    let harness = asking();
    assert_eq!(harness.session.activity(), Activity::Waiting);
    harness.event(Event::ThinkingStarted);
    assert_eq!(harness.session.activity(), Activity::Thinking);
    harness.event(Event::ThinkingFinished { signature: None });
    assert_eq!(harness.session.activity(), Activity::Waiting);
    harness.event(prose("Well"));
    assert_eq!(harness.session.activity(), Activity::Writing);
    harness.event(Event::ToolUseProgress { name: "read".into(), bytes: 7 });
    assert_eq!(harness.session.activity(), Activity::Calling { tool: "read".into(), bytes: 7 });
    harness.reply([call("a", "read", json!({}))], StopReason::ToolUse);
    assert_eq!(harness.session.activity(), Activity::Executing { running: 1 });
    harness.tool("a", "one");
    assert_eq!(harness.session.activity(), Activity::Waiting);
    harness.says("Done");
    assert_eq!(harness.session.activity(), Activity::Idle);
}

#[test]
fn pieces_that_come_together_are_written_together() {
    let harness = asking();
    let request = harness.request();
    harness.feed(["one ", "two ", "three"].map(|words| Input::Event { request, event: prose(words) }));
    assert!(harness.text().ends_with("@Assistant:\none two three"));
    assert_eq!(harness.log(&["edit"]), ["edit"]);
}

#[test]
fn a_failure_before_any_output_is_retried_silently() {
    let harness = asking();
    for (attempt, pause) in [(2, 500), (3, 1000), (4, 2000)] {
        harness.fails(ErrorKind::Overloaded);
        let reason = "The provider failed.".to_owned();
        assert_eq!(harness.session.activity(), Activity::Retrying { attempt, reason });
        assert!(harness.locked.get());
        assert_eq!(harness.wait(), Duration::from_millis(pause));
    }
    assert_eq!(harness.requests() as u32, MAX_ATTEMPTS);
    assert_eq!(harness.log(&["info", "warn", "error", "edit", "moment"]), [""; 0]);
    harness.fails(ErrorKind::Overloaded);
    assert_eq!(
        harness.log(&["error", "unlock", "moment"]),
        ["error: The provider failed.", "unlock", "moment: incomplete"]
    );
    harness.shows("@You:\nHello");
}

#[test]
fn usage_shows_nothing_so_a_retry_is_still_invisible() {
    let harness = asking();
    harness.event(Event::Usage(Usage::default()));
    harness.fails(ErrorKind::Interrupted);
    harness.wait();
    harness.says("Hi.");
    assert!(harness.text().ends_with("@You:\nHello\n\n@Assistant:\nHi.\n\n@You:\n"));
}

#[test]
fn a_failure_that_no_retry_can_mend_is_told_at_once() {
    let harness = asking();
    harness.fails(ErrorKind::Authentication);
    assert_eq!(harness.log(&["error", "later"]), ["error: The provider failed."]);
    assert!(!harness.locked.get());
    harness.go();
    assert_eq!(harness.requests(), 2, "a key asks again");
}

#[test]
fn a_failure_mid_reply_is_marked_and_not_retried() {
    let harness = asking();
    harness.event(prose("Let me "));
    harness.event(call("a", "read", json!({})));
    harness.fails(ErrorKind::Interrupted);
    harness.shows(
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
    assert_eq!(harness.log(&["error", "later", "run"]), ["error: The provider failed."]);
    assert!(!harness.locked.get());
}

#[test]
fn a_reply_that_says_nothing_says_so() {
    for events in [vec![], vec![Event::Usage(Usage::default())]] {
        let harness = asking();
        harness.reply(events, StopReason::EndTurn);
        assert_eq!(harness.told(), ["warn: The model's reply was empty. Press Ctrl-] to ask again."]);
        harness.shows("@You:\nHello");
        harness.go();
        assert_eq!(harness.requests(), 2);
    }
}

#[test]
fn a_refusal_without_a_word_is_told_once() {
    let harness = asking();
    harness.reply([], StopReason::Refusal);
    assert_eq!(harness.told(), ["warn: The provider ended the reply: the model refused to continue."]);
    assert!(!harness.locked.get());
}

#[test]
fn a_reply_that_was_cut_off_says_why_and_leaves_a_prompt() {
    for (reason, words) in [
        (
            StopReason::MaxTokens,
            "The reply was cut off at max_tokens; raise parameters.max_tokens, or ask the model to continue.",
        ),
        (StopReason::Refusal, "The provider ended the reply: the model refused to continue."),
        (StopReason::Blocked("SAFETY".into()), "The provider ended the reply: it was blocked (SAFETY)."),
        (
            StopReason::ContextFull,
            "The reply was cut off: the model's context is full, and a higher max_tokens would not help. Shorten the \
             conversation, or give the server a larger context.",
        ),
        (StopReason::Other("tired".into()), "The provider ended the reply: tired."),
    ] {
        let harness = asking();
        harness.reply([prose("Once upon")], reason);
        assert_eq!(harness.told(), [format!("warn: {words}")]);
        assert!(harness.text().ends_with("@Assistant:\nOnce upon\n\n@You:\n"));
    }
}

#[test]
fn nothing_of_a_reply_that_ended_oddly_runs_by_itself() {
    for stop in [
        StopReason::Refusal,
        StopReason::Blocked("SAFETY".into()),
        StopReason::MaxTokens,
        StopReason::ContextFull,
        StopReason::Other("tired".into()),
        StopReason::Damaged("A part of the reply may be missing: …".into()),
    ] {
        let harness = asking();
        harness.reply([call("a", "read", json!({}))], stop);
        assert_eq!((harness.running(), harness.locked.get()), (vec![], false));
        assert_eq!(harness.statuses(), ["a pending"]);
        harness.go();
        assert_eq!(harness.running(), [""; 0], "the key that sends does not approve it");
        // The calls of the next reply are judged as always.
        harness.execute("a");
        assert_eq!(harness.running(), ["a"], "but the user may");
        harness.tool("a", "one");
        harness.reply([call("b", "read", json!({}))], StopReason::ToolUse);
        assert_eq!(harness.running(), ["b"]);
    }
    // The file says it, also where no key was pressed before Neovim was started again.
    for moment in ["no such moment", "moment: complete"] {
        let harness = asking().without_autopilot();
        harness.prank(moment, Prank::Abandon);
        harness.reply([call("a", "read", json!({}))], StopReason::Damaged("…".into()));
        let again = Harness::new(&harness.text()).without_autopilot();
        again.go();
        assert_eq!((again.running(), again.statuses()), (vec![], vec!["a pending".to_owned()]), "{moment}");
    }
}

#[test]
fn a_provider_pause_is_continued_with_the_same_conversation() {
    for harness in [Harness::new("@You:\nHello"), Harness::new("@You:\nHello").without_autopilot()] {
        harness.go();
        harness.reply([prose("Searching.")], StopReason::Pause);
        assert_eq!(harness.told(), [""; 0]);
        assert_eq!(harness.requests(), 2);
        assert_eq!(harness.sent.borrow()[1].1.messages.len(), 2, "the reply so far is the last message");
        harness.says("Found it.");
        harness.shows(
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
        let harness = asking();
        harness.reply([prose("Searching.")], StopReason::Pause);
        harness.fails(ErrorKind::Overloaded);
        harness.wait();
        assert_eq!(harness.requests(), 3, "a retry asks for the same");
        if stop {
            harness.stop()
        } else {
            harness.fails(ErrorKind::Authentication)
        }
        assert!(harness.text().ends_with("@Assistant:\nSearching.\n\n@You:\n"), "{}", harness.text());
        assert!(!harness.locked.get());
    }
}

#[test]
fn what_comes_for_an_older_request_is_dropped() {
    let harness = asking();
    let old = harness.request();
    harness.stop();
    harness.go();
    assert_ne!(harness.request(), old);
    let error = ProviderError::new(ErrorKind::Server, "old");
    harness.feed([
        Input::Event { request: old, event: prose("old") },
        Input::Event { request: old, event: Event::Finished(StopReason::EndTurn) },
        Input::Failed { request: old, error, jitter: 0.0 },
        Input::BackoffOver { request: old },
        Input::BackoffOver { request: harness.request() },
        Input::Review,
        Input::Event { request: RequestId(99), event: prose("whose?") },
    ]);
    harness.shows("@You:\nHello");
    assert_eq!(harness.requests(), 2);
    harness.says("Hi.");
    harness.feed([Input::Event { request: harness.request(), event: prose("late") }]);
    assert!(!harness.text().contains("late"));
}

#[test]
fn a_document_that_cannot_be_sent_says_where_and_unlocks() {
    let harness = Harness::new("stray\n\n@You:\nHello");
    harness.go();
    let log = harness.log(&["error", "diagnose", "unlock", "send", "moment"]);
    assert_eq!(log[0], "diagnose 1");
    assert!(log[1].starts_with("error: Not sent: line 1: "), "{log:?}");
    assert_eq!(log[2..], ["unlock"]);
}

#[test]
fn nothing_typed_means_nothing_to_send() {
    for text in ["", "@You:\n", "@You:\nHello\n\n@Assistant:\nHi.\n\n@You:\n", "@You:\nHello\n\n@Assistant:\nHi."] {
        let harness = Harness::new(text);
        harness.go();
        assert_eq!(harness.told(), ["error: Nothing to send: type your message under `@You:` first."], "{text}");
        assert_eq!(harness.requests(), 0);
    }
}

fn used(input: u64, output: u64) -> Event {
    Event::Usage(Usage { input, output, ..Usage::default() })
}

#[test]
fn a_request_is_accounted_once_before_its_end_is_announced() {
    let harness = asking();
    harness.event(used(10, 1));
    harness.event(prose("Well"));
    harness.event(used(10, 34));
    assert_eq!(harness.log(&["used"]), [""; 0]);
    harness.event(Event::Finished(StopReason::EndTurn));
    assert_eq!(harness.log(&["used", "moment"]), ["used: 10 in, 34 out, complete", "moment: complete"]);
}

#[test]
fn what_is_cut_off_is_accounted_for_as_far_as_it_was_counted() {
    let harness = asking();
    harness.event(used(10, 1));
    harness.event(prose("Well"));
    harness.stop();
    assert_eq!(harness.log(&["used", "moment"]), ["used: 10 in, 1 out, cut off", "moment: incomplete"]);

    let harness = asking();
    harness.event(used(20, 0));
    harness.stop();
    assert_eq!(harness.log(&["used", "moment"]), ["used: 20 in, 0 out, cut off", "moment: incomplete"]);
}

#[test]
fn every_attempt_is_accounted_for_by_itself() {
    let harness = asking();
    harness.event(used(10, 1));
    harness.fails(ErrorKind::Overloaded);
    harness.wait();
    harness.event(used(11, 2));
    harness.says("Well");
    let expected = ["used: 10 in, 1 out, cut off", "used: 11 in, 2 out, complete"];
    assert_eq!(harness.log(&["used"]), expected);
}

#[test]
fn a_provider_that_counts_nothing_uses_nothing() {
    let harness = asking();
    harness.event(used(0, 0));
    harness.says("Well");
    assert_eq!(harness.log(&["used"]), [""; 0]);
}

#[test]
fn a_reply_that_is_stopped_has_all_that_has_come() {
    let harness = asking();
    harness.event(prose("Well"));
    let input = ToolInput::Malformed("{\"path\": \"a".to_owned());
    let call = Event::ToolUse { id: "a".into(), name: "write".to_owned(), input };
    harness.unfed.replace(vec![prose(", I"), call]);
    harness.stop();
    let text = harness.text();
    assert!(text.contains("Well, I") && text.contains("{\"path\": \"a\n") && text.contains("aborted before"), "{text}");
    assert_eq!(harness.log(&["run"]), [""; 0]);
}

#[test]
fn a_reply_that_is_stopped_behind_its_end_is_complete() {
    let harness = asking();
    harness.event(prose("Well"));
    harness.unfed.replace(vec![call("a", "read", json!({})), Event::Finished(StopReason::ToolUse)]);
    harness.stop();
    assert!(!harness.text().contains("aborted") && harness.text().contains("`read`"), "{}", harness.text());
    assert_eq!(harness.session.activity(), Activity::Idle);
    assert_eq!(harness.log(&["run"]), [""; 0], "nothing goes on by itself");
    harness.go();
    assert_eq!(harness.session.activity(), Activity::Executing { running: 1 });
}

#[test]
fn a_reply_that_is_cut_off_in_a_call_is_not_answered_at_once() {
    let harness = asking();
    let input = ToolInput::Malformed("{\"path\": \"a".to_owned());
    let cut = Event::ToolUse { id: "b".into(), name: "nonsense".to_owned(), input };
    harness.reply([call("a", "read", json!({})), cut], StopReason::MaxTokens);
    harness.execute("a");
    harness.tool("a", "one");
    assert_eq!((harness.requests(), harness.session.activity()), (1, Activity::Idle));
    harness.go();
    assert_eq!(harness.requests(), 2);
}
