//! The table of `:help flemma-reopening`: what becomes of a call when its file is opened, for all that the journal and the
//! block can say.

use std::{
    cell::Cell,
    fs,
    rc::Rc,
    time::{Duration, SystemTime},
};

use flemma::{
    journal::{Actor, CallKey, Decision, Event, Record, RecordedResult, Role},
    model::ToolInput,
    runtime::Journal,
    workspace::Resolution,
};
use jiff::Timestamp;
use serde_json::json;

use super::{
    harness::{Harness, Setup},
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
