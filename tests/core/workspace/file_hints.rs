//! What is said behind a line that names a file without attaching it.

use serde_json::json;

use super::harness::{Harness, Setup};

/// What is said in a conversation, when it is known which names are files.
fn hints(chat: &Harness) -> Vec<(usize, String)> {
    let look = |chat: &Harness| chat.workspace.completions.file_hints(&chat.conversation(), 0..100);
    // The text ends with a name that is always a file.
    chat.drain_until("the hints", |chat| look(chat).iter().any(|(_, hint)| hint.contains("sentinel")));
    look(chat).into_iter().filter(|(_, hint)| !hint.contains("sentinel")).collect()
}

fn with_files(text: &str, options: serde_json::Value) -> Harness {
    let files: &[(&str, &str)] = &[
        ("README.md", ""),
        ("Makefile", ""),
        ("src/main.rs", ""),
        ("secret/key.txt", ""),
        ("grep", ""),
        ("diff", ""),
        ("property", ""),
        ("a b.txt", ""),
        ("sentinel.txt", ""),
    ];
    Harness::start(Setup { text: &format!("{text}\n@sentinel.txt\n"), files, options, ..Setup::default() }, [])
}

#[test]
fn a_name_of_a_file_that_is_no_reference_is_told() {
    let text = "@You:
        Look at @README.md.
        (@src/main.rs#L1-L2) and @Makefile
        @a%20b.txt
        **@src/main.rs**
        @missing.md, @src, @src/, @README.md/x, @/missing
        Look at @bufer, and at @diagnostic";
    let chat = with_files(&text.replace("        ", ""), json!({}));
    assert_eq!(
        hints(&chat),
        [
            (1, "`@./README.md` attaches this file".to_owned()),
            (2, "`@./src/main.rs#L1-L2` attaches this file".to_owned()),
            (3, "`@./a%20b.txt` attaches this file".to_owned()),
            (6, "this attaches nothing; did you mean `@buffer`?".to_owned()),
        ]
    );
    let absolute = format!("@You:\n@{}", chat.work("README.md").display());
    let chat = with_files(&absolute, json!({}));
    let path = chat.work("README.md");
    chat.put("own.chat", format!("@You:\n@{} and @sentinel.txt\n", path.display()));
    chat.edit("own.chat");
    let found = |chat: &Harness| chat.workspace.completions.file_hints(&chat.conversation(), 0..100);
    chat.drain_until("the hint", |chat| !found(chat).is_empty());
    assert_eq!(found(&chat), [(1, format!("`@/{}` attaches this file", path.display()))]);
}

#[test]
fn other_words_with_an_at_sign_are_not_told() {
    let text = "@System:
        Follow @README.md.

        @You:
        Was sent: @README.md

        @Assistant:
        See @README.md.

        @You: @./README.md
        me@README.md and @@README.md, `@README.md`, \\@README.md, @{README.md}
        @grep and @diff are no files
        ```python
        @property
        @README.md
        ```
        @//README.md @~/README.md";
    let chat = with_files(&text.replace("        ", ""), json!({}));
    assert_eq!(hints(&chat), []);
}

#[test]
fn a_file_that_may_not_be_read_is_not_told() {
    let text = "@You:\n@secret/key.txt\n@src/main.rs\n@README.md";
    let options = json!({
        "tools": { "presets": { "$safe": { "deny": ["read(secret/**)"] } }, "auto_approve": ["$default", "$safe"] },
        "agents": { "mine": { "allowed_read_paths": ["./README.md", "./secret", "./sentinel.txt"] } }, "agent": "mine"
    });
    let chat = with_files(text, options);
    assert_eq!(hints(&chat), [(3, "`@./README.md` attaches this file".to_owned())]);
}

#[test]
fn a_file_that_appears_is_told_after_a_while() {
    let chat = with_files("@You:\n@later.md", json!({}));
    assert_eq!(hints(&chat), []);
    chat.put("later.md", "");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while hints(&chat).is_empty() {
        assert!(std::time::Instant::now() < deadline, "the new file is not told");
        chat.drain_once();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
