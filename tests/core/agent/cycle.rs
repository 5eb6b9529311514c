//! Categorise, execute, send: the three phases, with autopilot and without.

use flemma::{agent::Verdict, model::StopReason};
use serde_json::json;

use super::desk::{Desk, call, prose};

#[test]
fn a_question_is_sent_and_its_answer_ends_with_a_prompt() {
    let desk = Desk::new("@You:\nHello");
    desk.go();
    assert_eq!(
        desk.log(&["lock", "unlock", "send", "moment", "edit"]),
        ["lock", "moment: sending", "send 1"],
        "nothing is written before the reply begins"
    );
    desk.says("Hi there.");
    desk.shows(
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
        desk.log(&["lock", "unlock", "send", "moment", "undo", "follow", "cursor"]),
        ["undo step", "follow", "moment: complete", "cursor prompt 7", "unlock"],
        "one reply is one step of undo"
    );
    assert_eq!(desk.sent.borrow()[0].1.messages.len(), 1);
}

#[test]
fn with_autopilot_one_key_leads_to_the_first_call_that_waits() {
    let desk = Desk::new("@You:\nFix it");
    desk.go();
    desk.calls([("a", "read"), ("b", "bash")]);
    assert_eq!(desk.statuses(), ["a running", "b pending"]);
    assert_eq!(desk.running(), ["a"]);
    desk.tool("a", "one\n");
    desk.shows(
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
    let cursors = desk.log(&["cursor"]);
    assert_eq!(cursors, ["cursor result 17", "cursor pending 25"]);
    assert_eq!(desk.line(25), "```flemma:tool status=pending");
    assert_eq!(desk.requests(), 1, "a call that waits blocks the cycle");

    // Alt-Enter runs what waits, and the conversation goes on by itself.
    desk.execute("b");
    desk.tool("b", "two");
    assert_eq!(desk.requests(), 2);
    assert_eq!(desk.sent_results(), ["a: one", "b: two"]);
    desk.says("Done.");
    assert!(desk.text().ends_with("@Assistant:\nDone.\n\n@You:\n"));
}

#[test]
fn every_verdict_has_its_word_in_the_document() {
    let desk = Desk::new("@You:\nFix it");
    desk.go();
    desk.calls([("a", "nonsense"), ("b", "rm"), ("c", "bash")]);
    desk.shows(
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
        A policy of the user's denies this call; it did not run.
        ```

        **Tool Result:** `c`

        ```flemma:tool status=pending
        ```
        ",
    );
    assert_eq!(desk.log(&["moment"])[2..], ["moment: pending c", "moment: finished a", "moment: finished b"]);
}

#[test]
fn what_the_model_got_wrong_goes_back_to_it_without_a_key() {
    let desk = Desk::new("@You:\nFix it");
    desk.go();
    desk.calls([("a", "nonsense"), ("b", "rm")]);
    assert_eq!(desk.requests(), 2);
    assert_eq!(desk.sent_results()[0], "a!: There is no tool `nonsense`.");
    assert!(desk.sent_results()[1].starts_with("b!: A policy"));
}

#[test]
fn without_autopilot_each_phase_takes_a_key() {
    let desk = Desk::new("@You:\nFix it").without_autopilot();
    desk.go();
    desk.calls([("a", "read"), ("b", "bash"), ("c", "rm")]);
    assert_eq!(desk.statuses(), ["a open", "b open", "c open"]);
    assert!(!desk.session.is_busy());

    desk.go();
    assert_eq!(desk.statuses(), ["a approved", "b pending", "c denied"], "the user is to look first");
    let fence = desk.open_calls()[1].placeholder.as_ref().unwrap().fence;
    assert_eq!(desk.log(&["run", "cursor"]), [format!("cursor pending {fence}")]);

    desk.go();
    assert_eq!(desk.running(), ["a"]);
    desk.tool("a", "one");
    assert_eq!(desk.statuses(), ["b pending"]);

    desk.go();
    assert_eq!(desk.statuses(), ["b pending"], "`pending` blocks");
    desk.replace("status=pending", "status=approved");
    desk.go();
    desk.tool("b", "two");
    assert_eq!(desk.statuses(), [""; 0]);
    assert_eq!(desk.requests(), 1, "sending takes a key too");

    desk.go();
    assert_eq!(desk.requests(), 2);
    assert_eq!(desk.sent_results()[..2], ["a: one", "b: two"]);
}

#[test]
fn without_autopilot_nothing_to_review_means_no_second_key() {
    let desk = Desk::new("@You:\nFix it").without_autopilot();
    desk.go();
    desk.calls([("a", "read"), ("b", "rm")]);
    desk.go();
    assert_eq!(desk.running(), ["a"]);
    assert_eq!(desk.statuses(), ["a running"], "what was denied has its result");
}

#[test]
fn rejected_calls_go_back_with_the_users_words_or_without() {
    let desk = Desk::new("@You:\nFix it");
    desk.go();
    desk.calls([("a", "bash"), ("b", "bash")]);
    desk.replace(
        "`a`\n\n```flemma:tool status=pending\n```",
        "`a`\n\n```flemma:tool status=rejected\nNot on my machine.\n\n  Really.\n\n```",
    );
    desk.replace("`b`\n\n```flemma:tool status=pending", "`b`\n\n```flemma:tool status=rejected");
    desk.go();
    assert_eq!(desk.requests(), 2, "the user's key armed autopilot: rejecting is no reason to stop");
    assert_eq!(
        desk.sent_results(),
        ["a!: Not on my machine.\n\n  Really.\n", "b!: The user rejected this call; it did not run."]
    );
    assert_eq!(desk.told(), [""; 0]);
}

#[test]
fn alt_enter_resolves_one_call_as_its_status_says() {
    for (status, result) in [
        ("pending", None),
        ("approved", None),
        ("running", None),
        ("rejected", Some("The user rejected this call; it did not run.")),
        ("denied", Some("A policy of the user's denies this call; it did not run.")),
    ] {
        let desk = Desk::new("@You:\nFix it");
        desk.go();
        desk.calls([("a", "bash"), ("b", "bash")]);
        desk.replace("`a`\n\n```flemma:tool status=pending", &format!("`a`\n\n```flemma:tool status={status}"));
        desk.execute("a");
        match result {
            None => {
                assert_eq!(desk.running(), ["a"], "{status}");
                desk.tool("a", "one");
            }
            Some(words) => assert!(desk.text().contains(&format!("`a` (error)\n\n```\n{words}\n```")), "{status}"),
        }
        assert_eq!(desk.statuses(), ["b pending"], "{status}: the other one is left alone");
        let fence = desk.open_calls()[0].placeholder.as_ref().unwrap().fence;
        assert_eq!(desk.log(&["cursor"]).last(), Some(&format!("cursor pending {fence}")), "{status}");
    }
}

#[test]
fn the_cursor_goes_to_a_call_that_waits_and_not_to_one_that_was_answered() {
    let desk = Desk::new("@You:\nFix it");
    desk.go();
    desk.calls([("a", "bash"), ("b", "bash"), ("c", "bash")]);
    desk.replace("`a`\n\n```flemma:tool status=pending", "`a`\n\n```flemma:tool status=approved");
    desk.execute("b");
    desk.log(&[]);
    desk.tool("b", "two");
    assert_eq!(desk.statuses(), ["a approved", "c pending"]);
    let fence = desk.open_calls()[1].placeholder.as_ref().unwrap().fence;
    assert_eq!(desk.log(&["cursor pending"]), [format!("cursor pending {fence}")]);
}

#[test]
fn alt_enter_runs_a_call_that_has_no_status_block_yet() {
    let desk = Desk::new("@You:\nFix it").without_autopilot();
    desk.go();
    desk.calls([("a", "bash"), ("b", "bash")]);
    desk.log(&[]);
    desk.execute("b");
    assert_eq!(desk.statuses(), ["a open", "b running"]);
    assert_eq!(desk.log(&["moment"]), ["moment: executing b"], "it never waited");
    desk.tool("b", "two");
    desk.execute("b");
    assert_eq!(desk.told(), ["info: The call b has its result already."]);
}

#[test]
fn alt_enter_lifts_no_denial_and_runs_nothing_that_cannot_run() {
    let desk = Desk::new("@You:\nFix it").without_autopilot();
    desk.go();
    desk.calls([("a", "rm"), ("b", "nonsense")]);
    desk.execute("a");
    desk.execute("b");
    assert_eq!(desk.log(&["run"]), [""; 0]);
    desk.go();
    assert!(desk.sent_results()[0].starts_with("a!: A policy"));
    assert_eq!(desk.sent_results()[1], "b!: There is no tool `nonsense`.");
}

#[test]
fn approving_a_denied_call_by_hand_lifts_no_denial() {
    let desk = Desk::new("@You:\nFix it").without_autopilot();
    desk.go();
    desk.calls([("a", "rm"), ("b", "bash")]);
    desk.go();
    desk.replace("status=denied", "status=approved");
    desk.go();
    assert_eq!(desk.log(&["run"]), [""; 0]);
    assert!(desk.text().contains("`a` (error)\n\n```\nA policy of the user's denies this call"));
}

#[test]
fn results_stand_in_the_order_of_the_calls_whoever_is_done_first() {
    let desk = Desk::new("@You:\nFix it");
    desk.go();
    desk.calls([("a", "read"), ("b", "read"), ("c", "read")]);
    desk.tool("c", "three");
    desk.tool("a", "one");
    assert_eq!(desk.requests(), 1);
    desk.tool("b", "two");
    assert_eq!(desk.sent_results(), ["a: one", "b: two", "c: three"]);
}

#[test]
fn no_more_tools_run_at_once_than_the_limit_says() {
    let desk = Desk::new("@You:\nFix it");
    desk.set(|settings| settings.max_concurrent = 2);
    desk.go();
    desk.calls([("a", "read"), ("b", "read"), ("c", "read"), ("d", "read")]);
    assert_eq!(desk.statuses(), ["a running", "b running", "c approved", "d approved"]);
    desk.execute("c");
    assert_eq!(desk.told(), ["info: This tool is running already."]);
    desk.tool("b", "two");
    assert_eq!(desk.running(), ["a", "c"]);
    desk.tool("c", "three");
    desk.tool("d", "four");
    assert_eq!(desk.requests(), 1);
    desk.tool("a", "one");
    assert_eq!(desk.sent_results(), ["a: one", "b: two", "c: three", "d: four"]);
}

#[test]
fn a_limit_of_none_still_runs_one() {
    let desk = Desk::new("@You:\nFix it");
    desk.set(|settings| settings.max_concurrent = 0);
    desk.go();
    desk.calls([("a", "read"), ("b", "read")]);
    assert_eq!(desk.running(), ["a"]);
    desk.tool("a", "one");
    assert_eq!(desk.running(), ["b"]);
}

#[test]
fn a_call_that_waits_can_be_run_while_others_run() {
    let desk = Desk::new("@You:\nFix it");
    desk.go();
    desk.calls([("a", "read"), ("b", "bash"), ("c", "bash")]);
    desk.execute("b");
    assert_eq!(desk.running(), ["a", "b"]);
    desk.execute("b");
    assert_eq!(desk.told(), ["info: This tool is running already."]);
    desk.tool("a", "one");
    desk.tool("b", "two");
    assert_eq!(desk.statuses(), ["c pending"]);
    assert!(!desk.session.is_busy());
}

#[test]
fn ctrl_bracket_while_something_is_at_work_says_so_and_does_nothing() {
    let desk = Desk::new("@You:\nFix it");
    desk.go();
    let note = ["info: A reply or a tool is still at work; Ctrl-C stops it."];
    desk.go();
    assert_eq!(desk.told(), note);
    desk.event(prose("Well"));
    desk.go();
    assert_eq!(desk.told(), note);
    desk.execute("a");
    assert_eq!(desk.told(), ["info: A reply is still arriving; Ctrl-C stops it."]);
    desk.reply([call("a", "read", json!({}))], StopReason::ToolUse);
    desk.go();
    assert_eq!(desk.told(), note);
    assert_eq!((desk.requests(), desk.running()), (1, vec!["a".to_owned()]));
}

#[test]
fn approved_and_running_from_a_file_that_was_opened_read_as_pending() {
    let table = [
        ("approved", "`status=approved` was not set by you in this session, so the call waits for you."),
        ("running", "nothing runs for this call any more, so it waits for you again."),
    ];
    for (status, why) in table {
        let desk = Desk::new(&format!(
            "@You:\nHi\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{{}}\n```\n\n@You:\n**Tool Result:** `a`\n\n```flemma:tool status={status} kind=\"x y\"\n```"
        ));
        desk.go();
        assert_eq!(desk.statuses(), ["a pending"]);
        assert!(desk.text().contains("```flemma:tool status=pending kind=\"x y\"\n"), "only the word changes");
        let told = desk.log(&["warn", "run", "moment", "cursor"]);
        assert_eq!(told, ["moment: pending a", &*format!("warn: bash: {why}"), "cursor pending 13",]);
        // From here on it is this user's.
        desk.replace("status=pending", "status=approved");
        desk.go();
        assert_eq!(desk.running(), ["a"]);
    }
}

#[test]
fn an_id_that_comes_again_inherits_nothing() {
    for autopilot in [true, false] {
        let desk = Desk::new(
            "@You:\nHi\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{}\n```\n\n@You:\n**Tool Result:** `a`\n\n```flemma:tool status=approved\n```",
        );
        desk.set(|settings| settings.autopilot = autopilot);
        let old = desk.text();
        desk.replace(&old, "@You:\nHi");
        desk.go();
        desk.calls([("a", "read"), ("b", "bash")]);
        if !autopilot {
            desk.go();
            assert_eq!(desk.statuses(), ["a approved", "b pending"]);
            desk.go();
        }
        assert_eq!(desk.running(), ["a"]);
    }
}

#[test]
fn a_policys_approval_holds_for_the_input_that_it_saw() {
    let harmless = |call: &flemma::chat::OpenCall| {
        let text = format!("{:?}", call.input);
        if text.contains("ls") { Verdict::Run } else { Verdict::Ask }
    };
    let desk = Desk::new("@You:\nFix it").without_autopilot().with_policy(harmless);
    desk.go();
    desk.reply(
        [call("a", "bash", json!({"command": "ls"})), call("b", "bash", json!({"command": "make"}))],
        StopReason::ToolUse,
    );
    desk.go();
    assert_eq!(desk.statuses(), ["a approved", "b pending"]);
    desk.replace("\"ls\"", "\"rm -rf /\"");
    desk.go();
    assert_eq!(desk.statuses(), ["a pending", "b pending"]);
    assert_eq!(desk.told(), ["warn: bash: its input was changed after it was approved, so it waits for you."]);

    // What the user approves then is what stands there.
    desk.replace("`a`\n\n```flemma:tool status=pending", "`a`\n\n```flemma:tool status=approved");
    desk.go();
    assert_eq!(desk.running(), ["a"]);
}

#[test]
fn an_approval_is_not_held_against_a_later_call_with_the_same_id() {
    let desk = Desk::new("@You:\nFix it").without_autopilot();
    desk.go();
    desk.calls([("a", "read"), ("b", "bash")]);
    desk.go();
    assert_eq!(desk.statuses(), ["a approved", "b pending"]);
    let old = desk.text();
    desk.replace(&old, "@You:\nFix that");
    desk.go();
    desk.calls([("a", "bash")]);
    desk.go();
    desk.replace("status=pending", "status=approved");
    desk.go();
    assert_eq!((desk.running(), desk.told()), (vec!["a".to_owned()], vec![]));
}

#[test]
fn a_changed_input_that_policy_would_approve_as_well_runs() {
    let desk = Desk::new("@You:\nFix it").without_autopilot();
    desk.go();
    desk.reply([call("a", "read", json!({"path": "x"})), call("b", "bash", json!({}))], StopReason::ToolUse);
    desk.go();
    desk.replace("\"x\"", "\"y\"");
    desk.go();
    assert_eq!(desk.running(), ["a"]);
}

#[test]
fn a_user_may_edit_what_they_approve() {
    let desk = Desk::new("@You:\nFix it");
    desk.go();
    desk.reply([call("a", "bash", json!({"command": "make"}))], StopReason::ToolUse);
    desk.replace("\"make\"", "\"make test\"");
    desk.replace("status=pending", "status=approved");
    desk.go();
    assert_eq!(desk.running(), ["a"]);
}

#[test]
fn a_result_that_was_deleted_opens_its_call_again() {
    let desk = Desk::new("@You:\nFix it");
    desk.go();
    desk.calls([("a", "bash")]);
    desk.execute("a");
    desk.tool("a", "one");
    desk.says("Done.");
    desk.replace("**Tool Result:** `a`\n\n```\none\n```\n", "");
    desk.go();
    assert_eq!(desk.statuses(), ["a pending"]);
    assert_eq!(desk.requests(), 2, "nothing is sent without it");
}

#[test]
fn of_two_open_calls_with_one_id_the_last_is_dealt_with_first() {
    let desk = Desk::new(
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
    desk.go();
    // The desk sees to it that what runs is what stands above the block that says `running`.
    desk.tool("a", "two");
    assert!(desk.text().ends_with("@You:\n**Tool Result:** `a`\n\n```\ntwo\n```"), "{}", desk.text());
    desk.go();
    desk.tool("a", "one");
    assert_eq!(desk.statuses(), [""; 0]);
    assert!(desk.text().contains("`a`\n\n```\none\n```\n\nForget it."), "{}", desk.text());
}
