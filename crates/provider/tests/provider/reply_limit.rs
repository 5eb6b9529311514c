//! What a reply may bring.

use flemma_model::{CallId, Event, Hosted, HostedBlock, Signature, ToolInput};
use flemma_provider::{
    ProviderError,
    reply_limit::{MAX_CALLS, MAX_ID, MAX_NAME, PIECE, ReplyLimit, weight},
};
use serde_json::{Value, json};

/// What comes through, and the error that ends it.
fn pass(max: usize, events: impl IntoIterator<Item = Event>) -> (Vec<Event>, Option<ProviderError>) {
    let (mut reply_limit, mut passed) = (ReplyLimit::new(max), Vec::new());
    for event in events {
        if let Err(error) = reply_limit.pass(event, |event| passed.push(event)) {
            return (passed, Some(error));
        }
    }
    (passed, None)
}

fn call(n: usize, name: &str, input: Value) -> Event {
    Event::ToolUse { id: CallId(format!("call_{n}")), name: name.to_owned(), input: ToolInput::Json(input) }
}

#[test]
fn a_usual_reply_comes_through_as_it_is() {
    let events = [
        Event::ThinkingStarted,
        Event::Thinking("hm\n".into()),
        Event::ThinkingFinished { signature: None },
        Event::Text("a\n\nb".into()),
        Event::ToolUseProgress { name: "read".into(), bytes: 3 },
        call(1, "read", json!({ "path": "x" })),
    ];
    assert_eq!(pass(1000, events.clone()), (events.to_vec(), None));
}

#[test]
fn a_long_text_is_cut_into_pieces_that_are_the_text_again() {
    for text in ["x".repeat(1 << 20), "\n".repeat(100_000), "é\n漢字".repeat(50_000)] {
        let (passed, error) = pass(usize::MAX, [Event::Text(text.clone())]);
        let pieces: Vec<&str> = passed
            .iter()
            .map(|event| if let Event::Text(text) = event { text.as_str() } else { panic!("{event:?}") })
            .collect();
        assert!(error.is_none() && pieces.concat() == text && pieces.len() > 1);
        assert!(pieces.iter().all(|piece| !piece.is_empty() && weight(piece) <= PIECE));
    }
}

#[test]
fn an_oversized_reply_ends_with_an_error_naming_the_option() {
    let big = "x".repeat(60);
    let signature = Signature { provider: "anthropic".into(), value: big.clone() };
    for event in [
        Event::Text(big.clone()),
        Event::Thinking(big.clone()),
        Event::ThinkingFinished { signature: Some(signature.clone()) },
        Event::RedactedThinking(signature),
        Event::ToolUseProgress { name: "read".into(), bytes: 60 },
        call(1, "read", json!([big.as_str()])),
        call(1, "read", json!({ big.as_str(): 1 })),
        Event::Hosted(Hosted::of("x", HostedBlock::Result { id: "y".into(), raw: json!(big), is_error: false })),
    ] {
        let (passed, error) = pass(100, [Event::Text("é".repeat(25)), event.clone()]);
        let message = error.unwrap_or_else(|| panic!("{event:?}")).message;
        assert!(message.contains("100 bytes") && message.contains("parameters.max_reply_bytes"), "{message}");
        assert_eq!(passed[0], Event::Text("é".repeat(25)), "what came before stays");
    }
    // Of a text, what fits comes through, and no half of a character.
    let (passed, error) = pass(5, [Event::Text("ééé".into())]);
    assert!(error.is_some() && passed == [Event::Text("éé".into())]);
}

#[test]
fn too_many_calls_end_a_reply() {
    let (passed, error) = pass(usize::MAX, (0..10_000).map(|n| call(n, "read", json!({}))));
    assert_eq!(passed.len(), MAX_CALLS);
    assert!(error.unwrap().message.contains("more than 128 tool calls, and no reply may make more"));
}

#[test]
fn an_overlong_name_is_cut_and_an_overlong_id_ends_the_reply() {
    let (passed, error) = pass(
        usize::MAX,
        [
            Event::ToolUseProgress { name: "é".repeat(5 << 20), bytes: 0 },
            call(1, &"é".repeat(5 << 20), json!({})),
            call(2, &"x".repeat(MAX_NAME), json!({})),
        ],
    );
    assert!(error.is_none());
    for (event, name) in passed.iter().zip(["é".repeat(MAX_NAME), "é".repeat(MAX_NAME), "x".repeat(MAX_NAME)]) {
        let (Event::ToolUse { name: is, .. } | Event::ToolUseProgress { name: is, .. }) = event else { panic!() };
        assert_eq!(*is, name);
    }
    let long = Event::ToolUse {
        id: CallId("x".repeat(MAX_ID + 1)),
        name: "read".into(),
        input: ToolInput::Malformed(String::new()),
    };
    let (passed, error) = pass(usize::MAX, [long]);
    assert!(passed.is_empty() && error.unwrap().message.contains("1025 bytes"));
}
