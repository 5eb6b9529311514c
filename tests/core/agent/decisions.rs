//! What the user decides about calls that wait, and what a decision is bound to.

use flemma::agent::{Choice, Input, Step};

use super::desk::Desk;

fn waiting(calls: &[(&str, &str)]) -> Desk {
    let desk = Desk::new("@You:\nFix it");
    desk.go();
    desk.calls(calls.iter().copied());
    desk.log(&[]);
    desk
}

impl Desk {
    #[track_caller]
    fn approve(&self, calls: &[&str]) {
        self.feed([Input::Decide(calls.iter().map(|&call| call.into()).collect(), Choice::Approve, Step::Own)]);
    }

    #[track_caller]
    fn reject(&self, calls: &[&str], words: Option<&str>) {
        let choice = Choice::Reject(words.map(str::to_owned));
        self.feed([Input::Decide(calls.iter().map(|&call| call.into()).collect(), choice, Step::Own)]);
    }
}

#[test]
fn approving_one_of_several_calls_starts_it_at_once() {
    let desk = waiting(&[("a", "bash"), ("b", "bash"), ("c", "bash")]);
    desk.approve(&["a"]);
    assert_eq!(desk.statuses(), ["a running", "b pending", "c pending"]);
    assert_eq!(desk.running(), ["a"]);
    let fence = desk.open_calls()[1].placeholder.as_ref().unwrap().fence;
    assert_eq!(desk.log(&["cursor"]), [format!("cursor pending {fence}")], "on to the next");
    desk.reject(&["b"], Some("not this one"));
    assert!(desk.text().contains("**Tool Result:** `b` (error)\n\n```\nnot this one\n```"));
    desk.approve(&["c"]);
    assert_eq!(desk.running(), ["a", "c"]);
    desk.tool("a", "1");
    assert_eq!(desk.requests(), 1, "a call still runs");
    desk.tool("c", "3");
    assert_eq!(desk.sent_results(), ["a: 1", "b!: not this one", "c: 3"]);
}

#[test]
fn a_tool_that_ends_while_another_call_waits_sends_nothing() {
    let desk = waiting(&[("a", "bash"), ("b", "bash")]);
    desk.approve(&["a"]);
    desk.tool("a", "1");
    assert_eq!(desk.statuses(), ["b pending"]);
    assert!(!desk.session.is_busy(), "the buffer is the user's");
    assert_eq!(desk.requests(), 1);
    desk.approve(&["b"]);
    desk.tool("b", "2");
    assert_eq!(desk.sent_results(), ["a: 1", "b: 2"]);
}

#[test]
fn the_last_decision_also_runs_what_was_approved_by_hand_before() {
    let desk = waiting(&[("a", "bash"), ("b", "bash")]);
    desk.replace("`a`\n\n```flemma:tool status=pending", "`a`\n\n```flemma:tool status=approved");
    desk.approve(&["b"]);
    assert_eq!(desk.running(), ["a", "b"]);
}

#[test]
fn text_in_the_block_of_an_approved_call_is_its_result_and_nothing_runs() {
    let desk = waiting(&[("a", "bash"), ("b", "bash")]);
    desk.replace("`a`\n\n```flemma:tool status=pending\n", "`a`\n\n```flemma:tool status=pending\nI did it myself.\n");
    desk.approve(&["a"]);
    assert!(desk.running().is_empty());
    desk.reject(&["b"], None);
    assert!(desk.running().is_empty());
    assert!(desk.text().contains("**Tool Result:** `a`\n\n```\nI did it myself."), "{}", desk.text());
}

#[test]
fn an_approval_before_the_tools_have_loaded_is_written_down_and_starts_later() {
    let desk = waiting(&[("a", "bash"), ("b", "bash")]);
    desk.tools_ready.set(false);
    desk.approve(&["a"]);
    assert_eq!(desk.statuses(), ["a approved", "b pending"]);
    desk.tools_ready.set(true);
    desk.approve(&["b"]);
    assert_eq!(desk.running(), ["a", "b"]);
}

#[test]
fn the_cursor_comes_back_to_what_was_left_out() {
    let desk = waiting(&[("a", "bash"), ("b", "bash")]);
    desk.approve(&["b"]);
    let fence = desk.open_calls()[0].placeholder.as_ref().unwrap().fence;
    assert_eq!(desk.log(&["cursor"]), [format!("cursor pending {fence}")]);
}

#[test]
fn rejecting_everything_tells_the_model_at_once() {
    let desk = waiting(&[("a", "bash"), ("b", "bash")]);
    desk.reject(&["a", "b"], None);
    assert_eq!(desk.requests(), 2);
    let rejected = "The user rejected this call; it did not run.";
    assert_eq!(desk.sent_results(), [format!("a!: {rejected}"), format!("b!: {rejected}")]);
}

#[test]
fn a_rejection_without_a_message_takes_the_text_in_the_block() {
    let desk = waiting(&[("a", "bash")]);
    desk.replace("status=pending\n", "status=pending\nNot on a Friday.\n");
    desk.reject(&["a"], None);
    assert!(desk.sent_results()[0].starts_with("a!: Not on a Friday."), "{:?}", desk.sent_results());
}

#[test]
fn without_autopilot_an_approved_call_runs_and_nothing_is_sent() {
    let desk = waiting(&[("a", "bash")]).without_autopilot();
    desk.feed([]);
    if desk.statuses() == ["a open"] {
        desk.go();
    }
    desk.approve(&["a"]);
    assert_eq!(desk.running(), ["a"]);
    desk.tool("a", "1");
    assert_eq!(desk.requests(), 1);
    assert!(!desk.session.is_busy());
    desk.go();
    assert_eq!(desk.sent_results(), ["a: 1"]);
}

#[test]
fn what_joins_while_other_tools_run_runs_with_them() {
    let desk = waiting(&[("a", "read"), ("b", "bash")]);
    assert_eq!(desk.running(), ["a"]);
    desk.approve(&["b"]);
    assert_eq!(desk.running(), ["a", "b"]);
    desk.approve(&["a"]);
    assert!(desk.log(&["info"]).last().unwrap().contains("No call that waits"));
}

#[test]
fn an_approval_is_bound_to_what_was_approved() {
    let desk = waiting(&[("a", "bash"), ("b", "bash")]);
    desk.replace("`a`\n\n```flemma:tool status=pending", "`a`\n\n```flemma:tool status=approved");
    // The input of the call that was approved is changed before it runs.
    desk.replace(
        "**Tool Use:** `bash` (`a`)\n\n```json\n{}",
        "**Tool Use:** `bash` (`a`)\n\n```json\n{\"command\":\"rm\"}",
    );
    desk.approve(&["b"]);
    assert_eq!(desk.running(), ["b"]);
    assert_eq!(desk.statuses(), ["a pending", "b running"]);
    assert_eq!(desk.log(&["warn"]), ["warn: bash: its input was changed after it was approved, so it waits for you."]);
}

#[test]
fn so_is_an_approval_by_hand_from_the_moment_it_is_typed() {
    let desk = waiting(&[("a", "bash")]);
    desk.replace("status=pending", "status=approved");
    desk.replace("```json\n{}", "```json\n{\"command\":\"rm\"}");
    desk.go();
    assert!(desk.running().is_empty());
    assert_eq!(desk.statuses(), ["a pending"]);
    // The other way round is what a user does who corrects a call and then lets it run.
    desk.replace("\"rm\"", "\"ls\"");
    desk.replace("status=pending", "status=approved");
    desk.go();
    assert_eq!(desk.running(), ["a"]);
}

#[test]
fn a_decision_about_a_call_that_has_its_result_says_so() {
    let desk = waiting(&[("a", "bash")]);
    desk.approve(&["nothing"]);
    assert_eq!(desk.log(&["info"]), ["info: No call that waits was chosen."]);
    assert_eq!(desk.statuses(), ["a pending"]);
}

#[test]
fn undo_makes_no_approval_of_a_strangers_one() {
    let block = "@You:\nFix it\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{}\n```\n\n\
                 @You:\n**Tool Result:** `a`\n\n```flemma:tool status=approved\n```";
    let desk = Desk::new(block);
    desk.go();
    assert_eq!(desk.statuses(), ["a pending"]);
    desk.undo("status=pending", "status=approved");
    desk.go();
    assert!(desk.running().is_empty());
    assert_eq!(desk.statuses(), ["a pending"]);
    // By hand it is the user's word.
    desk.replace("status=pending", "status=approved");
    desk.go();
    assert_eq!(desk.running(), ["a"]);
}

#[test]
fn an_approval_by_hand_of_a_call_that_came_approved_counts() {
    let block = "@You:\nFix it\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{}\n```\n\n\
                 @You:\n**Tool Result:** `a`\n\n```flemma:tool status=approved\n```";
    let desk = Desk::new(block);
    // An edit of something else leaves it what it was.
    desk.replace("Fix it", "Mend it");
    desk.replace("status=approved", "status=pending");
    desk.replace("status=pending", "status=approved");
    desk.go();
    assert_eq!(desk.running(), ["a"]);
}

#[test]
fn what_was_typed_in_a_block_is_said_with_the_message_of_a_rejection() {
    for (message, typed, told) in [
        (Some("not now"), "", "not now"),
        (Some("not now"), "the branch is\nfrozen", "not now\n\nthe branch is\nfrozen"),
        (None, "the branch is frozen", "the branch is frozen"),
    ] {
        let desk = waiting(&[("a", "bash")]);
        if !typed.is_empty() {
            desk.replace("status=pending\n```", &format!("status=pending\n{typed}\n```"));
        }
        desk.reject(&["a"], message);
        assert_eq!(desk.sent_results(), [format!("a!: {told}")]);
    }
}

#[test]
fn a_substitution_in_the_whole_text_is_an_edit_of_the_status_lines_that_it_changes() {
    let desk = waiting(&[("a", "bash")]);
    let lines: Vec<String> = desk.text().replace("pending", "approved").split('\n').map(str::to_owned).collect();
    let mut page = desk.page.borrow_mut();
    let all = 0..page.text.len();
    page.replace(all, lines);
    drop(page);
    desk.go();
    assert_eq!(desk.running(), ["a"]);
}
