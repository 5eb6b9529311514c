//! What the user has approved is what is used: a folder becomes a link between their approval and the start of the call.

use std::{cell::Cell, fs, os::unix::fs::symlink, process::Command, rc::Rc};

use flemma_runtime::Journal;
use flemma_tools::LuaRef;
use flemma_workspace::{Resolution, WantedWrite};
use serde_json::{Value, json};

use super::{
    harness::{Harness, Setup, bash, calls, prose},
    holding::wait_until,
    review::{edit, write},
    scripts::text,
};

const SECRET: &str = "old secret\n";

/// How the user approves calls.
const WAYS: [&str; 5] = ["approve", "Alt-Enter", "status", "script", "command line"];

/// Calls that use what is in `docs`, which becomes a link to `secret`.
fn uses() -> Vec<(&'static str, Value)> {
    let read = json!({ "label": null, "path": "docs/a.md", "offset": null, "limit": null });
    let mut search = json!({ "label": null, "pattern": "old", "path": "docs", "limit": null, "all": true });
    let mut found = search.clone();
    found["pattern"] = json!("*");
    found["kind"] = Value::Null;
    for field in ["glob", "case", "fixed_strings", "context"] {
        search[field] = Value::Null;
    }
    vec![
        ("read", read),
        ("write", write("docs/a.md", "new")),
        ("write", write("docs/new.md", "new")),
        ("edit", edit("docs/a.md", "old", "new")),
        ("ls", json!({ "label": null, "path": "docs", "limit": null })),
        ("grep", search),
        ("find", found),
        ("lua", json!({ "path": "docs/a.md" })),
        ("client", json!({ "path": "docs/a.md" })),
    ]
}

/// A command that waits, and then a call that uses files; both wait for the user.
fn begin(tool: &str, input: &Value) -> (Harness, Rc<Cell<usize>>) {
    let options = json!({ "tools": { "auto_approve": [], "max_concurrent": 1, "autopilot": { "enabled": true } } });
    let files = &[("docs/a.md", "old\n"), ("secret/a.md", SECRET), ("secret/secret.md", SECRET)];
    let reply = calls([("bash", bash("until [ -e go ]; do sleep 0.02; done")), (tool, input.clone())]);
    let chat = Harness::start(Setup { options, files, ..Setup::default() }, [reply, prose("fine")]);
    let runs = Rc::new(Cell::new(0));
    for (name, executor) in [("lua", "server"), ("client", "client")] {
        let count = Rc::clone(&runs);
        let fields = json!({
            "executor": executor,
            "approval": "requires_approval",
            "write_path_param": "path",
            "input_schema": { "type": "object", "properties": { "path": { "type": "string" } } },
        });
        chat.register_with(name, fields, move |_, answer| {
            count.set(count.get() + 1);
            answer.finish(text("it ran"));
            None
        });
    }
    // The editor runs its tools at once if it can.
    chat.host.has_ui.set(false);
    chat.go();
    chat.wait_for_pending(2);
    (chat, runs)
}

fn exchange(chat: &Harness, target: &str) {
    let _ = fs::rename(chat.work("docs"), chat.work("away")).or_else(|_| fs::remove_file(chat.work("docs")));
    symlink(chat.work(target), chat.work("docs")).unwrap();
}

fn approve(chat: &Harness, way: &str, call: &str) {
    let block = format!("Tool Result:** `{call}`");
    match way {
        "approve" => chat.approve(&block),
        "Alt-Enter" => chat.execute(&block),
        "status" => {
            let at = chat.line_with(&block);
            let line = (at..).find(|line| chat.buffer().lines()[*line].contains("status=pending")).unwrap();
            chat.replace_line(line, &chat.buffer().lines()[line].replace("pending", "approved"));
        }
        "script" => chat.resolve(call, Resolution::Approve).unwrap(),
        _ => panic!("{way}"),
    }
}

/// The file is closed, and `flemma resolve` approves a call in it.
fn approve_outside(chat: &Harness, call: &str) {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("nvim")).unwrap();
    symlink(chat.root().join("state"), home.path().join("nvim/flemma")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_flemma"));
    command.env_clear().env("HOME", home.path()).env("XDG_STATE_HOME", home.path()).current_dir(chat.work(""));
    let said = command.args(["resolve", "notes.chat", call, "--approve"]).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}

/// The call is approved in this way, `docs` becomes a link, and then the call starts.
fn exchange_after(chat: &Harness, way: &str) {
    if way == "command line" {
        chat.reject("Tool Result:** `call_0`", None);
        chat.drain_until("the rejection", |chat| chat.text().contains("rejected"));
        chat.put("notes.chat", chat.text() + "\n");
        chat.wipe(chat.current());
        chat.load("notes.chat");
        wait_until(chat, "the lock to go", |chat| !chat.work(".notes.chat.flemma-lock").exists());
        approve_outside(chat, "call_1");
        exchange(chat, "secret");
        let buffer = chat.edit("notes.chat");
        chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
        chat.go();
        return;
    }
    approve(chat, way, "call_0");
    if way != "status" {
        chat.drain_until("the command", |chat| chat.text().contains("status=running"));
    }
    approve(chat, way, "call_1");
    if way == "status" {
        chat.go();
    }
    let runs = |chat: &Harness| chat.text().contains("status=running");
    let is_waiting = |chat: &Harness| chat.text().contains("kind=client_exec") || !chat.text().contains("`client`");
    // The approval is for what the call leads to when it is recorded.
    let journal = Journal::new(chat.state("journal")).file(&chat.work("notes.chat"));
    let is_recorded = || fs::read_to_string(&journal).unwrap().matches("\"approved\"").count() >= 2;
    chat.drain_until("the command", |chat| runs(chat) && is_waiting(chat) && is_recorded());
    exchange(chat, "secret");
    chat.put("go", "");
    chat.host.has_ui.set(true);
    chat.workspace.ui_attached();
}

#[test]
#[ignore = "slow"]
fn what_leads_elsewhere_than_when_it_was_approved_waits() {
    for (tool, input) in uses() {
        for way in WAYS {
            if way == "command line" && ["lua", "client"].contains(&tool) {
                // The command line does not know them, and so not which files they use.
                continue;
            }
            let (chat, runs) = begin(tool, &input);
            exchange_after(&chat, way);
            let at = format!("{tool} {input} by {way}");
            chat.drain_until(&at, |chat| chat.host.told.borrow().iter().any(|told| told.contains("call_1")));
            chat.wait_for_pending(1);
            let told = chat.host.told.borrow().join("\n");
            assert!(told.contains("leads to") && told.contains("secret"), "{at}: {told}");
            assert_eq!(runs.get(), 0, "{at}");
            assert!(
                !chat.text().contains(SECRET.trim()) && !chat.text().contains("secret.md"),
                "{at}: {}",
                chat.text()
            );
            assert_eq!(
                (chat.content("secret/a.md").as_str(), chat.work("secret/new.md").exists()),
                (SECRET, false),
                "{at}"
            );
            // The user sees where it leads, and approves that.
            chat.approve("Tool Result:** `call_1`");
            chat.wait_for("@Assistant:\nfine");
            let has_run = runs.get() == 1 || chat.text().contains("secret") || chat.content("secret/a.md") != SECRET;
            assert!(has_run || chat.work("secret/new.md").exists(), "{at}: {}", chat.text());
        }
    }
}

/// A call of a tool in Lua runs, whose path a policy has approved.
fn writer(rule: &str) -> Harness {
    let options = json!({ "tools": { "auto_approve": [rule], "max_concurrent": 1 } });
    let files = &[("docs/a.md", "old\n"), ("secret/a.md", SECRET)];
    let reply =
        calls([("writer", json!({ "path": "docs/new.md" })), ("bash", bash("until [ -e go ]; do sleep 0.02; done"))]);
    let chat = Harness::start(Setup { options, files, ..Setup::default() }, [reply, prose("fine")]);
    let fields = json!({
        "async": true,
        "write_path_param": "path",
        "input_schema": { "type": "object", "properties": { "path": { "type": "string" } } },
    });
    chat.register_with("writer", fields, |_, _| None);
    chat.go();
    chat.drain_until("the tool", |chat| chat.scripts.runs.borrow().contains_key("call_0"));
    chat
}

fn propose(chat: &Harness, name: &str) {
    let run = chat.scripts.runs.borrow()["call_0"];
    let files = vec![WantedWrite { name: name.into(), is_page: false, content: "new".into() }];
    chat.workspace.execution.propose_write(chat.current(), &"call_0".into(), run, files, LuaRef(77));
}

/// What a tool in Lua writes is held to what the policy has judged of its call.
#[test]
fn a_policy_lets_a_tool_in_lua_write_what_it_has_judged() {
    for (is_exchanged, name) in [(false, "docs/new.md"), (true, "docs/new.md"), (false, "other.md")] {
        let chat = writer("writer(docs/**)");
        if is_exchanged {
            exchange(&chat, "secret");
        }
        propose(&chat, name);
        if !is_exchanged && name == "docs/new.md" {
            chat.drain_until("the outcome", |chat| chat.scripts.answers.borrow().contains_key(&LuaRef(77)));
            assert_eq!(chat.content("docs/new.md"), "new");
            continue;
        }
        chat.wait_for_pending(2);
        assert!(!chat.work("secret/new.md").exists() && !chat.work("other.md").exists(), "{name}");
        // The user sees it, and lets it be written.
        chat.wait_for_diff(0, "new");
        chat.approve("Tool Result:** `call_0`");
        chat.drain_until("the outcome", |chat| chat.scripts.answers.borrow().contains_key(&LuaRef(77)));
        assert_eq!(chat.content(if is_exchanged { "secret/new.md" } else { name }), "new");
    }
}

/// What a tool in Lua has proposed is written where its path led when the user approved it, also if they were not shown it.
#[test]
fn a_proposed_write_that_leads_elsewhere_waits_again() {
    let chat = writer("writer");
    propose(&chat, "other/new.md");
    chat.wait_for_pending(2);
    chat.approve("Tool Result:** `call_1`");
    chat.drain_until("the command", |chat| chat.text().contains("status=running"));
    chat.resolve("call_0", Resolution::Approve).unwrap();
    symlink(chat.work("secret"), chat.work("other")).unwrap();
    chat.put("go", "");
    chat.wait_for_words("other/new.md led elsewhere");
    chat.wait_for_pending(1);
    assert!(!chat.work("secret/new.md").exists());
    chat.approve("Tool Result:** `call_0`");
    chat.drain_until("the outcome", |chat| chat.scripts.answers.borrow().contains_key(&LuaRef(77)));
    assert_eq!(chat.content("secret/new.md"), "new");
}
