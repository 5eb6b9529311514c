//! Replies of Chat Completions, however a server forms them and the bytes are cut.

use flemma_model::{Event, Role, Signature, StopReason, ToolInput, Usage};
use flemma_provider::{Decoder, ErrorKind, Server};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::vendor::{Vendor, ends_somehow, events, failure, play, text, thought};
use crate::{
    completions::Stream,
    conversation::{self, call, conversation, exchange, hello, keyed, pieces, text as said},
};

pub(crate) const KEY: &str = "sk-or-secret";

fn server() -> Server {
    keyed("openai_compatible", "https://openrouter.ai/api/v1", KEY)
}

impl Vendor for Stream {
    const SECRET: &str = KEY;
    const HOST: &str = "openrouter.ai";

    fn decoder() -> Box<dyn Decoder> {
        exchange(&server(), &hello()).unwrap().1
    }

    fn sent(&self) -> Vec<u8> {
        self.bytes()
    }
}

fn noted(value: &str) -> Event {
    let signature = Signature { provider: "openai_compatible".to_owned(), value: value.to_owned() };
    Event::ThinkingFinished { signature: Some(signature) }
}

fn tool_use(id: &str, name: &str, input: Value) -> Event {
    Event::ToolUse { id: id.into(), name: name.to_owned(), input: ToolInput::Json(input) }
}

/// The calls of a reply, each as `id name input`.
fn calls(stream: &Stream) -> Vec<String> {
    let found = events(stream);
    assert_eq!(found.last(), Some(&Event::Finished(StopReason::ToolUse)));
    let show = |event: &Event| match event {
        Event::ToolUse { id, name, input: ToolInput::Json(input) } => Some(format!("{id} {name} {input}")),
        Event::ToolUse { id, name, input: ToolInput::Malformed(input) } => {
            Some(format!("{id} {name} malformed {input}"))
        }
        _ => None,
    };
    found.iter().filter_map(show).collect()
}

#[test]
fn text_arrives_in_its_pieces() {
    let found = events(&Stream::new().text(&["Hel", "", "lo 🌱"]).end("stop"));
    assert_eq!(found, [text("Hel"), text("lo 🌱"), Event::Finished(StopReason::EndTurn)]);
}

#[test]
fn thinking_ends_when_another_part_begins_and_keeps_its_field() {
    for field in ["reasoning_content", "reasoning"] {
        let found = events(&Stream::new().thinking(field, &["Let ", "me"]).text(&["x"]).end("stop"));
        assert_eq!(
            found,
            [
                Event::ThinkingStarted,
                thought("Let "),
                thought("me"),
                noted(&format!("{field}@openrouter.ai")),
                text("x"),
                Event::Finished(StopReason::EndTurn),
            ]
        );
    }
    // Before a call, and at the end.
    let found = events(&Stream::new().thinking("reasoning", &["Hm"]).call(0, "a", "ls", &["{}"]).end("tool_calls"));
    assert_eq!(found[2..4], [noted("reasoning@openrouter.ai"), tool_use("a", "ls", json!({}))]);
    let found = events(&Stream::new().thinking("reasoning", &["Hm"]).end("length"));
    assert_eq!(found[2..], [noted("reasoning@openrouter.ai"), Event::Finished(StopReason::MaxTokens)]);
}

#[test]
fn thinking_that_a_server_sends_twice_is_shown_once() {
    let both = json!({"content": null, "reasoning": "Hm", "reasoning_content": "Hm"});
    let found = events(&Stream::new().delta(both).end("stop"));
    assert_eq!(found[..2], [Event::ThinkingStarted, thought("Hm")]);
    assert_eq!(found[2], noted("reasoning_content@openrouter.ai"));
}

#[test]
fn content_may_be_a_list_of_parts() {
    let parts = json!({"content": [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]},
        {"type": "text", "text": "Hello"}, {"type": "reference", "reference_ids": [1]}]});
    let found = events(&Stream::new().delta(parts).end("stop"));
    assert_eq!(
        found,
        [
            Event::ThinkingStarted,
            thought("Hm"),
            Event::ThinkingFinished { signature: None },
            text("Hello"),
            Event::Finished(StopReason::EndTurn),
        ]
    );
}

#[test]
fn parallel_calls_arrive_complete_and_in_order() {
    let stream = Stream::new()
        .text(&["Both:"])
        .call(0, "call_a", "read", &["{\"path\": \"a", ".txt\", \"b\": 1, \"a\"", ": null}"])
        .call(1, "call_b", "bash", &["{\"command\":\"ls\"}"])
        .end("tool_calls");
    assert_eq!(events(&stream)[0], text("Both:"));
    assert_eq!(calls(&stream), [r#"call_a read {"path":"a.txt","b":1,"a":null}"#, r#"call_b bash {"command":"ls"}"#]);
    let (found, _) = play(&stream);
    assert!(found.contains(&Event::ToolUseProgress { name: "bash".to_owned(), bytes: 16 }));
}

#[test]
fn pieces_of_calls_may_alternate() {
    let piece = |index: u32, arguments: &str| json!([{"index": index, "function": {"arguments": arguments}}]);
    let stream = Stream::new()
        .call(0, "a", "one", &["{\"x\""])
        .call(1, "b", "two", &["{\"y\""])
        .calls(piece(0, ":1}"))
        .calls(piece(1, ":2}"))
        .end("tool_calls");
    assert_eq!(calls(&stream), [r#"a one {"x":1}"#, r#"b two {"y":2}"#]);
}

#[test]
fn calls_are_understood_however_a_server_leaves_things_out() {
    let whole = |name: &str, arguments: Value| json!({"function": {"name": name, "arguments": arguments}});
    let with = |mut piece: Value, field: &str, value: Value| {
        piece[field] = value;
        piece
    };
    let both = ["call_1 one {\"x\":1}", "call_2 two {}"];
    // In one piece, without index and id, in one chunk and in two.
    let (one, two) = (whole("one", json!("{\"x\":1}")), whole("two", json!("{}")));
    assert_eq!(calls(&Stream::new().calls(json!([one, two])).end("tool_calls")), both);
    assert_eq!(calls(&Stream::new().calls(json!([one])).calls(json!([two])).end("tool_calls")), both);
    // The index 0 for all of them; the arguments as an object; an empty id.
    let zero = |piece: &Value| with(with(piece.clone(), "index", json!(0)), "id", json!(""));
    assert_eq!(calls(&Stream::new().calls(json!([zero(&one)])).calls(json!([zero(&two)])).end("stop")), both);
    let object = whole("one", json!({"x": 1}));
    assert_eq!(calls(&Stream::new().calls(json!([object, two])).end("stop")), both);
    // The index 0 for all of them, told apart by their ids.
    let named = |piece: &Value, id: &str| with(with(piece.clone(), "index", json!(0)), "id", json!(id));
    let stream = Stream::new().calls(json!([named(&one, "a")])).calls(json!([named(&two, "b")])).end("stop");
    assert_eq!(calls(&stream), ["a one {\"x\":1}", "b two {}"]);
    // Ids, but no index; the pieces after the first have neither.
    let id = |id: &str, piece: &Value| with(piece.clone(), "id", json!(id));
    let rest = |arguments: &str| json!([{"function": {"arguments": arguments}}]);
    let stream = Stream::new()
        .calls(json!([id("a", &whole("one", json!("{\"x\"")))]))
        .calls(rest(":1}"))
        .calls(json!([id("b", &whole("two", Value::Null))]))
        .end("stop");
    assert_eq!(calls(&stream), ["a one {\"x\":1}", "b two {}"]);
    // Id and name in every piece.
    let again = |arguments: &str| json!([named(&whole("one", json!(arguments)), "a")]);
    assert_eq!(calls(&Stream::new().calls(again("{\"x\"")).calls(again(":1}")).end("stop")), ["a one {\"x\":1}"]);
    let nameless = |arguments: &str| json!([zero(&whole("one", json!(arguments)))]);
    assert_eq!(calls(&Stream::new().calls(nameless("{\"x\"")).calls(nameless(":1}")).end("stop")), [both[0]]);
}

#[test]
fn missing_arguments_are_an_empty_object_and_bad_json_is_kept() {
    let stream = Stream::new().call(0, "a", "now", &[]).call(1, "b", "bash", &["{\"command\": \"rm -", "rf"]);
    assert_eq!(calls(&stream.end("tool_calls")), ["a now {}", "b bash malformed {\"command\": \"rm -rf"]);
}

#[test]
fn every_call_of_a_conversation_gets_an_id_of_its_own() {
    let before = conversation(vec![
        (Role::User, vec![said("go")]),
        (Role::Assistant, vec![call("call_0", json!({})), call("call_5", json!({}))]),
    ]);
    let bytes = Stream::new()
        .call(0, "call_0", "one", &["{}"])
        .call(1, "", "two", &["{}"])
        .call(2, "fresh", "three", &["{}"])
        .end("tool_calls")
        .bytes();
    let (found, result) = conversation::decode(exchange(&server(), &before).unwrap().1, [&bytes[..]]);
    assert_eq!(result, Ok(()));
    let ids: Vec<_> = found
        .iter()
        .filter_map(|event| if let Event::ToolUse { id, .. } = event { Some(id.0.as_str()) } else { None })
        .collect();
    assert_eq!(ids, ["call_1", "call_2", "fresh"]);
}

#[test]
fn an_id_that_was_made_up_is_in_no_other_conversation() {
    let request = conversation(vec![(Role::User, vec![said("go")])]);
    let bytes = Stream::new().call(0, "", "one", &["{}"]).end("tool_calls").bytes();
    let id = || {
        let (mut decoder, mut events) = (exchange(&server(), &request).unwrap().1, Vec::new());
        decoder.feed(&bytes, &mut events).unwrap();
        decoder.finish(&mut events).unwrap();
        events
            .into_iter()
            .find_map(|event| if let Event::ToolUse { id, .. } = event { Some(id) } else { None })
            .unwrap()
    };
    assert_ne!(id(), id());
}

#[test]
fn every_reason_to_end_has_its_meaning() {
    for (reason, meaning) in [
        ("stop", StopReason::EndTurn),
        ("eos", StopReason::EndTurn),
        ("tool_calls", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("content_filter", StopReason::Refusal),
        ("from_the_future", StopReason::Other("from_the_future".to_owned())),
    ] {
        assert_eq!(events(&Stream::new().end(reason)).last(), Some(&Event::Finished(meaning)), "{reason}");
    }
    // A call that was cut short is not run as if it were whole.
    let cut = events(&Stream::new().call(0, "a", "bash", &["{"]).end("length"));
    assert_eq!(cut.last(), Some(&Event::Finished(StopReason::MaxTokens)));
    let refused = events(&Stream::new().delta(json!({"refusal": "No."})).end("stop"));
    assert_eq!(refused, [text("No."), Event::Finished(StopReason::Refusal)]);
}

#[test]
fn a_reply_ends_however_the_server_says_so() {
    let begun = || Stream::new().text(&["x"]);
    for stream in [
        begun().stop("stop"),
        begun().stop("stop").usage(),
        begun().stop("stop").line("data: [DONE]\n\n"),
        begun().line("data: [DONE]\n\n"),
        begun().usage().stop("stop"),
        begun().stop("stop").stop(""),
        Stream::default().chunk(&json!({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]})),
    ] {
        assert_eq!(events(&stream), [text("x"), Event::Finished(StopReason::EndTurn)], "{stream:?}");
    }
}

#[test]
fn usage_tells_the_cache_and_the_thinking_apart() {
    let usage = |stream: &Stream| {
        play(stream).0.into_iter().find_map(|event| if let Event::Usage(usage) = event { Some(usage) } else { None })
    };
    let whole = Usage { input: 40, output: 50, reasoning: 20, cache_read: 60, cache_write: 0 };
    assert_eq!(usage(&Stream::new().end("stop")), Some(whole));
    let deepseek = json!({"choices": [{"delta": {}, "finish_reason": "stop"}],
                          "usage": {"prompt_tokens": 9, "completion_tokens": 3, "prompt_cache_hit_tokens": 4}});
    let found = usage(&Stream::new().chunk(&deepseek).line("data: [DONE]\n\n"));
    assert_eq!(found, Some(Usage { input: 5, output: 3, cache_read: 4, ..Usage::default() }));
    for empty in [Value::Null, json!({}), json!({"prompt_tokens": null})] {
        assert_eq!(usage(&Stream::new().chunk(&json!({"choices": [], "usage": empty})).stop("stop")), None);
    }
}

#[test]
fn unknown_events_and_keep_alives_are_ignored() {
    let stream = Stream::default()
        .line(": OPENROUTER PROCESSING\n\n")
        .line("data: \n\n")
        .line(":\n\n")
        .chunk(&json!({"type": "ping", "timings": [1]}))
        .chunk(&json!({"choices": [], "prompt_filter_results": [{}]}))
        .chunk(&json!({"choices": [{"delta": null, "finish_reason": null}]}))
        .chunk(&json!({"choices": [{"delta": {"content": null, "tool_calls": null, "audio": {}, "reasoning": 7}}]}))
        .chunk(&json!({"choices": [{"index": 0, "delta": {"content": "x"}}]}))
        .end("stop")
        .text(&["late"]);
    assert_eq!(events(&stream), [text("x"), Event::Finished(StopReason::EndTurn)]);
}

#[test]
fn a_stream_that_ends_early_says_where() {
    let error = failure(&Stream::new().text(&["half"]).usage());
    assert_eq!(error.kind, ErrorKind::Interrupted);
    assert_eq!(error.message, "openrouter.ai: the connection closed in the middle of the reply");
    assert!(Stream::decode([]).1.unwrap_err().message.ends_with("before the reply began"));
}

#[test]
fn an_error_in_the_stream_is_recognised_in_every_shape() {
    use ErrorKind::*;
    let words = format!("words {KEY}");
    for (chunk, kind) in [
        (json!({"error": {"message": words, "type": "server_error", "code": "server_error"}}), Server),
        (
            json!({"error": {"message": words, "code": 429}, "choices": [{"delta": {}, "finish_reason": "error"}]}),
            RateLimited,
        ),
        (json!({"error": {"message": words, "code": 401}}), Authentication),
        (json!({"error": {"message": words, "type": "unavailable_error"}}), Overloaded),
        (json!({"error": words}), Server),
        (json!({"object": "error", "message": words, "code": 400}), InvalidRequest),
    ] {
        let stream = Stream::new().text(&["so far"]).chunk(&chunk);
        assert!(play(&stream).0.contains(&text("so far")));
        let error = failure(&stream);
        assert_eq!(error.kind, kind, "{chunk}");
        assert!(error.message.contains("words …"), "{error}");
    }
    for line in ["event: error\ndata: it broke\n\n", "event: error\ndata: {\"message\": \"it broke\"}\n\n"] {
        assert!(failure(&Stream::new().line(line)).message.contains("it broke"));
    }
}

#[test]
fn a_broken_chunk_is_shown_in_short() {
    for data in ["not json", "[]", "7", &format!("{{\"x\": \"{KEY} {}", "x".repeat(10_000))] {
        let error = failure(&Stream::default().line(&format!("data: {data}\n\n")));
        assert_eq!(error.kind, ErrorKind::Malformed, "{data}");
        assert!(error.message.len() < 400 && error.message.contains("openrouter.ai"), "{error}");
    }
}

#[derive(Clone, Debug)]
enum Step {
    Text(String),
    Thinking(String),
}

/// Chunks in any order, right and wrong ones.
fn any_chunk() -> impl Strategy<Value = Value> {
    let delta = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
    prop::sample::select(vec![
        delta(json!({"content": "x"})),
        delta(json!({"reasoning": "y"})),
        delta(json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "n", "arguments": "{"}}]})),
        delta(json!({"tool_calls": [{"function": {"arguments": "}"}}]})),
        delta(json!({"tool_calls": [7, {}, {"index": "x", "function": null}]})),
        json!({"choices": [{"finish_reason": "stop"}]}),
        json!({"choices": 7, "usage": {"prompt_tokens": 1}}),
        json!({"choices": [[]]}),
        json!({"error": {"message": 7}}),
        Value::Null,
    ])
}

proptest! {
    #[test]
    fn what_the_model_wrote_arrives_however_it_is_cut(
        steps in prop::collection::vec(prop_oneof![
            "[a-zü🌱\"\\\\\n{}]{1,8}".prop_map(Step::Text), "[a-zü🌱\"\\\\\n{}]{1,8}".prop_map(Step::Thinking)], 0..8),
        command in "[a-zü🌱\"\\\\\n{}]{0,20}",
        size in 1_usize..6,
        cuts in prop::collection::vec(0_usize..8_000, 0..12),
    ) {
        let (mut stream, mut prose, mut thoughts) = (Stream::new(), String::new(), String::new());
        for step in &steps {
            stream = match step {
                Step::Text(text) => { prose.push_str(text); stream.text(&[text]) }
                Step::Thinking(text) => { thoughts.push_str(text); stream.thinking("reasoning", &[text]) }
            };
        }
        let input = json!({"z": command, "a": 1});
        let letters: Vec<char> = input.to_string().chars().collect();
        let arguments: Vec<String> = letters.chunks(size).map(|piece| piece.iter().collect()).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let bytes = stream.call(0, "a", "t", &arguments).end("tool_calls").bytes();
        let (found, result) = Stream::decode(pieces(&bytes, cuts));
        prop_assert_eq!(result, Ok(()));
        let of = |kind: fn(&Event) -> Option<&String>| found.iter().filter_map(kind).cloned().collect::<String>();
        prop_assert_eq!(of(|event| if let Event::Text(text) = event { Some(text) } else { None }), prose);
        prop_assert_eq!(of(|event| if let Event::Thinking(text) = event { Some(text) } else { None }), thoughts);
        prop_assert!(found.contains(&tool_use("a", "t", input)));
        let started = found.iter().filter(|event| **event == Event::ThinkingStarted).count();
        let finished = found.iter().filter(|event| matches!(event, Event::ThinkingFinished { .. })).count();
        prop_assert_eq!(started, finished);
    }

    #[test]
    fn a_reply_without_a_finish_reason_is_never_complete(end in 0_usize..4_000) {
        let bytes = Stream::new().thinking("reasoning", &["x"]).call(0, "a", "bash", &["{}"]).bytes();
        let end = end.min(bytes.len());
        let (found, result) = Stream::decode([&bytes[..end]]);
        prop_assert_eq!(result.unwrap_err().kind, ErrorKind::Interrupted);
        prop_assert!(!found.iter().any(|event| matches!(event, Event::Finished(_))), "half a reply runs nothing");
    }

    #[test]
    fn chunks_in_any_order_end_in_a_reply_or_an_error(chunks in prop::collection::vec(any_chunk(), 0..12)) {
        let bytes = chunks.iter().fold(Stream::default(), Stream::chunk).bytes();
        ends_somehow::<Stream>(&bytes)?;
    }
}
