//! A journal that cannot be read: no call starts and nothing is decided before it can be.

use std::{
    cell::{Cell, RefCell},
    fs::{self, File},
    path::PathBuf,
    rc::Rc,
    time::Duration,
};

use flemma_journal::{Actor, CallKey, Event, Record, RecordedResult, Role};
use flemma_model::ToolInput;
use flemma_runtime::Journal;
use flemma_workspace::{Resolution, ToolAnswer};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    harness::{Harness, Setup, calls, prose},
    scripts::text,
};

/// A conversation with the call `a` of `tool`, which is approved by a policy, in this state.
struct Desk {
    chat: Harness,
    runs: Rc<Cell<usize>>,
}

fn call(tool: &str, status: &str) -> String {
    let block = format!("\n@You:\n**Tool Result:** `a`\n\n```flemma:tool status={status}\n```\n");
    let block = if status.is_empty() { "" } else { &block };
    format!("@You:\nHi\n\n@Assistant:\n**Tool Use:** `{tool}` (`a`)\n\n```json\n{{}}\n```\n{block}")
}

impl Desk {
    fn new(events: &[Event]) -> Self {
        let options = json!({ "tools": { "auto_approve": ["tool"], "autopilot": { "enabled": false } } });
        let chat = Harness::start(Setup { options, ..Setup::default() }, []);
        let desk = Self { chat, runs: Rc::default() };
        desk.register("tool", json!({}));
        desk.record("other.chat", events);
        desk
    }

    fn register(&self, name: &str, definition: Value) {
        let runs = Rc::clone(&self.runs);
        self.chat.register_with(name, definition, move |_, answer| {
            runs.set(runs.get() + 1);
            answer.finish(text("from the tool"));
            None
        });
    }

    /// Appends events of the call to the journal of a conversation.
    fn record(&self, name: &str, events: &[Event]) {
        let path = self.chat.work(name);
        let by = Actor { role: Role::User, process: 1, host: "another".to_owned() };
        let record = |event: &Event| Record {
            at: Timestamp::UNIX_EPOCH,
            conversation: path.to_string_lossy().into_owned(),
            key: CallKey::of(&"a".into(), "tool", &ToolInput::Json(json!({}))),
            event: event.clone(),
            by: by.clone(),
        };
        let journal = Journal::new(self.chat.state("journal"));
        journal.append(&path, events.iter().map(record).collect(), |written| written.unwrap());
        assert!(journal.settle(Duration::from_secs(60)));
    }

    fn journal(&self, name: &str) -> PathBuf {
        Journal::new(self.chat.state("journal")).file(&self.chat.work(name))
    }

    /// Makes a journal one that cannot be read.
    fn break_journal(&self, name: &str) {
        let file = self.journal(name);
        if file.exists() {
            fs::rename(&file, file.with_extension("good")).unwrap();
        }
        fs::create_dir_all(&file).unwrap();
    }

    fn fix_journal(&self, name: &str) {
        let file = self.journal(name);
        fs::remove_dir(&file).unwrap();
        if file.with_extension("good").exists() {
            fs::rename(file.with_extension("good"), file).unwrap();
        }
    }

    /// Opens the conversation.
    fn open(&self, text: &str) {
        self.chat.put("other.chat", text);
        self.chat.edit("other.chat");
    }

    fn times_told(&self, words: &str) -> usize {
        self.chat.host.told.borrow().iter().filter(|told| told.contains(words)).count()
    }

    fn wait_until_settled(&self) {
        let buffer = self.chat.current();
        self.chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
        self.chat.settle();
    }
}

const UNREADABLE: &str = "its journal cannot be read";

fn ended() -> [Event; 3] {
    let result = RecordedResult { output: "from the journal".to_owned(), ..RecordedResult::default() };
    [Event::Opened, Event::Started, Event::Resolved(result)]
}

#[test]
fn no_key_starts_or_decides_anything_before_it_is_read() {
    type Press = fn(&Harness);
    let presses: [(&str, Press); 5] = [
        ("Ctrl-]", |chat| chat.go()),
        ("Alt-Enter", |chat| chat.execute("Tool Use")),
        ("approve", |chat| chat.approve("Tool Use")),
        ("reject", |chat| chat.reject("Tool Use", Some("no"))),
        ("always", |chat| chat.always("Tool Use")),
    ];
    for status in ["", "pending", "approved", "running"] {
        for (key, press) in presses {
            let row = format!("{key}, status {status:?}");
            let desk = Desk::new(&ended());
            desk.break_journal("other.chat");
            desk.open(&call("tool", status));
            desk.chat.drain_until("the reason", |_| desk.times_told(UNREADABLE) == 1);
            let told = desk.chat.told().join("\n");
            let journal = desk.journal("other.chat").display().to_string();
            let sentence = format!(
                "nothing can be sent, run or decided in other.chat, because {UNREADABLE}: {journal}: Is a directory. It is \
                 read again with your next key (:help flemma-journal-unread)"
            );
            assert!(told.ends_with(&sentence), "{told}");
            let before = desk.chat.text();
            for again in 2..4 {
                press(&desk.chat);
                desk.chat.drain_until(&format!("{row}: the reason again"), |_| desk.times_told(UNREADABLE) == again);
                assert_eq!((desk.chat.text(), desk.runs.get()), (before.clone(), 0), "{row}");
            }
            desk.fix_journal("other.chat");
            assert_eq!((desk.chat.text(), desk.runs.get()), (before, 0), "{row}");
            // The same key goes on.
            press(&desk.chat);
            desk.chat.drain_until(&row, |chat| chat.text().contains("from the journal"));
            desk.wait_until_settled();
            assert_eq!(desk.runs.get(), 0, "{row}: it has run before");
        }
    }
}

#[test]
fn a_program_is_told_why_and_may_try_again() {
    let desk = Desk::new(&[Event::Opened]);
    desk.break_journal("other.chat");
    desk.open(&call("tool", "pending"));
    desk.wait_until_settled();
    for resolution in [Resolution::Approve, Resolution::Reject(None), Resolution::Answer(json!("x"))] {
        let problem = desk.chat.resolve("a", resolution).unwrap_err();
        assert!(problem.contains(UNREADABLE), "{problem}");
        desk.wait_until_settled();
    }
    assert_eq!(desk.times_told(UNREADABLE), 1, "the program was told, and the user knows");
    desk.fix_journal("other.chat");
    let problem = desk.chat.resolve("a", Resolution::Approve).unwrap_err();
    assert!(problem.contains(UNREADABLE), "it is tried again now: {problem}");
    desk.wait_until_settled();
    assert_eq!((desk.runs.get(), desk.chat.resolve("a", Resolution::Approve)), (0, Ok(())));
    desk.chat.wait_for("from the tool");
    assert_eq!(desk.runs.get(), 1);
}

#[test]
fn a_key_waits_for_a_journal_that_is_locked() {
    let desk = Desk::new(&ended());
    let lock = File::open(desk.journal("other.chat")).unwrap();
    lock.lock().unwrap();
    desk.open(&call("tool", ""));
    desk.chat.go();
    desk.chat.wait_for_words("the journal of this conversation is still being read");
    assert_eq!((desk.runs.get(), desk.chat.text().contains("Tool Result")), (0, false));
    drop(lock);
    desk.chat.drain_until("the result", |chat| chat.text().contains("from the journal"));
    assert_eq!((desk.runs.get(), desk.times_told(UNREADABLE)), (0, 0));
}

#[test]
fn a_key_that_waits_can_be_taken_back() {
    let desk = Desk::new(&[]);
    desk.record("other.chat", &[Event::Opened]);
    let lock = File::open(desk.journal("other.chat")).unwrap();
    lock.lock().unwrap();
    desk.open(&call("tool", ""));
    desk.chat.go();
    desk.chat.stop();
    drop(lock);
    desk.wait_until_settled();
    assert_eq!((desk.runs.get(), desk.chat.text().contains("Tool Result")), (0, false));
}

/// The rights to answer calls of `slow`.
type Answers = Rc<RefCell<Vec<ToolAnswer>>>;

/// A conversation in which `slow` is running and `tool` waits for its turn.
fn in_a_round() -> (Desk, Answers) {
    let options = json!({ "tools": {
        "auto_approve": ["slow", "tool"], "max_concurrent": 1, "autopilot": { "max_turns": 1 },
    } });
    let replies = [calls([("slow", json!({})), ("tool", json!({}))]), prose("fine")];
    let chat = Harness::start(Setup { options, ..Setup::default() }, replies);
    let desk = Desk { chat, runs: Rc::default() };
    desk.register("tool", json!({}));
    let answers = Answers::default();
    let kept = answers.clone();
    desk.chat.register_with("slow", json!({ "async": true }), move |_, answer| {
        kept.borrow_mut().push(answer);
        None
    });
    desk.chat.go();
    desk.chat.drain_until("the first call", |_| !answers.borrow().is_empty());
    (desk, answers)
}

/// `:saveas`.
fn save_as(desk: &Desk, name: &str) {
    let chat = &desk.chat;
    chat.put(name, chat.text() + "\n");
    *chat.buffer().file.borrow_mut() = chat.work(name).to_string_lossy().into_owned();
    chat.workspace.renamed(chat.current());
    chat.settle();
}

#[test]
fn saveas_takes_what_was_recorded_along() {
    for has_name in [true, false] {
        // The call has run, its result is undone, and the conversation has got another name twice.
        let options = json!({ "tools": { "auto_approve": ["tool"] } });
        let replies = [calls([("tool", json!({}))]), prose("fine"), prose("again")];
        let chat = Harness::start(Setup { options, ..Setup::default() }, replies);
        let desk = Desk { chat, runs: Rc::default() };
        desk.register("tool", json!({}));
        if !has_name {
            desk.chat.unnamed("@You:\nHello");
        }
        desk.chat.go();
        desk.chat.wait_for("@Assistant:\nfine");
        for name in ["first.chat", "second.chat", "first.chat", "third.chat"] {
            save_as(&desk, name);
            if name == "first.chat" {
                desk.wait_until_settled();
            }
        }
        desk.wait_until_settled();
        while desk.chat.text().contains("Tool Result") {
            desk.chat.undo();
        }
        assert!(desk.chat.text().contains("Tool Use"));
        desk.chat.go();
        desk.chat.wait_for("@Assistant:\nagain");
        assert_eq!(desk.runs.get(), 1, "has a name: {has_name}");
        let journal = Journal::new(desk.chat.state("journal"));
        let records = journal.read(&desk.chat.work("third.chat")).unwrap();
        let ends = records.iter().filter(|record| matches!(record.event, Event::Resolved(_))).count();
        assert_eq!(ends, 1, "{records:#?}");
    }
}

#[test]
fn saveas_does_not_get_around_a_journal_that_is_unread() {
    let desk = Desk::new(&ended());
    desk.break_journal("other.chat");
    desk.open(&call("tool", ""));
    desk.wait_until_settled();
    save_as(&desk, "copy.chat");
    desk.wait_until_settled();
    desk.chat.go();
    desk.wait_until_settled();
    assert_eq!((desk.runs.get(), desk.chat.text().contains("Tool Result")), (0, false));
    desk.fix_journal("other.chat");
    desk.chat.go();
    desk.chat.drain_until("the result", |chat| chat.text().contains("from the journal"));
    assert_eq!(desk.runs.get(), 0);
}

#[test]
fn a_round_waits_for_the_journal_of_another_name() {
    for is_readable in [true, false] {
        let (desk, answers) = in_a_round();
        desk.record("other.chat", &[Event::Opened]);
        let lock = File::open(desk.journal("other.chat")).unwrap();
        if is_readable {
            lock.lock().unwrap();
        } else {
            desk.break_journal("other.chat");
        }
        save_as(&desk, "other.chat");
        answers.borrow_mut().remove(0).finish(text("slow is done"));
        desk.chat.drain_until("the first result", |chat| chat.text().contains("slow is done"));
        desk.chat.settle();
        assert_eq!(desk.runs.get(), 0, "readable: {is_readable}");
        if is_readable {
            drop(lock);
        } else {
            desk.chat.drain_until("the reason", |_| desk.times_told(UNREADABLE) > 0);
            desk.chat.wait_for_pending(1);
            assert_eq!(desk.runs.get(), 0);
            desk.fix_journal("other.chat");
            desk.chat.execute("status=pending");
        }
        desk.chat.drain_until("the second result", |chat| chat.text().contains("from the tool"));
        assert_eq!(desk.runs.get(), 1, "readable: {is_readable}");
    }
}

#[test]
fn a_client_call_waits_for_the_journal_of_another_name() {
    let options = json!({ "tools": { "auto_approve": ["slow", "pick"], "max_concurrent": 1 } });
    let chat = Harness::start(Setup { options, ..Setup::default() }, [calls([("pick", json!({}))]), prose("fine")]);
    let desk = Desk { chat, runs: Rc::default() };
    desk.register("pick", json!({ "executor": "client" }));
    desk.chat.host.has_ui.set(false);
    desk.chat.go();
    desk.chat.wait_for("kind=client_exec");
    desk.break_journal("other.chat");
    save_as(&desk, "other.chat");
    desk.chat.drain_until("the reason", |_| desk.times_told(UNREADABLE) == 1);
    desk.chat.host.has_ui.set(true);
    desk.chat.workspace.ui_attached();
    desk.wait_until_settled();
    assert_eq!((desk.runs.get(), desk.chat.text().contains("kind=client_exec")), (0, true));
    desk.fix_journal("other.chat");
    desk.chat.go();
    desk.chat.drain_until("the result", |chat| chat.text().contains("from the tool"));
    assert_eq!(desk.runs.get(), 1);
}

/// The most lines of a file that are parsed at a time.
const SLICE: usize = 10_000;

#[test]
fn a_long_file_is_parsed_in_slices_for_its_journal() {
    let desk = Desk::new(&ended());
    let long = "A line of a long message.\n".repeat(6 * SLICE);
    desk.chat.put("other.chat", format!("@You:\n{long}\n{}", call("tool", "running")));
    let buffer = desk.chat.load("other.chat");
    let conversation = desk.chat.workspace.attach(buffer);
    let parsed = Cell::new(conversation.page.parsed());
    desk.chat.workspace.ui_attached();
    desk.chat.drain_until("the result in the journal", |chat| {
        let before = parsed.replace(conversation.page.parsed());
        assert!(parsed.get() - before <= SLICE, "from {before} to {} at once", parsed.get());
        chat.text().contains("from the journal")
    });
    assert!(parsed.get() > 6 * SLICE);
}
