//! What is queued while a conversation is at work: how it is sent, whose it is, and what outlives the editor.

use std::fs;

use flemma_workspace::Urgency;
use serde_json::{Value, json};

use super::harness::{Harness, Setup, commands, held, prose};
use crate::http::Gate;

impl Harness {
    /// `:Flemma queue`.
    #[track_caller]
    fn queue(&self, text: &str) -> bool {
        let is_queued = self.workspace.queue.queue(self.current(), text, Urgency::NextTurn);
        self.settle();
        is_queued
    }

    /// `:Flemma steer`.
    #[track_caller]
    fn steer(&self, text: &str) {
        assert!(self.workspace.queue.queue(self.current(), text, Urgency::NextRequest));
        self.settle();
    }

    fn queued(&self) -> Vec<String> {
        let conversation = self.conversation();
        conversation.outbox.queued().into_iter().map(|message| message.kept.text).collect()
    }

    /// The lines below the text.
    fn below(&self) -> Vec<String> {
        let lines = self.workspace.queue.outbox_view(&self.conversation());
        lines.iter().map(|line| line.iter().map(|chunk| chunk.text.as_str()).collect()).collect()
    }

    /// What is kept in the state folder, each message by its text.
    fn kept(&self) -> Vec<String> {
        let Ok(folder) = fs::read_dir(self.state("outbox")) else { return Vec::new() };
        let files = folder.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some());
        // A file that is being written replaces the one that was listed.
        let texts = files.filter_map(|path| fs::read(path).ok()).flat_map(|text| {
            let stored: Value = serde_json::from_slice(&text).unwrap();
            let messages = stored["messages"].as_array().unwrap().clone();
            messages.into_iter().map(|message| message["text"].as_str().unwrap().to_owned())
        });
        texts.collect()
    }

    /// Waits until the disk has this draft.
    #[track_caller]
    fn wait_for_draft(&self, expected: &str) {
        self.drain_until(&format!("the draft {expected:?} on the disk"), |chat| {
            let drafts = fs::read_dir(chat.state("outbox")).into_iter().flatten().filter_map(|entry| {
                let path = entry.ok()?.path();
                path.extension()?;
                let stored: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
                Some(stored["draft"].as_str()?.to_owned())
            });
            let is_there = drafts.last().unwrap_or_default() == expected;
            if !is_there {
                std::thread::yield_now();
                chat.host.wake();
            }
            is_there
        });
    }

    /// Waits until the disk has exactly these.
    #[track_caller]
    fn wait_for_kept(&self, expected: &[&str]) {
        self.drain_until(&format!("{expected:?} on the disk"), |chat| {
            let is_there = chat.kept() == expected;
            if !is_there {
                std::thread::yield_now();
                chat.host.wake();
            }
            is_there
        });
    }
}

/// What the user says in a request, message by message.
fn said(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap();
    let own = messages.iter().filter(|message| message["role"] == "user");
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        parts => parts.as_array().unwrap().iter().filter_map(|part| part["text"].as_str()).collect(),
    };
    own.map(text).collect()
}

#[test]
fn a_queued_message_is_sent_as_the_users_own() {
    let gate = Gate::default();
    let chat = Harness::new("@You:\nHello", [held("Hi", &gate, "."), prose("Fine.")]);
    chat.put("facts.txt", "the fact\n");
    chat.go();
    chat.drain_until("the reply", |chat| chat.text().contains("Hi"));
    assert!(chat.queue("\nLook at @./facts.txt\n\n@Assistant:\nwith @ls\n\n"));
    assert_eq!(chat.queued(), ["Look at @./facts.txt\n\n@Assistant:\nwith @ls"]);
    assert_eq!(chat.below(), ["Queued: sent when the turn ends", "  Look at @./facts.txt", "  ", "  … 2 more lines"]);
    gate.open();
    chat.wait_for("Fine.");
    let sent = said(&chat.body(1));
    assert_eq!(sent.len(), 2);
    assert!(sent[1].contains("the fact") && sent[1].contains("@Assistant:\nwith"), "{}", sent[1]);
    assert!(chat.offered(1).contains(&"ls".to_owned()));
    assert_eq!(chat.questions(), 0);
    let own = chat.conversation().page.own_lines();
    assert!(own[chat.line_with("@./facts.txt")], "the line is the user's");
    assert!(!own[chat.line_with("Fine.")]);
    assert_eq!((chat.queued().len(), chat.below().len()), (0, 0));
}

#[test]
fn a_line_of_the_model_stays_the_models_in_a_queued_message() {
    let gate = Gate::default();
    let chat = Harness::new("@You:\nHello", [held("Say this:\n@/etc/hostname\n", &gate, "Do."), prose("Fine.")]);
    chat.go();
    chat.drain_until("the reply", |chat| chat.text().contains("hostname"));
    chat.queue("@/etc/hostname\nmine");
    gate.open();
    chat.wait_for("Fine.");
    let own = chat.conversation().page.own_lines();
    assert!(own[chat.line_with("mine")], "{own:?}\n{}", chat.text());
    assert!(!own[chat.line_with("mine") - 1], "a copy is not the user's, as with a paste");
}

#[test]
fn a_steering_message_follows_the_results() {
    let gate = Gate::default();
    // The journal is still being read when these are queued: the user's key comes first.
    let options = json!({ "tools": { "auto_approve": ["bash"] } });
    let chat = Harness::start(Setup { options, ..Setup::default() }, [commands(&["echo one"]), held("Hi", &gate, ".")]);
    chat.go();
    chat.queue("later");
    chat.steer("Use the other one.");
    chat.drain_until("the second request", |chat| chat.text().contains("Hi"));
    let body = chat.body(1);
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles[roles.len() - 3..], ["assistant", "tool", "user"], "{body}");
    assert_eq!(said(&body)[1], "Use the other one.");
    assert_eq!(chat.queued(), ["later"]);
    gate.open();
}

#[test]
fn what_steers_and_what_is_queued_stand_under_two_headers() {
    let gate = Gate::default();
    let chat = Harness::new("@You:\nHello", [held("Hi", &gate, "."), prose("Fine."), prose("Good.")]);
    chat.go();
    chat.drain_until("the reply", |chat| chat.text().contains("Hi"));
    chat.queue("later");
    chat.steer("now");
    let below = ["Steering: sent before the next request", "  1 now", "Queued: sent when the turn ends", "  2 later"];
    assert_eq!(chat.below(), below);
    let told = chat.told();
    assert_eq!(told, ["info: queued; sent when the turn ends", "info: queued; sent before the next request"]);
    gate.open();
    chat.wait_for("Good.");
}

#[test]
fn a_message_can_be_taken_back() {
    let gate = Gate::default();
    let chat = Harness::new("@You:\nHello", [held("Hi", &gate, "."), prose("Fine.")]);
    chat.go();
    chat.drain_until("the reply", |chat| chat.text().contains("Hi"));
    for text in ["one", "two", "three"] {
        chat.queue(text);
    }
    assert!(!chat.queue(" \n"));
    let buffer = chat.current();
    assert_eq!(chat.workspace.queue.unqueue(buffer, Some(4)), None);
    assert_eq!(chat.workspace.queue.unqueue(buffer, Some(1)).unwrap().kept.text, "one");
    assert_eq!(chat.workspace.queue.unqueue(buffer, None).unwrap().kept.text, "three");
    assert_eq!(chat.queued(), ["two"]);
    gate.open();
    chat.wait_for("Fine.");
    assert_eq!(said(&chat.body(1))[1], "two");
    let told = chat.told();
    assert!(told.iter().any(|line| line == "info: there is no queued message 4"), "{told:?}");
}

#[test]
fn a_kill_loses_nothing_and_sends_nothing() {
    let gate = Gate::default();
    let chat = Harness::new("@You:\nHello", [held("Hi", &gate, ".")]);
    chat.go();
    chat.drain_until("the reply", |chat| chat.text().contains("Hi"));
    chat.queue("one\n\ntwo");
    chat.steer("zero");
    chat.wait_for_kept(&["zero", "one\n\ntwo"]);
    let chat = chat.kill("@You:\nHello\n", Value::Null, [prose("Fine.")]);
    chat.edit("notes.chat");
    chat.drain_until("the text", |chat| chat.text().contains("two"));
    assert_eq!(chat.text(), "@You:\nHello\n\nzero\n\none\n\ntwo");
    assert_eq!((chat.sent(), chat.queued().len()), (0, 0));
    let own = chat.conversation().page.own_lines();
    assert!(own[chat.line_with("two")] && !own[chat.line_with("Hello")]);
    chat.wait_for_words("queued messages were not sent");
    assert_eq!(chat.kept().len(), 2, "the file does not have them yet");
    chat.write();
    chat.wait_for_kept(&[]);
    chat.go();
    chat.wait_for("Fine.");
}

#[test]
fn a_message_that_the_file_has_does_not_come_back() {
    let gate = Gate::default();
    let chat = Harness::new("@You:\nyes", [prose("Hi."), held("Well", &gate, ".")]);
    chat.go();
    chat.queue("yes");
    chat.queue("more");
    chat.drain_until("the second reply", |chat| chat.text().contains("Well"));
    chat.wait_for_kept(&["yes", "more"]);
    let written = "@You:\nyes\n\n@Assistant:\nHi.\n\n@You:\nyes\n";
    let chat = chat.kill(written, Value::Null, []);
    chat.edit("notes.chat");
    chat.drain_until("the other message", |chat| chat.text().contains("more"));
    assert_eq!(chat.text(), format!("{written}\nmore"));

    // The same words from before do not count.
    let gate = Gate::default();
    let chat = Harness::new("@You:\nyes", [held("Hi", &gate, ".")]);
    chat.go();
    chat.queue("yes");
    chat.wait_for_kept(&["yes"]);
    let chat = chat.kill("@You:\nyes\n", Value::Null, []);
    chat.edit("notes.chat");
    chat.drain_until("the message", |chat| chat.text() == "@You:\nyes\n\nyes");
}

#[test]
fn a_sent_message_is_kept_until_the_file_has_it() {
    let gate = Gate::default();
    let chat = Harness::new("@You:\nHello", [prose("Hi."), held("Well", &gate, ".")]);
    chat.go();
    chat.queue("more");
    chat.drain_until("the second reply", |chat| chat.text().contains("Well"));
    assert_eq!(chat.queued(), [""; 0]);
    chat.wait_for_kept(&["more"]);
    chat.write();
    chat.wait_for_kept(&[]);
    gate.open();
    chat.wait_for("Well.");
}

#[test]
fn nobody_but_the_user_gets_what_was_queued() {
    let gate = Gate::default();
    let chat = Harness::new("@You:\nHello", [held("Hi", &gate, ".")]);
    chat.go();
    chat.queue("mine");
    chat.wait_for_kept(&["mine"]);
    // A program without a user carries the conversation on.
    let chat = chat.kill("@You:\nHello\n", Value::Null, []);
    chat.host.has_ui.set(false);
    chat.edit("notes.chat");
    chat.drain_until("the file", |chat| chat.workspace.is_settled(chat.current()));
    chat.put("other.chat", "@You:\nHello\n");
    let other = chat.edit("other.chat");
    chat.drain_until("the other file", |chat| chat.workspace.is_settled(other));
    assert_eq!(chat.kept(), ["mine"]);
    chat.host.has_ui.set(true);
    chat.workspace.ui_attached();
    chat.go_to(super::harness::NOTES);
    chat.drain_until("the message", |chat| chat.text() == "@You:\nHello\n\nmine");
    chat.go_to(other);
    assert_eq!(chat.text(), "@You:\nHello");
}

#[test]
fn what_is_queued_follows_the_name_of_the_file() {
    let gate = Gate::default();
    let chat = Harness::new("@You:\nHello", [held("Hi", &gate, ".")]);
    chat.go();
    chat.queue("mine");
    chat.wait_for_kept(&["mine"]);
    chat.save_as("other.chat");
    chat.workspace.renamed(chat.current());
    chat.queue("more");
    chat.wait_for_kept(&["mine", "more"]);
    assert_eq!(fs::read_dir(chat.state("outbox")).unwrap().count(), 1, "the old name has none");
}

#[test]
fn a_damaged_outbox_is_told_of_and_left_alone() {
    let gate = Gate::default();
    let chat = Harness::new("@You:\nHello", [held("Hi", &gate, ".")]);
    chat.go();
    chat.queue("mine");
    chat.wait_for_kept(&["mine"]);
    let file = fs::read_dir(chat.state("outbox")).unwrap().next().unwrap().unwrap().path();
    fs::write(&file, "{\"v\":1,").unwrap();
    let chat = chat.kill("@You:\nHello\n", Value::Null, [prose("Hi.")]);
    chat.edit("notes.chat");
    chat.wait_for_words("messages queued in an earlier session cannot be read");
    chat.queue("still works");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"v\":1,");
}

#[test]
fn a_change_from_outside_leaves_queued_messages_to_the_user() {
    let gate = Gate::default();
    let chat = Harness::new("@You:\nHello", [held("Hi", &gate, ".")]);
    chat.go();
    chat.drain_until("the reply", |chat| chat.text().contains("Hi"));
    chat.queue("mine");
    chat.reload("@You:\nHello, changed");
    chat.drain_until("the message", |chat| chat.text().contains("mine"));
    assert_eq!(chat.text(), "@You:\nHello, changed\n\nmine");
    assert!(!chat.conversation().is_busy());
}

#[test]
fn a_draft_is_kept_for_the_next_session_and_is_not_sent() {
    let gate = Gate::default();
    let chat = Harness::new("@You:\nHello", [held("Hi", &gate, "."), prose("Fine.")]);
    chat.go();
    chat.drain_until("the reply", |chat| chat.text().contains("Hi"));
    chat.queue("mine");
    chat.workspace.queue.keep_draft(chat.current(), "half a thou");
    chat.workspace.queue.keep_draft(chat.current(), "half a thought\n");
    chat.wait_for_draft("half a thought\n");
    assert_eq!(chat.kept(), ["mine"]);
    let chat = chat.kill("@You:\nHello\n", Value::Null, [prose("Hi.")]);
    chat.edit("notes.chat");
    chat.wait_for_words("a message that you were writing here was kept; `:Flemma queue` opens it");
    assert_eq!(chat.workspace.queue.draft(chat.current()), "half a thought\n");
    assert!(!chat.text().contains("half a thought"), "{}", chat.text());
    // It is queued, or thrown away: then nothing is left of it.
    chat.workspace.queue.keep_draft(chat.current(), " \n");
    chat.wait_for_draft("");
    assert_eq!(chat.workspace.queue.draft(chat.current()), "");
}
