//! The table of `:help flemma-reopening`: what becomes of a call when its file is opened, for all that the journal and the
//! block can say.

use std::{
    cell::{Cell, RefCell},
    fs,
    rc::Rc,
    time::{Duration, SystemTime},
};

use flemma_journal::{Actor, CallKey, Decision, Event, Record, RecordedResult, Role};
use flemma_model::ToolInput;
use flemma_runtime::{Journal, holder::BufferLocks};
use flemma_workspace::{Command, Resolution, ToolAnswer};
use jiff::Timestamp;
use serde_json::json;

use super::{
    harness::{Harness, Setup, calls, prose},
    scripts::text,
};

/// What the journal says of the call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Journaled {
    Nothing,
    Waiting,
    Approved,
    Started,
    Ended,
}

impl Journaled {
    const ALL: [Self; 5] = [Self::Nothing, Self::Waiting, Self::Approved, Self::Started, Self::Ended];

    fn events(self) -> Vec<Event> {
        let result = RecordedResult { output: "from the journal".to_owned(), ..RecordedResult::default() };
        let all = [Event::Opened, Event::Decided(Decision::Approved), Event::Started, Event::Resolved(result)];
        let count = match self {
            Self::Nothing => 0,
            Self::Waiting => 1,
            Self::Approved => 2,
            Self::Started => 3,
            Self::Ended => 4,
        };
        all.into_iter().take(count).collect()
    }
}

/// What has become of the call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// Its block is as it was.
    Untouched,
    /// It waits for approval.
    Asks,
    /// It waits for approval, and its block asks whether to run it again.
    AsksAgain,
    /// The tool has run, once.
    Runs,
    /// Its result came from the journal.
    Restored,
    /// It was rejected or denied.
    Refused,
}

/// The call, with this status in its block; empty for no block.
fn file(status: &str) -> String {
    let call = "@You:\nHi\n\n@Assistant:\n**Tool Use:** `tool` (`a`)\n\n```json\n{}\n```\n";
    if status.is_empty() {
        call.to_owned()
    } else {
        format!("{call}\n@You:\n**Tool Result:** `a`\n\n```flemma:tool status={status}\n```\n")
    }
}

/// Opens a file with this call, and then presses Ctrl-]: `expected` is what becomes of the call by the two. If the journal
/// `is_late`, it cannot be read at first.
fn check(journaled: Journaled, status: &str, is_idempotent: bool, is_late: bool, expected: (Fate, Fate)) {
    // Nothing is sent, so that nothing else happens to the file.
    let options = json!({ "tools": { "autopilot": { "enabled": false } } });
    let chat = Harness::start(Setup { options, ..Setup::default() }, []);
    let runs = Rc::new(Cell::new(0));
    let count = Rc::clone(&runs);
    chat.register_with("tool", json!({ "idempotent": is_idempotent }), move |_, answer| {
        count.set(count.get() + 1);
        answer.finish(text("from the tool"));
        None
    });
    let path = chat.work("other.chat");
    chat.put("other.chat", file(status));
    let key = CallKey::of(&"a".into(), "tool", &ToolInput::Json(json!({})));
    let by = Actor { role: Role::User, process: 1, host: "another".to_owned() };
    let conversation = path.to_string_lossy().into_owned();
    let record = |event| Record {
        at: Timestamp::UNIX_EPOCH,
        conversation: conversation.clone(),
        key: key.clone(),
        event,
        by: by.clone(),
    };
    let journal = Journal::new(chat.state("journal"));
    journal.append(&path, journaled.events().into_iter().map(record).collect(), |written| written.unwrap());
    assert!(journal.settle(Duration::from_secs(60)));
    let journal_file = journal.file(&path);
    if is_late {
        let _ = fs::rename(&journal_file, journal_file.with_extension("good"));
        fs::create_dir_all(&journal_file).unwrap();
    }

    let buffer = chat.edit("other.chat");
    chat.go_to(buffer);
    let wait_until_settled = || {
        chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
        chat.settle();
    };
    wait_until_settled();
    if is_late {
        let before = chat.text();
        for _ in 0..2 {
            chat.go();
            wait_until_settled();
            assert_eq!((chat.text(), runs.get()), (before.clone(), 0), "{journaled:?}, status {status:?}: not read");
        }
        fs::remove_dir(&journal_file).unwrap();
        let _ = fs::rename(journal_file.with_extension("good"), &journal_file);
        chat.resolve("no such call", Resolution::Approve).unwrap_err();
        wait_until_settled();
    }
    let is = |expected: Fate, before: &str| {
        let now = chat.text();
        let fate = match runs.get() {
            0 if now.contains("from the journal") => Fate::Restored,
            0 if now.contains("(error)") => Fate::Refused,
            0 if now.contains("Run it again?") => Fate::AsksAgain,
            0 if now == before => Fate::Untouched,
            0 if now.contains("status=pending") => Fate::Asks,
            1 if now.contains("from the tool") => Fate::Runs,
            _ => return false,
        };
        fate == expected && !chat.conversation().is_busy()
    };
    let row = format!("{journaled:?}, status {status:?}, idempotent {is_idempotent}, late {is_late}");
    let before = chat.text();
    let untouched = file(status).trim_end().to_owned();
    chat.drain_until(&format!("{row}: {:?}", expected.0), |_| is(expected.0, &untouched));
    if !matches!(expected.0, Fate::Runs | Fate::Restored) {
        chat.go();
    }
    chat.drain_until(&format!("{row}, Ctrl-]: {:?}", expected.1), |_| is(expected.1, &before));
    chat.settle();
    assert!(is(expected.1, &before) && chat.sent() == 0, "{row}: it does not stay so");
}

#[test]
#[ignore = "slow"]
fn a_file_is_opened_again_as_the_help_says() {
    use Fate::{Asks, AsksAgain, Refused, Restored, Runs, Untouched};
    use Journaled::{Approved, Ended, Nothing, Started, Waiting};
    for journaled in Journaled::ALL {
        for status in ["", "pending", "approved", "running", "rejected", "denied"] {
            for is_idempotent in [false, true] {
                let expected = match (journaled, status) {
                    (Ended, _) => (Restored, Restored),
                    (_, "rejected" | "denied") => (Untouched, Refused),
                    (Started, _) if is_idempotent => (Runs, Runs),
                    (Started, "") => (Untouched, AsksAgain),
                    (Started, "pending" | "approved" | "running") => (AsksAgain, AsksAgain),
                    (Approved, "" | "approved") => (Untouched, Runs),
                    (Approved | Nothing | Waiting, "pending") => (Untouched, Untouched),
                    (Approved | Nothing | Waiting, _) => (Untouched, Asks),
                    (Started, other) => panic!("there is no row for {other}"),
                };
                for is_late in [false, true] {
                    check(journaled, status, is_idempotent, is_late, expected);
                }
            }
        }
    }
}

/// Opens a conversation that was last written at second 100, and that has the calls with these ids. In the journal, the
/// call `a` started at `started`, if it did, and ended. Gives the message about calls that the file lacks.
fn missing(started: Option<i64>, calls: &str) -> Option<String> {
    let options = json!({ "tools": { "autopilot": { "enabled": false } } });
    let chat = Harness::start(Setup { options, ..Setup::default() }, []);
    let path = chat.work("other.chat");
    chat.put("other.chat", if calls.is_empty() { "@You:\nHi\n".to_owned() } else { file(calls) });
    let written = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
    fs::File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
    let record = |(event, second)| Record {
        at: Timestamp::from_second(second).unwrap(),
        conversation: path.to_string_lossy().into_owned(),
        key: CallKey::of(&"a".into(), "tool", &ToolInput::Json(json!({}))),
        event,
        by: Actor { role: Role::Tool, process: 1, host: "another".to_owned() },
    };
    let started = started.map(|second| (Event::Started, second));
    let events = [(Event::Opened, 1)].into_iter().chain(started);
    let events = events.chain([(Event::Resolved(RecordedResult::default()), 1000)]).map(record);
    let journal = Journal::new(chat.state("journal"));
    journal.append(&path, events.collect(), |written| written.unwrap());
    assert!(journal.settle(Duration::from_secs(60)));
    let buffer = chat.edit("other.chat");
    chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
    chat.settle();
    let told = chat.told();
    assert!(told.iter().filter(|told| told.contains("not in this file")).count() < 2, "{told:?}");
    told.into_iter().find(|told| told.contains("not in this file"))
}

#[test]
fn calls_that_a_file_was_never_written_with_are_named() {
    let told = missing(Some(200), "").expect("it ran after the file was written");
    assert!(told.contains("`tool` (a, 1970-01-01 00:03 UTC)"), "{told}");
    assert_eq!(missing(Some(50), ""), None, "the file was written after it began, so the user has deleted it");
    assert_eq!(missing(None, ""), None, "it did not run");
    assert_eq!(missing(Some(200), "running"), None, "its result is restored");
}

/// Registers `tool`, which waits for approval and counts its runs, and `first`, which runs until something ends it.
fn register(chat: &Harness) -> (Rc<Cell<usize>>, Rc<RefCell<Option<ToolAnswer>>>) {
    let (runs, first) = (Rc::new(Cell::new(0)), Rc::new(RefCell::new(None)));
    let (count, kept) = (Rc::clone(&runs), Rc::clone(&first));
    chat.register_with("tool", json!({ "approval": "requires_approval" }), move |_, answer| {
        count.set(count.get() + 1);
        answer.finish(text("from the tool"));
        None
    });
    chat.register_with("first", json!({ "async": true, "approval": "auto" }), move |_, answer| {
        *kept.borrow_mut() = Some(answer);
        None
    });
    (runs, first)
}

/// Approves `tool` in this way, and this comes before its start. Says how often the tool has run when the file was opened again and
/// Ctrl-] was pressed.
fn runs_after(way: &str, obstacle: &str) -> usize {
    let row = format!("{way}, {obstacle}");
    let options = json!({ "tools": { "max_concurrent": 1 } });
    let is_queued = way == "behind another call";
    let both = [("tool", json!({ "n": 1 })), ("first", json!({}))];
    let reply = calls(both.into_iter().take(if is_queued { 2 } else { 1 }));
    let chat = Harness::start(Setup { options: options.clone(), ..Setup::default() }, [reply]);
    let (runs, first) = register(&chat);
    chat.go();
    chat.drain_until("the call", |chat| {
        chat.text().contains("status=pending") && first.borrow().is_some() == is_queued
    });
    let buffer = chat.current();
    chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
    let line = chat.line_with("status=pending");
    let id = "call_0".into();
    // Nothing is heard of the disk before the obstacle comes.
    match way {
        "Alt-Enter" => chat.workspace.dispatch(buffer, Command::Execute { line }),
        "written by hand" => {
            chat.replace("status=pending", "status=approved");
            chat.workspace.dispatch(buffer, Command::Advance);
        }
        "a program" => chat.workspace.resolve_later(buffer, &id, Resolution::Approve, Role::Script, |_, _| {}),
        _ => chat.resolve("call_0", Resolution::Approve).unwrap(),
    }
    let mut saved = None;
    match obstacle {
        "the editor exits" => chat.workspace.wind_up(),
        "the lock is lost" => {
            saved = Some(chat.text());
            drop(BufferLocks::default().steal(&chat.state("locks"), &chat.work("notes.chat")).unwrap());
            first.take().unwrap().finish(text("done"));
            chat.wait_for_words("notes.chat was");
        }
        "the disk is full" => {
            let journal = Journal::new(chat.state("journal")).file(&chat.work("notes.chat"));
            fs::rename(&journal, journal.with_extension("good")).unwrap();
            fs::create_dir(&journal).unwrap();
            first.take().unwrap().finish(text("done"));
            chat.wait_for_words("could not be recorded");
            fs::remove_dir(&journal).unwrap();
            fs::rename(journal.with_extension("good"), &journal).unwrap();
        }
        "the user stops" => chat.stop(),
        "the user edits it" => chat.replace("{\"n\":1}", "{\"n\":2}"),
        other => panic!("{other} does not happen"),
    }
    chat.drain_until(&row, |chat| !chat.conversation().is_busy() && !chat.workspace.calls.is_resolving(buffer));
    assert_eq!(runs.get(), 0, "{row}: it has started\n{}", chat.text());
    let saved = saved.unwrap_or_else(|| chat.text());
    let chat = chat.kill(&saved, options, [prose("fine")]);
    let (runs, _first) = register(&chat);
    let buffer = chat.edit("notes.chat");
    chat.go_to(buffer);
    let wait = |chat: &Harness| {
        chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
        chat.settle();
    };
    wait(&chat);
    if chat.text().contains("Run it again?") {
        chat.resolve("call_1", Resolution::Reject(None)).unwrap();
    }
    assert_eq!(runs.get(), 0, "{row}: it was opened");
    chat.go();
    wait(&chat);
    let deadline = std::time::Instant::now() + Duration::from_millis(500);
    while runs.get() == 0 && std::time::Instant::now() < deadline {
        chat.drain_once();
    }
    runs.get()
}

#[test]
#[ignore = "slow"]
fn an_acknowledged_approval_outlives_a_start_taken_back() {
    for (way, obstacle, expected) in [
        ("Alt-Enter", "the editor exits", 1),
        ("written by hand", "the editor exits", 1),
        ("a program", "the editor exits", 1),
        ("behind another call", "the editor exits", 1),
        ("behind another call", "the lock is lost", 1),
        ("behind another call", "the disk is full", 1),
        ("Alt-Enter", "the user stops", 0),
        ("written by hand", "the user stops", 0),
        ("a program", "the user stops", 0),
        ("behind another call", "the user stops", 0),
        ("Alt-Enter", "the user edits it", 0),
        ("a program", "the user edits it", 0),
    ] {
        assert_eq!(runs_after(way, obstacle), expected, "{way}, {obstacle}");
    }
}
