//! Results that are too long for a document, whoever they come from.

use std::fs;

use flemma_tools::{Executor, Registry, Runner};
use flemma_workspace::Resolution;
use serde_json::{Map, Value, json};

use super::harness::{Harness, Setup, calls, prose};

/// The most bytes of a result: 50 KB of what it shows, and what is said about that.
const MOST: usize = 58 * 1024;

/// The file that the note at the end of a result names.
fn whole(result: &str) -> String {
    let (_, place) = result.rsplit_once(" is in ").unwrap_or_else(|| panic!("no file is named: {}", end(result)));
    fs::read_to_string(place.trim_end_matches(']')).unwrap()
}

fn end(text: &str) -> &str {
    &text[text.floor_char_boundary(text.len().saturating_sub(300))..]
}

/// Inputs for a tool: its first texts huge, and the names of something huge.
fn inputs(schema: &Value) -> [Value; 2] {
    let properties = schema["properties"].as_object().unwrap();
    ["x".repeat(60_000), "huge".to_owned()].map(|word| {
        let input = properties.iter().filter(|(name, _)| *name != "label").filter_map(|(name, schema)| {
            let is = |kind: &str| {
                schema["type"] == kind || schema["type"].as_array().is_some_and(|all| all.contains(&kind.into()))
            };
            let value = match schema["enum"].as_array() {
                Some(words) => words[0].clone(),
                None if is("string") => word.clone().into(),
                None if is("array") => json!([word]),
                None if is("object") => json!({ word.clone(): word }),
                None => return None,
            };
            Some((name.clone(), value))
        });
        Value::Object(input.take(2).collect::<Map<_, _>>())
    })
}

#[test]
#[ignore = "slow"]
fn no_tool_has_a_result_that_is_too_long() {
    let registry = Registry::with_builtins();
    let native: Vec<_> = registry
        .all()
        .filter(|tool| matches!(tool.executor, Executor::Server(Runner::Native(_))) && !tool.always_asks)
        .map(|tool| (tool.name.clone(), inputs(&tool.input_schema)))
        .collect();
    assert!(native.len() > 15, "{}", native.len());
    let all = native.iter().flat_map(|(name, inputs)| inputs.iter().map(move |input| (name.as_str(), input.clone())));
    let long = "huge ".repeat(12_000);
    let more = [
        ("grep", json!({ "pattern": "huge", "path": "." })),
        ("read", json!({ "path": "huge" })),
        ("write", json!({ "path": "huge", "content": long.to_uppercase() })),
        ("edit", json!({ "path": "line", "old_text": "needle", "new_text": "pin" })),
        ("bash", json!({ "command": "yes huge | head -c 100000 | tr '\\n' ' ' >&2; exit 3" })),
        ("no_such_tool", json!({ "path": "huge" })),
    ];
    let options = json!({ "tools": { "require_approval": false, "notes": { "enabled": true } } });
    let line = format!("{long}needle{long}");
    let files = [("huge", &*long), ("huge.md", &*long), ("line", &*line)];
    let asked: Vec<_> = all.chain(more).collect();
    let chat =
        Harness::start(Setup { options, files: &files, ..Setup::default() }, [calls(asked.clone()), prose("fine")]);
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    let results = chat.results(1);
    assert_eq!(results.len(), asked.len());
    for (result, (tool, input)) in results.iter().zip(&asked) {
        assert!(result.len() <= MOST, "{tool} {:.100}: {} bytes: {}", input.to_string(), result.len(), end(result));
    }
    assert!(fs::read_to_string(chat.work("line")).unwrap().contains("pin"));
}

#[test]
fn an_answer_that_is_too_long_is_cut_and_kept_whole() {
    let long = "a long answer\n".repeat(20_000);
    let answers = [
        Resolution::Answer(json!(long)),
        Resolution::Answer(json!({ "all": long })),
        Resolution::Fail(long.clone()),
        Resolution::Reject(Some(long.clone())),
    ];
    for answer in answers {
        let chat = Harness::new("@You:\nHello", [calls([("ask", json!({ "question": "Well?" }))]), prose("fine")]);
        chat.define("ask", json!({ "executor": "human" }));
        chat.go();
        chat.wait_for("kind=elicitation");
        assert_eq!(chat.resolve("call_0", answer.clone()), Ok(()));
        chat.wait_for("@Assistant:\nfine");
        let result = chat.results(1).remove(0);
        assert!(result.len() <= MOST, "{answer:?}: {}", result.len());
        chat.workspace.shut_down();
        assert!(
            whole(&result).contains(&long) || whole(&result).contains(&json!(long).to_string()),
            "{}",
            end(&result)
        );
    }
}

#[test]
fn what_the_user_types_as_a_result_stays_whole() {
    let long = "the user's own line\n".repeat(5_000);
    for executor in ["human", "server"] {
        let chat = Harness::new("@You:\nHello", [calls([("mine", json!({}))]), prose("fine")]);
        match executor {
            "human" => chat.define("mine", json!({ "executor": executor })),
            _ => chat.register("mine", |_, _| panic!("it does not run")),
        }
        chat.go();
        chat.wait_for_pending(1);
        chat.type_at(chat.line_with("status=pending") + 1, &long);
        for _ in 0..2 {
            chat.go();
            chat.drain_until("the result", |chat| !chat.conversation().is_busy() && !chat.text().contains("status="));
        }
        chat.wait_for("@Assistant:\nfine");
        assert_eq!(chat.results(1), [long.trim_end()]);
    }
}
