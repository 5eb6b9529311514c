//! Calls are judged when it is known what that needs of the system, and the main thread goes on until then. Here it is a shell that
//! takes its time to say what it is.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use flemma_journal::{Actor, CallKey, Decision, Event, Record, Role};
use flemma_model::ToolInput;
use flemma_runtime::Journal;
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    super::http::Reply,
    harness::{Harness, Setup, bash, calls, prose},
    replies::commands,
};

/// A shell that says what it is when it may.
struct Slow(TempDir);

impl Slow {
    fn new() -> Self {
        let slow = Self(tempfile::tempdir().unwrap());
        let script = "#!/bin/sh\nwhile [ -e \"$0\" ] && [ ! -e \"$0.go\" ]; do sleep 0.02; done; exec bash \"$@\"\n";
        fs::write(slow.path(), script).unwrap();
        fs::set_permissions(slow.path(), fs::Permissions::from_mode(0o755)).unwrap();
        slow
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("slow")
    }

    fn answers(&self) {
        fs::write(self.0.path().join("slow.go"), "").unwrap();
    }

    /// A conversation with these replies, in which a rule approves `echo`.
    fn chat(&self, replies: impl IntoIterator<Item = Reply>) -> Harness {
        let options = json!({
            "tools": { "auto_approve": ["bash(echo *)", "read"], "bash": { "shell": self.path() } }
        });
        Harness::start(Setup { options, files: &[("a.txt", "here\n")], ..Setup::default() }, replies)
    }
}

/// Presses Ctrl-], and waits until the calls of the reply are being judged.
fn ask(chat: &Harness) {
    chat.go();
    chat.drain_until("the calls", |chat| chat.text().contains("**Tool Use:**") && judges(chat));
}

fn judges(chat: &Harness) -> bool {
    let has_replied = chat.host.announced.borrow().iter().any(|moment| moment.starts_with("finished"));
    has_replied && chat.conversation().is_busy() && !chat.text().contains("flemma:tool")
}

/// Lets this much time pass.
fn pass(chat: &Harness, time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        chat.drain_once();
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_call_that_a_rule_approves_runs_however_late_it_is_known() {
    let slow = Slow::new();
    let chat = slow.chat([commands(&["echo one"]), prose("fine")]);
    ask(&chat);
    chat.status_has("the calls are being judged");
    pass(&chat, Duration::from_secs(2));
    assert!(judges(&chat) && !chat.text().contains("flemma:tool"), "{}", chat.text());
    slow.answers();
    chat.wait_for("@Assistant:\nfine");
    assert!(!chat.host.announced.borrow().iter().any(|moment| moment.starts_with("pending")));
    assert_eq!(chat.told(), [""; 0]);
}

#[test]
fn a_review_of_a_call_that_is_judged_says_so() {
    let slow = Slow::new();
    let write = json!({ "path": "a.txt", "content": "new\n" });
    let chat = slow.chat([calls([("bash", bash("echo one")), ("write", write)]), prose("fine")]);
    ask(&chat);
    assert_eq!(chat.review("call_1"), Err("`write` is being judged".to_owned()));
    slow.answers();
    chat.wait_for_pending(1);
}

#[test]
fn ctrl_c_ends_it_and_the_answer_starts_nothing() {
    let slow = Slow::new();
    let chat = slow.chat([commands(&["echo one"]), prose("fine")]);
    ask(&chat);
    chat.stop();
    assert!(!chat.conversation().is_busy());
    slow.answers();
    pass(&chat, Duration::from_millis(300));
    assert!(!chat.text().contains("flemma:tool") && !chat.text().contains("\none\n"), "{}", chat.text());
    // The next key has it judged anew.
    chat.go();
    chat.wait_for("@Assistant:\nfine");
}

#[test]
fn one_that_does_not_answer_leaves_the_others_alone() {
    let slow = Slow::new();
    let read = json!({ "label": null, "path": "a.txt", "offset": null, "limit": null });
    let reply = calls([("bash", bash("echo one")), ("read", read)]);
    let chat = slow.chat([reply, prose("fine")]);
    ask(&chat);
    chat.wait_for_pending(1);
    chat.wait_for_words("has not said yet what it is");
    assert!(chat.text().contains("`call_1`\n\n```\nhere\n"), "{}", chat.text());
    // It is not asked a second time for seconds.
    let begun = Instant::now();
    chat.told();
    chat.approve("status=pending");
    chat.wait_for_words("has not said yet what it is");
    assert!(begun.elapsed() < Duration::from_secs(4) && chat.text().contains("status=pending"));
    slow.answers();
    chat.drain_until("an approval", |chat| {
        if chat.text().contains("status=pending") && !chat.conversation().is_busy() {
            chat.approve("status=pending");
        }
        !chat.text().contains("status=pending")
    });
    chat.wait_for("@Assistant:\nfine");
}

#[test]
fn the_last_of_two_decisions_counts() {
    let slow = Slow::new();
    let options = json!({ "tools": { "auto_approve": ["bash(ls *)"], "bash": { "shell": slow.path() } } });
    slow.answers();
    let chat = Harness::start(Setup { options, ..Setup::default() }, [commands(&["echo one"]), prose("fine")]);
    chat.go();
    chat.wait_for_pending(1);
    chat.approve("status=pending");
    chat.reject("status=pending", Some("no"));
    chat.wait_for("@Assistant:\nfine");
    assert!(!chat.text().contains("\none\n") && chat.results(1)[0].contains("no"), "{}", chat.text());
    assert_eq!(chat.told(), [""; 0]);
}

/// A call was interrupted, and the command line has approved another one. Whether the first one may go on is found out late.
#[test]
fn an_outside_decision_follows_a_late_recovery() {
    let slow = Slow::new();
    let chat = slow.chat([prose("fine")]);
    let inputs = ["echo one", "echo two"].map(bash);
    let text = |id: &str, input: &Value| format!("**Tool Use:** `bash` (`{id}`)\n\n```json\n{input}\n```\n\n");
    let block = |id: &str, status: &str| format!("**Tool Result:** `{id}`\n\n```flemma:tool status={status}\n```\n\n");
    let uses = text("a", &inputs[0]) + &text("b", &inputs[1]);
    let results = block("a", "running") + block("b", "pending").trim_end();
    chat.put("other.chat", format!("@You:\nHi\n\n@Assistant:\n{uses}@You:\n{results}\n"));
    let path = chat.work("other.chat");
    let record = |(id, role, event): (&str, Role, Event)| Record {
        at: Timestamp::UNIX_EPOCH,
        conversation: path.to_string_lossy().into_owned(),
        key: CallKey::of(&id.into(), "bash", &ToolInput::Json(inputs[usize::from(id == "b")].clone())),
        event,
        by: Actor { role, process: 1, host: "another".to_owned() },
    };
    let events = [
        ("a", Role::Policy, Event::Opened),
        ("a", Role::User, Event::Decided(Decision::Approved)),
        ("a", Role::User, Event::Started),
        ("b", Role::Policy, Event::Opened),
        ("b", Role::CommandLine, Event::Decided(Decision::Approved)),
    ];
    let journal = Journal::new(chat.state("journal"));
    journal.append(&path, events.map(record).to_vec(), |written| written.unwrap());
    assert!(journal.settle(Duration::from_secs(60)));
    let buffer = chat.edit("other.chat");
    chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer) && chat.conversation().is_busy());
    pass(&chat, Duration::from_millis(300));
    assert!(chat.text().contains("status=running") && chat.text().contains("status=pending"), "{}", chat.text());
    slow.answers();
    chat.drain_until("the result", |chat| chat.text().contains("`b`\n\n```\ntwo\n"));
    chat.wait_for("status=pending question=");
    assert!(!chat.text().contains("\none\n"), "{}", chat.text());
}

/// Any keys, while the answers are late: nothing runs that was stopped, and who goes on gets to the end.
#[test]
fn any_keys_meanwhile_leave_a_conversation_that_goes_on() {
    for keys in 0..27u32 {
        let slow = Slow::new();
        let chat = slow.chat([commands(&["echo one", "ls"]), prose("fine")]);
        ask(&chat);
        let mut is_stopped = false;
        for key in [keys % 3, keys / 3 % 3, keys / 9] {
            match key {
                0 => chat.go(),
                1 => {
                    chat.stop();
                    is_stopped = true;
                }
                _ => {
                    chat.execute("Tool Use:** `bash` (`call_0`)");
                    is_stopped = false;
                }
            }
            chat.drain_once();
        }
        if keys / 9 == 1 {
            assert!(!chat.conversation().is_busy(), "{keys}");
        }
        slow.answers();
        chat.drain_until("rest", |chat| !chat.conversation().is_busy());
        assert!(!is_stopped || keys / 9 != 1 || !chat.text().contains("\none\n"), "{keys}: {}", chat.text());
        for _ in 0..20 {
            if chat.text().contains("@Assistant:\nfine") {
                break;
            }
            let line = chat.buffer().lines().iter().position(|line| line.contains("status=pending"));
            match line {
                Some(_) => chat.approve("status=pending"),
                None => chat.go(),
            }
            pass(&chat, Duration::from_millis(100));
            chat.drain_until("rest", |chat| !chat.conversation().is_busy());
        }
        assert!(chat.text().contains("@Assistant:\nfine"), "{keys}: {}", chat.text());
    }
}
