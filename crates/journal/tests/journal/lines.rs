//! The format, and the digest of an input.

use flemma_journal::{Binding, Event, LineError, Proposed, Record, RecordedFile};
use flemma_model::{Attachment, Digest, ToolInput};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{approved, key, record, records, result};

fn hash(input: Value) -> Digest {
    ToolInput::Json(input).digest()
}

#[test]
fn an_input_is_known_by_its_json_in_the_order_of_its_keys() {
    let written: Value = serde_json::from_str("{ \"a\": 1,\n  \"b\": [true, null] }").unwrap();
    assert_eq!(hash(written), hash(json!({ "a": 1, "b": [true, null] })), "layout does not matter");
    let others = [
        json!({ "b": [true, null], "a": 1 }),
        json!({ "a": 1, "b": [true] }),
        json!({ "a": "1", "b": [true, null] }),
        json!([{ "a": 1, "b": [true, null] }]),
    ];
    for other in others {
        assert_ne!(hash(other.clone()), hash(json!({ "a": 1, "b": [true, null] })), "{other}");
    }
    let text = ToolInput::Malformed("{}".into()).digest();
    assert_ne!(text, hash(json!({})), "text that is not valid JSON never passes for JSON");
    // `printf 'json\0{"a":1}' | sha256sum`: it has to be the same in every version.
    assert_eq!(hash(json!({ "a": 1 })).as_str(), "ba03a8468995a733997e7785bb2ddf95d25abaca919a038156d7768857aa92db");
}

#[test]
fn a_line_is_a_flat_object_that_people_can_read() {
    let started = record(key(0), 1_767_323_045, Event::Started);
    let input = key(0).input;
    let expected = format!(
        r#"{{"v":1,"at":"2026-01-02T03:04:05Z","chat":"/a.chat","call":"a","tool":"bash","input":"{input}","event":"started","role":"user","pid":1767323045,"host":"here"}}"#
    );
    assert_eq!(started.to_line(), expected);
}

#[test]
fn a_result_keeps_what_the_conversation_says_of_its_files() {
    let attachment = Attachment::unread("/tmp/ä.png", "image/png");
    let file = RecordedFile::from(&attachment);
    let resolved = Event::Resolved(flemma_journal::RecordedResult { attachments: vec![file], ..result("pic") });
    let read = Record::from_line(record(key(0), 1, resolved).to_line().as_bytes()).unwrap();
    let Event::Resolved(result) = read.event else { panic!("{read:?}") };
    assert_eq!(Attachment::from(&result.attachments[0]), attachment);
}

#[test]
fn what_is_not_a_record_of_this_version_is_refused() {
    let line = record(key(0), 1, approved()).to_line();
    let with = |from: &str, to: &str| {
        assert!(line.contains(from), "{line}");
        Record::from_line(line.replace(from, to).as_bytes())
    };
    assert!(with("\"v\":1", "\"later\":[],\"v\":1").is_ok(), "a field that is not known is ignored");
    for (from, to) in [("\"v\":1", "\"v\":9"), ("\"v\":1,", "\"v\":9,\"approved\":{},"), ("\"event\"", "\"v2\"")] {
        let expected = if to.contains(":9") { LineError::Newer } else { LineError::Broken };
        assert_eq!(with(from, to), Err(expected), "{to}");
    }
    let broken = [
        ("\"v\":1,", ""),
        ("\"v\":1", "\"v\":0"),
        ("\"v\":1", "\"v\":\"1\""),
        ("\"approved\"", "\"allowed\""),
        ("\"approved\"", "\"resolved\""),
        ("\"role\":\"user\"", "\"role\":\"root\""),
        ("\"event\":\"approved\"", "\"event\":\"approved\",\"event\":\"approved\""),
        ("\"event\":\"approved\"", "\"event\":\"approved\",\"output\":\"\""),
        ("\"input\":\"", "\"input\":\"0"),
        ("\"at\":\"1970", "\"at\":\"197"),
        ("\"pid\":1", "\"pid\":-1"),
        ("{", "[{"),
        ("{", "\x01{"),
    ];
    for (from, to) in broken {
        assert_eq!(with(from, to), Err(LineError::Broken), "{to}");
    }
}

#[test]
fn an_event_that_an_older_version_lacks_has_a_newer_one() {
    // The versions that had no reviews and no proposals called such a line damaged while it said that it was of their own version.
    let is_newer = |event: Event| record(key(0), 1, event).to_line().starts_with("{\"v\":2,");
    let binding = Binding { revision: "r".into(), ..Binding::default() };
    let proposed = Proposed { files: Vec::new() };
    assert!(is_newer(Event::Made { shown: binding.clone() }));
    assert!(
        is_newer(Event::WentOn) && is_newer(Event::Bound { shown: binding }) && is_newer(Event::Proposed { proposed })
    );
    assert!(
        !is_newer(Event::Opened) && !is_newer(Event::Started) && !is_newer(approved()) && !is_newer(Event::Withdrawn)
    );
    // Lines that were written before still count.
    let old = record(key(0), 1, Event::WentOn).to_line().replace("\"v\":2", "\"v\":1");
    assert_eq!(Record::from_line(old.as_bytes()), Ok(record(key(0), 1, Event::WentOn)));
}

proptest! {
    #[test]
    fn a_record_is_read_as_it_was_written(record in records()) {
        let line = record.to_line();
        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(Record::from_line(line.as_bytes()), Ok(record.clone()));
        prop_assert_eq!(Record::from_line(format!("{line}\n").as_bytes()), Ok(record));
    }

    #[test]
    fn a_line_that_was_not_written_whole_is_no_record(record in records(), other in records(), at in any::<prop::sample::Index>()) {
        let line = record.to_line().into_bytes();
        let at = at.index(line.len());
        prop_assert_eq!(Record::from_line(&line[..at]), Err(LineError::Torn));
        let zeros = [&line[..at], b"\0\0"].concat();
        prop_assert_eq!(Record::from_line(&zeros), Err(LineError::Torn));
        prop_assert!(at == 0 || Record::from_line(&line[at..]).is_err());
        let glued = [&line[..at], other.to_line().as_bytes()].concat();
        prop_assert!(at == 0 || Record::from_line(&glued).is_err());
    }
}
