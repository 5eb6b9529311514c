//! Files and folders behind an `@`.

use std::{cell::Cell, fs, os::unix::fs::symlink};

use flemma_chat::Document;
use flemma_workspace::{ItemKind, MAX_FILES};
use proptest::prelude::*;
use serde_json::json;

use super::{Offer, ask, offer, with_files};
use crate::{
    notation::screen,
    workspace::harness::{Harness, Setup},
};

/// What is offered for a path in the user's message.
fn path(chat: &Harness, typed: &str) -> Offer {
    offer(chat, &format!("@You:\nsee {typed}"))
}

#[test]
fn folders_come_first_and_files_follow_step_by_step() {
    let chat =
        with_files(&[("src/a.rs", "fn a() {}\n"), ("src/deep/b.rs", ""), ("README.md", "hello\n"), ("b.md", "")]);
    let found = path(&chat, "@./¦ and more");
    assert_eq!(found.words(), ["src/", "README.md", "b.md", "notes.chat"]);
    assert_eq!(found.item("src/").kind, ItemKind::Folder);
    let readme = found.item("README.md");
    assert_eq!((readme.kind, readme.detail.as_str()), (ItemKind::File, "6 B"));
    assert_eq!(readme.documentation, "", "the size is said once");
    assert_eq!(found.taken("src/"), "see @./src/ and more");
    assert_eq!(path(&chat, "@./src/¦").words(), ["deep/", "a.rs"]);
    assert_eq!(path(&chat, "@./src/deep/¦").words(), ["b.rs"]);
    let found = path(&chat, "@./src/A¦");
    assert_eq!((found.words(), found.replaces()), (vec!["a.rs"], ("A", "")));
    // The rest of the path stays, and no second slash comes.
    let found = path(&chat, "@./s¦rc/a.rs");
    assert_eq!((found.words(), found.replaces()), (vec!["src"], ("s", "rc")));
    assert!(path(&chat, "@./missing/¦").found.is_none());
    assert!(path(&chat, "@./README.md/¦").found.is_none());
    assert_eq!(path(&chat, "@../wo¦").words(), ["work/"]);
}

#[test]
fn an_absolute_path_and_the_home_folder_are_listed() {
    let chat = with_files(&[("a.txt", "")]);
    let work = chat.work("");
    let found = path(&chat, &format!("@/{}¦", work.display()));
    assert_eq!(found.words(), ["a.txt", "notes.chat"]);
    // One slash is made two.
    let found = path(&chat, "@/¦");
    assert!(found.words().contains(&"//tmp/"), "{:?}", found.words());
    assert_eq!(found.taken("//tmp/"), "see @//tmp/");
    let home = std::env::home_dir().unwrap();
    let any = fs::read_dir(&home).is_ok_and(|mut entries| {
        entries.any(|entry| entry.is_ok_and(|entry| !entry.file_name().to_string_lossy().starts_with('.')))
    });
    assert_eq!(path(&chat, "@~/¦").found.is_some(), any);
}

#[test]
fn hidden_files_need_a_dot_and_ignored_ones_come_last() {
    // The first glob would overflow a stack.
    let ignored = format!("{}{}\ntarget\nmade*\n", "{a,".repeat(20_000), "}".repeat(20_000));
    let files = [
        (".gitignore", ignored.as_str()),
        (".env", ""),
        ("made.txt", ""),
        ("main.rs", ""),
        ("target/x", ""),
        ("text.md", ""),
        (".git/config", ""),
    ];
    let chat = with_files(&files);
    assert_eq!(path(&chat, "@./¦").words(), ["main.rs", "notes.chat", "text.md"]);
    let hidden = path(&chat, "@./.¦");
    assert_eq!(
        hidden.words().into_iter().filter(|word| !word.contains("lock")).collect::<Vec<_>>(),
        [".env", ".gitignore", ".git/"]
    );
    let found = path(&chat, "@./m¦");
    assert_eq!(found.words(), ["main.rs", "made.txt"]);
    assert_eq!(found.item("made.txt").detail, "0 B, ignored");
    assert_eq!(path(&chat, "@./t¦").words(), ["text.md", "target/"]);
}

#[test]
fn files_that_may_not_be_read_are_not_offered() {
    let deny = json!({ "tools": { "presets": { "$safe": { "deny": ["read(secret/**)", "read(*.key)"] } },
        "auto_approve": ["$default", "$safe"] } });
    let files: &[(&str, &str)] = &[("secret/a.txt", ""), ("a.key", ""), ("a.txt", "")];
    let chat = Harness::start(Setup { files, options: deny, ..Setup::default() }, []);
    symlink(chat.work("secret"), chat.work("way")).unwrap();
    symlink(chat.work("a.key"), chat.work("a.link")).unwrap();
    let found = path(&chat, "@./a¦");
    assert_eq!(found.words(), ["a.txt"]);
    for folder in ["@./secret/¦", "@./way/¦"] {
        let found = path(&chat, folder);
        assert!(found.found.is_none(), "{folder}: {:?}", found.words());
    }
    // The denials of the conversation's own file count as well, once it is trusted.
    let options = json!({ "tools": { "presets": { "$none": { "deny": ["read(a.txt)"] } } } });
    let chat = Harness::start(Setup { files, options, ..Setup::default() }, []);
    let typed = screen("```lua\nflemma.opt.tools.auto_approve = [\"$none\"]\n```\n\n@You:\n@./a");
    let buffer = chat.unnamed("");
    chat.host.edit(buffer, [(0..1, typed)]);
    let found = ask(&chat, 5, "@./a".len()).unwrap();
    assert_eq!(found.items.iter().map(|item| item.word.as_str()).collect::<Vec<_>>(), ["a.key"]);
}

#[test]
fn files_that_an_agent_forbids_are_not_offered() {
    let options = json!({
        "agents": { "notes": { "allowed_read_paths": ["./notes", "./deep/er/a.txt"] } }, "agent": "notes"
    });
    let files: &[(&str, &str)] =
        &[("notes/a.txt", ""), ("secret/a.txt", ""), ("deep/er/a.txt", ""), ("deep/er/b.txt", ""), ("a.txt", "")];
    let chat = Harness::start(Setup { files, options, ..Setup::default() }, []);
    symlink(chat.work("a.txt"), chat.work("notes/way.txt")).unwrap();
    symlink(chat.work("notes/a.txt"), chat.work("way")).unwrap();
    // Folders on the way to what is allowed are offered.
    assert_eq!(path(&chat, "@./¦").words(), ["deep/", "notes/", "way"]);
    assert_eq!(path(&chat, "@./notes/¦").words(), ["a.txt"]);
    assert_eq!(path(&chat, "@./deep/er/¦").words(), ["a.txt"]);
    assert!(path(&chat, "@./secret/¦").found.is_none());
    assert!(!path(&chat, "@sec¦").words().contains(&"./secret/"));
}

#[test]
#[ignore = "slow"]
fn a_large_folder_is_offered_in_parts() {
    let chat = with_files(&[]);
    let folder = chat.work("many");
    fs::create_dir(&folder).unwrap();
    for number in 0..2_000 {
        fs::write(folder.join(format!("file{number:04}")), "").unwrap();
    }
    let found = path(&chat, "@./many/¦").found.unwrap();
    assert_eq!((found.items.len(), found.is_incomplete), (MAX_FILES, true));
    let found = path(&chat, "@./many/file19¦").found.unwrap();
    assert_eq!((found.items.len(), found.is_incomplete), (100, false));
}

#[test]
fn a_new_file_is_offered_at_the_latest_after_a_moment() {
    let chat = with_files(&[("a1", "")]);
    assert_eq!(path(&chat, "@./a¦").words(), ["a1"]);
    chat.put("a2", "");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while path(&chat, "@./a¦").words() != ["a1", "a2"] {
        assert!(std::time::Instant::now() < deadline, "the new file is not offered");
        std::thread::yield_now();
    }
}

/// A name that a file can have.
fn name() -> impl Strategy<Value = String> {
    "[a-z.,;:!?\"'*>%`_(){}\\[\\] äß…“@#&=~L1-]{1,12}"
        .prop_filter("a file's name", |name| name != "." && name != ".." && !name.starts_with('.'))
}

#[test]
fn a_reference_to_the_editor_takes_a_path() {
    let chat = with_files(&[("src/main.rs", ""), ("notes.txt", "")]);
    let found = path(&chat, "@diagnostics:¦");
    assert_eq!(found.words(), ["./", "../", "~/", "//"]);
    assert_eq!(found.taken("./"), "see @diagnostics:./");
    let found = path(&chat, "@buffer:./sr¦");
    assert_eq!(found.taken("src/"), "see @buffer:./src/");
    let found = path(&chat, "@diff:./src/¦, or");
    assert_eq!(found.words(), ["main.rs"]);
    assert!(!path(&chat, "@bash:./¦").words().contains(&"src/"), "no other name takes one");
}

/// Whatever is in a name, the reference that is put into the line means that file.
#[test]
fn what_is_taken_is_a_reference_to_the_file() {
    let chat = with_files(&[]);
    let count = Cell::new(0);
    proptest!(ProptestConfig::with_cases(60), |(folder in name(), file in name(), behind in "(\\.|, and|\\)| x)")| {
        count.set(count.get() + 1);
        let root = count.get().to_string();
        fs::create_dir_all(chat.work(&root).join(&folder)).unwrap();
        fs::write(chat.work(&root).join(&folder).join(&file), "").unwrap();
        let found = path(&chat, &format!("@./{root}/¦ {behind}"));
        let item = found.items().iter().find(|item| item.label == format!("{folder}/")).expect("the folder");
        let typed = format!("@./{root}/{}", item.word);
        let found = path(&chat, &format!("{typed}¦ {behind}"));
        let item = found.items().iter().find(|item| item.label == file).expect("the file");
        // The user goes on with the sentence.
        let taken = found.taken(&item.word).replacen(&format!(" {behind}"), &behind, 1);
        let lines = vec!["@You:".to_owned(), taken.clone()];
        let references = flemma_chat::files(&Document::parse(&lines), 0..2, &lines);
        prop_assert_eq!(references.len(), 1, "{}", &taken);
        let expected = format!("./{root}/{folder}/{file}");
        prop_assert_eq!(references[0].path.to_str(), Some(&*expected), "{}", &taken);
    });
}
