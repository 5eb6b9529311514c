//! What the user types into a status block is theirs: it becomes the result, as it is, and nothing runs.

use super::desk::Desk;

const TYPED: &str = "I looked myself:\n  42\n\n@You: not a marker here\n";

fn waiting() -> Desk {
    let desk = Desk::new("@You:\nFix it");
    desk.go();
    desk.calls([("a", "bash")]);
    desk.log(&[]);
    desk
}

fn warning(tool: &str) -> String {
    format!("warn: {tool}: your text in the block was taken as its result, and the tool did not run. Ctrl-] goes on.")
}

#[track_caller]
fn is_the_result(desk: &Desk) {
    assert_eq!(desk.log(&["run", "warn"]), [warning("bash")]);
    assert!(desk.text().ends_with(&format!("**Tool Result:** `a`\n\n```\n{TYPED}\n```")), "{}", desk.text());
    assert!(!desk.session.is_busy());
    assert_eq!(desk.requests(), 1, "the cycle pauses");
    desk.go();
    assert_eq!(desk.sent_results(), [format!("a: {TYPED}")]);
}

#[test]
fn ctrl_bracket_takes_text_in_a_pending_or_an_approved_block_as_the_result() {
    for status in ["pending", "approved", "running"] {
        let desk = waiting();
        desk.replace("status=pending\n", &format!("status={status}\n{TYPED}\n"));
        desk.go();
        is_the_result(&desk);
    }
}

#[test]
fn alt_enter_takes_it_too() {
    for status in ["pending", "approved"] {
        let desk = waiting();
        desk.replace("status=pending\n", &format!("status={status}\n{TYPED}\n"));
        desk.execute("a");
        is_the_result(&desk);
    }
}

#[test]
fn so_does_a_conversation_without_autopilot() {
    let desk = waiting().without_autopilot();
    desk.replace("status=pending\n", &format!("status=approved\n{TYPED}\n"));
    desk.go();
    is_the_result(&desk);
}

#[test]
fn a_policys_own_approval_makes_no_difference() {
    let desk = Desk::new("@You:\nFix it").without_autopilot();
    desk.go();
    desk.calls([("a", "read"), ("b", "bash")]);
    desk.go();
    desk.replace("status=approved\n", "status=approved\nmine\n");
    desk.go();
    assert_eq!(desk.log(&["run", "warn"]), [warning("read")]);
    assert_eq!(desk.statuses(), ["b pending"]);
}

#[test]
fn autopilot_does_not_send_what_was_typed_while_another_tool_runs() {
    let desk = Desk::new("@You:\nFix it");
    desk.go();
    desk.calls([("a", "bash"), ("b", "bash")]);
    desk.replace("`a`\n\n```flemma:tool status=pending\n", "`a`\n\n```flemma:tool status=pending\nmine\n");
    desk.replace("`b`\n\n```flemma:tool status=pending\n", "`b`\n\n```flemma:tool status=approved\n");
    desk.go();
    assert_eq!(desk.running(), ["b"]);
    desk.tool("b", "two");
    assert_eq!(desk.requests(), 1, "the user was promised a pause");
    desk.go();
    assert_eq!(desk.sent_results(), ["a: mine", "b: two"]);
}

#[test]
fn alt_enter_on_another_call_meanwhile_does_not_take_the_pause_back() {
    let desk = Desk::new("@You:\nFix it");
    desk.go();
    desk.calls([("a", "bash"), ("b", "bash"), ("c", "bash")]);
    desk.replace("`a`\n\n```flemma:tool status=pending\n", "`a`\n\n```flemma:tool status=pending\nmine\n");
    desk.replace("`b`\n\n```flemma:tool status=pending\n", "`b`\n\n```flemma:tool status=approved\n");
    desk.go();
    desk.execute("c");
    desk.tool("b", "two");
    desk.tool("c", "three");
    assert_eq!((desk.statuses(), desk.requests()), (vec![], 1));
}

#[test]
fn blanks_are_not_an_answer() {
    let desk = waiting();
    desk.replace("status=pending\n", "status=approved\n  \n\n");
    desk.go();
    assert_eq!(desk.running(), ["a"]);
}
