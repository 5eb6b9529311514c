//! Writing a conversation's file, and the bytes that its lines become.

use std::fs;

use flemma_workspace::{FileLayout, LineBreak};
use serde_json::json;

use super::{
    harness::{Harness, NOTES, Setup},
    replies::calls,
};

const PLAIN: FileLayout = FileLayout {
    line_break: LineBreak::Unix,
    byte_order_mark: false,
    end_of_line: true,
    end_of_file: false,
    is_empty: false,
};

#[test]
fn lines_become_the_bytes_that_write_would_write() {
    let bytes = |layout: FileLayout, pieces: &[&'static [u8]]| layout.bytes(pieces.iter().copied());
    let lines: &[&[u8]] = &[b"one\n\n", b"t\xffo\n"];
    assert_eq!(bytes(PLAIN, lines), b"one\n\nt\xffo\n");
    let dos = FileLayout { line_break: LineBreak::Dos, ..PLAIN };
    assert_eq!(bytes(dos, lines), b"one\r\n\r\nt\xffo\r\n");
    assert_eq!(bytes(FileLayout { end_of_line: false, ..dos }, lines), b"one\r\n\r\nt\xffo");
    let mac = FileLayout { line_break: LineBreak::Mac, ..PLAIN };
    assert_eq!(bytes(mac, lines), b"one\r\rt\xffo\r");
    assert_eq!(bytes(FileLayout { end_of_line: false, ..mac }, lines), b"one\r\rt\xffo");
    // In a Mac file a carriage return in a line stands for a line feed.
    assert_eq!(bytes(mac, &[b"a\0b\rc\n"]), b"a\0b\nc\r");
    assert_eq!(bytes(FileLayout { end_of_line: false, ..PLAIN }, lines), b"one\n\nt\xffo");
    assert_eq!(bytes(FileLayout { byte_order_mark: true, ..PLAIN }, &[b"x\n"]), b"\xef\xbb\xbfx\n");
    assert_eq!(bytes(FileLayout { end_of_file: true, ..PLAIN }, &[b"x\n"]), b"x\n\x1a");
    assert_eq!(bytes(FileLayout { is_empty: true, ..PLAIN }, &[b"\n"]), b"", "an empty buffer is an empty file");
    assert_eq!(bytes(FileLayout { is_empty: true, end_of_line: false, ..PLAIN }, &[b"\n"]), b"");
    assert_eq!(bytes(PLAIN, &[b"\n"]), b"\n");
}

/// Gives the buffer this text.
fn replace(chat: &Harness, text: &str) {
    let count = chat.buffer().lines().len();
    chat.host.edit(chat.current(), [(0..count, vec![text.to_owned()])]);
}

/// Writes the buffer with this text to a file, as the host does at the end of a turn, and waits for the end. Gives the
/// problem.
fn save(chat: &Harness, name: &str, text: &str, tick: i64) -> Option<String> {
    let before = chat.host.saved.borrow().len();
    replace(chat, text);
    assert!(chat.workspace.saving.save(NOTES, chat.work(name), PLAIN, tick));
    chat.drain_until("the end of the write", |chat| chat.host.saved.borrow().len() > before);
    let (buffer, told, problem) = chat.host.saved.borrow().last().cloned().unwrap();
    assert_eq!((buffer, told), (NOTES, tick));
    problem
}

#[test]
fn a_file_is_written_only_if_it_is_the_one_that_is_known() {
    let chat = Harness::new("@You:\nHello", []);
    assert_eq!(save(&chat, "notes.chat", "first", 7), None);
    assert_eq!(save(&chat, "notes.chat", "second", 8), None, "its own write is known");
    assert_eq!(fs::read_to_string(chat.work("notes.chat")).unwrap(), "second\n");

    chat.put("notes.chat", "by somebody else");
    let problem = save(&chat, "notes.chat", "third", 9).unwrap();
    assert!(problem.contains("notes.chat was not written: something else has changed the file"), "{problem}");
    assert_eq!(fs::read_to_string(chat.work("notes.chat")).unwrap(), "by somebody else");

    // `:write!` overwrites it, and then it is known again.
    replace(&chat, "forced");
    chat.workspace.saving.save_now(NOTES, chat.work("notes.chat"), PLAIN, true).unwrap();
    assert_eq!(save(&chat, "notes.chat", "fourth", 10), None);

    // The editor knows this one.
    chat.put("notes.chat", "by the editor");
    chat.workspace.saving.file_is_known(NOTES, &chat.work("notes.chat"));
    assert_eq!(save(&chat, "notes.chat", "fifth", 11), None);
}

#[test]
fn a_new_name_must_not_be_taken() {
    let chat = Harness::new("@You:\nHello", []);
    chat.put("taken.chat", "somebody's");
    let problem = save(&chat, "taken.chat", "mine", 1).unwrap();
    assert!(problem.contains("taken.chat was not written: something else has created the file"), "{problem}");
    assert_eq!(save(&chat, "new.chat", "mine", 2), None);
    assert_eq!(fs::read_to_string(chat.work("new.chat")).unwrap(), "mine\n");
}

#[test]
fn the_latest_text_wins_whichever_thread_is_faster() {
    let chat = Harness::new("@You:\nHello", []);
    for n in 0..20_i64 {
        replace(&chat, &format!("text {n}"));
        assert!(chat.workspace.saving.save(NOTES, chat.work("notes.chat"), PLAIN, n));
    }
    replace(&chat, "the last");
    chat.workspace.saving.save_now(NOTES, chat.work("notes.chat"), PLAIN, false).unwrap();
    chat.drain_until("all writes", |chat| chat.host.saved.borrow().len() == 20);
    assert!(chat.host.saved.borrow().iter().all(|(_, _, problem)| problem.is_none()), "{:?}", chat.host.saved.borrow());
    assert_eq!(fs::read_to_string(chat.work("notes.chat")).unwrap(), "the last\n");
}

#[test]
fn a_write_outlives_its_buffer() {
    let chat = Harness::new("@You:\nHello", []);
    assert!(chat.workspace.saving.save(NOTES, chat.work("notes.chat"), PLAIN, 1));
    chat.workspace.detach(NOTES);
    // `:edit` during the write knows the file that the write makes.
    chat.workspace.attach(NOTES);
    chat.drain_until("the end of the write", |chat| chat.host.saved.borrow().len() == 1);
    assert_eq!(save(&chat, "notes.chat", "and again", 2), None);
    chat.workspace.detach(NOTES);
    assert!(!chat.workspace.saving.save(NOTES, chat.work("notes.chat"), PLAIN, 3), "there is no conversation");
    assert_eq!(chat.workspace.saving.save_now(NOTES, chat.work("notes.chat"), PLAIN, true), Ok(()));
    assert_eq!(fs::read_to_string(chat.work("notes.chat")).unwrap(), "and again\n");
}

#[test]
fn calls_that_start_together_make_one_write() {
    let options = json!({ "tools": { "auto_approve": ["slow"] } });
    let reply = calls((0..3).map(|_| ("slow", json!({}))));
    let chat = Harness::start(Setup { options, ..Setup::default() }, [reply]);
    chat.register("slow", |_, answer| {
        // It never answers.
        std::mem::forget(answer);
        None
    });
    let writes =
        |chat: &Harness| chat.host.announced.borrow().iter().filter(|line| line.starts_with("turn over")).count();
    let before = writes(&chat);
    chat.go();
    chat.drain_until("the start of the calls", |chat| chat.text().matches("status=running").count() == 3);
    // One for the message that was sent, and one for the calls.
    chat.drain_until("the write", |chat| writes(chat) > before + 1);
    assert_eq!(writes(&chat) - before, 2);
}
