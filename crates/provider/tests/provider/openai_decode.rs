//! Replies of the Responses API, however the bytes are cut.

use flemma_model::{Event, Signature, StopReason, ToolInput, Usage};
use flemma_provider::{Decoder, ErrorKind};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::vendor::{Vendor, ends_somehow, events, failure, is_interrupted, play, text, thought, tool_use};
use crate::{
    conversation::{exchange, hello, keyed, pieces},
    responses::{Stream, event},
};

pub(crate) const KEY: &str = "sk-proj-secret";

impl Vendor for Stream {
    const SECRET: &str = KEY;
    const HOST: &str = "api.openai.com";

    fn decoder() -> Box<dyn Decoder> {
        exchange(&keyed("openai", "https://api.openai.com/v1", KEY), &hello()).unwrap().1
    }

    fn sent(&self) -> Vec<u8> {
        self.bytes()
    }
}

fn signature(value: &str) -> Option<Signature> {
    Some(Signature { provider: "openai".to_owned(), value: value.to_owned() })
}

#[test]
fn text_arrives_in_its_pieces() {
    let found = events(&Stream::new().text(&["Hel", "", "lo 🌱"]).end());
    assert_eq!(found, [text("Hel"), text("lo 🌱"), Event::Finished(StopReason::EndTurn)]);
}

#[test]
fn a_reasoning_item_is_thinking_that_can_go_back_as_it_came() {
    let found = events(&Stream::new().reasoning(&[&["Lo", "ok"], &["Act"]], "c2VjcmV0").text(&["x"]).end());
    assert_eq!(
        found,
        [
            Event::ThinkingStarted,
            thought("Lo"),
            thought("ok"),
            thought("\n\n"),
            thought("Act"),
            Event::ThinkingFinished {
                signature: signature(r#"{"id":"rs_1","encrypted_content":"c2VjcmV0","summary":["Look","Act"]}"#)
            },
            text("x"),
            Event::Finished(StopReason::EndTurn),
        ]
    );
}

#[test]
fn hidden_reasoning_is_kept_and_empty_reasoning_is_unsigned() {
    let found = events(&Stream::new().reasoning(&[], "c2VjcmV0").text(&["x"]).end());
    let signature = signature(r#"{"id":"rs_1","encrypted_content":"c2VjcmV0"}"#);
    assert_eq!(found[..2], [Event::ThinkingStarted, Event::ThinkingFinished { signature }]);
    let item = json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": null});
    let found = events(&Stream::new().item(&item, vec![], &item).end());
    assert_eq!(found[1], Event::ThinkingFinished { signature: None });
}

#[test]
fn open_models_think_aloud() {
    let item = json!({"id": "rs_1", "type": "reasoning", "summary": []});
    let deltas = vec![json!({"type": "response.reasoning_text.delta", "content_index": 0, "delta": "Hm."})];
    let found = events(&Stream::new().item(&item, deltas, &item).text(&["x"]).end());
    assert_eq!(found[1], thought("Hm."));
}

#[test]
fn parallel_calls_arrive_complete_and_in_order() {
    let stream = Stream::new()
        .text(&["Both:"])
        .call("call_1", "read", &["", "{\"path\": \"a", ".txt\", \"b\": 1, \"a\"", ": null}"])
        .call("call_2", "bash", &["{\"command\":\"ls\"}"])
        .end();
    let found = events(&stream);
    assert_eq!(
        found,
        [
            text("Both:"),
            tool_use("call_1", "read", ToolInput::Json(json!({"path": "a.txt", "b": 1, "a": null}))),
            tool_use("call_2", "bash", ToolInput::Json(json!({"command": "ls"}))),
            Event::Finished(StopReason::ToolUse),
        ]
    );
    let Event::ToolUse { input: ToolInput::Json(input), .. } = &found[1] else { panic!() };
    assert_eq!(input.to_string(), r#"{"path":"a.txt","b":1,"a":null}"#, "the model's key order is kept");
}

#[test]
fn the_progress_of_a_call_counts_its_bytes() {
    let (found, _) = play(&Stream::new().call("call_1", "bash", &["{\"a\":", "1}"]).end());
    let progress: Vec<_> = found
        .iter()
        .filter_map(|event| match event {
            Event::ToolUseProgress { name, bytes } => Some((name.as_str(), *bytes)),
            _ => None,
        })
        .collect();
    assert_eq!(progress, [("bash", 0), ("bash", 5), ("bash", 7)]);
}

#[test]
fn missing_arguments_are_an_empty_object_and_bad_json_is_kept() {
    let found = events(&Stream::new().call("a", "now", &[]).call("b", "bash", &["{\"command\": \"rm -", "rf"]).end());
    assert_eq!(found[0], tool_use("a", "now", ToolInput::Json(json!({}))));
    assert_eq!(found[1], tool_use("b", "bash", ToolInput::Malformed("{\"command\": \"rm -rf".to_owned())));
}

#[test]
fn an_item_that_comes_whole_is_read_whole() {
    let done =
        |index: u32, item: Value| json!({"type": "response.output_item.done", "output_index": index, "item": item});
    let stream = Stream::new()
        .event(&done(
            0,
            json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm"}]}),
        ))
        .event(&done(1, json!({"type": "message", "content": [{"type": "output_text", "text": "Hello"}]})))
        .event(&done(2, json!({"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"})))
        .end();
    assert_eq!(
        events(&stream),
        [
            Event::ThinkingStarted,
            thought("Hm"),
            Event::ThinkingFinished { signature: None },
            text("Hello"),
            tool_use("a", "ls", ToolInput::Json(json!({}))),
            Event::Finished(StopReason::ToolUse),
        ]
    );
}

#[test]
fn a_refusal_is_shown_and_ends_the_reply_as_one() {
    let item = json!({"id": "msg_1", "type": "message", "content": []});
    let deltas = vec![
        json!({"type": "response.refusal.delta", "content_index": 0, "delta": "I can"}),
        json!({"type": "response.refusal.delta", "content_index": 0, "delta": "not."}),
        json!({"type": "response.refusal.done", "content_index": 0, "refusal": "I cannot."}),
    ];
    let found = events(&Stream::new().item(&item, deltas, &item).end());
    assert_eq!(found, [text("I can"), text("not."), Event::Finished(StopReason::Refusal)]);
    let whole = json!({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]});
    let found = events(&Stream::new().item(&item, vec![], &whole).end());
    assert_eq!(found, [text("No."), Event::Finished(StopReason::Refusal)]);
}

#[test]
fn a_reply_that_is_not_whole_says_why() {
    for (reason, meaning) in [
        ("max_output_tokens", StopReason::MaxTokens),
        ("content_filter", StopReason::Refusal),
        ("steered", StopReason::Other("steered".to_owned())),
    ] {
        let found = events(&Stream::new().text(&["x"]).incomplete(reason));
        assert_eq!(found, [text("x"), Event::Finished(meaning)], "{reason}");
    }
    let stream = Stream::new().event(&json!({"type": "response.incomplete", "response": {}}));
    assert!(matches!(&events(&stream)[..], [Event::Finished(StopReason::Other(_))]));
}

#[test]
fn open_items_of_an_incomplete_reply_are_closed_and_kept() {
    let added = |item: Value| json!({"type": "response.output_item.added", "output_index": 0, "item": item});
    let stream = Stream::new()
        .event(&added(json!({"type": "reasoning", "id": "rs_1", "summary": []})))
        .incomplete("max_output_tokens");
    assert_eq!(events(&stream)[1], Event::ThinkingFinished { signature: None });
    let stream = Stream::new()
        .event(&added(json!({"type": "function_call", "call_id": "a", "name": "bash", "arguments": ""})))
        .event(&json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{\"comm"}))
        .incomplete("max_output_tokens");
    assert_eq!(events(&stream)[0], tool_use("a", "bash", ToolInput::Malformed("{\"comm".to_owned())));
}

#[test]
fn usage_tells_the_cache_and_the_thinking_apart() {
    let (found, _) = play(&Stream::new().text(&["x"]).end());
    let usage = Usage { input: 30, output: 50, reasoning: 20, cache_read: 60, cache_write: 10 };
    assert_eq!(found[1], Event::Usage(usage));
    let bare = json!({"type": "response.completed", "response": {"usage": {"input_tokens": 7, "output_tokens": 5}}});
    let (found, _) = play(&Stream::new().event(&bare));
    assert_eq!(found[0], Event::Usage(Usage { input: 7, output: 5, ..Usage::default() }));
}

/// The events that the table of the decoder says are ignored on purpose.
const IGNORED: [&str; 42] = [
    "response.audio.delta",
    "response.audio.done",
    "response.audio.transcript.delta",
    "response.audio.transcript.done",
    "response.code_interpreter_call.completed",
    "response.code_interpreter_call.in_progress",
    "response.code_interpreter_call.interpreting",
    "response.code_interpreter_call_code.delta",
    "response.code_interpreter_call_code.done",
    "response.compaction.compacting",
    "response.content_part.added",
    "response.content_part.done",
    "response.created",
    "response.custom_tool_call_input.delta",
    "response.custom_tool_call_input.done",
    "response.file_search_call.completed",
    "response.file_search_call.in_progress",
    "response.file_search_call.searching",
    "response.image_generation_call.completed",
    "response.image_generation_call.generating",
    "response.image_generation_call.in_progress",
    "response.image_generation_call.partial_image",
    "response.in_progress",
    "response.mcp_call.completed",
    "response.mcp_call.failed",
    "response.mcp_call.in_progress",
    "response.mcp_call_arguments.delta",
    "response.mcp_call_arguments.done",
    "response.mcp_list_tools.completed",
    "response.mcp_list_tools.failed",
    "response.mcp_list_tools.in_progress",
    "response.queued",
    "response.reasoning_summary_part.done",
    "response.reasoning_summary_text.done",
    "response.reasoning_text.done",
    "response.shell_call_command.added",
    "response.shell_call_command.delta",
    "response.shell_call_command.done",
    "response.shell_call_output_content.delta",
    "response.shell_call_output_content.done",
    "response.web_search_call.completed",
    "response.web_search_call.searching",
];

#[test]
fn what_is_not_asked_for_is_passed_over() {
    let mut stream = Stream::new();
    for kind in IGNORED.into_iter().chain(["response.web_search_call.in_progress", "from.the.future"]) {
        stream = stream.event(&json!({"type": kind, "delta": 7, "output_index": "x"}));
    }
    let item = json!({"type": "file_search_call", "id": "fs_1", "queries": ["x"]});
    let stream = stream.item(&item, vec![], &item).text(&["still here"]).end();
    assert_eq!(events(&stream), [text("still here"), Event::Finished(StopReason::EndTurn)]);
}

#[test]
fn nothing_counts_after_the_end() {
    let stream = Stream::new().text(&["x"]).end().text(&["y"]).end();
    assert_eq!(events(&stream), [text("x"), Event::Finished(StopReason::EndTurn)]);
    let mut bytes = Stream::new().end().bytes();
    bytes.extend_from_slice(b"data: [DONE]\n\n");
    assert_eq!(Stream::decode([&bytes[..]]).1, Ok(()));
}

#[test]
fn a_stream_that_ends_early_says_where() {
    let error = failure(&Stream::new().text(&["half"]));
    assert_eq!(error.kind, ErrorKind::Interrupted);
    assert_eq!(error.message, "api.openai.com: the connection closed in the middle of the reply");
    let error = Stream::decode([]).1.unwrap_err();
    assert!(error.message.ends_with("before the reply began"), "{error}");
}

#[test]
fn a_broken_event_is_shown_in_short() {
    let long = "x".repeat(10_000);
    let added =
        |item: Value| json!({"type": "response.output_item.added", "output_index": 0, "item": item}).to_string();
    for data in [
        "not json".to_owned(),
        "[]".to_owned(),
        r#"{"no": "type"}"#.to_owned(),
        r#"{"type": 7}"#.to_owned(),
        r#"{"type": "response.output_item.added", "output_index": 0}"#.to_owned(),
        format!(r#"{{"type": "response.output_text.delta", "x": "{KEY} {long}""#),
        added(json!({})),
        added(json!({"type": "function_call", "call_id": "a"})),
    ] {
        let bytes = format!("data: {data}\n\n").into_bytes();
        let error = Stream::decode(bytes.chunks(1)).1.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Malformed, "{data}");
        assert!(error.message.len() < 400 && error.message.contains("api.openai.com"), "{error}");
        assert!(!error.message.contains(KEY), "{error}");
    }
}

#[test]
fn an_error_in_the_stream_has_the_kind_of_its_code() {
    use ErrorKind::*;
    for (code, kind) in [
        ("rate_limit_exceeded", RateLimited),
        ("insufficient_quota", InvalidRequest),
        ("server_error", Server),
        ("server_is_overloaded", Overloaded),
        ("context_length_exceeded", InvalidRequest),
        ("invalid_prompt", InvalidRequest),
        ("bio_policy", InvalidRequest),
        ("misalignment_policy_violation", InvalidRequest),
        ("unsupported_image_media_type", InvalidRequest),
        ("invalid_api_key", Authentication),
        ("code_from_the_future", Server),
    ] {
        let words = format!("words {KEY}");
        for body in [
            json!({"type": "error", "code": code, "message": words, "param": null}),
            json!({"type": "error", "error": {"type": "error", "code": code, "message": words, "param": "input"}}),
            json!({"type": "response.failed", "response": {"status": "failed", "error": {"code": code, "message": words}}}),
        ] {
            let stream = Stream::new().text(&["so far"]).event(&body);
            assert!(play(&stream).0.contains(&text("so far")));
            let error = failure(&stream);
            assert_eq!(error.kind, kind, "{body}");
            for words in [code, "words …"] {
                assert!(error.message.contains(words), "{words:?} is not in {error}");
            }
        }
    }
    for body in [json!({"type": "error"}), json!({"type": "response.failed", "response": {"error": null}})] {
        assert_eq!(failure(&Stream::new().event(&body)).kind, Server, "{body}");
    }
}

#[derive(Clone, Debug)]
enum Item {
    Text(Vec<String>),
    Reasoning(Vec<String>),
    Call(Vec<String>),
}

fn item() -> impl Strategy<Value = Item> {
    let piece = || "[a-zü🌱\"\\\\\n{}]{0,8}";
    let many = || prop::collection::vec(piece(), 0..4);
    prop_oneof![
        many().prop_map(Item::Text),
        many().prop_map(Item::Reasoning),
        (piece(), 1_usize..6).prop_map(|(text, size)| {
            let json: Vec<char> = json!({"z": text, "a": 1}).to_string().chars().collect();
            Item::Call(json.chunks(size).map(|piece| piece.iter().collect()).collect())
        }),
    ]
}

/// Events in any order, right and wrong ones.
fn any_event() -> impl Strategy<Value = Value> {
    let added =
        |index: u32, item: Value| json!({"type": "response.output_item.added", "output_index": index, "item": item});
    let done =
        |index: u32, item: Value| json!({"type": "response.output_item.done", "output_index": index, "item": item});
    prop::sample::select(vec![
        json!({"type": "response.created", "response": {}}),
        added(0, json!({"type": "message"})),
        added(1, json!({"type": "function_call", "call_id": "a", "name": "n"})),
        added(2, json!({"type": "reasoning"})),
        added(3, json!({"type": "web_search_call"})),
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": "x"}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{"}),
        done(0, json!({"type": "message"})),
        done(1, json!({"type": "function_call", "name": "n"})),
        done(2, json!({"type": "reasoning", "summary": 7})),
        done(3, json!({"type": "web_search_call"})),
        done(4, json!({"type": "code_interpreter_call", "id": "ci_1"})),
        json!({"type": "response.completed", "response": {"usage": null}}),
        json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": null}}}),
        json!({"type": "error", "error": {"type": null, "message": 7}}),
        Value::Null,
    ])
}

proptest! {
    #[test]
    fn what_the_model_wrote_arrives_however_it_is_cut(
        items in prop::collection::vec(item(), 0..5),
        cuts in prop::collection::vec(0_usize..8_000, 0..12),
    ) {
        let (mut stream, mut expected) = (Stream::new(), String::new());
        for (nth, item) in items.iter().enumerate() {
            let id = nth.to_string();
            let (Item::Text(pieces) | Item::Reasoning(pieces) | Item::Call(pieces)) = item;
            let (text, pieces) = (pieces.concat(), pieces.iter().map(String::as_str).collect::<Vec<_>>());
            (stream, expected) = match item {
                Item::Text(_) => (stream.text(&pieces), expected + &text),
                Item::Reasoning(_) => (stream.reasoning(&[&pieces], "c2"), format!("{expected}<{text}>")),
                Item::Call(_) => (stream.call(&id, "t", &pieces), format!("{expected}[{id} {text}]")),
            };
        }
        let bytes = stream.end().bytes();
        let (found, result) = Stream::decode(pieces(&bytes, cuts));
        prop_assert_eq!(result, Ok(()));
        let shown: String = found.into_iter().map(|event| match event {
            Event::Text(text) | Event::Thinking(text) => text,
            Event::ThinkingStarted => "<".to_owned(),
            Event::ThinkingFinished { signature } => signature.map(|_| ">".to_owned()).unwrap_or_default(),
            Event::ToolUse { id, input: ToolInput::Json(input), .. } => format!("[{id} {input}]"),
            _ => String::new(),
        }).collect();
        prop_assert_eq!(shown, expected);
    }

    #[test]
    fn a_reply_cut_at_any_byte_is_never_taken_for_complete(end in 0_usize..4_000) {
        let bytes = Stream::new().reasoning(&[&["x"]], "c2").call("a", "bash", &["{}"]).end().bytes();
        let end = end.min(bytes.len() - 1);
        is_interrupted::<Stream>(&bytes[..end])?;
    }

    #[test]
    fn events_in_any_order_end_in_a_reply_or_an_error(events in prop::collection::vec(any_event(), 0..12)) {
        let stream = events.iter().map(event).collect::<String>();
        ends_somehow::<Stream>(stream.as_bytes())?;
    }
}
