//! What the user has approved is what is used: a folder becomes a link between their approval and the start of the call.

use std::{cell::Cell, fs, os::unix::fs::symlink, process::Command, rc::Rc};

use flemma::workspace::Resolution;
use serde_json::{Value, json};

use super::{
    harness::{Harness, Setup, bash, calls, prose},
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
    chat.host.has_ui.set(true);
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
        chat.wait_for_disk(&chat.work("notes.chat"), "rejected");
        chat.wipe(chat.current());
        approve_outside(chat, "call_1");
        exchange(chat, "secret");
        let buffer = chat.edit("notes.chat");
        chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
        chat.go();
        return;
    }
    approve(chat, way, "call_0");
    approve(chat, way, "call_1");
    if way == "status" {
        chat.go();
    }
    chat.drain_until("the command", |chat| chat.text().contains("status=running"));
    exchange(chat, "secret");
    chat.put("go", "");
}

#[test]
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
