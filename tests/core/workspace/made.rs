//! What the user has made of a change is shown again, and is what an approval is for, also in the next session.

use std::fs;

use flemma_workspace::{Draft, MadeFile, Resolution, Taken};
use serde_json::{Value, json};

use super::{
    harness::{Harness, prose},
    review::{asked, write},
};

const OLD: &str = "one\ntwo\n";

/// The call of `write` is accepted with this, and the editor left at once. The file is open in another one, which has drained
/// what its start leaves.
fn left_with(taken: Taken, meanwhile: impl FnOnce(&Harness)) -> Harness {
    let chat = asked(&[("a.txt", OLD)], [("write", write("a.txt", "one\n2\n"))]);
    chat.wait_for_diff(0, "+2");
    let revision = chat.review("call_0").unwrap().revision;
    chat.workspace.begin_to_leave();
    chat.accept("call_0", &revision, vec![taken]).unwrap();
    chat.workspace.wind_up();
    let text = chat.text() + "\n";
    assert!(text.contains("status=approved"), "{text}");
    meanwhile(&chat);
    let options = json!({ "tools": { "auto_approve": [] } });
    let chat = chat.kill(&text, options, [prose("fine")]);
    let buffer = chat.edit("notes.chat");
    chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
    chat.settle();
    chat
}

fn edited(text: &str) -> Taken {
    Taken::Content(text.as_bytes().to_vec())
}

fn draft(text: &str) -> MadeFile {
    let bytes = |text: &str| std::sync::Arc::new(text.as_bytes().to_vec());
    MadeFile { is_left: false, draft: Some(Draft { text: bytes(text), base: bytes(OLD) }) }
}

#[test]
fn an_accepted_edit_is_shown_and_written_in_the_next_session() {
    let chat = left_with(edited("one\nII\n"), |_| ());
    chat.wait_for_diff(0, "+II");
    let preview = &chat.previews()[0];
    let lines: Vec<_> = preview.diff.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(lines, ["as you have edited it", "@@ -1,2 +1,2 @@", " one", "-two", "+II"]);
    assert_eq!(chat.review("call_0").unwrap().files[0].made, draft("one\nII\n"));
    // What is shown is what an approval is for.
    chat.approve("status=approved");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "one\nII\n");
}

#[test]
fn an_accepted_edit_comes_back_when_the_file_has_changed() {
    let chat = left_with(edited("one\nII\n"), |chat| chat.put("a.txt", "one\ntwo\ntheirs\n"));
    chat.go();
    chat.wait_for_words("nothing was written: the file has changed since");
    chat.wait_for_pending(1);
    // What is shown without a review is the proposal, and that is not what they want.
    chat.wait_for_diff(0, "-theirs");
    let preview = &chat.previews()[0];
    assert_eq!(preview.diff[0].text, "It has changed since you edited it; gK shows both.");
    assert!(preview.diff.iter().any(|line| line.text == "+2"));
    chat.approve("status=pending");
    chat.drain_until("the refusal", |chat| {
        chat.told().iter().any(|told| told.contains("has changed since; look at it again with gK"))
    });
    assert_eq!(chat.content("a.txt"), "one\ntwo\ntheirs\n");
    let reviewed = chat.review("call_0").unwrap();
    assert_eq!(reviewed.files[0].made, draft("one\nII\n"));
    chat.accept("call_0", &reviewed.revision, vec![edited("one\nII\ntheirs\n")]).unwrap();
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "one\nII\ntheirs\n");
}

#[test]
fn a_plain_approval_leaves_no_draft() {
    let chat = left_with(Taken::Proposed, |chat| chat.put("a.txt", "one\ntwo\ntheirs\n"));
    chat.go();
    chat.wait_for_pending(1);
    chat.wait_for_diff(0, "-theirs");
    assert_eq!(chat.review("call_0").unwrap().files[0].made, MadeFile::default());
}

/// Nothing else than what is shown is written.
#[test]
fn an_edit_that_is_not_kept_any_more_is_not_shown() {
    let chat = left_with(edited("one\nII\n"), |chat| {
        fs::remove_dir_all(chat.state("changes").join("edited")).unwrap();
    });
    chat.wait_for_diff(0, "+2");
    chat.go();
    chat.wait_for_words("what you made of it is not kept any more");
    chat.wait_for_pending(1);
    assert_eq!(chat.content("a.txt"), OLD);
    chat.wait_for_diff(0, "+2");
    let revision = chat.review("call_0").unwrap().revision;
    assert_eq!(chat.accept("call_0", &revision, vec![Taken::Proposed]), Ok(()));
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "one\n2\n");
}

/// A review is left with an edit, and nothing is decided.
fn kept() -> Harness {
    let chat = asked(&[("a.txt", OLD)], [("write", write("a.txt", "one\n2\n"))]);
    chat.wait_for_diff(0, "+2");
    let revision = chat.review("call_0").unwrap().revision;
    chat.workspace.reviews.keep_made(chat.current(), &"call_0".into(), &revision, vec![edited("one\nII\n")], false);
    chat
}

#[test]
fn an_edit_that_was_left_in_a_review_is_what_is_approved() {
    for by_script in [false, true] {
        let chat = kept();
        // Whether it is on the screen yet or not.
        if by_script {
            chat.wait_for_diff(0, "+II");
            assert_eq!(chat.resolve("call_0", Resolution::Approve), Ok(()));
        } else {
            chat.settle();
            chat.approve("status=pending");
        }
        chat.wait_for("@Assistant:\nfine");
        assert_eq!(chat.content("a.txt"), "one\nII\n");
    }
}

#[test]
fn an_edit_of_an_earlier_content_is_only_approved_in_a_review() {
    let chat = kept();
    chat.wait_for_diff(0, "+II");
    chat.put("a.txt", "one\ntwo\ntheirs\n");
    chat.workspace.reviews.check_proposals();
    chat.wait_for_diff(0, "-theirs");
    chat.approve("status=pending");
    chat.drain_until("the refusal", |chat| {
        chat.told().iter().any(|told| told.contains("has changed since; look at it again with gK"))
    });
    assert_eq!(chat.content("a.txt"), "one\ntwo\ntheirs\n");
    let reviewed = chat.review("call_0").unwrap();
    assert_eq!(reviewed.files[0].made, draft("one\nII\n"));
    assert_eq!(chat.accept("call_0", &reviewed.revision, vec![Taken::Proposed]), Ok(()));
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "one\n2\n");
}

#[test]
fn an_edit_that_was_left_in_a_review_goes_with_the_session() {
    let chat = kept();
    chat.wait_for_diff(0, "+II");
    let text = chat.text() + "\n";
    let chat = chat.kill(&text, json!({ "tools": { "auto_approve": [] } }), [prose("fine")]);
    let buffer = chat.edit("notes.chat");
    chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
    chat.settle();
    // What is shown is what is approved.
    chat.wait_for_diff(0, "+2");
    assert_eq!(chat.resolve("call_0", Resolution::Approve), Ok(()));
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "one\n2\n");
}

#[test]
fn an_edit_that_is_discarded_is_approved_by_nothing() {
    let chat = kept();
    let revision = chat.review("call_0").unwrap().revision;
    chat.workspace.reviews.keep_made(chat.current(), &"call_0".into(), &revision, vec![Taken::Proposed], false);
    chat.approve("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "one\n2\n");
}

#[test]
fn a_file_that_was_left_out_is_left_out_again() {
    for old in [OLD, "\0binary"] {
        left_out_again(old);
    }
}

fn left_out_again(old: &str) {
    let all = [("write", write("a.txt", "one\n2\n"))];
    let chat = asked(&[("a.txt", old)], all);
    chat.drain_until("a preview", |chat| chat.previews().first().is_some_and(|preview| !preview.diff.is_empty()));
    let revision = chat.review("call_0").unwrap().revision;
    chat.workspace.begin_to_leave();
    chat.accept("call_0", &revision, vec![Taken::Left]).unwrap();
    chat.workspace.wind_up();
    let text = chat.text() + "\n";
    let chat = chat.kill(&text, Value::Null, [prose("fine")]);
    let buffer = chat.edit("notes.chat");
    chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
    chat.settle();
    assert_eq!(chat.review("call_0").unwrap().files[0].made, MadeFile { is_left: true, draft: None });
}

const AGAIN: &str = "look at it again with gK";

/// The notes and lines of the preview.
fn diff(chat: &Harness) -> Vec<String> {
    chat.previews()[0].diff.iter().map(|line| line.text.clone()).collect()
}

#[test]
fn a_policy_does_not_approve_what_the_user_has_edited() {
    let chat = kept();
    chat.wait_for_diff(0, "+II");
    chat.set_up(json!({ "tools": { "auto_approve": ["write"] } }), None).unwrap();
    // The status block is deleted, so the call is decided about anew.
    let lines = chat.buffer().lines();
    let begin = lines.iter().position(|line| line.starts_with("**Tool Result:**")).unwrap() - 1;
    chat.delete(begin..lines.len());
    chat.settle();
    chat.go();
    chat.wait_for_pending(1);
    chat.wait_for_diff(0, "+II");
    assert_eq!(chat.content("a.txt"), OLD);
    chat.approve("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "one\nII\n");
}

/// `edit` has no place to write to for a while.
#[test]
fn an_edit_outlives_a_time_in_which_the_change_is_impossible() {
    let input = json!({ "label": null, "path": "a.txt", "old_text": "two", "new_text": "2" });
    let chat = asked(&[("a.txt", OLD)], [("edit", input)]);
    chat.wait_for_diff(0, "+2");
    let revision = chat.review("call_0").unwrap().revision;
    chat.workspace.reviews.keep_made(chat.current(), &"call_0".into(), &revision, vec![edited("one\nII\n")], false);
    chat.wait_for_diff(0, "+II");
    chat.put("a.txt", "one\n");
    chat.workspace.reviews.check_proposals();
    chat.drain_until("the problem", |chat| diff(chat).last().is_some_and(|line| line == "Your edit is kept."));
    // It is watched all the same.
    assert_eq!(chat.previews()[0].files.len(), 1, "{:?}", chat.previews());
    let before = chat.text();
    for key in [Harness::approve, Harness::execute] {
        let told = chat.told().len();
        key(&chat, "status=pending");
        chat.drain_until("the refusal", |chat| chat.told()[told..].iter().any(|told| told.contains(AGAIN)));
        assert_eq!(chat.text(), before, "the block stays, and its deadline");
    }
    chat.put("a.txt", OLD);
    chat.workspace.reviews.check_proposals();
    chat.wait_for_diff(0, "+II");
    chat.approve("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "one\nII\n");
}

/// What would undo lines of another program is only approved where the user sees both.
#[test]
fn an_edit_in_conflict_is_only_approved_in_a_review() {
    let chat = asked(&[("a.txt", OLD)], [("write", write("a.txt", "one\n2\n"))]);
    chat.wait_for_diff(0, "+2");
    let revision = chat.review("call_0").unwrap().revision;
    chat.workspace.reviews.keep_made(chat.current(), &"call_0".into(), &revision, vec![edited("one\nII\n")], true);
    chat.settle();
    chat.drain_until("the note", |chat| diff(chat).first().is_some_and(|line| line.contains("gK shows both")));
    chat.approve("status=pending");
    chat.drain_until("the refusal", |chat| chat.told().iter().any(|told| told.contains(AGAIN)));
    assert_eq!(chat.content("a.txt"), OLD);
    assert_eq!(chat.review("call_0").unwrap().files[0].made, draft("one\nII\n"));
}

#[test]
fn an_approval_by_hand_that_is_refused_waits_again() {
    let chat = kept();
    chat.wait_for_diff(0, "+II");
    chat.put("a.txt", "one\ntwo\ntheirs\n");
    chat.workspace.reviews.check_proposals();
    chat.wait_for_diff(0, "-theirs");
    chat.replace("status=pending", "status=approved");
    chat.settle();
    chat.go();
    chat.drain_until("the refusal", |chat| chat.told().iter().any(|told| told.contains(AGAIN)));
    chat.wait_for_pending(1);
    assert!(chat.text().contains("status=pending"), "{}", chat.text());
    assert_eq!(chat.content("a.txt"), "one\ntwo\ntheirs\n");
    assert_eq!(chat.workspace.calls.pending_calls(None).len(), 1);
}

#[test]
fn a_refusal_among_approvals_is_told() {
    let all = [("write", write("a.txt", "one\n2\n")), ("write", write("b.txt", "b\n"))];
    let chat = asked(&[("a.txt", OLD)], all);
    chat.wait_for_diff(0, "+2");
    chat.wait_for_diff(1, "+b");
    let revision = chat.review("call_0").unwrap().revision;
    chat.workspace.reviews.keep_made(chat.current(), &"call_0".into(), &revision, vec![edited("one\nII\n")], false);
    chat.wait_for_diff(0, "+II");
    chat.put("a.txt", "one\ntwo\ntheirs\n");
    chat.workspace.reviews.check_proposals();
    chat.wait_for_diff(0, "-theirs");
    let last = chat.text().lines().count();
    let choice = flemma_agent::Choice::Approve;
    chat.press(flemma_workspace::Command::Decide { lines: 0..last, choice });
    chat.drain_until("the refusal", |chat| chat.told().iter().any(|told| told.contains(AGAIN)));
    chat.drain_until("the other one", |chat| fs::read(chat.work("b.txt")).is_ok_and(|content| content == b"b\n"));
    assert_eq!(chat.content("a.txt"), "one\ntwo\ntheirs\n");
}
