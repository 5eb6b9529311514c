//! Replies of the Messages API, however the bytes are cut.

use flemma_model::{Event, Signature, StopReason, ToolInput, Usage};
use flemma_provider::{Decoder, ErrorKind};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::vendor::{Vendor, ends_somehow, events, failure, is_interrupted, play, text, tool_use};
use crate::{
    anthropic::{Stream, event},
    conversation::{exchange, hello, keyed, pieces},
};

pub(crate) const KEY: &str = "sk-ant-secret";

impl Vendor for Stream {
    const SECRET: &str = KEY;
    const HOST: &str = "api.anthropic.com";

    fn decoder() -> Box<dyn Decoder> {
        exchange(&keyed("anthropic", "https://api.anthropic.com", KEY), &hello()).unwrap().1
    }

    fn sent(&self) -> Vec<u8> {
        self.bytes()
    }
}

fn signature(value: &str) -> Signature {
    Signature { provider: "anthropic".to_owned(), value: value.to_owned() }
}

#[test]
fn text_arrives_in_its_pieces() {
    let found = events(&Stream::new().text(&["Hel", "", "lo 🌱"]).end("end_turn"));
    assert_eq!(found, [text("Hel"), text("lo 🌱"), Event::Finished(StopReason::EndTurn)]);
}

#[test]
fn a_text_block_may_begin_with_text() {
    let found = events(&Stream::new().block(json!({"type": "text", "text": "at once"}), vec![]).end("end_turn"));
    assert_eq!(found[0], text("at once"));
}

#[test]
fn thinking_ends_with_its_signature() {
    let found =
        events(&Stream::new().thinking(&["Let ", "me"], "c2ln").redacted("aGlkZGVu").text(&["x"]).end("end_turn"));
    assert_eq!(
        found,
        [
            Event::ThinkingStarted,
            Event::Thinking("Let ".to_owned()),
            Event::Thinking("me".to_owned()),
            Event::ThinkingFinished { signature: Some(signature("c2ln")) },
            Event::RedactedThinking(signature("aGlkZGVu")),
            text("x"),
            Event::Finished(StopReason::EndTurn),
        ]
    );
}

#[test]
fn thinking_without_a_signature_has_none() {
    let block = json!({"type": "thinking", "thinking": "hm"});
    let found = events(&Stream::new().block(block, vec![]).end("end_turn"));
    assert_eq!(found[2], Event::ThinkingFinished { signature: None });
}

#[test]
fn parallel_tool_uses_arrive_complete_and_in_order() {
    let stream = Stream::new()
        .text(&["Both:"])
        .tool_use("toolu_1", "read", &["", "{\"path\": \"a", ".txt\", \"b\": 1, \"a\"", ": null}"])
        .tool_use("toolu_2", "bash", &["{\"command\":\"ls\"}"])
        .end("tool_use");
    assert_eq!(
        events(&stream),
        [
            text("Both:"),
            tool_use("toolu_1", "read", ToolInput::Json(json!({"path": "a.txt", "b": 1, "a": null}))),
            tool_use("toolu_2", "bash", ToolInput::Json(json!({"command": "ls"}))),
            Event::Finished(StopReason::ToolUse),
        ]
    );
    let Event::ToolUse { input: ToolInput::Json(input), .. } = &events(&stream)[1] else { panic!() };
    assert_eq!(input.to_string(), r#"{"path":"a.txt","b":1,"a":null}"#, "the model's key order is kept");
}

#[test]
fn the_progress_of_a_tool_use_counts_its_bytes() {
    let (found, _) = play(&Stream::new().tool_use("toolu_1", "bash", &["{\"a\":", "1}"]).end("tool_use"));
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
fn a_tool_use_without_arguments_has_an_empty_object() {
    for pieces in [&[][..], &[""], &[" ", ""]] {
        let found = events(&Stream::new().tool_use("toolu_1", "now", pieces).end("tool_use"));
        assert_eq!(found[0], tool_use("toolu_1", "now", ToolInput::Json(json!({}))));
    }
}

#[test]
fn an_input_in_the_block_start_counts_if_no_delta_follows() {
    let block = json!({"type": "tool_use", "id": "t", "name": "read", "input": {"path": "x"}});
    let found = events(&Stream::new().block(block, vec![]).end("tool_use"));
    assert_eq!(found[0], tool_use("t", "read", ToolInput::Json(json!({"path": "x"}))));
}

#[test]
fn an_input_that_is_no_json_is_kept_as_it_is() {
    let found = events(&Stream::new().tool_use("t", "bash", &["{\"command\": \"rm -", "rf"]).end("max_tokens"));
    assert_eq!(found[0], tool_use("t", "bash", ToolInput::Malformed("{\"command\": \"rm -rf".to_owned())));
    assert_eq!(found[1], Event::Finished(StopReason::MaxTokens));
}

#[test]
fn every_stop_reason_has_its_meaning() {
    for (wire, meaning) in [
        ("end_turn", StopReason::EndTurn),
        ("stop_sequence", StopReason::EndTurn),
        ("tool_use", StopReason::EndTurn),
        ("max_tokens", StopReason::MaxTokens),
        ("refusal", StopReason::Refusal),
        ("pause_turn", StopReason::Pause),
        ("model_context_window_exceeded", StopReason::ContextFull),
        ("from_the_future", StopReason::Other("from_the_future".to_owned())),
    ] {
        assert_eq!(events(&Stream::new().end(wire)).last(), Some(&Event::Finished(meaning)), "{wire}");
    }
}

#[test]
fn usage_is_known_at_the_start_and_complete_at_the_end() {
    let (found, _) = play(&Stream::new().text(&["x"]).end("end_turn"));
    let usage: Vec<_> =
        found.iter().filter_map(|event| if let Event::Usage(usage) = event { Some(*usage) } else { None }).collect();
    let start = Usage { input: 12, output: 1, reasoning: 0, cache_read: 4, cache_write: 3 };
    assert_eq!(usage, [start, Usage { output: 34, ..start }]);
}

#[test]
fn what_is_unknown_is_passed_over() {
    let stream = Stream::new()
        .event(&json!({"type": "ping"}))
        .block(json!({"type": "container_upload", "file_id": "file_1"}), vec![])
        .event(&json!({"type": "from_the_future", "delta": 7, "index": "x"}))
        .block(json!({"type": "hologram"}), vec![json!({"type": "hologram_delta", "x": [1]})])
        .block(
            json!({"type": "text", "text": "", "citations": null}),
            vec![json!({"type": "text_delta", "text": "still here"})],
        )
        .end("end_turn");
    assert_eq!(events(&stream), [text("still here"), Event::Finished(StopReason::EndTurn)]);
}

#[test]
fn nothing_counts_after_the_end() {
    let stream = Stream::new().text(&["x"]).end("end_turn").text(&["y"]).end("tool_use");
    assert_eq!(events(&stream), [text("x"), Event::Finished(StopReason::EndTurn)]);
    let mut bytes = Stream::new().end("end_turn").bytes();
    bytes.extend_from_slice(b"data: [DONE]\n\n");
    assert_eq!(Stream::decode([&bytes[..]]).1, Ok(()));
}

#[test]
fn an_end_without_a_reason_is_still_an_end() {
    let stream = Stream::new().event(&json!({"type": "message_stop"}));
    assert!(matches!(&events(&stream)[..], [Event::Finished(StopReason::EndTurn)]));
}

#[test]
fn a_stream_that_ends_early_says_where() {
    for (stream, words) in [
        (Stream::new().text(&["half"]), "closed in the middle of the reply"),
        (Stream::new().tool_use("t", "bash", &["{"]), "closed in the middle of the reply"),
    ] {
        let error = failure(&stream);
        assert_eq!(error.kind, ErrorKind::Interrupted);
        assert!(error.message.contains(words) && error.message.contains("api.anthropic.com"), "{error}");
    }
    let error = Stream::decode([]).1.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Interrupted);
    assert!(error.message.contains("before the reply began"), "{error}");
}

#[test]
fn a_broken_event_is_shown_in_short() {
    let long = "x".repeat(10_000);
    let start = |block: &Value| json!({"type": "content_block_start", "index": 0, "content_block": block}).to_string();
    for data in [
        "not json".to_owned(),
        "[]".to_owned(),
        r#"{"no": "type"}"#.to_owned(),
        r#"{"type": 7}"#.to_owned(),
        r#"{"type": "content_block_start", "index": 0}"#.to_owned(),
        format!(r#"{{"type": "content_block_start", "x": "{KEY} {long}""#),
        start(&json!({})),
        start(&json!({"type": "tool_use", "id": 3})),
        start(&json!({"type": "tool_use", "id": "t"})),
        start(&json!({"type": "redacted_thinking"})),
    ] {
        let bytes = format!("data: {data}\n\n").into_bytes();
        let (_, result) = Stream::decode(bytes.chunks(1));
        let error = result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Malformed, "{data}");
        assert!(error.message.len() < 400 && error.message.contains("api.anthropic.com"), "{error}");
        assert!(!error.message.contains(KEY), "{error}");
        let beginning: String = data.chars().take(7).collect();
        assert!(error.message.contains(&beginning), "{beginning:?} is not in {error}");
    }
}

fn block_start(index: u32, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn block_delta(index: u32, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn block_stop(index: u32) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

#[test]
fn an_error_event_has_the_kind_of_its_type() {
    use ErrorKind::*;
    for (name, kind) in [
        ("overloaded_error", Overloaded),
        ("rate_limit_error", RateLimited),
        ("api_error", Server),
        ("timeout_error", Timeout),
        ("authentication_error", Authentication),
        ("permission_error", Authentication),
        ("invalid_request_error", InvalidRequest),
        ("billing_error", InvalidRequest),
        ("not_found_error", InvalidRequest),
        ("request_too_large", InvalidRequest),
        ("error_from_the_future", Server),
    ] {
        let body =
            json!({"type": "error", "error": {"type": name, "message": format!("words {KEY}")}, "request_id": "req_9"});
        let stream = Stream::new().text(&["so far"]).event(&body);
        let (found, _) = play(&stream);
        assert!(found.contains(&text("so far")));
        let error = failure(&stream);
        assert_eq!(error.kind, kind, "{name}");
        for words in [name, "words …", "req_9"] {
            assert!(error.message.contains(words), "{words:?} is not in {error}");
        }
    }
}

#[test]
fn an_error_event_of_another_shape_is_still_an_error() {
    for body in
        [json!({"type": "error"}), json!({"type": "error", "error": null}), json!({"type": "error", "error": "x"})]
    {
        let error = failure(&Stream::new().event(&body));
        assert_eq!(error.kind, ErrorKind::Server, "{error}");
    }
}

#[derive(Clone, Debug)]
enum Kind {
    Text,
    Thinking,
    ToolUse,
}

/// A block, in the pieces that it arrives in.
#[derive(Clone, Debug)]
struct Block {
    kind: Kind,
    pieces: Vec<String>,
}

fn block() -> impl Strategy<Value = Block> {
    let piece = || "[a-zü🌱\"\\\\\n{}]{0,8}";
    let pieces = || prop::collection::vec(piece(), 0..4);
    prop_oneof![
        pieces().prop_map(|pieces| Block { kind: Kind::Text, pieces }),
        pieces().prop_map(|pieces| Block { kind: Kind::Thinking, pieces }),
        (piece(), 1_usize..6).prop_map(|(text, size)| {
            let json: Vec<char> = json!({"z": text, "a": 1}).to_string().chars().collect();
            Block { kind: Kind::ToolUse, pieces: json.chunks(size).map(|piece| piece.iter().collect()).collect() }
        }),
    ]
}

/// Events in any order, right and wrong ones.
fn any_event() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({"type": "message_start", "message": {}}),
        block_start(0, &json!({"type": "text"})),
        block_start(1, &json!({"type": "tool_use", "id": "t", "name": "n"})),
        block_delta(0, &json!({"type": "text_delta", "text": "x"})),
        block_delta(1, &json!({"type": "input_json_delta", "partial_json": "{"})),
        block_stop(0),
        block_stop(1),
        json!({"type": "message_delta", "delta": {"stop_reason": null}, "usage": {"output_tokens": null}}),
        json!({"type": "message_stop"}),
        json!({"type": "error", "error": {"type": null, "message": 7}}),
        Value::Null,
    ])
}

proptest! {
    #[test]
    fn what_the_model_wrote_arrives_however_it_is_cut(
        blocks in prop::collection::vec(block(), 0..5),
        cuts in prop::collection::vec(0_usize..4_000, 0..12),
    ) {
        let (mut stream, mut expected) = (Stream::new(), String::new());
        for (nth, block) in blocks.iter().enumerate() {
            let pieces: Vec<&str> = block.pieces.iter().map(String::as_str).collect();
            let (text, id) = (block.pieces.concat(), nth.to_string());
            (stream, expected) = match block.kind {
                Kind::Text => (stream.text(&pieces), expected + &text),
                Kind::Thinking => (stream.thinking(&pieces, &id), format!("{expected}<{text}|{id}>")),
                Kind::ToolUse => (stream.tool_use(&id, "t", &pieces), format!("{expected}[{id} {text}]")),
            };
        }
        let bytes = stream.end("end_turn").bytes();
        let (found, result) = Stream::decode(pieces(&bytes, cuts));
        prop_assert_eq!(result, Ok(()));
        let shown: String = found.into_iter().map(|event| match event {
            Event::Text(text) | Event::Thinking(text) => text,
            Event::ThinkingStarted => "<".to_owned(),
            Event::ThinkingFinished { signature } => format!("|{}>", signature.unwrap().value),
            Event::ToolUse { id, input: ToolInput::Json(input), .. } => format!("[{id} {input}]"),
            _ => String::new(),
        }).collect();
        prop_assert_eq!(shown, expected);
    }

    #[test]
    fn a_reply_cut_at_any_byte_is_never_taken_for_complete(end in 0_usize..1_000) {
        let bytes = Stream::new().text(&["x"]).tool_use("t", "bash", &["{}"]).end("tool_use").bytes();
        let end = end.min(bytes.len() - 1);
        is_interrupted::<Stream>(&bytes[..end])?;
    }

    #[test]
    fn events_in_any_order_end_in_a_reply_or_an_error(events in prop::collection::vec(any_event(), 0..12)) {
        let stream = events.iter().map(event).collect::<String>();
        ends_somehow::<Stream>(stream.as_bytes())?;
    }
}
