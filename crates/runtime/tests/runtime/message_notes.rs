//! What is known of single messages, kept between sessions.

use std::{fs, os::unix::fs::PermissionsExt};

use flemma_model::{Digest, MessageKey};
use flemma_provider::usage::{MessageNote, ReplyNote};
use flemma_runtime::{MessageNotes, Reached, SHORTEN_ABOVE};
use jiff::Timestamp;

fn key(text: &str) -> MessageKey {
    MessageKey { lines: 2, digest: Digest::of(text.as_bytes()) }
}

fn note(second: i64, cost: Option<f64>) -> MessageNote {
    let reply = ReplyNote { model: "a-model".into(), input: 19, output: 34, cost };
    MessageNote { at: Timestamp::from_second(second).unwrap(), reply: Some(reply) }
}

#[test]
fn notes_are_read_from_where_the_last_look_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/messages.jsonl");
    let notes = MessageNotes::new(path.clone());
    assert_eq!(notes.read(Reached::default()).unwrap(), (Vec::new(), Reached::default()), "no file is an empty one");

    let sent = MessageNote { at: Timestamp::from_second(1).unwrap(), reply: None };
    notes.add(&key("one"), &sent).unwrap();
    notes.add(&key("two"), &note(2, Some(0.25))).unwrap();
    let (read, reached) = notes.read(Reached::default()).unwrap();
    assert_eq!(read, [(key("one"), sent), (key("two"), note(2, Some(0.25)))]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

    // What is broken or from a newer version is skipped, and a line that is still being written is read later.
    let bytes = fs::read(&path).unwrap();
    let newer = String::from_utf8(bytes.clone()).unwrap().replace("\"v\":1", "\"v\":2");
    fs::write(&path, [&bytes[..], b"\xff nonsense\n", newer.as_bytes(), &bytes[..40]].concat()).unwrap();
    let (read, reached) = notes.read(reached).unwrap();
    assert_eq!(read, []);
    notes.add(&key("three"), &note(3, None)).unwrap();
    assert_eq!(notes.read(reached).unwrap().0, [(key("three"), note(3, None))]);
}

#[test]
fn the_older_half_of_a_long_file_goes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.jsonl");
    let notes = MessageNotes::new(path.clone());
    notes.add(&key("first"), &note(1, None)).unwrap();
    let (_, reached) = notes.read(Reached::default()).unwrap();
    let line = fs::read(&path).unwrap();
    let many = usize::try_from(SHORTEN_ABOVE).unwrap() / line.len();
    fs::write(&path, line.repeat(many)).unwrap();
    notes.add(&key("last"), &note(2, None)).unwrap();
    let length = fs::metadata(&path).unwrap().len();
    assert!(length < SHORTEN_ABOVE * 6 / 10, "{length}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    // It is another file now, so all of it is read.
    let (read, _) = notes.read(reached).unwrap();
    assert_eq!(read.len() as u64, length / line.len() as u64);
    assert_eq!(read.last().unwrap(), &(key("last"), note(2, None)));
}
