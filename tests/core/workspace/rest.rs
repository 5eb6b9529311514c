//! What is said of conversations that rest, that work and that wait.

use std::sync::mpsc;

use flemma_workspace::{Rest, Urgency, WaitingList, WaitingPlace};
use serde_json::json;

use super::harness::{Harness, NOTES, Setup, bash, calls, commands, held, prose};
use crate::http::{Gate, Reply};

fn rest(chat: &Harness) -> Option<Rest> {
    chat.workspace.calls.rest(&chat.conversation())
}

/// A conversation out of sight that was sent, and rests.
fn out_of_sight(options: serde_json::Value, replies: impl IntoIterator<Item = Reply>) -> Harness {
    let chat = Harness::start(Setup { options, ..Setup::default() }, replies);
    chat.host.is_in_sight.set(false);
    chat.go();
    chat.drain_until("rest", |chat| !chat.conversation().is_busy());
    chat.drain_until("a message", |chat| chat.host.told.borrow().iter().any(|told| told.contains("notes.chat")));
    chat
}

#[test]
fn a_stop_that_no_message_explains_gets_one() {
    let chat = out_of_sight(json!({}), [prose("fine")]);
    assert_eq!((rest(&chat), chat.told()), (Some(Rest::Done), vec!["info: notes.chat is done".to_owned()]));

    let chat = out_of_sight(json!({}), [commands(&["rm x", "rm y"])]);
    let words = "waits for your approval: bash (and 1 more call waits)";
    assert_eq!(
        (rest(&chat), chat.told()),
        (Some(Rest::Waits(words.into())), vec![format!("warn: notes.chat {words}")])
    );

    let autopilot = json!({ "tools": { "autopilot": { "enabled": false } } });
    let chat = out_of_sight(autopilot, [commands(&["rm x"])]);
    assert_eq!(rest(&chat), Some(Rest::Paused));
    assert_eq!(chat.told(), ["warn: notes.chat has paused; Ctrl-] goes on"]);
}

#[test]
fn a_message_that_explains_the_stop_names_the_conversation() {
    let chat = out_of_sight(json!({}), [Reply::json(401, &json!({ "error": { "message": "no such key" } }))]);
    chat.settle();
    assert_eq!(rest(&chat), Some(Rest::Failed));
    let told = chat.told();
    assert!(
        told.len() == 1 && told[0].starts_with("error: notes.chat: ") && told[0].contains("no such key"),
        "{told:?}"
    );
}

#[test]
fn who_looks_or_has_stopped_it_is_told_nothing() {
    let chat = Harness::new("@You:\nHello", [prose("fine")]);
    chat.go();
    chat.wait_for("fine");
    while chat.drain_once() {}
    assert_eq!((rest(&chat), chat.told()), (Some(Rest::Done), vec![]));

    let gate = Gate::new();
    let chat = Harness::new("@You:\nHello", [held("half", &gate, " a reply")]);
    chat.host.is_in_sight.set(false);
    chat.go();
    chat.drain_until("the beginning", |chat| chat.text().contains("half"));
    assert_eq!(rest(&chat), None);
    chat.stop();
    while chat.drain_once() {}
    assert_eq!((rest(&chat), chat.told()), (Some(Rest::Cancelled), vec![]));
}

#[test]
fn a_status_line_says_what_works_and_what_waits() {
    let gate = Gate::new();
    let chat = Harness::new("@You:\nHello", [held("half", &gate, " a reply"), commands(&["rm x", "rm y"])]);
    let line = |chat: &Harness| chat.workspace.views.status_line(NOTES).unwrap();
    assert_eq!((line(&chat), chat.workspace.views.overview()), ("qwen3".to_owned(), String::new()));
    chat.go();
    chat.drain_until("the beginning", |chat| chat.text().contains("half"));
    assert!(line(&chat).starts_with("qwen3 · writing, "), "{}", line(&chat));
    assert_eq!(chat.workspace.views.overview(), "1 working");
    assert!(chat.workspace.queue.queue(NOTES, "And then?", Urgency::NextTurn));
    assert!(line(&chat).ends_with(" · 1 queued"), "{}", line(&chat));
    chat.workspace.queue.unqueue(NOTES, None);
    gate.open();
    chat.wait_for("a reply");
    chat.host.edit(NOTES, [(chat.buffer().lines().len()..chat.buffer().lines().len(), vec!["More".to_owned()])]);
    chat.go();
    chat.wait_for_pending(2);
    assert!(line(&chat).contains("qwen3 · 2 wait"), "{}", line(&chat));
    assert_eq!(chat.workspace.views.overview(), "1 waits");
    assert_eq!(chat.workspace.views.status_line(77), None);
}

/// The list of what waits.
fn list(chat: &Harness, is_all: bool) -> WaitingList {
    let (tell, told) = mpsc::channel();
    chat.workspace.lists.list_waiting(chat.work(""), is_all, move |_, list| tell.send(list).unwrap());
    let mut found = None;
    chat.drain_until("the list", |_| {
        found = told.try_recv().ok();
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn what_waits_is_found_in_buffers_and_in_files() {
    let other = "@You:\nHello\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{\"command\":\"ls\"}\n```\n\n\
                 @You:\n**Tool Result:** `a`\n\n```flemma:tool status=pending\n```\n";
    let new = "@You:\nHello\n\n@Assistant:\n**Tool Use:** `odd\u{7}` (`a`)\n\n```json\n{}\n```\n";
    let files = [("deep/b.chat", other), ("c.chat", new), ("notes.txt", other), (".hidden/d.chat", other)];
    let chat = Harness::start(
        Setup { files: &files, ..Setup::default() },
        [calls([
            ("bash", bash("rm x")),
            ("ask_user", json!({ "question": "Which\nport?", "options": null, "default": null })),
        ])],
    );
    chat.go();
    chat.wait_for_pending(2);
    let found = list(&chat, true);
    let line = |call: &str| chat.line_with(&format!("**Tool Result:** `{call}`"));
    let seen: Vec<_> = found.calls.iter().map(|call| (call.place.clone(), call.line, call.text.as_str())).collect();
    assert_eq!(seen[0], (WaitingPlace::Buffer(NOTES), line("call_0"), "bash rm x: waits for your approval"));
    assert!(
        seen[1].1 == line("call_1") && seen[1].2.starts_with("ask_user: waits for your answer, until 20"),
        "{seen:?}"
    );
    assert!(seen[1].2.ends_with(": Which⤶port?"), "{seen:?}");
    assert_eq!(seen[2].0, WaitingPlace::File(chat.work("c.chat")));
    assert!(seen[2].1 == 4 && !seen[2].2.contains('\u{7}'), "{seen:?}");
    assert_eq!(seen[3], (WaitingPlace::File(chat.work("deep/b.chat")), 11, "bash ls: waits for your approval"));
    assert_eq!((seen.len(), found.is_cut_short), (4, false));
    assert_eq!(found.problems, Vec::<String>::new());
    // What cannot be read does not keep the others from being listed.
    chat.put("bad.chat", [0xff, 0xfe]);
    let found = list(&chat, false);
    assert_eq!(found.calls.len(), 4);
    assert!(found.problems.len() == 1 && found.problems[0].contains("bad.chat"), "{:?}", found.problems);
}
