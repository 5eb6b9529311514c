//! What the user types into a status block is theirs: it becomes the result, as it is, and nothing runs.

use flemma_agent::{CallResult, Choice, Input, ResolvedBy, UndoStep};

use super::harness::Harness;

const TYPED: &str = "I looked myself:\n  42\n\n@You: not a marker here\n";

fn waiting() -> Harness {
    let harness = Harness::new("@You:\nFix it");
    harness.go();
    harness.calls([("a", "bash")]);
    harness.log(&[]);
    harness
}

fn warning(tool: &str) -> String {
    format!(
        "warn: {tool} (a): your text in the block was used as the result, and the tool did not run. Press Ctrl-] to \
             continue."
    )
}

#[test]
fn every_key_takes_text_typed_in_a_block_as_the_result() {
    type Press = fn(&Harness);
    let (advance, execute): (Press, Press) = (|harness| harness.go(), |harness| harness.execute("a"));
    for (has_autopilot, status, press) in [
        (true, "pending", advance),
        (true, "approved", advance),
        (true, "running", advance),
        (true, "pending", execute),
        (true, "approved", execute),
        (false, "approved", advance),
    ] {
        let harness = if has_autopilot { waiting() } else { waiting().without_autopilot() };
        harness.replace("status=pending\n", &format!("status={status}\n{TYPED}\n"));
        press(&harness);
        assert_eq!(harness.log(&["run", "warn"]), [warning("bash")], "{status}, autopilot: {has_autopilot}");
        assert!(harness.text().ends_with(&format!("**Tool Result:** `a`\n\n```\n{TYPED}\n```")), "{}", harness.text());
        assert!(!harness.session.is_busy());
        assert_eq!(harness.requests(), 1, "the cycle pauses");
        harness.go();
        assert_eq!(harness.sent_results(), [format!("a: {TYPED}")]);
    }
}

#[test]
fn a_policys_own_approval_makes_no_difference() {
    let harness = Harness::new("@You:\nFix it").without_autopilot();
    harness.go();
    harness.calls([("a", "read"), ("b", "bash")]);
    harness.go();
    harness.replace("status=approved\n", "status=approved\nmine\n");
    harness.go();
    assert_eq!(harness.log(&["run", "warn"]), [warning("read")]);
    assert_eq!(harness.statuses(), ["b pending"]);
}

#[test]
fn autopilot_does_not_send_text_typed_while_a_tool_runs() {
    let harness = Harness::new("@You:\nFix it");
    harness.go();
    harness.calls([("a", "bash"), ("b", "bash")]);
    harness.replace("`a`\n\n```flemma:tool status=pending\n", "`a`\n\n```flemma:tool status=pending\nmine\n");
    harness.replace("`b`\n\n```flemma:tool status=pending\n", "`b`\n\n```flemma:tool status=approved\n");
    harness.go();
    assert_eq!(harness.running(), ["b"]);
    harness.tool("b", "two");
    assert_eq!(harness.requests(), 1, "the user was promised a pause");
    harness.go();
    assert_eq!(harness.sent_results(), ["a: mine", "b: two"]);
}

#[test]
fn alt_enter_on_another_call_keeps_the_pause() {
    let harness = Harness::new("@You:\nFix it");
    harness.go();
    harness.calls([("a", "bash"), ("b", "bash"), ("c", "bash")]);
    harness.replace("`a`\n\n```flemma:tool status=pending\n", "`a`\n\n```flemma:tool status=pending\nmine\n");
    harness.replace("`b`\n\n```flemma:tool status=pending\n", "`b`\n\n```flemma:tool status=approved\n");
    harness.go();
    harness.execute("c");
    harness.tool("b", "two");
    harness.tool("c", "three");
    assert_eq!((harness.statuses(), harness.requests()), (vec![], 1));
}

/// Two calls wait, the user answers the first one by typing, and Ctrl-] announces the pause.
fn paused_before_the_second_call() -> Harness {
    let harness = Harness::new("@You:\nFix it");
    harness.go();
    harness.calls([("a", "bash"), ("b", "bash")]);
    harness.replace("`a`\n\n```flemma:tool status=pending\n", "`a`\n\n```flemma:tool status=pending\nmine\n");
    harness.go();
    assert_eq!(harness.log(&["run", "warn"]), [warning("bash")]);
    assert_eq!(harness.statuses(), ["b pending"]);
    harness
}

#[test]
fn no_way_to_end_the_last_call_breaks_the_pause() {
    type Way = fn(&Harness);
    let ways: [(&str, Way); 5] = [
        ("approve", |harness| {
            harness.feed([Input::Decide(vec!["b".into()], Choice::Approve, UndoStep::Own)]);
            harness.tool("b", "two");
        }),
        ("reject", |harness| {
            let words = Choice::Reject(Some("two".to_owned()));
            harness.feed([Input::Decide(vec!["b".into()], words, UndoStep::Own)]);
        }),
        ("Alt-Enter", |harness| {
            harness.execute("b");
            harness.tool("b", "two");
        }),
        ("stop", |harness| {
            harness.execute("b");
            harness.stop_tool("b");
        }),
        ("answer", |harness| {
            let answer = CallResult::text("two");
            harness.feed([Input::Resolve { call: "b".into(), answer, by: ResolvedBy::Person }]);
        }),
    ];
    for (name, end) in ways {
        let harness = paused_before_the_second_call();
        end(&harness);
        assert_eq!((harness.statuses(), harness.requests()), (vec![], 1), "{name}");
        assert!(!harness.session.is_busy(), "{name}");
        harness.go();
        assert_eq!(harness.requests(), 2, "{name}");
        assert_eq!(harness.sent_results()[0], "a: mine", "{name}");
        // The pause is over: autopilot continues by itself.
        harness.calls([("c", "read")]);
        harness.tool("c", "three");
        assert_eq!(harness.requests(), 3, "{name}");
    }
}

#[test]
fn blanks_are_not_an_answer() {
    let harness = waiting();
    harness.replace("status=pending\n", "status=approved\n  \n\n");
    harness.go();
    assert_eq!(harness.running(), ["a"]);
}
