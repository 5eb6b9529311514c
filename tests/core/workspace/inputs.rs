//! What a model meant by an input that is not quite what a tool takes: what is judged is what runs.

use std::{cell::RefCell, rc::Rc};

use flemma_journal::Role;
use flemma_tools::approval::{Decision, Resolve};
use flemma_workspace::Resolution;
use serde_json::{Value, json};

use super::{
    harness::{Harness, Setup, calls, prose},
    scripts::text,
};

#[test]
fn a_tool_gets_the_input_that_was_judged() {
    let input = json!({ "count": "12", "deep": { "on": "true", "extra": null }, "more": null });
    let schema = json!({
        "type": "object",
        "properties": {
            "count": { "type": "integer" },
            "deep": { "type": "object", "properties": { "on": { "type": "boolean" } }, "additionalProperties": false },
        },
        "additionalProperties": false,
    });
    let policy = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&policy);
    let judge: Resolve = Rc::new(move |call| {
        seen.borrow_mut().push(call.input.clone());
        Ok(Some(Decision::Approve))
    });
    let chat = Harness::start(
        Setup { policy: Some(judge), ..Setup::default() },
        [calls([("mine", input.clone()), ("mine", json!({ "count": "three" }))]), prose("fine")],
    );
    let ran = Rc::new(RefCell::new(Vec::new()));
    let runs = Rc::clone(&ran);
    chat.register_with("mine", json!({ "input_schema": schema }), move |input, answer| {
        runs.borrow_mut().push(input.clone());
        answer.finish(text("done"));
        None
    });
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    let meant = json!({ "count": 12, "deep": { "on": true } });
    assert_eq!(*ran.borrow(), std::slice::from_ref(&meant));
    assert!(
        chat.results(1)[1].starts_with("Error: ") && chat.results(1)[1].contains("`/count`"),
        "{:?}",
        chat.results(1)
    );
    assert!(policy.borrow().iter().all(|judged| *judged == meant), "{policy:?}");
    // What the model wrote stays as it is, in the file and for the provider.
    assert!(chat.text().contains(&input.to_string()), "{}", chat.text());
    let sent = &chat.body(1)["messages"][1]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(serde_json::from_str::<Value>(sent.as_str().unwrap()).unwrap(), input);
}

/// Every tool of ours that names a path, with a call of it about this path.
fn about(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read", json!({ "path": path })),
        ("edit", json!({ "path": path, "old_text": "one", "new_text": "two" })),
        ("write", json!({ "path": path, "content": "new" })),
        ("ls", json!({ "path": path })),
        ("find", json!({ "path": path, "pattern": "*" })),
        ("grep", json!({ "path": path, "pattern": "x" })),
        ("mine", json!({ "file": [path] })),
    ]
}

fn answers(calls_of_tools: Vec<(&str, Value)>, files: &[(&str, &str)]) -> (Harness, Vec<String>) {
    let options = json!({ "tools": { "require_approval": false } });
    let replies = [calls(calls_of_tools), prose("fine")];
    let chat = Harness::start(Setup { options, files, ..Setup::default() }, replies);
    let more = json!({
        "input_schema": { "type": "object", "properties": { "file": { "type": "array" } } },
        "write_path_param": "file",
    });
    chat.register_with("mine", more, |_, answer| {
        answer.finish(text("ran"));
        None
    });
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    let results = chat.results(1);
    (chat, results)
}

#[test]
fn a_path_in_another_syntax_is_told_as_it_is() {
    let url = |chat: &str| format!("file://{chat}/a.rs");
    let written = [
        "@./a.rs",
        "@../work/a.rs",
        "\"a.rs\"",
        "'@a.rs'",
        "`./a.rs`",
        "@a.rs",
        "a.rs:12",
        "a.rs:12:5",
        "a.rs#L3-L9",
        &url(""),
    ];
    for path in written {
        let (chat, results) = answers(about(path), &[("a.rs", "one\n")]);
        let real = path.trim_matches(['"', '\'', '`', '@']).split([':', '#']).next().unwrap();
        let real = if path.starts_with("file") { "/a.rs" } else { real };
        for result in &results {
            assert!(result.contains(&format!("Write the path as it is: `{real}`")), "{path}: {result}");
        }
        let mut names: Vec<_> =
            std::fs::read_dir(chat.work(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.retain(|name| !name.to_string_lossy().starts_with('.'));
        names.sort();
        assert_eq!(names, ["a.rs", "notes.chat"], "{path}");
    }
}

#[test]
fn a_file_that_is_called_so_is_used() {
    for path in ["@a.rs", "a.rs:12", "a.rs#L3", "\"a.rs\"", "@./a.rs"] {
        let (_, results) =
            answers(vec![("read", json!({ "path": path }))], &[("a.rs", "plain\n"), (path, "so called\n")]);
        assert_eq!(results, ["so called"], "{path}");
    }
    // Nobody says what is not there, or may not be read.
    for (path, files) in [("@scope/x.ts", &[][..]), ("12:30", &[]), ("@types/x", &[("other", "")])] {
        let (chat, results) = answers(vec![("write", json!({ "path": path, "content": "new" }))], files);
        assert!(results[0].starts_with("Created"), "{path}: {results:?}");
        assert_eq!(std::fs::read_to_string(chat.work(path)).unwrap(), "new");
    }
    let options = json!({ "tools": { "require_approval": false, "auto_approve": ["!read(secret/**)"] } });
    let call = [("write", json!({ "path": "secret/a:1", "content": "new" }))];
    for files in [&[("secret/a", "x")][..], &[]] {
        let chat = Harness::start(
            Setup { options: options.clone(), files, ..Setup::default() },
            [calls(call.clone()), prose("fine")],
        );
        chat.go();
        chat.wait_for("@Assistant:\nfine");
        assert!(!chat.results(1)[0].contains("Write the path"), "{:?}", chat.results(1));
    }
}

/// A file in which somebody has approved a call of `mine`.
const APPROVED: &str = "@You:\nHello\n\n@Assistant:\n**Tool Use:** `mine` (`call_0`)\n\n```json\n{}\n```\n\n\
                        @You:\n**Tool Result:** `call_0`\n\n```flemma:tool status=approved\n```";

#[test]
fn a_tool_is_told_who_let_it_run() {
    fn resolve(chat: &Harness, role: Role) {
        chat.wait_for_pending(1);
        let resolved =
            chat.workspace.resolutions.resolve_now(chat.current(), &"call_0".into(), Resolution::Approve, role);
        assert_eq!(resolved.map_err(|error| error.to_string()), Ok(()));
        chat.settle();
    }
    type Act = fn(&Harness);
    let table: [(&str, bool, Act); 6] = [
        ("policy", true, |chat| chat.go()),
        ("user", false, |chat| {
            chat.go();
            chat.wait_for_pending(1);
            chat.approve("status=pending");
        }),
        ("user", false, |chat| {
            chat.go();
            chat.wait_for_pending(1);
            chat.replace("status=pending", "status=approved");
            chat.go();
        }),
        ("script", false, |chat| {
            chat.go();
            resolve(chat, Role::Script);
        }),
        ("command-line", false, |chat| {
            chat.go();
            resolve(chat, Role::CommandLine);
        }),
        // Somebody else has written the status, and the key is the user's.
        ("user", false, |chat| {
            chat.put("other.chat", APPROVED);
            chat.edit("other.chat");
            chat.execute("status=approved");
        }),
    ];
    for (at, (role, is_listed, act)) in table.into_iter().enumerate() {
        let list = if is_listed { json!(["mine"]) } else { json!([]) };
        let options = json!({ "tools": { "auto_approve": list } });
        let replies = if at == 5 { vec![prose("fine")] } else { vec![calls([("mine", json!({}))]), prose("fine")] };
        let chat = Harness::start(Setup { options, ..Setup::default() }, replies);
        chat.register_hooks("mine", json!({}), &[]);
        act(&chat);
        chat.wait_for("@Assistant:\nfine");
        assert_eq!(chat.scripts.let_by.borrow().as_slice(), [role], "{at}");
    }
}
