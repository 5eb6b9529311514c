//! Records of tool calls: their format, and what follows from them.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod compaction;
mod ledger;
mod lines;
mod moves;

use flemma_journal::{Actor, Asked, Binding, CallKey, Decision, Event, Record, RecordedFile, RecordedResult, Role};
use flemma_model::{CallId, ToolInput};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

/// One of a few keys: the same id with another input, and the same input with another id or tool.
fn key(index: usize) -> CallKey {
    let (id, tool, input) = [("a", "bash", 1), ("a", "bash", 2), ("b", "bash", 1), ("a", "read", 1)][index % 4];
    CallKey::of(&CallId::from(id), tool, &ToolInput::Json(json!({ "n": input })))
}

fn record(key: CallKey, second: i64, event: Event) -> Record {
    let by = Actor { role: Role::User, process: second as u32, host: "here".into() };
    Record { at: Timestamp::from_second(second).unwrap(), conversation: "/a.chat".into(), key, event, by }
}

fn result(output: &str) -> RecordedResult {
    RecordedResult { output: output.into(), ..RecordedResult::default() }
}

fn asked(title: &str) -> Event {
    Event::Asked(Asked { kind: "elicitation".into(), schema: Some(json!({ "title": title })) })
}

fn approved() -> Event {
    Event::Decided(Decision::Approved)
}

fn rejected() -> Event {
    Event::Decided(Decision::Rejected)
}

/// Records of a few keys, numbered by their times, with a different result for each end.
fn histories() -> impl Strategy<Value = Vec<Record>> {
    proptest::collection::vec((0..4_usize, 0..8_u8), 0..40).prop_map(|events| {
        let numbered = events.into_iter().enumerate();
        let records = numbered.map(|(at, (index, event))| {
            let event = match event {
                0 => Event::Opened,
                1 => approved(),
                2 => rejected(),
                3 => Event::Started,
                6 => Event::Withdrawn,
                7 => asked(&at.to_string()),
                4 => Event::Resolved(result(&at.to_string())),
                _ => Event::Expired(result(&at.to_string())),
            };
            record(key(index), at as i64, event)
        });
        records.collect()
    })
}

/// Records with every kind of content.
fn records() -> impl Strategy<Value = Record> {
    let roles = [
        Role::Policy,
        Role::User,
        Role::Document,
        Role::Script,
        Role::CommandLine,
        Role::Clock,
        Role::Tool,
        Role::Client,
    ]
    .as_slice();
    let file = (".*", ".*").prop_map(|(path, media_type)| RecordedFile { path, media_type });
    let result = (".*", any::<bool>(), prop_oneof![Just(String::new()), Just("json".into()), ".*"])
        .prop_flat_map(move |words| (Just(words), proptest::collection::vec(file.clone(), 0..3)))
        .prop_map(|((output, is_error, language), attachments)| RecordedResult {
            output,
            is_error,
            language,
            attachments,
        });
    let event = prop_oneof![
        Just(Event::Opened),
        Just(approved()),
        Just(rejected()),
        Just(Event::Started),
        Just(Event::Withdrawn),
        Just(Event::WentOn),
        ".*".prop_map(|revision| Event::Made { shown: Binding { revision, ..Binding::default() } }),
        ".*".prop_map(|revision| Event::Bound { shown: Binding { revision, ..Binding::default() } }),
        (any::<String>(), any::<bool>()).prop_map(|(kind, has_schema)| {
            let schema = has_schema.then(|| json!({ "enum": [kind, null, 1.5] }));
            Event::Asked(Asked { kind, schema })
        }),
        result.clone().prop_map(Event::Resolved),
        result.prop_map(Event::Expired),
    ];
    let by = (proptest::sample::select(roles), any::<u32>(), ".*");
    let by = by.prop_map(|(role, process, host)| Actor { role, process, host });
    let second = Timestamp::MIN.as_second() + 1..Timestamp::MAX.as_second();
    let at = (second, 0..1_000_000_000).prop_map(|(second, nano)| Timestamp::new(second, nano).unwrap());
    (at, ".*", (".*", ".*", ".*"), event, by).prop_map(|(at, conversation, (id, tool, input), event, by)| {
        let key = CallKey::of(&CallId(id), &tool, &ToolInput::Malformed(input));
        Record { at, conversation, key, event, by }
    })
}
