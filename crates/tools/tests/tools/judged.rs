//! What a policy has judged is what is opened: folders and files are exchanged for links between the two.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use flemma_tools::{FileClass, Judged, Linked, Outcome, Owner, PathKind, named_paths, paths::real};
use serde_json::{Value, json};

use crate::workshop::{BUILTINS, Workshop};

const SECRET: &str = "the secret word\n";
const PLAIN: &str = "the plain word\n";

/// A project in which everything harmless is below `docs`, and what nobody may touch is below `secret`.
fn workshop() -> Workshop {
    let mut shop = Workshop::new();
    for (folder, text) in [("docs", PLAIN), ("secret", SECRET)] {
        for file in ["a.md", "sub/a.md", "sub/deep/a.md"] {
            shop.put(&format!("{folder}/{file}"), text);
        }
    }
    shop.context.notes_root = shop.path("docs");
    shop
}

/// What a policy judges now of a call with this input.
fn judge(shop: &Workshop, tool: &str, input: &Value) -> Judged {
    let definition = BUILTINS.get(tool).unwrap();
    let folder = match definition.path_kind {
        PathKind::File => shop.context.cwd.clone(),
        PathKind::Page | PathKind::PageFolder => shop.context.notes_root.clone(),
    };
    let mut judged = Judged::default();
    for params in [&definition.read_path_param, &definition.write_path_param].into_iter().flatten() {
        for named in named_paths(definition.path_kind, params, input, &folder).unwrap() {
            let place = real(&named.path);
            judged.add(named.path, place.clone(), Linked::at(&place).is_some());
        }
    }
    if definition.path_kind != PathKind::File {
        judged.add(folder.clone(), real(&folder), false);
    }
    judged
}

/// Calls that use what is below `docs`.
fn calls() -> Vec<(&'static str, Value)> {
    let search = |tool: &'static str, pattern: &str| {
        let mut input = json!({ "label": null, "pattern": pattern, "path": "docs/sub", "limit": null, "all": true });
        let more = match tool {
            "grep" => json!({ "glob": null, "case": null, "fixed_strings": null, "context": null }),
            _ => json!({ "kind": null }),
        };
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        (tool, input)
    };
    vec![
        ("read", json!({ "label": null, "path": "docs/sub/a.md", "offset": null, "limit": null })),
        ("write", json!({ "label": null, "path": "docs/sub/a.md", "content": "new" })),
        ("write", json!({ "label": null, "path": "docs/sub/new/b.md", "content": "new" })),
        ("edit", json!({ "label": null, "path": "docs/sub/a.md", "old_text": "word", "new_text": "new" })),
        ("ls", json!({ "label": null, "path": "docs/sub", "limit": null })),
        search("grep", "word"),
        search("find", "**/*.md"),
        ("read_note", json!({ "page": "sub/a" })),
        ("get_page_info", json!({ "page": "sub/a" })),
        ("update_note", json!({ "page": "sub/a", "content": "new", "mode": "append" })),
        ("create_note", json!({ "page": "sub/new", "content": "new" })),
    ]
}

/// How a part of a path is exchanged for something else.
const EXCHANGES: [(&str, &str); 5] = [
    ("docs", "secret"),
    ("docs/sub", "secret/sub"),
    ("docs/sub/a.md", "secret/sub/a.md"),
    // Within what may be used, but not what was judged.
    ("docs/sub", "docs/other"),
    ("docs/sub/a.md", "docs/a.md"),
];

fn exchange(shop: &Workshop, (place, target): (&str, &str)) {
    fs::create_dir_all(shop.path("docs/other")).unwrap();
    fs::write(shop.path("docs/other/a.md"), SECRET).unwrap();
    let target = if place == "docs" { shop.path(target) } else { shop.path(target).canonicalize().unwrap() };
    fs::rename(shop.path(place), shop.path("away")).unwrap();
    symlink(target, shop.path(place)).unwrap();
}

fn contents(folder: &Path) -> Vec<(std::path::PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.symlink_metadata().unwrap() {
            kind if kind.is_dir() => found.extend(contents(&path)),
            kind if kind.is_file() => found.push((path.clone(), fs::read_to_string(&path).unwrap())),
            _ => {}
        }
    }
    found.sort();
    found
}

#[test]
#[ignore = "slow"]
fn what_was_exchanged_since_it_was_judged_is_not_used() {
    for (tool, input) in calls() {
        for step in EXCHANGES {
            let mut shop = workshop();
            let is_about_file = input.to_string().contains("sub/a");
            if !is_about_file && step.0.ends_with("a.md") {
                continue;
            }
            shop.context.judged = Some(Arc::new(judge(&shop, tool, &input)));
            exchange(&shop, step);
            let before = contents(&shop.context.cwd);
            let outcome = shop.call(tool, input.clone());
            let is_refused = outcome.render().text.contains("leads out of the folder of notes");
            assert!(is_refused || matches!(outcome, Outcome::Outdated(_)), "{tool} {step:?}: {outcome:?}");
            assert!(!outcome.render().text.contains("secret word"), "{tool} {step:?}: {outcome:?}");
            assert_eq!(contents(&shop.context.cwd), before, "{tool} {step:?} wrote");
        }
        // Where nothing was exchanged, it does what it is for.
        let mut shop = workshop();
        shop.context.judged = Some(Arc::new(judge(&shop, tool, &input)));
        let rendered = shop.render(tool, input.clone());
        assert!(!rendered.is_error, "{tool}: {}", rendered.text);
    }
}

/// A file that has got another name since is the file of whoever has the other name.
#[test]
fn a_hard_link_that_came_since_is_not_written() {
    for (tool, input) in calls().into_iter().filter(|(_, input)| input.to_string().contains("new")) {
        let mut shop = workshop();
        shop.context.judged = Some(Arc::new(judge(&shop, tool, &input)));
        let file = shop.path("docs/sub/a.md");
        fs::remove_file(&file).unwrap();
        fs::hard_link(shop.path("secret/a.md"), &file).unwrap();
        let outcome = shop.call(tool, input.clone());
        assert_eq!(shop.content("secret/a.md"), SECRET, "{tool}: {outcome:?}");
    }
}

/// Writing such a file asks every time, so a policy's approval is not enough, whatever was judged.
#[test]
fn a_start_up_file_waits_for_the_user_in_every_tool() {
    for (tool, input) in calls().into_iter().filter(|(_, input)| input.to_string().contains("new")) {
        let mut shop = workshop();
        shop.context.protected = Arc::new(|_| FileClass::StartUp);
        let before = contents(&shop.context.cwd);
        for judged in [judge(&shop, tool, &input), Judged::default()] {
            shop.context.judged = Some(Arc::new(judged));
            let outcome = shop.call(tool, input.clone());
            assert!(matches!(outcome, Outcome::Outdated(_)), "{tool}: {outcome:?}");
            assert_eq!(contents(&shop.context.cwd), before, "{tool} wrote");
        }
        // The user's own approval is.
        shop.context.judged = None;
        let rendered = shop.render(tool, input.clone());
        assert!(!rendered.is_error, "{tool}: {}", rendered.text);
    }
}

/// The folder is exchanged again and again, while the tools are at work.
#[test]
#[ignore = "slow"]
fn no_moment_is_the_right_one_for_an_exchange() {
    for (tool, input) in calls() {
        let mut shop = workshop();
        let owner = Owner::default();
        shop.context.protected = Arc::new(move |path| owner.class_of(path));
        let (sub, away, link) = (shop.path("docs/sub"), shop.path("docs/away"), shop.path("docs/link"));
        symlink(shop.path("secret/sub").canonicalize().unwrap(), &link).unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let exchanging = thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let _ = fs::rename(&sub, &away).and_then(|()| fs::rename(&link, &sub));
                let _ = fs::rename(&sub, &link).and_then(|()| fs::rename(&away, &sub));
            }
        });
        for _ in 0..60 {
            let mut again = Judged::default();
            for path in ["docs/sub/a.md", "docs/sub", "docs/sub/new/b.md", "docs/sub/new.md", "docs"] {
                again.add(shop.path(path), shop.context.cwd.canonicalize().unwrap().join(path), false);
            }
            shop.context.judged = Some(Arc::new(again));
            let text = shop.render(tool, input.clone()).text;
            assert!(!text.contains("secret word"), "{tool}: {text}");
        }
        is_over.store(true, Ordering::Relaxed);
        exchanging.join().unwrap();
        for (file, text) in contents(&shop.path("secret")) {
            assert_eq!(text, SECRET, "{tool} wrote {}", file.display());
        }
        assert_eq!(contents(&shop.path("secret")).len(), 3, "{tool} made a file");
    }
}
