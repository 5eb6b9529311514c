//! An editor that is killed while a page is renamed: the user and the model are told what was done, and it is finished or taken
//! back.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    time::{Duration, Instant},
};

use serde_json::json;

use super::chat::{Chat, Setup, call, prose, said};

/// How many pages link to the one that is renamed.
const PAGES: usize = 200;

/// What the vault has: each file with its mode and its bytes.
type Vault = BTreeMap<String, (u32, Vec<u8>)>;

fn collect(folder: &Path, root: &Path, found: &mut Vault) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        // A temporary file may be left of the kill.
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if path.is_dir() {
            collect(&path, root, found);
        } else if !is_hidden
            // While the editor is at work, a file may be gone by now.
            && let (Ok(metadata), Ok(bytes)) = (path.metadata(), fs::read(&path))
        {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            found.insert(name, (metadata.mode() & 0o7777, bytes));
        }
    }
}

fn vault(root: &Path) -> Vault {
    let mut found = Vault::new();
    collect(root, root, &mut found);
    found
}

/// The pages that link to the new name.
fn changed(vault: &Vault) -> usize {
    vault.values().filter(|(_, bytes)| String::from_utf8_lossy(bytes).contains("[[deep/New]]")).count()
}

/// An editor that was killed while it renamed a page, the folder of notes as it was before, and the next editor.
fn killed() -> (Chat, Vault, Chat) {
    let names: Vec<String> = (0..PAGES).map(|number| format!("vault/Page {number:03}.md")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "See [[Old]].\r\n")).collect();
    files.push(("vault/Old.md", "# Old\n\n[first](<./Page 000.md>)\n"));
    let options = "tools = { notes = { enabled = true, root = 'vault' }, auto_approve = { 'rename_note' } }";
    let setup = Setup { files: &files, options, ..Setup::default() };
    let input = json!({ "label": null, "page": "Old", "new_page": "deep/New" });
    let mut first = Chat::start(&setup, [call("toolu_1", "rename_note", &input), prose(&["never"])]);
    let root = first.nvim.work().join("vault");
    fs::set_permissions(root.join("Page 001.md"), fs::Permissions::from_mode(0o640)).unwrap();
    let before = vault(&root);
    first.nvim.input("<C-]>");
    let deadline = Instant::now() + Duration::from_secs(60);
    while changed(&vault(&root)) < 3 {
        assert!(Instant::now() < deadline, "nothing is renamed: {}", first.nvim.text());
        std::thread::sleep(Duration::from_millis(1));
    }
    first.nvim.kill();
    let half = vault(&root);
    assert!(half.contains_key("Old.md") && changed(&half) < PAGES, "it was killed too late");
    let options = format!(
        "tools = {{ notes = {{ enabled = true, root = '{}' }}, auto_approve = {{ 'rename_note' }} }}",
        root.display()
    );
    let file = first.nvim.work().join("notes.chat");
    let mut next = Chat::another(&first, &file, (&options, ""), [prose(&["fine"])]);
    next.nvim.wait_for("the question", |nvim| nvim.text().contains("Run it again?"));
    next.wait_until_idle();
    next.nvim.wait_for("what was done", |nvim| {
        let said = said(nvim);
        said.contains("rename_note (toolu_1) had changed") && said.contains("vault/Page 000.md")
    });
    (first, before, next)
}

/// Gives a command that takes changes back, and agrees.
fn take_back(chat: &mut Chat, command: &str) {
    chat.nvim.input(&format!(":{command}<CR>"));
    chat.nvim.wait_for("what would be taken back", |nvim| {
        nvim.lua("return vim.bo.buftype", &[]) == "nofile" && nvim.text().contains("vault/Page 000.md")
    });
    chat.nvim.input("gg<CR>");
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("took back"));
}

fn wait_for_vault(chat: &mut Chat, root: &Path, expected: &Vault) {
    chat.nvim.wait_for("the vault as it was", |_| vault(root) == *expected);
}

#[test]
fn a_rename_that_was_killed_is_finished_and_taken_back() {
    let (first, before, mut chat) = killed();
    let root = first.nvim.work().join("vault");
    chat.go_to("status=pending");
    chat.nvim.input("<M-CR>");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    chat.wait_until_idle();
    let after = vault(&root);
    assert_eq!((changed(&after), after.contains_key("Old.md")), (PAGES, false));
    assert_eq!(after["deep/New.md"].1, b"# Old\n\n[first](<../Page 000.md>)\n");
    let told = chat.messages(0)[2].to_string();
    assert!(told.contains("Renamed `Old` to `deep/New`") && told.contains("An earlier run of this call"), "{told}");
    take_back(&mut chat, "Flemma undo");
    wait_for_vault(&mut chat, &root, &before);
}

#[test]
fn a_rename_that_was_killed_is_taken_back_before_the_answer() {
    let (first, before, mut chat) = killed();
    let root = first.nvim.work().join("vault");
    take_back(&mut chat, "Flemma undo");
    wait_for_vault(&mut chat, &root, &before);
    chat.nvim.wait_for("the conversation", |nvim| nvim.text().contains("status=pending"));
    chat.wait_until_idle();
    chat.go_to("status=pending");
    chat.nvim.command("Flemma tool:reject");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    let told = chat.messages(0)[2].to_string();
    assert!(told.contains("no recorded change by it is left in a file"), "{told}");
}

#[test]
fn the_model_is_told_what_a_killed_rename_has_changed() {
    let (first, before, mut chat) = killed();
    let root = first.nvim.work().join("vault");
    chat.go_to("status=pending");
    chat.nvim.command("Flemma tool:reject");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    chat.wait_until_idle();
    let told = chat.messages(0)[2].to_string();
    assert!(told.contains("by then it had changed") && told.contains("vault/Page 002.md"), "{told}");
    chat.go_to("@You:");
    take_back(&mut chat, "Flemma rollback");
    wait_for_vault(&mut chat, &root, &before);
}
