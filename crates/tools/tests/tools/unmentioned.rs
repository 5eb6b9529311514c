//! What errors say of files that may not be used: nothing, not even whether they are there.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::Arc,
};

use flemma_tools::{Policy, Presets, rules::PathBase};
use serde_json::{Value, json};

use super::permitted::{agent, input};
use crate::workshop::{BUILTINS, Workshop};

/// Who says that `Private` is nobody's business.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Border {
    Agent,
    Denial,
    Notes,
}

/// A folder with a border around `Private`, and a way into it.
fn workshop(border: Border) -> Workshop {
    let mut workshop = Workshop::new();
    workshop.put("Journal/today.md", "allowed\n");
    workshop.put("Private/diary.md", "SECRET\n");
    symlink("../Private", workshop.path("Journal/door")).unwrap();
    let root = workshop.context.cwd.clone();
    workshop.context.notes_root = root.clone();
    match border {
        Border::Agent => {
            workshop.context.permitted = Arc::new(agent(json!({ "allowed_read_paths": ["Journal"] }), &root, &root));
        }
        Border::Denial => deny(&mut workshop, "!read(Private/**)"),
        Border::Notes => workshop.context.notes_root = root.join("Journal"),
    }
    workshop
}

fn deny(workshop: &mut Workshop, entry: &str) {
    let base = PathBase { folder: workshop.context.cwd.clone(), ..PathBase::default() };
    let rules = Policy::new(&[entry.to_owned()], &[], &Presets::builtin());
    workshop.context.denied = Arc::new(Policy::denied([&rules], &base));
}

/// The calls that name a file or a page.
fn calls(border: Border) -> Vec<(&'static str, Value)> {
    let mut calls = vec![
        ("read_note", json!({})),
        ("get_page_info", json!({})),
        ("create_note", json!({ "content": "x" })),
        ("update_note", json!({ "content": "x", "mode": "append" })),
        ("search_replace", json!({ "search": "SECRET", "replace": "x", "mode": "first" })),
        ("update_frontmatter", json!({ "set": { "a": 1 } })),
        ("rename_note", json!({ "new_page": "today2" })),
    ];
    if border != Border::Notes {
        calls.extend([
            ("read", json!({})),
            ("edit", json!({ "old_text": "SECRET", "new_text": "x" })),
            ("ls", json!({})),
            ("find", json!({ "pattern": "*" })),
            ("grep", json!({ "pattern": "." })),
        ]);
    }
    if border == Border::Agent {
        calls.push(("write", json!({ "content": "x" })));
    }
    calls
}

/// Puts something at a path.
type Put = fn(&Path);

const THINGS: [(&str, Put); 7] = [
    ("nothing", |_| {}),
    ("a file", |path| fs::write(path, "SECRET\n").unwrap()),
    ("an empty file", |path| fs::write(path, "").unwrap()),
    ("a folder", |path| fs::create_dir(path).unwrap()),
    ("a similar name", |path| fs::write(path.with_file_name("thimg.md"), "").unwrap()),
    ("a link to nothing", |path| symlink("nowhere", path).unwrap()),
    ("a link to itself", |path| symlink("thing.md", path).unwrap()),
];

#[test]
fn what_may_not_be_used_gives_the_same_error_whatever_it_is() {
    for border in [Border::Agent, Border::Denial, Border::Notes] {
        for (tool, given) in calls(border) {
            let workshop = workshop(border);
            let is_page = BUILTINS.get(tool).unwrap().input_schema["properties"].get("page").is_some();
            for place in [
                "Private/thing.md",
                "Journal/door/thing.md",
                "Journal/../Private/thing.md",
                "Private/thing.md/below.md",
            ] {
                if border == Border::Notes && place != "Journal/door/thing.md" {
                    continue;
                }
                let mut texts = THINGS.iter().map(|(what, put)| {
                    fs::remove_dir_all(workshop.path("Private")).unwrap();
                    workshop.put("Private/diary.md", "SECRET\n");
                    put(&workshop.path("Private/thing.md"));
                    let mut given = given.clone();
                    let name = if border == Border::Notes { place.strip_prefix("Journal/").unwrap() } else { place };
                    let name = if is_page { name.strip_suffix(".md").unwrap() } else { name };
                    given[if is_page { "page" } else { "path" }] = name.into();
                    let text = workshop.err(tool, input(tool, given));
                    assert!(!text.contains("does not match its schema"), "{text}");
                    (*what, text)
                });
                let (_, first) = texts.next().unwrap();
                for (what, text) in texts {
                    assert_eq!(text, first, "{border:?} {tool} {place}: {what}");
                }
            }
        }
    }
}

#[test]
fn similar_names_are_judged_by_where_they_lead() {
    let mut workshop = workshop(Border::Denial);
    deny(&mut workshop, "!read(Private/*.key)");
    workshop.put("Private/id.key", "SECRET\n");
    workshop.put("Private/id.txt", "allowed\n");
    for name in ["Private/id.kez", "Journal/door/id.kez"] {
        for (tool, more) in
            [("read", json!({})), ("edit", json!({ "old_text": "a", "new_text": "b" })), ("ls", json!({}))]
        {
            let mut given = more;
            given["path"] = name.into();
            let text = workshop.err(tool, input(tool, given));
            assert!(text.contains("does not exist") && !text.contains("id.key`"), "{tool} {name}: {text}");
        }
    }
}

#[test]
fn a_link_says_where_it_leads_only_where_that_may_be_known() {
    let workshop = workshop(Border::Agent);
    let link = |target: &str| {
        let path: PathBuf = workshop.path("Journal/link.md");
        let _ = fs::remove_file(&path);
        symlink(target, path).unwrap();
        workshop.err("read", input("read", json!({ "path": "Journal/link.md" })))
    };
    assert_eq!(link("gone.md"), "Journal/link.md is a link to gone.md, which does not exist.");
    let denied = link("../Private/gone.md");
    let words =
        "The agent `tester` does not allow `Journal/link.md` to be read: it is a link, or a folder in it is, and";
    assert!(denied.starts_with(words) && !denied.contains("gone"), "{denied}");
}
