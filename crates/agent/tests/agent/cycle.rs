//! Categorise, execute, send: the three phases, with autopilot and without.

use flemma_agent::Verdict;
use flemma_model::StopReason;
use serde_json::json;

use super::harness::{Harness, call, prose};

#[test]
fn a_question_is_sent_and_its_answer_ends_with_a_prompt() {
    let harness = Harness::new("@You:\nHello");
    harness.go();
    assert_eq!(
        harness.log(&["lock", "unlock", "send", "moment", "edit"]),
        ["lock", "moment: sending", "send 1"],
        "nothing is written before the reply begins"
    );
    harness.says("Hi there.");
    harness.shows(
        "
        @You:
        Hello

        @Assistant:
        Hi there.

        @You:
        |
        ",
    );
    assert_eq!(
        harness.log(&["lock", "unlock", "send", "moment", "undo", "follow", "cursor"]),
        ["undo step", "follow", "moment: complete", "cursor prompt 7", "unlock"],
        "one reply is one step of undo"
    );
    assert_eq!(harness.sent.borrow()[0].1.messages.len(), 1);
}

#[test]
fn with_autopilot_one_key_leads_to_the_first_call_that_waits() {
    let harness = Harness::new("@You:\nFix it");
    harness.go();
    harness.calls([("a", "read"), ("b", "bash")]);
    assert_eq!(harness.statuses(), ["a running", "b pending"]);
    assert_eq!(harness.running(), ["a"]);
    harness.tool("a", "one\n");
    harness.shows(
        "
        @You:
        Fix it

        @Assistant:
        **Tool Use:** `read` (`a`)

        ```json
        {}
        ```

        **Tool Use:** `bash` (`b`)

        ```json
        {}
        ```

        @You:
        **Tool Result:** `a`

        ```
        one
        ```

        **Tool Result:** `b`

        ```flemma:tool status=pending
        ```
        ",
    );
    let cursors = harness.log(&["cursor"]);
    assert_eq!(cursors, ["cursor result 17", "cursor pending 23"]);
    assert_eq!(harness.line(25), "```flemma:tool status=pending");
    assert_eq!(harness.requests(), 1, "a call that waits blocks the cycle");

    // Alt-Enter runs what waits, and the conversation goes on by itself.
    harness.execute("b");
    harness.tool("b", "two");
    assert_eq!(harness.requests(), 2);
    assert_eq!(harness.sent_results(), ["a: one", "b: two"]);
    harness.says("Done.");
    assert!(harness.text().ends_with("@Assistant:\nDone.\n\n@You:\n"));
}

#[test]
fn every_verdict_has_its_word_in_the_document() {
    let harness = Harness::new("@You:\nFix it");
    harness.go();
    harness.calls([("a", "nonsense"), ("b", "rm"), ("c", "bash")]);
    harness.shows(
        "
        @You:
        Fix it

        @Assistant:
        **Tool Use:** `nonsense` (`a`)

        ```json
        {}
        ```

        **Tool Use:** `rm` (`b`)

        ```json
        {}
        ```

        **Tool Use:** `bash` (`c`)

        ```json
        {}
        ```

        @You:
        **Tool Result:** `a` (error)

        ```
        There is no tool `nonsense`.
        ```

        **Tool Result:** `b` (error)

        ```
        The user's policy denies this call; it did not run.
        ```

        **Tool Result:** `c`

        ```flemma:tool status=pending
        ```
        ",
    );
    assert_eq!(harness.log(&["moment"])[2..], ["moment: pending c", "moment: finished a", "moment: finished b"]);
}

#[test]
fn what_the_model_got_wrong_goes_back_to_it_without_a_key() {
    let harness = Harness::new("@You:\nFix it");
    harness.go();
    harness.calls([("a", "nonsense"), ("b", "rm")]);
    assert_eq!(harness.requests(), 2);
    assert_eq!(harness.sent_results()[0], "a!: There is no tool `nonsense`.");
    assert!(harness.sent_results()[1].starts_with("b!: The user's policy"));
}

#[test]
fn without_autopilot_each_phase_takes_a_key() {
    let harness = Harness::new("@You:\nFix it").without_autopilot();
    harness.go();
    harness.calls([("a", "read"), ("b", "bash"), ("c", "rm")]);
    assert_eq!(harness.statuses(), ["a open", "b open", "c open"]);
    assert!(!harness.session.is_busy());

    harness.go();
    assert_eq!(harness.statuses(), ["a approved", "b pending", "c denied"], "the user is to look first");
    let fence = harness.open_calls()[1].placeholder.as_ref().unwrap().fence;
    assert_eq!(harness.log(&["run", "cursor"]), [format!("cursor pending {}", fence - 2)]);

    harness.go();
    assert_eq!(harness.running(), ["a"]);
    harness.tool("a", "one");
    assert_eq!(harness.statuses(), ["b pending"]);

    harness.go();
    assert_eq!(harness.statuses(), ["b pending"], "`pending` blocks");
    harness.replace("status=pending", "status=approved");
    harness.go();
    harness.tool("b", "two");
    assert_eq!(harness.statuses(), [""; 0]);
    assert_eq!(harness.requests(), 1, "sending takes a key too");

    harness.go();
    assert_eq!(harness.requests(), 2);
    assert_eq!(harness.sent_results()[..2], ["a: one", "b: two"]);
}

#[test]
fn without_autopilot_nothing_to_review_means_no_second_key() {
    let harness = Harness::new("@You:\nFix it").without_autopilot();
    harness.go();
    harness.calls([("a", "read"), ("b", "rm")]);
    harness.go();
    assert_eq!(harness.running(), ["a"]);
    assert_eq!(harness.statuses(), ["a running"], "what was denied has its result");
}

#[test]
fn rejected_calls_go_back_with_the_users_words_or_without() {
    let harness = Harness::new("@You:\nFix it");
    harness.go();
    harness.calls([("a", "bash"), ("b", "bash")]);
    harness.replace(
        "`a`\n\n```flemma:tool status=pending\n```",
        "`a`\n\n```flemma:tool status=rejected\nNot on my machine.\n\n  Really.\n\n```",
    );
    harness.replace("`b`\n\n```flemma:tool status=pending", "`b`\n\n```flemma:tool status=rejected");
    harness.go();
    assert_eq!(harness.requests(), 2, "the user's key armed autopilot: rejecting is no reason to stop");
    assert_eq!(
        harness.sent_results(),
        ["a!: Not on my machine.\n\n  Really.\n", "b!: The user rejected this call; it did not run."]
    );
    assert_eq!(harness.told(), [""; 0]);
}

#[test]
fn alt_enter_resolves_one_call_as_its_status_says() {
    for (status, result) in [
        ("pending", None),
        ("approved", None),
        ("running", None),
        ("rejected", Some("The user rejected this call; it did not run.")),
        ("denied", Some("The user's policy denies this call; it did not run.")),
    ] {
        let harness = Harness::new("@You:\nFix it");
        harness.go();
        harness.calls([("a", "bash"), ("b", "bash")]);
        harness.replace("`a`\n\n```flemma:tool status=pending", &format!("`a`\n\n```flemma:tool status={status}"));
        harness.execute("a");
        match result {
            None => {
                assert_eq!(harness.running(), ["a"], "{status}");
                harness.tool("a", "one");
            }
            Some(words) => assert!(harness.text().contains(&format!("`a` (error)\n\n```\n{words}\n```")), "{status}"),
        }
        assert_eq!(harness.statuses(), ["b pending"], "{status}: the other one is left alone");
        let fence = harness.open_calls()[0].placeholder.as_ref().unwrap().fence;
        assert_eq!(harness.log(&["cursor"]).last(), Some(&format!("cursor pending {}", fence - 2)), "{status}");
    }
}

#[test]
fn the_cursor_goes_to_a_pending_call_not_an_answered_one() {
    let harness = Harness::new("@You:\nFix it");
    harness.go();
    harness.calls([("a", "bash"), ("b", "bash"), ("c", "bash")]);
    harness.replace("`a`\n\n```flemma:tool status=pending", "`a`\n\n```flemma:tool status=approved");
    harness.execute("b");
    harness.log(&[]);
    harness.tool("b", "two");
    assert_eq!(harness.statuses(), ["a approved", "c pending"]);
    let fence = harness.open_calls()[1].placeholder.as_ref().unwrap().fence;
    assert_eq!(harness.log(&["cursor pending"]), [format!("cursor pending {}", fence - 2)]);
}

#[test]
fn alt_enter_runs_a_call_that_has_no_status_block_yet() {
    let harness = Harness::new("@You:\nFix it").without_autopilot();
    harness.go();
    harness.calls([("a", "bash"), ("b", "bash")]);
    harness.log(&[]);
    harness.execute("b");
    assert_eq!(harness.statuses(), ["a open", "b running"]);
    assert_eq!(harness.log(&["moment"]), ["moment: executing b"], "it never waited");
    harness.tool("b", "two");
    harness.execute("b");
    assert_eq!(harness.told(), ["info: the call b already has a result"]);
}

#[test]
fn alt_enter_lifts_no_denial_and_runs_nothing_that_cannot_run() {
    let harness = Harness::new("@You:\nFix it").without_autopilot();
    harness.go();
    harness.calls([("a", "rm"), ("b", "nonsense")]);
    harness.execute("a");
    harness.execute("b");
    assert_eq!(harness.log(&["run"]), [""; 0]);
    harness.go();
    assert!(harness.sent_results()[0].starts_with("a!: The user's policy"));
    assert_eq!(harness.sent_results()[1], "b!: There is no tool `nonsense`.");
}

#[test]
fn approving_a_denied_call_by_hand_lifts_no_denial() {
    let harness = Harness::new("@You:\nFix it").without_autopilot();
    harness.go();
    harness.calls([("a", "rm"), ("b", "bash")]);
    harness.go();
    harness.replace("status=denied", "status=approved");
    harness.go();
    assert_eq!(harness.log(&["run"]), [""; 0]);
    assert!(harness.text().contains("`a` (error)\n\n```\nThe user's policy denies this call"));
}

#[test]
fn results_are_in_call_order_whichever_tool_ends_first() {
    let harness = Harness::new("@You:\nFix it");
    harness.go();
    harness.calls([("a", "read"), ("b", "read"), ("c", "read")]);
    harness.tool("c", "three");
    harness.tool("a", "one");
    assert_eq!(harness.requests(), 1);
    harness.tool("b", "two");
    assert_eq!(harness.sent_results(), ["a: one", "b: two", "c: three"]);
}

#[test]
fn no_more_tools_run_at_once_than_the_limit_says() {
    let harness = Harness::new("@You:\nFix it");
    harness.set(|settings| settings.max_concurrent = 2);
    harness.go();
    harness.calls([("a", "read"), ("b", "read"), ("c", "read"), ("d", "read")]);
    assert_eq!(harness.statuses(), ["a running", "b running", "c approved", "d approved"]);
    harness.execute("c");
    assert_eq!(harness.told(), ["info: this tool is already running"]);
    harness.tool("b", "two");
    assert_eq!(harness.running(), ["a", "c"]);
    harness.tool("c", "three");
    harness.tool("d", "four");
    assert_eq!(harness.requests(), 1);
    harness.tool("a", "one");
    assert_eq!(harness.sent_results(), ["a: one", "b: two", "c: three", "d: four"]);
}

#[test]
fn a_limit_of_none_still_runs_one() {
    let harness = Harness::new("@You:\nFix it");
    harness.set(|settings| settings.max_concurrent = 0);
    harness.go();
    harness.calls([("a", "read"), ("b", "read")]);
    assert_eq!(harness.running(), ["a"]);
    harness.tool("a", "one");
    assert_eq!(harness.running(), ["b"]);
}

#[test]
fn a_call_that_waits_can_be_run_while_others_run() {
    let harness = Harness::new("@You:\nFix it");
    harness.go();
    harness.calls([("a", "read"), ("b", "bash"), ("c", "bash")]);
    harness.execute("b");
    assert_eq!(harness.running(), ["a", "b"]);
    harness.execute("b");
    assert_eq!(harness.told(), ["info: this tool is already running"]);
    harness.tool("a", "one");
    harness.tool("b", "two");
    assert_eq!(harness.statuses(), ["c pending"]);
    assert!(!harness.session.is_busy());
}

#[test]
fn ctrl_bracket_while_busy_only_notifies() {
    let harness = Harness::new("@You:\nFix it");
    harness.go();
    let note = ["info: a reply or a tool is still running; Ctrl-C stops it"];
    harness.go();
    assert_eq!(harness.told(), note);
    harness.event(prose("Well"));
    harness.go();
    assert_eq!(harness.told(), note);
    harness.execute("a");
    assert_eq!(harness.told(), ["info: a reply is still arriving; Ctrl-C stops it"]);
    harness.reply([call("a", "read", json!({}))], StopReason::ToolUse);
    harness.go();
    assert_eq!(harness.told(), note);
    assert_eq!((harness.requests(), harness.running()), (1, vec!["a".to_owned()]));
}

#[test]
fn approved_and_running_in_an_opened_file_read_as_pending() {
    let table = [
        ("approved", "you did not set `status=approved` in this session, so the call is pending again."),
        ("running", "this call is no longer running, so it is pending again."),
    ];
    for (status, why) in table {
        let harness = Harness::new(&format!(
            "@You:\nHi\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{{}}\n```\n\n@You:\n**Tool Result:** `a`\n\n```flemma:tool status={status} note=\"x y\"\n```"
        ));
        harness.go();
        assert_eq!(harness.statuses(), ["a pending"]);
        assert!(harness.text().contains("```flemma:tool status=pending note=\"x y\"\n"), "only the word changes");
        let told = harness.log(&["warn", "run", "moment", "cursor"]);
        assert_eq!(told, ["moment: pending a", &*format!("warn: bash (a): {why}"), "cursor pending 11",]);
        // From here on it is this user's.
        harness.replace("status=pending", "status=approved");
        harness.go();
        assert_eq!(harness.running(), ["a"]);
    }
}

#[test]
fn an_id_that_comes_again_inherits_nothing() {
    for autopilot in [true, false] {
        let harness = Harness::new(
            "@You:\nHi\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{}\n```\n\n@You:\n**Tool Result:** `a`\n\n```flemma:tool status=approved\n```",
        );
        harness.set(|settings| settings.autopilot = autopilot);
        let old = harness.text();
        harness.replace(&old, "@You:\nHi");
        harness.go();
        harness.calls([("a", "read"), ("b", "bash")]);
        if !autopilot {
            harness.go();
            assert_eq!(harness.statuses(), ["a approved", "b pending"]);
            harness.go();
        }
        assert_eq!(harness.running(), ["a"]);
    }
}

#[test]
fn a_policys_approval_holds_for_the_input_that_it_saw() {
    let harmless = |call: &flemma_chat::OpenCall| {
        let text = format!("{:?}", call.input);
        if text.contains("ls") { Verdict::Run } else { Verdict::Ask }
    };
    let harness = Harness::new("@You:\nFix it").without_autopilot().with_policy(harmless);
    harness.go();
    harness.reply(
        [call("a", "bash", json!({"command": "ls"})), call("b", "bash", json!({"command": "make"}))],
        StopReason::ToolUse,
    );
    harness.go();
    assert_eq!(harness.statuses(), ["a approved", "b pending"]);
    harness.replace("\"ls\"", "\"rm -rf /\"");
    harness.go();
    assert_eq!(harness.statuses(), ["a pending", "b pending"]);
    assert_eq!(
        harness.told(),
        ["warn: bash (a): its input was changed after the approval, so the call is pending again."]
    );

    // What the user approves then is what stands there.
    harness.replace("`a`\n\n```flemma:tool status=pending", "`a`\n\n```flemma:tool status=approved");
    harness.go();
    assert_eq!(harness.running(), ["a"]);
}

#[test]
fn an_approval_does_not_affect_a_later_call_with_the_same_id() {
    let harness = Harness::new("@You:\nFix it").without_autopilot();
    harness.go();
    harness.calls([("a", "read"), ("b", "bash")]);
    harness.go();
    assert_eq!(harness.statuses(), ["a approved", "b pending"]);
    let old = harness.text();
    harness.replace(&old, "@You:\nFix that");
    harness.go();
    harness.calls([("a", "bash")]);
    harness.go();
    harness.replace("status=pending", "status=approved");
    harness.go();
    assert_eq!((harness.running(), harness.told()), (vec!["a".to_owned()], vec![]));
}

#[test]
fn a_changed_input_that_policy_would_approve_as_well_runs() {
    let harness = Harness::new("@You:\nFix it").without_autopilot();
    harness.go();
    harness.reply([call("a", "read", json!({"path": "x"})), call("b", "bash", json!({}))], StopReason::ToolUse);
    harness.go();
    harness.replace("\"x\"", "\"y\"");
    harness.go();
    assert_eq!(harness.running(), ["a"]);
}

#[test]
fn a_user_may_edit_what_they_approve() {
    let harness = Harness::new("@You:\nFix it");
    harness.go();
    harness.reply([call("a", "bash", json!({"command": "make"}))], StopReason::ToolUse);
    harness.replace("\"make\"", "\"make test\"");
    harness.replace("status=pending", "status=approved");
    harness.go();
    assert_eq!(harness.running(), ["a"]);
}

#[test]
fn a_result_that_was_deleted_opens_its_call_again() {
    let harness = Harness::new("@You:\nFix it");
    harness.go();
    harness.calls([("a", "bash")]);
    harness.execute("a");
    harness.tool("a", "one");
    harness.says("Done.");
    harness.replace("**Tool Result:** `a`\n\n```\none\n```\n", "");
    harness.go();
    assert_eq!(harness.statuses(), ["a pending"]);
    assert_eq!(harness.requests(), 2, "nothing is sent without it");
}

#[test]
fn of_two_open_calls_with_one_id_the_last_is_dealt_with_first() {
    let harness = Harness::new(
        "
        @You:
        Hi

        @Assistant:
        **Tool Use:** `read` (`a`)

        ```json
        {\"path\": \"first\"}
        ```

        @You:
        Forget it.

        @Assistant:
        **Tool Use:** `read` (`a`)

        ```json
        {\"path\": \"second\"}
        ```
        ",
    );
    harness.go();
    // The harness sees to it that what runs is what stands above the block that says `running`.
    harness.tool("a", "two");
    assert!(harness.text().ends_with("@You:\n**Tool Result:** `a`\n\n```\ntwo\n```"), "{}", harness.text());
    harness.go();
    harness.tool("a", "one");
    assert_eq!(harness.statuses(), [""; 0]);
    assert!(harness.text().contains("`a`\n\n```\none\n```\n\nForget it."), "{}", harness.text());
}
