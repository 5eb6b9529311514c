//! A call that arrives in a reply is new, whatever the journal holds of calls with its id and input.

use std::{fs, thread, time::Duration};

use flemma_journal::{Actor, Asked, CallKey, Decision, Event, Proposed, Record, RecordedResult, Role};
use flemma_model::ToolInput;
use flemma_runtime::Journal;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::harness::{Harness, Setup, bash, calls, commands, prose};

const COMMAND: &str = "echo ran | tee -a runs";

fn runs(chat: &Harness) -> usize {
    fs::read_to_string(chat.work("runs")).unwrap_or_default().lines().count()
}

/// The journal of `other.chat` has this of a call with the first id of each reply.
fn record(chat: &Harness, tool: &str, input: Value, events: &[Event]) {
    let path = chat.work("other.chat");
    let key = CallKey::of(&"call_0".into(), tool, &ToolInput::Json(input));
    let by = Actor { role: Role::CommandLine, process: 1, host: "here".to_owned() };
    let record = |event: &Event| Record {
        at: Timestamp::UNIX_EPOCH,
        conversation: path.to_string_lossy().into_owned(),
        key: key.clone(),
        event: event.clone(),
        by: by.clone(),
    };
    let journal = Journal::new(chat.state("journal"));
    journal.append(&path, events.iter().map(record).collect(), |written| written.unwrap());
    assert!(journal.settle(Duration::from_secs(60)));
}

/// A conversation begins at the path of one that was deleted.
fn begin(chat: &Harness) {
    chat.put("other.chat", "@You:\nHello\n");
    let buffer = chat.edit("other.chat");
    chat.go_to(buffer);
    chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
}

fn approved() -> Event {
    Event::Decided(Decision::Approved)
}

fn ended(words: &str) -> Event {
    Event::Resolved(RecordedResult { output: words.to_owned(), ..RecordedResult::default() })
}

#[test]
fn a_reply_that_is_asked_for_again_has_new_calls() {
    let options = json!({ "tools": { "auto_approve": ["bash"] } });
    let replies = [commands(&[COMMAND]), prose("fine"), commands(&[COMMAND]), prose("again")];
    let chat = Harness::start(Setup { options, ..Setup::default() }, replies);
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    chat.delete(2..chat.buffer().lines().len());
    chat.go();
    chat.wait_for("@Assistant:\nagain");
    assert_eq!(runs(&chat), 2);
    // Each result is that of its run, also after an undo.
    while chat.text().contains("Tool Result") {
        chat.undo();
    }
    assert_eq!(runs(&chat), 2);
}

#[test]
fn nothing_of_a_deleted_conversation_counts() {
    let proposed = Event::Proposed { proposed: Proposed { files: Vec::new() } };
    let table: [&[Event]; 8] = [
        &[Event::Opened, approved()],
        &[Event::Opened, approved(), Event::Started],
        &[Event::Opened, approved(), Event::Started, approved()],
        &[Event::Opened, approved(), Event::Started, ended("old")],
        &[Event::Opened, Event::Decided(Decision::Rejected), ended("old")],
        &[Event::Opened, Event::Started, proposed.clone()],
        &[Event::Opened, Event::Started, proposed, approved()],
        &[Event::Asked(Asked { kind: "elicitation".to_owned(), schema: None })],
    ];
    for events in table {
        let chat = Harness::new("@You:\nHello", [commands(&[COMMAND]), prose("fine")]);
        record(&chat, "bash", bash(COMMAND), events);
        begin(&chat);
        chat.go();
        chat.wait_for_pending(1);
        assert_eq!((chat.waiting(), runs(&chat)), (vec!["call_0 approval".to_owned()], 0), "{events:?}");
        // It may have run, and the reply may be the same one again that the file did not get in time.
        let may_have_run = events.contains(&Event::Started) && !events.contains(&ended("old"));
        assert_eq!(chat.text().contains("Run it again?"), may_have_run, "{events:?}: {}", chat.text());
        chat.approve("status=pending");
        chat.wait_for("@Assistant:\nfine");
        assert_eq!((chat.results(1), runs(&chat)), (vec!["ran".to_owned()], 1), "{events:?}");
    }
}

#[test]
fn an_answer_to_a_deleted_question_answers_no_new_one() {
    let question = json!({ "question": "Why?" });
    let chat = Harness::new("@You:\nHello", [calls([("ask", question.clone())]), prose("fine")]);
    chat.define("ask", json!({ "executor": "human" }));
    record(&chat, "ask", question, &[Event::Opened, ended("old")]);
    begin(&chat);
    chat.go();
    chat.wait_for("kind=elicitation");
    assert_eq!((chat.waiting(), chat.sent()), (vec!["call_0 elicitation".to_owned()], 1));
}

#[test]
fn a_new_call_stays_new_after_a_kill() {
    for has_block in [true, false] {
        let chat = Harness::new("@You:\nHello", [commands(&[COMMAND])]);
        let old = [Event::Opened, approved(), Event::Started, ended("old"), Event::Opened, approved()];
        record(&chat, "bash", bash(COMMAND), &old);
        begin(&chat);
        chat.go();
        chat.wait_for_pending(1);
        let saved = chat.text();
        let saved = if has_block { saved } else { saved.split("\n\n@You:\n**Tool").next().unwrap().to_owned() };
        let path = chat.work("other.chat");
        let journal = Journal::new(chat.state("journal"));
        while fs::read_to_string(journal.file(&path)).unwrap().lines().count() <= old.len() {
            thread::yield_now();
        }
        let chat = chat.kill("@You:\n", Value::Null, [prose("fine")]);
        chat.put("other.chat", saved);
        let buffer = chat.edit("other.chat");
        chat.go_to(buffer);
        chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
        chat.go();
        chat.wait_for_pending(1);
        assert_eq!((runs(&chat), chat.sent()), (0, 0), "has a block: {has_block}");
    }
}
