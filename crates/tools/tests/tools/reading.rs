//! A denial for reading holds for every tool that reads.

use std::{fs, os::unix::fs::symlink, path::Path, sync::Arc};

use flemma_tools::{
    Definition, Executor, LuaRef, Policy, Presets, Registry, Runner,
    approval::{ApprovalCall, Decision},
    rules::{PathBase, ReadTarget, Target},
};
use serde_json::{Value, json};

use crate::workshop::Workshop;

use Decision::{Approve, Deny, RequireApproval as Ask};

fn list(entries: &[&str]) -> Policy {
    let entries: Vec<String> = entries.iter().map(|&entry| entry.to_owned()).collect();
    Policy::new(&entries, &[], &Presets::builtin())
}

/// A project with something in it that is nobody's business.
fn workshop() -> Workshop {
    let workshop = Workshop::new();
    workshop.put("src/a.txt", "the word\n");
    workshop.put("secret/key.txt", "the word\n");
    workshop.put("secret/deep/key.txt", "the word\n");
    workshop.put("src/b.pem", "the word\n");
    symlink("secret", workshop.path("link")).unwrap();
    symlink("../secret/key.txt", workshop.path("src/key")).unwrap();
    workshop
}

fn path_base(workshop: &Workshop) -> PathBase {
    PathBase { folder: workshop.context.cwd.clone(), home: Some("/nowhere".into()), ..PathBase::default() }
}

fn decide(definition: &Definition, policy: &Policy, path_base: &PathBase, input: &Value) -> Option<Decision> {
    let target = Target::of(definition, input, path_base);
    let read = Target::of_reading(definition, input, path_base);
    let leaves_out_denied = definition.leaves_out_denied;
    let reading = read.as_ref().map(|read| ReadTarget { subject: read.subject(), leaves_out_denied });
    let id = "a".into();
    let call = ApprovalCall {
        subject: target.subject(),
        reading,
        path_base,
        ..ApprovalCall::new(&definition.name, input, &id, 1)
    };
    policy.decide(&call)
}

#[test]
fn what_is_denied_to_read_is_denied_to_every_tool_that_reads() {
    let (workshop, registry) = (workshop(), Registry::with_builtins());
    let path_base = path_base(&workshop);
    let policy = list(&["$default", "grep", "!read(secret/**)", "!read(**/*.pem)"]);
    for (tool, path, expected) in [
        ("read", "secret/key.txt", Some(Deny)),
        ("grep", "secret/key.txt", Some(Deny)),
        ("grep", "secret", Some(Deny)),
        ("find", "secret/deep", Some(Deny)),
        ("ls", "secret", Some(Deny)),
        ("ls", "link", Some(Deny)),
        ("ls", "./src/../secret", Some(Deny)),
        ("grep", "src/key", Some(Deny)),
        ("grep", "src/b.pem", Some(Deny)),
        ("edit", "secret/key.txt", Some(Deny)),
        ("edit", "src/a.txt", Some(Approve)),
        ("read", "src/a.txt", Some(Approve)),
        ("ls", "src", None),
        // What lies around it leaves it out; nobody need be asked.
        ("grep", ".", Some(Approve)),
        ("find", ".", None),
        ("ls", "..", None),
        // These read nothing.
        ("write", "src/b.pem.txt", Some(Approve)),
    ] {
        let definition = registry.get(tool).unwrap();
        let input = json!({ "path": path });
        assert_eq!(decide(definition, &policy, &path_base, &input), expected, "{tool} {path}");
    }
}

#[test]
fn a_tool_of_the_users_own_that_reads_is_denied_or_asked_about() {
    let workshop = workshop();
    let path_base = path_base(&workshop);
    let schema =
        json!({ "type": "object", "properties": { "from": { "type": "string" }, "to": { "type": "string" } } });
    let mut copy = Definition::new("copy", "Copies.", schema, Executor::Server(Runner::Lua(LuaRef(1))));
    copy.read_path_param = Some("from".into());
    copy.write_path_param = Some("to".into());
    let policy = list(&["copy", "!read(secret/**)"]);
    for (from, expected) in [("secret/key.txt", Deny), ("src/a.txt", Approve), (".", Ask), ("link", Deny)] {
        let input = json!({ "from": from, "to": "src/c.txt" });
        assert_eq!(decide(&copy, &policy, &path_base, &input), Some(expected), "{from}");
    }
    assert_eq!(decide(&copy, &policy, &path_base, &json!({ "from": 7 })), Some(Ask), "nobody knows what it reads");
}

#[test]
fn a_denial_with_a_pattern_covers_paths_and_else_the_tool() {
    let (workshop, registry) = (workshop(), Registry::with_builtins());
    let path_base = path_base(&workshop);
    for (entry, expected) in
        [("!read", Some(Approve)), ("!read(**)", Some(Deny)), ("!read(*)", Some(Deny)), ("!read(/**)", Some(Deny))]
    {
        let policy = list(&["grep", entry]);
        let grep = registry.get("grep").unwrap();
        assert_eq!(decide(grep, &policy, &path_base, &json!({ "path": "src" })), expected, "{entry}");
        assert_eq!(
            decide(registry.get("read").unwrap(), &policy, &path_base, &json!({ "path": "src/a.txt" })),
            Some(Deny)
        );
    }
}

/// Runs a tool under denials.
fn run(workshop: &mut Workshop, entries: &[&str], tool: &str, input: Value) -> String {
    let path_base = path_base(workshop);
    workshop.context.denied = Arc::new(Policy::denied([&list(entries)], &path_base));
    workshop.render(tool, input).text
}

#[test]
fn searches_and_listings_leave_out_what_is_denied_and_say_so() {
    let mut workshop = workshop();
    let denials = ["!read(secret/**)", "!read(**/*.pem)"];
    let grep = json!({ "label": null, "pattern": "word", "path": null, "glob": null, "case": null,
        "fixed_strings": null, "context": null, "limit": null, "all": true });
    let found = run(&mut workshop, &denials, "grep", grep.clone());
    assert!(
        found.starts_with("src/a.txt:1:the word\n") && !found.contains("secret/") && !found.contains("b.pem"),
        "{found}"
    );
    assert!(found.contains("paths were left out: the user's policy denies reading there"), "{found}");

    let find = json!({ "label": null, "pattern": "*", "path": null, "kind": null, "limit": null, "all": true });
    let found = run(&mut workshop, &denials, "find", find);
    assert!(found.contains("src/a.txt") && !found.contains("secret") && !found.contains("b.pem"), "{found}");
    assert!(!found.contains("link") && !found.contains("src/key"), "neither are links there: {found}");

    let ls = json!({ "label": null, "path": null, "limit": null });
    let found = run(&mut workshop, &denials, "ls", ls.clone());
    assert!(found.contains("src/") && !found.contains("secret") && !found.contains("link"), "{found}");
    assert!(found.contains("2 paths were left out"), "{found}");
    assert!(run(&mut workshop, &[], "ls", ls).contains("secret/"), "without a denial it is there");

    // What the call itself names is looked at once more when it runs.
    for (tool, path) in
        [("ls", "link"), ("ls", "secret/deep"), ("find", "secret"), ("grep", "src/key"), ("grep", "secret")]
    {
        let input = match tool {
            "ls" => json!({ "label": null, "path": path, "limit": null }),
            "find" => json!({ "label": null, "pattern": "*", "path": path, "kind": null, "limit": null, "all": null }),
            _ => {
                let mut input = grep.clone();
                input["path"] = path.into();
                input
            }
        };
        let refused = run(&mut workshop, &denials, tool, input);
        assert_eq!(refused, format!("The user's policy denies reading {path}."), "{tool}");
    }
}

#[test]
fn a_denial_of_everything_leaves_nothing() {
    let mut workshop = workshop();
    let ls = json!({ "label": null, "path": null, "limit": null });
    assert_eq!(run(&mut workshop, &["!read(**)"], "ls", ls), "The user's policy denies reading ..");
    assert!(fs::exists(workshop.path("src")).unwrap() && Path::new("/").exists());
}

/// A hard link is another name of the same file: a denial for one of them holds for all, in every tool.
#[test]
fn a_denial_holds_for_every_name_of_a_file() {
    let mut shop = workshop();
    fs::create_dir(shop.path("open")).unwrap();
    fs::hard_link(shop.path("secret/key.txt"), shop.path("open/twin.md")).unwrap();
    fs::hard_link(shop.path("src/a.txt"), shop.path("open/other.md")).unwrap();
    shop.context.notes_root = shop.path("open");
    let grep = |path: &str| {
        json!({ "label": null, "pattern": "the word", "path": path, "glob": null, "case": null, "fixed_strings": null,
            "context": null, "limit": null, "all": true })
    };
    let read = |path: &str| json!({ "label": null, "path": path, "offset": null, "limit": null });
    let write = |path: &str| json!({ "label": null, "path": path, "content": "new\n" });
    let edit = |path: &str| json!({ "label": null, "path": path, "old_text": "word", "new_text": "new" });
    let page = |page: &str| json!({ "page": page });
    let calls = [
        ("read", read("open/twin.md")),
        ("grep", grep("open/twin.md")),
        ("grep", grep("open")),
        ("edit", edit("open/twin.md")),
        ("write", write("open/twin.md")),
        ("read_note", page("twin")),
        ("search_notes", json!({ "query": "the word" })),
    ];
    for rules in [&["!read(secret/**)"][..], &["!read(~/x/**)", "!read(secret/key.txt)"], &["!read(**/key.txt)"]] {
        shop.context.denied = Arc::new(Policy::denied([&list(rules)], &path_base(&shop)));
        for (tool, input) in calls.clone() {
            let text = shop.render(tool, input.clone()).text;
            assert!(
                !text.contains("twin.md:1:the word") && !text.contains("-the word"),
                "{tool} {input} {rules:?}: {text}"
            );
            let is_search = input.get("path").is_some_and(|path| path == "open") || tool == "search_notes";
            let says = tool == "search_notes" || text.contains("denies reading") || tool == "write";
            assert!(says && !text.contains("permission denied"), "{tool} {input} {rules:?}: {text}");
            assert_eq!(text.contains("other"), is_search, "{tool} {rules:?}: {text}");
        }
        assert_eq!(shop.content("secret/key.txt"), "new\n", "writing is another rule's affair");
        fs::write(shop.path("secret/key.txt"), "the word\n").unwrap();
    }
    assert!(shop.ok("read", read("open/other.md")).contains("the word"));
}
