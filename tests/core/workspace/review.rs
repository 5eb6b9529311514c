//! What calls would write is shown before it is approved, and nothing else is written.

use std::{fs, thread, time::Duration};

use flemma_runtime::Journal;
use flemma_workspace::{Preview, PreviewLine, Taken};
use serde_json::{Value, json};

use super::harness::{Harness, Setup, calls, prose};

/// The input of a call of `write`.
pub fn write(path: &str, content: &str) -> Value {
    json!({ "path": path, "content": content, "label": null })
}

/// The input of a call of `edit`.
pub fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "path": path, "old_text": old, "new_text": new, "label": null })
}

/// A conversation in which nothing is approved by itself, and these calls have come.
pub fn asked<'a>(files: &[(&str, &str)], all: impl IntoIterator<Item = (&'a str, Value)>) -> Harness {
    let options = json!({ "tools": { "auto_approve": [] } });
    let chat = Harness::start(Setup { options, files, ..Setup::default() }, [calls(all), prose("fine")]);
    chat.go();
    chat
}

impl Harness {
    /// The previews, which the user is shown.
    pub fn previews(&self) -> Vec<Preview> {
        self.workspace.views.previews(&self.conversation(), 60, 0).0
    }

    /// Waits until the diff of the `nth` call that waits is shown and contains `words`.
    #[track_caller]
    pub fn wait_for_diff(&self, nth: usize, words: &str) {
        self.drain_until(&format!("a diff with {words}"), |chat| {
            let previews = chat.previews();
            previews.get(nth).is_some_and(|preview| preview.diff.iter().any(|line| line.text.contains(words)))
        });
    }

    /// The content of a file in the working directory.
    #[track_caller]
    pub fn content(&self, name: &str) -> String {
        fs::read_to_string(self.work(name)).unwrap()
    }

    /// Opens the whole of a call's change: its revision.
    #[track_caller]
    pub fn review(&self, call: &str) -> Result<flemma_workspace::Reviewed, String> {
        let (tell, told) = std::sync::mpsc::channel();
        self.workspace.reviews.review(self.current(), &flemma_model::CallId(call.into()), move |_, found| {
            let _ = tell.send(found.map_err(|problem| problem.to_string()));
        });
        let mut reviewed = None;
        self.drain_until("the review", |_| {
            reviewed = reviewed.take().or_else(|| told.try_recv().ok());
            reviewed.is_some()
        });
        reviewed.unwrap()
    }

    /// Approves what was reviewed, with these contents.
    #[track_caller]
    pub fn accept(&self, call: &str, revision: &str, taken: Vec<Taken>) -> Result<(), String> {
        let (tell, told) = std::sync::mpsc::channel();
        let id = flemma_model::CallId(call.into());
        self.workspace.reviews.accept(self.current(), &id, revision, taken, move |_, accepted| {
            let _ = tell.send(accepted.map_err(|problem| problem.to_string()));
        });
        let mut accepted = None;
        self.drain_until("the approval", |_| {
            accepted = accepted.take().or_else(|| told.try_recv().ok());
            accepted.is_some()
        });
        accepted.unwrap()
    }
}

#[test]
fn a_diff_stands_below_a_call_that_waits() {
    let chat = asked(&[("a.txt", "one\ntwo\n")], [("write", write("a.txt", "one\n2\nthree\n"))]);
    chat.wait_for_diff(0, "+three");
    let preview = &chat.previews()[0];
    assert_eq!(preview.text, "", "the card says what is written");
    assert_eq!((preview.added, preview.removed), (Some(2), Some(1)));
    let lines: Vec<_> = preview.diff.iter().map(|line| (line.kind, line.text.as_str())).collect();
    let expected =
        [("hunk", "@@ -1,2 +1,3 @@"), ("context", " one"), ("delete", "-two"), ("add", "+2"), ("add", "+three")];
    assert_eq!(lines, expected);
    chat.approve("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "one\n2\nthree\n");
}

#[test]
fn a_file_that_changed_after_it_was_shown_is_not_written() {
    let chat = asked(&[("a.txt", "one\ntwo\n")], [("write", write("a.txt", "new\n"))]);
    chat.wait_for_diff(0, "-two");
    chat.put("a.txt", "one\ntwo\nmine\n");
    chat.approve("status=pending");
    chat.wait_for_words("nothing was written: the file has changed since");
    assert_eq!(chat.content("a.txt"), "one\ntwo\nmine\n");
    chat.wait_for_pending(1);
    chat.wait_for_diff(0, "-mine");
    chat.approve("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "new\n");
    assert!(chat.results(1)[0].starts_with("Replaced a.txt"));
}

#[test]
fn a_path_that_leads_elsewhere_says_where() {
    for (from, to) in [("docs/a.txt", "secret/a.txt"), ("docs", "secret")] {
        let files = &[("docs/a.txt", "one\n"), ("secret/a.txt", "two\n")];
        let chat = asked(files, [("write", write("docs/a.txt", "new\n"))]);
        chat.wait_for_diff(0, "-one");
        std::fs::rename(chat.work(from), chat.work("before")).unwrap();
        std::os::unix::fs::symlink(chat.work(to), chat.work(from)).unwrap();
        chat.approve("status=pending");
        let place = chat.work("secret/a.txt").display().to_string();
        let words = "nothing was written: docs/a.txt led elsewhere when you were shown this change, and leads to";
        chat.wait_for_words(&format!("{words} {place} now; look at it again"));
        chat.wait_for_pending(1);
        chat.wait_for_diff(0, "-two");
        assert_eq!(chat.previews()[0].diff[0].text, format!("leads to {place} now"));
        assert_eq!(chat.content("secret/a.txt"), "two\n");
        chat.approve("status=pending");
        chat.wait_for("@Assistant:\nfine");
        assert_eq!(chat.content("secret/a.txt"), "new\n");
    }
}

#[test]
fn edits_of_one_file_are_applied_in_turn() {
    let edits = [("edit", edit("a.txt", "two", "2")), ("edit", edit("a.txt", "four", "4"))];
    let chat = asked(&[("a.txt", "one\ntwo\nthree\nfour\n")], edits);
    chat.wait_for_diff(0, "+2");
    chat.wait_for_diff(1, "+4");
    // Both at once, as they were shown.
    let lines = 0..chat.buffer().lines().len();
    chat.press(flemma_workspace::Command::Decide { lines, choice: flemma_agent::Choice::Approve });
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "one\n2\nthree\n4\n");
}

/// Approves all calls that wait with one key.
fn approve_all(chat: &Harness) {
    let lines = 0..chat.buffer().lines().len();
    chat.press(flemma_workspace::Command::Decide { lines, choice: flemma_agent::Choice::Approve });
}

/// Rejects a call.
fn reject(chat: &Harness, id: &str) {
    let line = chat.line_with(&format!("Tool Result:** `{id}`"));
    let choice = flemma_agent::Choice::Reject(None);
    chat.press(flemma_workspace::Command::Decide { lines: line..line + 1, choice });
}

/// Approves a call.
fn approve(chat: &Harness, id: &str) {
    let line = chat.line_with(&format!("Tool Result:** `{id}`"));
    let choice = flemma_agent::Choice::Approve;
    chat.press(flemma_workspace::Command::Decide { lines: line..line + 1, choice });
}

/// Two edits of one line: the second one changes what the first one writes.
fn two_edits() -> [(&'static str, Value); 2] {
    [("edit", edit("a.txt", "one", "two")), ("edit", edit("a.txt", "two", "three"))]
}

#[test]
fn an_edit_follows_the_one_above_it() {
    let chat = asked(&[("a.txt", "one\n")], two_edits());
    chat.wait_for_diff(0, "+two");
    chat.wait_for_diff(1, "+three");
    let lines: Vec<_> = chat.previews()[1].diff.iter().map(|line| line.text.clone()).collect();
    assert_eq!(lines, ["after the call above, edit (call_0)", "@@ -1,1 +1,1 @@", "-two", "+three"]);
    let reviewed = chat.review("call_1").unwrap();
    assert_eq!(reviewed.files[0].after.as_deref(), Some("after the call above, edit (call_0)"));
    assert_eq!(reviewed.files[0].old.as_deref().map(Vec::as_slice), Some(&b"two\n"[..]));
    approve_all(&chat);
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "three\n");
}

#[test]
fn a_file_is_edited_that_the_call_above_creates() {
    let all = [
        ("write", write("new/n.txt", "one\n")),
        ("edit", edit("new/n.txt", "one", "two")),
        ("write", write("new/n.txt", "three\n")),
    ];
    let chat = asked(&[], all);
    chat.wait_for_diff(0, "+one");
    chat.wait_for_diff(1, "-one");
    chat.wait_for_diff(2, "-two");
    // One after the other: what is shown stays.
    for (id, content) in [("call_0", "one\n"), ("call_1", "two\n")] {
        let revisions = || ["call_1", "call_2"].map(|id| chat.review(id).map(|reviewed| reviewed.revision));
        let before = revisions();
        approve(&chat, id);
        chat.drain_until("the write", |chat| {
            let text = fs::read_to_string(chat.work("new/n.txt"));
            text.is_ok_and(|text| text == content) && chat.workspace.is_at_rest(chat.current())
        });
        assert_eq!(revisions()[1], before[1], "after {id}");
    }
    approve(&chat, "call_2");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("new/n.txt"), "three\n");
    assert!(chat.results(1)[0].starts_with("Created new/n.txt"), "{:?}", chat.results(1));
}

#[test]
fn a_change_is_not_made_before_the_one_that_it_follows() {
    let chat = asked(&[("a.txt", "one\n")], two_edits());
    chat.wait_for_diff(1, "+three");
    approve(&chat, "call_1");
    chat.wait_for_words("nothing was written: this change was shown as it follows that of a call above");
    chat.wait_for_pending(2);
    assert_eq!(chat.content("a.txt"), "one\n");
    chat.wait_for_diff(1, "+three");
    approve(&chat, "call_0");
    chat.drain_until("the write", |chat| chat.content("a.txt") == "two\n");
    chat.wait_for_pending(1);
    approve(&chat, "call_1");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "three\n");
}

#[test]
fn a_change_is_shown_again_where_a_call_above_waits() {
    let edits = [("edit", edit("a.txt", "two", "2")), ("edit", edit("a.txt", "four", "4"))];
    let chat = asked(&[("a.txt", "one\ntwo\nthree\nfour\n")], edits);
    chat.wait_for_diff(1, "+4");
    // It was shown in a file that has the change of the call above.
    approve(&chat, "call_1");
    chat.wait_for_words("nothing was written: this change was shown as it follows that of a call above");
    assert_eq!(chat.content("a.txt"), "one\ntwo\nthree\nfour\n");
    approve(&chat, "call_0");
    chat.drain_until("the write", |chat| chat.content("a.txt") == "one\n2\nthree\nfour\n");
    chat.wait_for_pending(1);
    approve(&chat, "call_1");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "one\n2\nthree\n4\n");
}

#[test]
fn a_call_ends_with_the_one_that_it_follows() {
    let chat = asked(&[("a.txt", "one\n")], two_edits());
    chat.wait_for_diff(1, "+three");
    reject(&chat, "call_0");
    chat.wait_for("@Assistant:\nfine");
    let result = &chat.results(1)[1];
    assert!(result.contains("`old_text` was not found in a.txt"), "{result}");
    assert!(result.contains("This call was to follow edit (call_0)"), "{result}");
    assert_eq!(chat.content("a.txt"), "one\n");
}

#[test]
fn a_call_is_shown_anew_when_the_one_above_is_rejected() {
    let all = [("write", write("a.txt", "two\n")), ("write", write("a.txt", "three\n"))];
    let chat = asked(&[("a.txt", "one\n")], all);
    chat.wait_for_diff(1, "-two");
    let revision = chat.review("call_1").unwrap().revision;
    reject(&chat, "call_0");
    chat.wait_for_pending(1);
    chat.wait_for_diff(0, "-one");
    assert!(chat.accept("call_1", &revision, vec![Taken::Proposed]).unwrap_err().contains("has changed"));
    assert_eq!(chat.content("a.txt"), "one\n");
    approve(&chat, "call_1");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "three\n");
}

#[test]
fn a_call_follows_what_the_user_made_of_the_one_above() {
    let all = [("write", write("a.txt", "two\n")), ("write", write("a.txt", "three\n"))];
    let chat = asked(&[("a.txt", "one\n")], all);
    chat.wait_for_diff(1, "-two");
    let revision = chat.review("call_0").unwrap().revision;
    let mine = vec![Taken::Content(b"mine\n".to_vec())];
    assert_eq!(chat.accept("call_0", &revision, mine), Ok(()));
    chat.drain_until("the write", |chat| chat.content("a.txt") == "mine\n");
    chat.wait_for_diff(0, "-mine");
    assert_eq!(chat.review("call_1").unwrap().files[0].after, None);
}

#[test]
fn all_that_is_approved_at_once_asks_again_where_one_fails() {
    let all =
        [("write", write("a.txt", "two\n")), ("write", write("a.txt", "three\n")), ("write", write("b.txt", "new\n"))];
    let chat = asked(&[("a.txt", "one\n"), ("b.txt", "old\n")], all);
    chat.wait_for_diff(1, "-two");
    chat.wait_for_diff(2, "-old");
    // The first call is not what was shown any more.
    chat.put("a.txt", "other\n");
    approve_all(&chat);
    chat.drain_until("the write", |chat| chat.content("b.txt") == "new\n");
    chat.wait_for_pending(2);
    assert_eq!(chat.content("a.txt"), "other\n");
    chat.wait_for_diff(0, "-other");
    chat.wait_for_diff(1, "-two");
    approve_all(&chat);
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "three\n");
}

#[test]
fn what_was_there_before_is_not_taken_for_done() {
    // The second call puts back what the first one changes.
    let all = [("write", write("a.txt", "two\n")), ("write", write("a.txt", "one\n"))];
    let chat = asked(&[("a.txt", "one\n")], all);
    chat.wait_for_diff(1, "+one");
    approve(&chat, "call_1");
    chat.wait_for_words("nothing was written: this change was shown as it follows that of a call above");
    chat.wait_for_pending(2);
    approve_all(&chat);
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "one\n");
    assert!(chat.results(1)[1].starts_with("Replaced a.txt"), "{:?}", chat.results(1));
}

#[test]
fn a_call_waits_for_a_write_that_nobody_decides_about() {
    let options = json!({ "tools": { "auto_approve": ["write"] } });
    let all = [("write", write("n.txt", "one\n")), ("edit", edit("n.txt", "one", "two"))];
    let chat = Harness::start(Setup { options, ..Setup::default() }, [calls(all), prose("fine")]);
    chat.go();
    chat.wait_for_diff(0, "+two");
    approve(&chat, "call_1");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("n.txt"), "two\n");
}

#[test]
fn an_edit_that_cannot_be_made_is_answered_at_once() {
    let chat = asked(&[("a.txt", "one\n")], [("edit", edit("a.txt", "two", "2"))]);
    chat.wait_for("@Assistant:\nfine");
    assert!(chat.results(1)[0].contains("`old_text` was not found in a.txt"), "{:?}", chat.results(1));
}

/// It was carried out, so it cannot be proposed any more. That does not mean that it failed.
#[test]
fn an_edit_that_was_killed_after_its_write_asks() {
    let input = json!({ "label": null, "path": "a.txt", "old_text": "one", "new_text": "ONE" });
    let chat = asked(&[("a.txt", "one\n")], [("edit", input)]);
    chat.wait_for_diff(0, "+ONE");
    let pending = chat.text() + "\n";
    let journal = Journal::new(chat.state("journal")).file(&chat.work("notes.chat"));
    approve(&chat, "call_0");
    // The start is recorded, and the file is written, but not the result.
    let held = super::slow_proposals::hold(&chat, "a.txt");
    while !fs::read_to_string(&journal).unwrap_or_default().contains("\"started\"") {
        chat.drain_once();
    }
    chat.put("a.txt", "ONE\n");
    let chat = chat.kill(&pending.replace("status=pending", "status=running"), Value::Null, [prose("fine")]);
    drop(held);
    let buffer = chat.edit("notes.chat");
    chat.wait_for("Run it again?");
    chat.drain_until("rest", |chat| chat.workspace.is_settled(buffer));
    chat.settle();
    assert!(chat.text().contains("Run it again?"), "{}", chat.text());
    chat.approve("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(0), ["The files have the content that the user approved for them."]);
    assert_eq!(chat.content("a.txt"), "ONE\n");
}

/// What the user does about a call that would change a file of which the buffer has changes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Save,
    Discard,
    Approve,
    Review,
    Reject,
    Stop,
}

#[test]
#[ignore = "slow"]
fn a_call_for_an_unsaved_file_waits_for_the_save() {
    let tools = [("write", write("a.txt", "new\n")), ("edit", edit("a.txt", "two", "2"))];
    for (tool, input) in tools {
        for is_policy in [true, false] {
            for way in [Way::Save, Way::Discard, Way::Approve, Way::Review, Way::Reject, Way::Stop] {
                let list = if is_policy { json!([tool]) } else { json!([]) };
                let options = json!({ "tools": { "auto_approve": list } });
                let replies = [calls([(tool, input.clone())]), prose("fine")];
                let chat = Harness::start(Setup { options, files: &[("a.txt", "two\n")], ..Setup::default() }, replies);
                *chat.host.unsaved.borrow_mut() = vec![chat.work("a.txt")];
                chat.go();
                chat.wait_for_pending(1);
                chat.wait_for_diff(0, "save a.txt to go on, or approve the call");
                assert_eq!(chat.content("a.txt"), "two\n");
                let told = format!("{tool} (call_0): nothing was written: save a.txt to go on");
                if is_policy {
                    chat.wait_for_words(&told);
                }
                let (before, mut after) = ("mine\ntwo\n", "mine\n2\n");
                match way {
                    Way::Save => {
                        chat.put("a.txt", before);
                        chat.host.unsaved.borrow_mut().clear();
                        chat.workspace.reviews.check_proposals();
                    }
                    Way::Discard => {
                        chat.host.unsaved.borrow_mut().clear();
                        chat.workspace.reviews.check_proposals();
                        after = "2\n";
                    }
                    Way::Approve => {
                        chat.approve("status=pending");
                        after = "2\n";
                    }
                    Way::Review => {
                        let reviewed = chat.review("call_0").unwrap();
                        assert_eq!(chat.accept("call_0", &reviewed.revision, vec![Taken::Proposed]), Ok(()));
                        after = "2\n";
                    }
                    Way::Reject => {
                        chat.reject("status=pending", None);
                        after = "two\n";
                    }
                    Way::Stop => {
                        chat.stop();
                        chat.host.unsaved.borrow_mut().clear();
                        chat.workspace.reviews.check_proposals();
                    }
                }
                if way == Way::Stop || (!is_policy && matches!(way, Way::Save | Way::Discard)) {
                    // Nobody has approved it.
                    let asks_to_save = |line: &PreviewLine| line.text.contains("to go on");
                    chat.drain_until("rest", |chat| !chat.previews()[0].diff.iter().any(asks_to_save));
                    chat.wait_for_pending(1);
                    continue;
                }
                chat.wait_for("@Assistant:\nfine");
                let written = if after == "two\n" || tool == "edit" { after } else { "new\n" };
                assert_eq!(chat.content("a.txt"), written, "{tool} {way:?} {is_policy}");
            }
        }
    }
}

#[test]
fn bytes_that_are_not_utf8_are_replaced_by_nobody_but_the_user() {
    let options = json!({ "tools": { "auto_approve": ["write", "edit"] } });
    let both = [("edit", edit("a.txt", "old", "mid")), ("write", write("a.txt", "new\n"))];
    let chat = Harness::start(Setup { options, ..Setup::default() }, [calls(both), prose("fine")]);
    chat.put("a.txt", b"caf\xe9 old\n");
    chat.go();
    chat.wait_for_pending(1);
    chat.wait_for_diff(0, "a.txt is not valid UTF-8, and the call writes text that is");
    chat.wait_for_words("write (call_1): nothing was written: a.txt is not valid UTF-8");
    assert_eq!(fs::read(chat.work("a.txt")).unwrap(), b"caf\xe9 mid\n", "an edit keeps them");
    chat.approve("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "new\n");
    assert!(chat.results(1)[1].contains("What it had was not valid UTF-8."), "{:?}", chat.results(1));
}

#[test]
fn an_edit_that_mixes_two_encodings_asks_as_a_write_does() {
    let options = json!({ "tools": { "auto_approve": ["edit"] } });
    let calls = calls([("edit", edit("a.txt", "old", "né"))]);
    let chat = Harness::start(Setup { options, ..Setup::default() }, [calls, prose("fine")]);
    chat.put("a.txt", b"caf\xe9 old\n");
    chat.go();
    chat.wait_for_pending(1);
    chat.wait_for_diff(0, "a.txt is not valid UTF-8, and the call writes text that is");
    chat.wait_for_words("edit (call_0): nothing was written: a.txt is not valid UTF-8");
    assert_eq!(fs::read(chat.work("a.txt")).unwrap(), b"caf\xe9 old\n");
    chat.approve("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(fs::read(chat.work("a.txt")).unwrap(), b"caf\xe9 n\xc3\xa9\n");
}

#[test]
fn an_edited_content_is_written_and_the_model_told() {
    let old: String = (1..=30).map(|line| format!("{line}\n")).collect();
    let new = old.replace("5\n6\n", "five\n6\n").replace("20\n", "twenty\n");
    let chat = asked(&[("a.txt", &old)], [("write", write("a.txt", &new))]);
    chat.wait_for_diff(0, "+five");
    let reviewed = chat.review("call_0").unwrap();
    assert_eq!(reviewed.files[0].new.as_deref().unwrap(), new.as_bytes());
    let mine = old.replace("5\n6\n", "five\n6\n");
    assert_eq!(chat.accept("call_0", &reviewed.revision, vec![Taken::Content(mine.clone().into_bytes())]), Ok(()));
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), mine);
    let result = &chat.results(1)[0];
    assert!(result.contains("Of the proposed 2 changes: 1 (line 5) applied, 1 (line 20) left out."), "{result}");
    assert!(result.contains("Lines that were added and removed: +1 -1."), "{result}");
    assert!(result.contains("-twenty") && result.contains("+20"), "{result}");
}

#[test]
fn what_somebody_else_changed_is_not_told_as_left_out() {
    let old: String = (1..=30).map(|line| format!("{line}\n")).collect();
    let new = old.replace("5\n6\n", "five\n6\n");
    let chat = asked(&[("a.txt", &old)], [("write", write("a.txt", &new))]);
    chat.wait_for_diff(0, "+five");
    // Another program changes line 21 while the user looks, and the user keeps that.
    chat.put("a.txt", old.replace("21\n", "theirs\n"));
    let reviewed = chat.review("call_0").unwrap();
    let mine = new.replace("21\n", "theirs\n");
    assert_eq!(chat.accept("call_0", &reviewed.revision, vec![Taken::Content(mine.clone().into_bytes())]), Ok(()));
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), mine);
    let result = &chat.results(1)[0];
    assert!(result.contains("1 (line 5) applied, 1 (line 21) not made, since the file was changed there"), "{result}");
    assert!(!result.contains("left out"), "{result}");
}

#[test]
fn a_review_is_of_what_the_files_have_when_it_is_asked_for() {
    let chat = asked(&[("a.txt", "old\n")], [("write", write("a.txt", "new\n"))]);
    chat.wait_for_diff(0, "+new");
    for round in 0..200 {
        chat.put("a.txt", format!("before {round}\n"));
        // A survey begins, and has come to another point each time when the file changes once more.
        chat.workspace.reviews.check_proposals();
        for _ in 0..round % 20 {
            chat.drain_once();
            thread::sleep(Duration::from_micros(100));
        }
        let now = format!("{round}\n");
        chat.put("a.txt", &now);
        let reviewed = chat.review("call_0").unwrap();
        assert_eq!(reviewed.files[0].old.as_deref().unwrap(), now.as_bytes());
    }
}

#[test]
fn a_very_long_line_is_cut_in_the_result_where_it_is_the_same() {
    let long = "0123456789".repeat(20_000);
    let (old, new) = (format!("{long}old\n"), format!("{long}new\n"));
    let chat = asked(&[("a.txt", &old)], [("write", write("a.txt", &new))]);
    chat.wait_for_diff(0, "789new");
    chat.approve("status=pending");
    chat.wait_for("@Assistant:\nfine");
    let result = &chat.results(1)[0];
    assert!(result.contains("789old\n") && result.contains("789new") && result.len() < 2000, "{result}");
}

#[test]
fn an_old_revision_is_not_accepted() {
    let chat = asked(&[("a.txt", "old\n")], [("write", write("a.txt", "new\n"))]);
    chat.wait_for_diff(0, "+new");
    let reviewed = chat.review("call_0").unwrap();
    chat.put("a.txt", "other\n");
    let again = chat.review("call_0").unwrap();
    assert_ne!(again.revision, reviewed.revision);
    let problem = chat.accept("call_0", &reviewed.revision, vec![Taken::Proposed]).unwrap_err();
    assert!(problem.contains("has changed"), "{problem}");
    assert_eq!(chat.content("a.txt"), "other\n");
    assert_eq!(chat.accept("call_0", &again.revision, vec![Taken::Proposed]), Ok(()));
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("a.txt"), "new\n");
}

#[test]
fn a_file_that_may_not_be_read_is_not_overwritten_unseen() {
    let all = || [("write", write("secret.txt", "new\n")), ("write", write("secrets/new.txt", "new\n"))];
    let start = |tools: Value| {
        let options = json!({ "tools": tools });
        let files = [("secret.txt", "old\n"), ("secrets/old.txt", "old\n")];
        let replies = [calls(all()), prose("fine")];
        let chat = Harness::start(Setup { options, files: &files, ..Setup::default() }, replies);
        chat.go();
        chat
    };
    let list = json!(["write", "!read(secret*)", "!read(secrets/**)"]);
    let chat = start(json!({ "auto_approve": list }));
    chat.wait_for_diff(0, "-old");
    chat.drain_until("the new file", |chat| chat.work("secrets/new.txt").exists());
    chat.wait_for_pending(1);
    assert_eq!(chat.content("secret.txt"), "old\n");
    approve(&chat, "call_0");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("secret.txt"), "new\n");
    assert!(!chat.results(1)[0].contains("-old"), "the model does not see what was there");
    // Nobody wants to be asked.
    let chat = start(json!({ "auto_approve": list, "require_approval": false }));
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.content("secret.txt"), "new\n");
}

#[test]
fn a_change_of_which_nothing_is_taken_writes_nothing() {
    let chat = asked(&[("a.txt", "old\n")], [("write", write("a.txt", "new\n"))]);
    chat.wait_for_diff(0, "+new");
    let revision = chat.review("call_0").unwrap().revision;
    assert_eq!(chat.accept("call_0", &revision, vec![Taken::Left]), Ok(()));
    chat.wait_for("@Assistant:\nfine");
    assert!(chat.results(1)[0].contains("took nothing of it"), "{:?}", chat.results(1));
    assert_eq!(chat.content("a.txt"), "old\n");
}

#[test]
fn binary_and_huge_files_are_shown_as_figures() {
    let huge = "0123456789abcde\n".repeat(3 * 1024 * 1024);
    let binary = [("a.bin", "\0old"), ("b.txt", huge.as_str())];
    let chat = asked(&binary, [("write", write("a.bin", "new")), ("write", write("b.txt", "new"))]);
    chat.wait_for_diff(0, "not shown line by line: 4 B become 3 B");
    chat.wait_for_diff(1, "MB become 3 B");
    let previews = chat.previews();
    assert_eq!(previews.iter().map(|preview| preview.added).collect::<Vec<_>>(), [None, None]);
    let notes = ["call_0", "call_1"].map(|call| chat.review(call).unwrap().files[0].note);
    assert_eq!(notes, [Some("binary"), Some("too large")]);
    let sizes = ["call_0", "call_1"].map(|call| {
        let file = chat.review(call).unwrap().files.swap_remove(0);
        (file.old_size, file.new_size)
    });
    assert_eq!(sizes, [(Some(4), Some(3)), (Some(huge.len() as u64), Some(3))]);
    let lines = 0..chat.buffer().lines().len();
    chat.press(flemma_workspace::Command::Decide { lines, choice: flemma_agent::Choice::Approve });
    chat.wait_for("@Assistant:\nfine");
    assert_eq!((chat.content("a.bin").as_str(), chat.content("b.txt").as_str()), ("new", "new"));
}

#[test]
fn the_number_of_lines_is_an_option() {
    let chat = asked(&[("a.txt", "old\n")], [("write", write("a.txt", "1\n2\n3\n4\n"))]);
    chat.wait_for_diff(0, "+1");
    let set = |lines: u32| {
        let tools = json!({ "auto_approve": [], "review": { "lines": lines } });
        chat.set_up(json!({ "tools": tools }), None).unwrap();
        let preview = &chat.previews()[0];
        assert_eq!((preview.added, preview.removed), (Some(4), Some(1)));
        preview.diff.iter().map(|line| line.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(set(2), ["@@ -1,1 +1,4 @@", "-old", "\u{2026} 4 more lines"]);
    assert_eq!(set(0), [""; 0]);
}

#[test]
fn notes_that_calls_above_create_and_rename_are_there() {
    let options = json!({ "tools": { "auto_approve": [], "notes": { "enabled": true } } });
    let note = |page: &str, content: &str| json!({ "page": page, "content": content, "label": null });
    let update = |page: &str, content: &str| json!({ "page": page, "content": content, "mode": "append", "section": null, "occurrence": null, "label": null });
    let all = [
        ("create_note", note("one", "see [[two]]\n")),
        ("create_note", note("two", "text\n")),
        ("rename_note", json!({ "page": "two", "new_page": "three", "label": null })),
        ("update_note", update("one", "more\n")),
        ("update_note", update("three", "end\n")),
        ("create_note", note("two", "again\n")),
    ];
    let chat = Harness::start(Setup { options, ..Setup::default() }, [calls(all), prose("fine")]);
    chat.go();
    chat.wait_for_diff(2, "+see [[three]]");
    chat.wait_for_diff(3, " see [[three]]");
    chat.wait_for_diff(4, "+end");
    chat.wait_for_diff(5, "+again");
    approve_all(&chat);
    chat.wait_for("@Assistant:\nfine");
    let pages = ["one.md", "two.md", "three.md"].map(|page| chat.content(page));
    assert_eq!(pages, ["see [[three]]\nmore\n", "again\n", "text\nend\n"], "{:?}", chat.results(1));
}

#[test]
fn renaming_a_note_shows_every_page_that_changes() {
    let options = json!({ "tools": { "auto_approve": [], "notes": { "enabled": true } } });
    let files = [("old.md", "# Old\n"), ("list.md", "see [[old]]\n")];
    let rename = json!({ "page": "old", "new_page": "new", "label": null });
    let replies = [calls([("rename_note", rename)]), prose("fine")];
    let chat = Harness::start(Setup { options, files: &files, ..Setup::default() }, replies);
    chat.go();
    chat.wait_for_diff(0, "+see [[new]]");
    chat.wait_for_diff(0, "old \u{2192} new");
    let reviewed = chat.review("call_0").unwrap();
    assert_eq!(reviewed.files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["list", "old"]);
    // The links stay as they are.
    assert_eq!(chat.accept("call_0", &reviewed.revision, vec![Taken::Left, Taken::Proposed]), Ok(()));
    chat.wait_for("@Assistant:\nfine");
    assert_eq!((chat.content("list.md").as_str(), chat.content("new.md").as_str()), ("see [[old]]\n", "# Old\n"));
    assert!(!chat.work("old.md").exists());
    let result = &chat.results(1)[0];
    assert!(result.contains("list was left as it was.") && result.ends_with("\n\nold was renamed to new."), "{result}");
}

#[test]
fn a_note_edited_or_left_out_says_whether_it_was_renamed() {
    let options = json!({ "tools": { "auto_approve": [], "notes": { "enabled": true } } });
    let files = [("old.md", "see [[old]]\n"), ("list.md", "see [[old]]\n")];
    let rename = json!({ "page": "old", "new_page": "new", "label": null });
    let edited = Taken::Content(b"see [[new]], too\n".to_vec());
    for (taken, words) in [
        (vec![Taken::Left, edited], "old was renamed to new, and written, but not as proposed."),
        (vec![Taken::Left, Taken::Proposed], "old was renamed to new, and written as proposed."),
        (vec![Taken::Proposed, Taken::Left], "old was left as it was, and was not renamed."),
    ] {
        let replies = [calls([("rename_note", rename.clone())]), prose("fine")];
        let chat = Harness::start(Setup { options: options.clone(), files: &files, ..Setup::default() }, replies);
        chat.go();
        chat.wait_for_diff(0, "+see [[new]]");
        let reviewed = chat.review("call_0").unwrap();
        assert_eq!(chat.accept("call_0", &reviewed.revision, taken), Ok(()));
        chat.wait_for("@Assistant:\nfine");
        let result = &chat.results(1)[0];
        assert!(result.contains(words), "{result}");
    }
}

#[test]
fn line_endings_changed_in_a_review_are_told() {
    let options = json!({ "tools": { "auto_approve": [] } });
    let input = json!({ "path": "a.txt", "content": "one\ntwo\n", "label": null });
    let chat = Harness::start(Setup { options, ..Setup::default() }, [calls([("write", input)]), prose("fine")]);
    chat.go();
    chat.wait_for_diff(0, "+two");
    let revision = chat.review("call_0").unwrap().revision;
    assert_eq!(chat.accept("call_0", &revision, vec![Taken::Content(b"one\r\ntwo\r\n".to_vec())]), Ok(()));
    chat.wait_for("@Assistant:\nfine");
    let result = &chat.results(1)[0];
    let words =
        "From the proposal (-) to what was written (+):\n\nOnly the line endings change in 2 lines: LF becomes CRLF.";
    assert!(result.ends_with(words), "{result}");
}
