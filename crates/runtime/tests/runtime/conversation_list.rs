//! The conversations in folders, as they are on the disk.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use flemma_runtime::{Conversations, ListedConversation, conversation_folder};
use tempfile::tempdir;

/// Writes a file that was last changed so many seconds ago.
fn write(path: &Path, text: &str, age: u64) {
    fs::write(path, text).unwrap();
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
}

fn titles(list: &[ListedConversation]) -> Vec<Option<&str>> {
    list.iter().map(|found| found.glance.title.as_deref()).collect()
}

#[test]
fn conversations_are_listed_newest_first_and_nothing_else_is() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(&at("old.chat"), "@You:\nold\n", 300);
    write(&at("new.chat"), "@You:\nnew\n", 1);
    write(&at("middle.chat"), &format!("@You:\nmiddle\n{}", "x\n".repeat(100_000)), 20);
    write(&at("odd.chat"), "@You:\n\u{fffd}\n", 400);
    fs::write(at("odd.chat"), b"\xff\xfe\x00").unwrap();
    write(&at("notes.md"), "@You:\nnotes\n", 0);
    fs::create_dir(at("folder.chat")).unwrap();
    // Opening a pipe would wait for somebody who writes.
    let made = std::process::Command::new("mkfifo").arg(at("pipe.chat")).status().unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink("nowhere", at("broken.chat")).unwrap();
    let list = Conversations::default();
    let found = list.list(&[folder.path().to_owned(), at("missing")]).unwrap();
    assert_eq!(titles(&found), [None, Some("new"), Some("middle"), Some("old")]);
    assert!(list.list(&[at("notes.md")]).is_err(), "a file is no folder");
    // A file that has changed is read again.
    write(&at("old.chat"), "@You:\nchanged\n", 0);
    fs::remove_file(at("odd.chat")).unwrap();
    let found = list.list(&[folder.path().to_owned()]).unwrap();
    assert_eq!(titles(&found), [Some("changed"), Some("new"), Some("middle")]);
}

#[test]
#[ignore = "slow"]
fn thousands_of_conversations_are_read_once() {
    let folder = tempdir().unwrap();
    for number in 0..3000 {
        fs::write(folder.path().join(format!("{number}.chat")), format!("@You:\nTitle {number}\n")).unwrap();
    }
    let list = Conversations::default();
    let folders = [folder.path().to_owned()];
    assert_eq!(list.list(&folders).unwrap().len(), 3000);
    // What is remembered is told by size and time alone.
    let (path, before) = (folder.path().join("7.chat"), fs::metadata(folder.path().join("7.chat")).unwrap());
    fs::write(&path, "@You:\nOther 7\n").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(before.modified().unwrap()).unwrap();
    let found = list.list(&folders).unwrap();
    let seventh = found.iter().find(|found| found.path == path).unwrap();
    assert_eq!(seventh.glance.title.as_deref(), Some("Title 7"));
}

#[test]
fn the_note_of_the_last_one_leads_to_a_file_or_nowhere() {
    let folder = tempdir().unwrap();
    let (note, file) = (folder.path().join("deep/er/.last"), folder.path().join("a b.chat"));
    assert_eq!(conversation_folder::last_used(&note), None);
    // One without a file is not noted.
    conversation_folder::note_last_used(&note, &file).unwrap();
    assert!(!note.exists());
    fs::write(&file, "x").unwrap();
    conversation_folder::note_last_used(&note, &file).unwrap();
    assert_eq!(conversation_folder::last_used(&note), Some(file.clone()));
    fs::remove_file(&file).unwrap();
    assert_eq!(conversation_folder::last_used(&note), None);
    for odd in ["", "\n", "relative.chat\n", "/\n"] {
        fs::write(&note, odd).unwrap();
        assert_eq!(conversation_folder::last_used(&note), None, "{odd:?}");
    }
    fs::write(&note, b"\xff/\n").unwrap();
    assert_eq!(conversation_folder::last_used(&note), None);
}
