//! A tool that runs wants to write something, and waits for the user's decision about that.
//!
//! What holds in all of them: nothing is written that was not approved, the tool hears of each decision at most once, and a call
//! gets exactly one result.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use flemma_model::CallId;
use flemma_runtime::Journal;
use flemma_tools::LuaRef;
use flemma_workspace::{MadeFile, Resolution, Taken, ToolAnswer, WantedWrite};
use serde_json::{Value, json};

use super::{
    harness::{Harness, Setup, calls, prose},
    scripts::text,
};

/// A conversation with calls of `writer`, a tool that answers when the test says so.
pub(super) struct Writers {
    pub(super) chat: Harness,
    /// How often it was started.
    starts: Rc<Cell<usize>>,
    /// How often it was stopped.
    stops: Rc<Cell<usize>>,
    /// The latest run's right to answer.
    answer: Rc<RefCell<Option<ToolAnswer>>>,
}

impl Writers {
    /// These calls have come, and run. `options` are those of the user.
    pub(super) fn new(options: Value, count: usize) -> Self {
        let files = &[("a.txt", "one\ntwo\n")];
        let all = (0..count).map(|n| ("writer", json!({ "n": n })));
        let chat = Harness::start(Setup { options, files, ..Setup::default() }, [calls(all), prose("fine")]);
        let writers = Self::of(chat);
        writers.chat.go();
        writers.chat.drain_until("the tool", |_| writers.starts.get() == count);
        writers
    }

    /// The tool in a conversation.
    fn of(chat: Harness) -> Self {
        let (starts, stops) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let answer = Rc::<RefCell<Option<ToolAnswer>>>::default();
        let (started, stopped, answers) = (Rc::clone(&starts), Rc::clone(&stops), Rc::clone(&answer));
        chat.register_with("writer", json!({ "approval": "auto", "async": true }), move |_, answer| {
            started.set(started.get() + 1);
            *answers.borrow_mut() = Some(answer);
            let stopped = Rc::clone(&stopped);
            Some(Box::new(move || {
                stopped.set(stopped.get() + 1);
                Ok(())
            }))
        });
        Self { chat, starts, stops, answer }
    }

    /// The run of a call wants to write this into `a.txt`. What it hears has this number.
    fn propose(&self, call: &str, content: &str, number: u64) {
        self.propose_file(call, "a.txt", content, number);
    }

    /// The same for another file.
    pub(super) fn propose_file(&self, call: &str, name: &str, content: &str, number: u64) {
        let run = self.chat.scripts.runs.borrow()[call];
        let files = vec![WantedWrite { name: name.into(), is_page: false, content: content.into() }];
        let id = CallId(call.to_owned());
        self.chat.workspace.execution.propose_write(self.chat.current(), &id, run, files, LuaRef(number));
    }

    /// The same, and the change is shown.
    #[track_caller]
    pub(super) fn propose_and_wait(&self, content: &str, number: u64) {
        self.propose("call_0", content, number);
        self.chat.wait_for_pending(1);
        self.chat.wait_for_diff(0, "+");
    }

    /// What the function with this number has heard.
    fn heard(&self, number: u64) -> Option<Result<Value, String>> {
        self.chat.scripts.answers.borrow().get(&LuaRef(number)).cloned()
    }

    #[track_caller]
    pub(super) fn wait_to_hear(&self, number: u64) -> Result<Value, String> {
        self.chat.drain_until("the outcome", |_| self.heard(number).is_some());
        self.heard(number).unwrap()
    }

    /// The tool answers.
    pub(super) fn finish(&self, words: &str) {
        self.answer.take().unwrap().finish(text(words));
    }

    #[track_caller]
    pub(super) fn wait_for_end(&self) -> String {
        self.chat.wait_for("@Assistant:\nfine");
        self.chat.results(1)[0].clone()
    }

    /// `kill -9`, and the file is opened again as it was then, or with this text.
    pub(super) fn killed(self, text: Option<&str>) -> Self {
        let saved = text.map_or_else(|| self.chat.text() + "\n", str::to_owned);
        let chat = self.chat.kill(&saved, Value::Null, [prose("fine")]);
        let writers = Self::of(chat);
        let buffer = writers.chat.edit("notes.chat");
        writers.chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
        writers.chat.settle();
        writers
    }
}

/// What a tool hears of a file that was written.
fn written() -> Result<Value, String> {
    Ok(json!({ "files": [{ "path": "a.txt", "written": true }] }))
}

#[test]
fn an_approved_change_is_written_and_the_tool_goes_on() {
    let writers = Writers::new(Value::Null, 1);
    writers.propose_and_wait("one\n2\n", 1);
    let chat = &writers.chat;
    assert!(chat.text().contains("status=pending question=\"Write a.txt?\""), "{}", chat.text());
    assert!(!chat.buffer().is_locked.get() && !chat.conversation().is_busy(), "nothing is busy meanwhile");
    assert_eq!(chat.waiting(), ["call_0 approval"]);
    assert_eq!((chat.content("a.txt").as_str(), writers.heard(1)), ("one\ntwo\n", None));
    chat.approve("status=pending");
    assert_eq!(writers.wait_to_hear(1), written());
    assert_eq!(chat.content("a.txt"), "one\n2\n");
    assert!(chat.text().contains("status=running"), "{}", chat.text());
    writers.finish("done");
    assert_eq!(writers.wait_for_end(), "done");
    assert_eq!((writers.starts.get(), writers.stops.get()), (1, 0));
}

/// A review knows by this number that what it shows was decided.
#[test]
fn the_changes_of_one_call_have_numbers_of_their_own() {
    let writers = Writers::new(Value::Null, 1);
    writers.propose_and_wait("one\n2\n", 1);
    let chat = &writers.chat;
    let first = chat.review("call_0").unwrap().change;
    chat.approve("status=pending");
    assert_eq!(writers.wait_to_hear(1), written());
    // Other calls are looked at while this one runs.
    chat.workspace.reviews.check_proposals();
    writers.propose_and_wait("one\n3\n", 2);
    assert_ne!(chat.review("call_0").unwrap().change, first);
}

/// Whenever the user cancels, the file is as the result says, and the tool does not go on.
#[test]
#[ignore = "slow"]
fn a_cancelled_change_says_what_became_of_the_file() {
    for moment in 0..40 {
        let writers = Writers::new(Value::Null, 1);
        let new = "new\n".repeat(40_000);
        writers.propose_and_wait(&new, 1);
        writers.chat.approve("status=pending");
        std::thread::sleep(std::time::Duration::from_micros(moment * 150));
        writers.chat.stop();
        let chat = &writers.chat;
        chat.drain_until("rest", |chat| !chat.conversation().is_busy() && chat.workspace.is_at_rest(chat.current()));
        let text = chat.text();
        let is_written = chat.content("a.txt") == new;
        if text.contains("status=") {
            assert!(text.contains("status=pending") && !is_written, "{text}");
        } else if text.contains("while this change was being written") {
            assert!(is_written && writers.heard(1).is_none());
        } else if text.contains("Cancelled by the user: nothing was written.") {
            assert!(!is_written);
        } else {
            assert!(text.contains("The user cancelled this call while it was running."), "{text}");
            assert_eq!(is_written, writers.heard(1).is_some(), "{text}");
        }
    }
}

/// The same of a change that the user's own policy approves, which is written while the tool runs. The time of the tool may be up too.
#[test]
#[ignore = "slow"]
fn a_change_without_a_question_says_what_became_of_the_file() {
    for moment in 0..40 {
        let is_cancelled = moment % 2 == 0;
        let timeout = if is_cancelled { 60.0 } else { 0.001 };
        let options = json!({ "tools": { "auto_approve": ["writer"], "writer": { "timeout": timeout } } });
        let writers = Writers::new(options, 1);
        let (chat, new) = (&writers.chat, "new\n".repeat(40_000));
        writers.propose("call_0", &new, 1);
        // The change is found out about before it is written.
        while moment > 4 && chat.drain_once() {}
        std::thread::sleep(std::time::Duration::from_micros(moment * 150));
        if is_cancelled {
            chat.stop();
            chat.drain_until("rest", |chat| {
                !chat.conversation().is_busy() && chat.workspace.is_at_rest(chat.current())
            });
        } else {
            chat.wait_for("@Assistant:\nfine");
        }
        let text = chat.text();
        assert!(!text.contains("status="), "{text}");
        let is_told_that_it_ended = text.contains("The user cancelled")
            || text.contains("did not answer within")
            || text.contains("Cancelled by");
        assert!(is_told_that_it_ended, "{text}");
        let is_told_that_it_was_written = text.contains("a.txt") || writers.heard(1).is_some_and(|heard| heard.is_ok());
        assert_eq!(chat.content("a.txt") == new, is_told_that_it_was_written, "{text} {:?}", writers.heard(1));
        // Nothing comes of it later.
        chat.settle();
        assert_eq!(chat.content("a.txt") == new, is_told_that_it_was_written);
    }
}

#[test]
fn a_rejected_change_is_told_to_the_tool_which_goes_on() {
    let writers = Writers::new(Value::Null, 1);
    writers.propose_and_wait("mine\n", 1);
    writers.chat.reject("status=pending", Some("not yet"));
    let words = "The user rejected the change, and nothing of it was written: not yet";
    assert_eq!(writers.wait_to_hear(1), Err(words.to_owned()));
    // It tries something else.
    writers.propose_and_wait("other\n", 2);
    writers.chat.approve("status=pending");
    assert_eq!(writers.wait_to_hear(2), written());
    writers.finish("in the end");
    assert_eq!(writers.wait_for_end(), "in the end");
    assert_eq!(writers.chat.content("a.txt"), "other\n");
}

#[test]
fn a_change_that_is_edited_or_left_is_told_to_the_tool() {
    let writers = Writers::new(Value::Null, 1);
    writers.propose_and_wait("one\n2\n", 1);
    let revision = writers.chat.review("call_0").unwrap().revision;
    writers.chat.accept("call_0", &revision, vec![Taken::Content(b"one\nII\n".to_vec())]).unwrap();
    let heard = writers.wait_to_hear(1).unwrap();
    assert_eq!(heard["files"][0]["written"], true);
    assert!(heard["note"].as_str().unwrap().contains("+II"), "{heard}");
    assert_eq!(writers.chat.content("a.txt"), "one\nII\n");
    writers.propose_and_wait("three\n", 2);
    let reviewed = writers.chat.review("call_0").unwrap();
    assert_eq!(
        reviewed.files[0].made,
        MadeFile::default(),
        "what was made of the change before has nothing to do with it"
    );
    writers.chat.accept("call_0", &reviewed.revision, vec![Taken::Left]).unwrap();
    assert!(writers.wait_to_hear(2).unwrap_err().contains("took nothing of it"));
    writers.finish("done");
    writers.wait_for_end();
    assert_eq!(writers.chat.content("a.txt"), "one\nII\n");
}

/// The approval of the second change comes before anything of it is on the screen. What was shown of the first one does not count.
#[test]
fn an_approval_is_never_for_the_change_before() {
    for (name, content) in [("b.txt", "2\n"), ("b.txt", "1\n"), ("a.txt", "2\n")] {
        let writers = Writers::new(Value::Null, 1);
        writers.propose_and_wait("1\n", 1);
        writers.chat.approve("status=pending");
        assert_eq!(writers.wait_to_hear(1), written());
        writers.propose_file("call_0", name, content, 2);
        writers.chat.wait_for_pending(1);
        writers.chat.approve("status=pending");
        assert_eq!(writers.wait_to_hear(2), Ok(json!({ "files": [{ "path": name, "written": true }] })));
        assert_eq!(writers.chat.content(name), content);
    }
}

#[test]
fn a_change_of_a_file_that_has_changed_is_shown_again() {
    let writers = Writers::new(Value::Null, 1);
    writers.propose_and_wait("new\n", 1);
    writers.chat.put("a.txt", "one\ntwo\nmine\n");
    writers.chat.approve("status=pending");
    writers.chat.wait_for_words("nothing was written: the file has changed since");
    writers.chat.wait_for_diff(0, "-mine");
    assert_eq!((writers.chat.content("a.txt").as_str(), writers.heard(1)), ("one\ntwo\nmine\n", None));
    writers.chat.approve("status=pending");
    assert_eq!(writers.wait_to_hear(1), written());
    writers.finish("done");
    assert_eq!(writers.wait_for_end(), "done");
}

/// Nobody is asked about a change that cannot be made.
#[test]
fn a_proposal_that_names_a_file_twice_is_refused_at_once() {
    let writers = Writers::new(Value::Null, 1);
    let run = writers.chat.scripts.runs.borrow()["call_0"];
    let wanted = |name: &str, content: &str| WantedWrite { name: name.into(), is_page: false, content: content.into() };
    let files = vec![wanted("a.txt", "new\n"), wanted("./a.txt", "newer\n")];
    writers.chat.workspace.execution.propose_write(
        writers.chat.current(),
        &CallId("call_0".into()),
        run,
        files,
        LuaRef(1),
    );
    let problem = "`./a.txt` is the same file as another one that would be changed.";
    assert_eq!(writers.wait_to_hear(1), Err(problem.to_owned()));
    writers.finish("done");
    assert_eq!(writers.wait_for_end(), "done");
}

/// Whoever approves without a look at the change approves it for the file as it was when it was proposed.
#[test]
fn an_unseen_approval_overwrites_no_newer_text() {
    for is_killed in [false, true] {
        let mut writers = Writers::new(Value::Null, 1);
        writers.propose_and_wait("new\n", 1);
        writers.chat.put("a.txt", "one\ntwo\nmine\n");
        if is_killed {
            writers = writers.killed(None);
        }
        // However often they do: the new text stands on the screen, but they have not seen it.
        for _ in 0..2 {
            writers.chat.resolve("call_0", Resolution::Approve).unwrap();
            let words = "nothing was written: the file has changed since";
            writers.chat.drain_until("the refusal", |chat| chat.told().iter().any(|told| told.contains(words)));
            writers.chat.wait_for_pending(1);
            writers.chat.wait_for_diff(0, "-mine");
        }
        assert_eq!((writers.chat.content("a.txt").as_str(), writers.heard(1)), ("one\ntwo\nmine\n", None));
        // The user has seen it, and decides.
        writers.chat.approve("status=pending");
        writers.chat.drain_until("the file", |chat| chat.content("a.txt") == "new\n");
    }
}

/// The editor ends between an approval and the write. In the next one, a key that only goes on does not approve what is shown there.
#[test]
fn an_approval_from_before_a_kill_is_for_what_was_shown_then() {
    let writers = Writers::new(Value::Null, 1);
    writers.propose_and_wait("new\n", 1);
    let pending = writers.chat.text() + "\n";
    let journal = Journal::new(writers.chat.state("journal")).file(&writers.chat.work("notes.chat"));
    writers.chat.approve("status=pending");
    // When the disk has answered, nothing more is drained: it is recorded, and goes no further.
    let is_recorded = || std::fs::read_to_string(&journal).unwrap().contains("\"approved\"");
    while !is_recorded() {
        writers.chat.drain_once();
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    writers.chat.put("a.txt", "one\ntwo\nmine\n");
    let writers = writers.killed(Some(&pending.replace("status=pending", "status=approved")));
    writers.chat.wait_for_diff(0, "-mine");
    writers.chat.go();
    writers.chat.wait_for_words("nothing was written: the file has changed since");
    writers.chat.wait_for_pending(1);
    assert_eq!(writers.chat.content("a.txt"), "one\ntwo\nmine\n");
    writers.chat.approve("status=pending");
    writers.chat.drain_until("the file", |chat| chat.content("a.txt") == "new\n");
}

#[test]
fn an_unseen_approval_writes_what_was_proposed() {
    for is_killed in [false, true] {
        let mut writers = Writers::new(Value::Null, 1);
        writers.propose_and_wait("new\n", 1);
        if is_killed {
            writers = writers.killed(None);
        }
        writers.chat.resolve("call_0", Resolution::Approve).unwrap();
        writers.chat.drain_until("the file", |chat| chat.content("a.txt") == "new\n");
    }
}

#[test]
fn nothing_is_asked_where_there_is_nothing_to_decide() {
    let writers = Writers::new(Value::Null, 1);
    writers.propose("call_0", "one\ntwo\n", 1);
    assert_eq!(writers.wait_to_hear(1), Ok(json!({ "files": [{ "path": "a.txt", "written": false }] })));
    writers.finish("done");
    assert_eq!(writers.wait_for_end(), "done");
    // What the user's own list approves is written.
    let writers = Writers::new(json!({ "tools": { "auto_approve": ["writer"] } }), 1);
    writers.propose("call_0", "new\n", 1);
    assert_eq!(writers.wait_to_hear(1), written());
    assert_eq!(writers.chat.content("a.txt"), "new\n");
    writers.finish("done");
    assert_eq!(writers.wait_for_end(), "done");
}

#[test]
fn what_cannot_be_written_is_told_at_once() {
    let writers = Writers::new(Value::Null, 1);
    let run = writers.chat.scripts.runs.borrow()["call_0"];
    let id = CallId("call_0".into());
    let outside = |name: &str, is_page| WantedWrite { name: name.into(), is_page, content: b"x".to_vec() };
    for (number, file, words) in [
        (1, outside("../x", true), "`..` is not allowed"),
        (2, outside("notes.chat", false), "notes.chat cannot be written"),
    ] {
        writers.chat.workspace.execution.propose_write(writers.chat.current(), &id, run, vec![file], LuaRef(number));
        let problem = writers.wait_to_hear(number).unwrap_err();
        assert!(problem.contains(words), "{problem}");
    }
    // Another run of this call may not speak for it.
    let file = outside("b.txt", false);
    writers.chat.workspace.execution.propose_write(writers.chat.current(), &id, run + 1, vec![file], LuaRef(3));
    assert!(writers.wait_to_hear(3).unwrap_err().contains("the call is over"));
    assert_eq!(writers.chat.waiting().len(), 0);
    writers.finish("done");
    assert_eq!(writers.wait_for_end(), "done");
}

#[test]
fn a_call_that_gets_another_end_is_stopped() {
    // Its deadline.
    let options = json!({ "tools": { "deadlines": { "approval": 3600 } } });
    let writers = Writers::new(options, 1);
    writers.propose_and_wait("new\n", 1);
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(2);
    writers.chat.host.clock.set(Some(later));
    assert_eq!(writers.chat.resolve("call_0", Resolution::Approve), Err("stale".to_owned()));
    writers.chat.wait_for("It was not written, and the call was ended.");
    assert_eq!((writers.stops.get(), writers.heard(1)), (1, None));
    // The user's own words in its block.
    let writers = Writers::new(Value::Null, 1);
    writers.propose_and_wait("new\n", 1);
    writers.chat.type_at(writers.chat.line_with("status=pending") + 1, "I did it.");
    writers.chat.go();
    writers.chat.wait_for_words(
        "your text in the block was used as the result, and the tool, which had begun before, did not go on.",
    );
    writers.chat.wait_for("`call_0`\n\n```\nI did it.");
    assert_eq!((writers.stops.get(), writers.heard(1)), (1, None));
    assert_eq!(writers.chat.content("a.txt"), "one\ntwo\n");
}

#[test]
fn a_call_whose_input_is_edited_starts_anew() {
    let writers = Writers::new(Value::Null, 1);
    writers.propose_and_wait("new\n", 1);
    writers.chat.replace("\"n\":0", "\"n\":7");
    writers.chat.settle();
    writers.chat.approve("status=pending");
    writers.chat.drain_until("the other call", |_| writers.starts.get() == 2);
    assert_eq!((writers.stops.get(), writers.heard(1)), (1, None));
    writers.propose_and_wait("newer\n", 2);
    writers.chat.approve("status=pending");
    assert_eq!(writers.wait_to_hear(2), written());
    writers.finish("seven");
    assert_eq!(writers.wait_for_end(), "seven");
    assert_eq!(writers.chat.content("a.txt"), "newer\n");
}

#[test]
fn an_edit_that_is_undone_changes_nothing() {
    let writers = Writers::new(Value::Null, 1);
    writers.propose_and_wait("new\n", 1);
    writers.chat.replace("\"n\":0", "\"n\":7");
    writers.chat.settle();
    writers.chat.undo();
    writers.chat.settle();
    writers.chat.approve("status=pending");
    assert_eq!(writers.wait_to_hear(1), written());
    writers.finish("done");
    assert_eq!(writers.wait_for_end(), "done");
    assert_eq!(writers.starts.get(), 1);
}

#[test]
fn ctrl_c_leaves_a_call_that_waits_and_ends_one_that_runs() {
    let writers = Writers::new(Value::Null, 1);
    writers.propose_and_wait("new\n", 1);
    writers.chat.stop();
    writers.chat.settle();
    assert_eq!((writers.chat.waiting().len(), writers.stops.get()), (1, 0));
    writers.chat.approve("status=pending");
    assert_eq!(writers.wait_to_hear(1), written());
    writers.chat.stop();
    writers.chat.wait_for("The user cancelled this call while it was running.");
    assert_eq!(writers.stops.get(), 1);
    writers.propose("call_0", "more\n", 2);
    assert!(writers.wait_to_hear(2).unwrap_err().contains("the call is over"));
    assert_eq!(writers.chat.content("a.txt"), "new\n");
}

#[test]
fn an_approval_that_is_stopped_at_once_writes_nothing() {
    let writers = Writers::new(Value::Null, 1);
    writers.propose_and_wait("new\n", 1);
    writers.chat.approve("status=pending");
    writers.chat.stop();
    writers.chat.drain_until("rest", |chat| chat.workspace.is_at_rest(chat.current()));
    let (waits, content) = (writers.chat.waiting().len(), writers.chat.content("a.txt"));
    // Either it was stopped in time and waits on, or the approval had its effect.
    assert!((waits == 1 && content == "one\ntwo\n") || (waits == 0 && writers.stops.get() == 1), "{waits} {content}");
    if waits == 1 {
        writers.chat.approve("status=pending");
        assert_eq!(writers.wait_to_hear(1), written());
    }
}

#[test]
fn two_calls_wait_and_are_decided_in_any_order() {
    let writers = Writers::new(Value::Null, 2);
    writers.propose_file("call_0", "b.txt", "first\n", 1);
    writers.propose("call_1", "second\n", 2);
    writers.chat.wait_for_pending(2);
    writers.chat.wait_for_diff(0, "+first");
    writers.chat.wait_for_diff(1, "+second");
    assert_eq!(writers.chat.resolve("call_1", Resolution::Approve), Ok(()));
    assert_eq!(writers.wait_to_hear(2), written());
    assert_eq!((writers.chat.content("a.txt").as_str(), writers.heard(1)), ("second\n", None));
    assert_eq!(writers.chat.resolve("call_0", Resolution::Reject(None)), Ok(()));
    assert!(writers.wait_to_hear(1).unwrap_err().contains("rejected"));
    assert_eq!(writers.chat.content("a.txt"), "second\n");
}

/// A tool writes the whole of a file. What it proposed before it could see another change would take that back.
#[test]
fn a_change_made_without_the_one_above_is_refused() {
    // In whichever order they propose.
    for order in [["call_0", "call_1"], ["call_1", "call_0"]] {
        let writers = Writers::new(Value::Null, 2);
        for call in order {
            let number = if call == "call_0" { 1 } else { 2 };
            writers.propose(call, &format!("one\ntwo\n{call}\n"), number);
            writers.chat.drain_until("the call", |chat| {
                chat.waiting().iter().any(|waiting| waiting.starts_with(call)) || writers.heard(number).is_some()
            });
        }
        let problem = writers.wait_to_hear(2).unwrap_err();
        assert!(problem.contains("before this one (call_0) also changes `a.txt`"), "{problem}");
        writers.chat.drain_until("the other", |chat| chat.waiting() == ["call_0 approval"]);
        writers.chat.wait_for_diff(0, "+call_0");
        writers.chat.approve("status=pending");
        assert_eq!(writers.wait_to_hear(1), written());
        // It looks again, and both lines are there.
        writers.propose("call_1", &(writers.chat.content("a.txt") + "call_1\n"), 3);
        writers.chat.wait_for_diff(0, "+call_1");
        writers.chat.approve("status=pending");
        assert_eq!(writers.wait_to_hear(3), written());
        assert_eq!(writers.chat.content("a.txt"), "one\ntwo\ncall_0\ncall_1\n");
    }
}

/// The same after a restart, where no tool is left that could hear of it.
#[test]
fn a_stored_change_takes_no_other_one_back() {
    let writers = Writers::new(Value::Null, 2);
    writers.propose("call_1", "one\ntwo\nlow\n", 2);
    writers.chat.drain_until("the call", |chat| chat.waiting() == ["call_1 approval"]);
    let writers = writers.killed(None);
    // The call above runs again, and proposes.
    writers.chat.wait_for("Run it again");
    writers.chat.approve("Run it again");
    writers.chat.drain_until("the tool", |_| writers.starts.get() == 1);
    writers.propose("call_0", "one\ntwo\nhigh\n", 1);
    writers.chat.drain_until("both", |chat| chat.waiting().len() == 2);
    writers.chat.wait_for_diff(0, "+high");
    writers.chat.resolve("call_1", Resolution::Approve).unwrap();
    writers.chat.resolve("call_0", Resolution::Approve).unwrap();
    // The first one is written. The other was approved for another content, and waits again, with what it takes back on the screen.
    writers.chat.drain_until("the first", |chat| chat.content("a.txt") == "one\ntwo\nlow\n");
    writers.chat.wait_for_diff(0, "-low");
    assert_eq!((writers.chat.waiting(), writers.heard(1)), (vec!["call_0 approval".to_owned()], None));
}

/// What becomes of a call in an editor that was killed while it waited, or between two steps.
#[test]
fn after_a_restart_the_stored_change_is_written() {
    let writers = Writers::new(Value::Null, 1);
    let running = writers.chat.text() + "\n";
    writers.propose_and_wait("stored\n", 1);
    // The file was not written since the tool began.
    let writers = writers.killed(Some(&running));
    writers.chat.wait_for("status=pending question=\"Write a.txt?\"");
    writers.chat.wait_for_diff(0, "+stored");
    // And the file was.
    let writers = writers.killed(None);
    writers.chat.wait_for_diff(0, "+stored");
    assert_eq!(writers.chat.content("a.txt"), "one\ntwo\n");
    writers.chat.approve("status=pending");
    writers.chat.wait_for("@Assistant:\nfine");
    assert_eq!((writers.chat.content("a.txt").as_str(), writers.starts.get()), ("stored\n", 0));
    let result = writers.chat.results(0)[0].clone();
    assert!(
        result.starts_with("Wrote `a.txt`.") && result.contains("The tool did not continue afterwards"),
        "{result}"
    );
}

#[test]
fn after_a_restart_a_rejection_says_what_happened() {
    let writers = Writers::new(Value::Null, 1);
    writers.propose_and_wait("stored\n", 1);
    let writers = writers.killed(None);
    writers.chat.reject("status=pending", None);
    writers.chat.wait_for("@Assistant:\nfine");
    assert_eq!(writers.chat.results(0), ["Error: The user rejected the change, and nothing of it was written."]);
    assert_eq!((writers.chat.content("a.txt").as_str(), writers.starts.get()), ("one\ntwo\n", 0));
}

#[test]
fn a_kill_after_the_write_asks_about_the_tool() {
    let writers = Writers::new(Value::Null, 1);
    writers.propose_and_wait("stored\n", 1);
    writers.chat.approve("status=pending");
    assert_eq!(writers.wait_to_hear(1), written());
    let journal = Journal::new(writers.chat.state("journal")).file(&writers.chat.work("notes.chat"));
    writers.chat.wait_for_disk(&journal, "went-on");
    // It goes on, and nobody knows how far it gets.
    let writers = writers.killed(None);
    writers.chat.wait_for("Run it again?");
    assert_eq!((writers.chat.content("a.txt").as_str(), writers.starts.get()), ("stored\n", 0));
}

#[test]
fn a_buffer_that_is_wiped_ends_the_run() {
    let writers = Writers::new(Value::Null, 1);
    writers.propose_and_wait("stored\n", 1);
    writers.chat.write();
    writers.chat.wipe(writers.chat.current());
    assert_eq!(writers.stops.get(), 1);
    let buffer = writers.chat.edit("notes.chat");
    writers.chat.go_to(buffer);
    writers.chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
    writers.chat.wait_for_diff(0, "+stored");
    writers.chat.approve("status=pending");
    writers.chat.wait_for("@Assistant:\nfine");
    assert_eq!((writers.chat.content("a.txt").as_str(), writers.starts.get()), ("stored\n", 1));
}

#[test]
fn a_tool_that_answers_too_early_ends_with_an_error() {
    let writers = Writers::new(Value::Null, 1);
    writers.propose_and_wait("new\n", 1);
    writers.finish("too early");
    writers.chat.settle();
    assert_eq!(writers.chat.waiting().len(), 1, "it still waits");
    writers.chat.approve("status=pending");
    assert!(writers.wait_for_end().contains("so its answer is lost"));
    assert_eq!(writers.heard(1), None);
}
