//! The script in the place of a model.

use std::{sync::Arc, time::Duration};

use flemma_model::{Event, Message, Part, Role, Signature, StopReason, ToolInput};
use flemma_provider::{ErrorKind, Exchange, ProviderName, Request, Server, VendorOptions, auth::Environment};
use serde_json::json;

fn message(role: Role, parts: Vec<Part>) -> Arc<Message> {
    Arc::new(Message { role, parts })
}

fn said(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn call(id: &str) -> Part {
    Part::ToolUse { id: id.into(), name: "bash".to_owned(), input: json!({"command": "ls", "timeout": null}) }
}

fn result(output: &str) -> Part {
    Part::ToolResult { id: "any".into(), output: output.into(), is_error: false, attachments: Vec::new() }
}

fn script() -> Vec<Arc<Message>> {
    vec![
        message(Role::User, vec![said("hello")]),
        message(
            Role::Assistant,
            vec![
                Part::Thinking {
                    text: "Let me think.".to_owned(),
                    signature: Some(Signature { provider: "anthropic".to_owned(), value: "x".to_owned() }),
                },
                said("I look around, and there."),
                call("a"),
                call("b"),
            ],
        ),
        message(Role::User, vec![result("of the script"), result("of the script")]),
        message(Role::Assistant, vec![said("It said: {{last_result}}!")]),
    ]
}

/// The provider, which plays this script whatever the model.
fn provider(pace: f64) -> Server {
    let options = VendorOptions::new(ProviderName::default(), json!({"pace": pace}));
    Server::new(options, Environment::new(|_| None), |_| Ok(script()))
}

fn perform(messages: Vec<Arc<Message>>, pace: f64) -> Vec<(Duration, Event)> {
    match provider(pace).prepare(&Request { model: "tour".to_owned(), messages, ..Request::default() }) {
        Ok(Exchange::Script(events)) => events,
        _ => panic!("a script is played"),
    }
}

fn events(messages: Vec<Arc<Message>>) -> Vec<Event> {
    perform(messages, 0.0).into_iter().map(|(_, event)| event).collect()
}

fn text_of(events: &[Event]) -> String {
    let text = |event: &Event| if let Event::Text(text) = event { Some(text.clone()) } else { None };
    events.iter().filter_map(text).collect()
}

fn you(parts: Vec<Part>) -> Arc<Message> {
    message(Role::User, parts)
}

fn reply() -> Arc<Message> {
    message(Role::Assistant, vec![said("whatever stands here now")])
}

#[test]
fn a_reply_plays_like_a_stream() {
    let events = events(vec![you(vec![said("anything")])]);
    assert_eq!(text_of(&events), "I look around, and there.");
    let started = events.iter().position(|event| *event == Event::ThinkingStarted).unwrap();
    let finished = events.iter().position(|event| matches!(event, Event::ThinkingFinished { .. })).unwrap();
    let thought: String = events[started + 1..finished]
        .iter()
        .map(|event| if let Event::Thinking(text) = event { text.as_str() } else { panic!("{event:?} in thinking") })
        .collect();
    assert_eq!(thought, "Let me think.");
    assert_eq!(events[finished], Event::ThinkingFinished { signature: None }, "a script signs nothing");
    assert!(events.iter().filter(|event| matches!(event, Event::Text(_))).count() > 3, "text comes in pieces");
    assert_eq!(events.last(), Some(&Event::Finished(StopReason::ToolUse)));
}

#[test]
fn calls_come_whole_after_their_progress_with_ids_of_their_own() {
    let events = events(vec![you(vec![said("anything")])]);
    let uses: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::ToolUse { id, name, input } => Some((id.0.as_str(), name.as_str(), input.clone())),
            _ => None,
        })
        .collect();
    let input = ToolInput::Json(json!({"command": "ls", "timeout": null}));
    assert_eq!(uses, [("rehearsal_1_1", "bash", input.clone()), ("rehearsal_1_2", "bash", input)]);
    let first = events.iter().position(|event| matches!(event, Event::ToolUse { .. })).unwrap();
    assert_eq!(events[first - 1], Event::ToolUseProgress { name: "bash".to_owned(), bytes: 31 });
}

#[test]
fn the_document_says_which_reply_is_next() {
    let opening = you(vec![said("anything")]);
    let second = events(vec![opening.clone(), reply(), you(vec![result("fine")])]);
    assert_eq!(text_of(&second), "It said: fine!");
    assert_eq!(second.last(), Some(&Event::Finished(StopReason::EndTurn)));
    // Whoever takes the reply back gets the first one again.
    assert_eq!(events(vec![opening.clone()]), events(vec![opening]));
}

#[test]
fn the_last_result_is_quoted_on_one_line_and_in_short() {
    let quote = |parts| text_of(&events(vec![you(vec![said("x")]), reply(), you(parts)]));
    assert_eq!(quote(vec![result("first"), result("  two\n  lines \n"), said("and a word")]), "It said: two lines!");
    assert_eq!(quote(vec![said("no result at all")]), "It said: nothing!");
    assert_eq!(quote(vec![result(" \n")]), "It said: nothing!");
    assert_eq!(quote(vec![result("{{last_result}}")]), "It said: {{last_result}}!");
    assert_eq!(quote(vec![result(&"ü".repeat(500))]), format!("It said: {}…!", "ü".repeat(200)));
}

#[test]
fn after_its_last_reply_the_script_says_that_it_is_over() {
    let mut messages = vec![you(vec![said("x")]), reply(), you(vec![said("x")]), reply(), you(vec![said("more?")])];
    for _ in 0..2 {
        let closing = events(messages.clone());
        let text = text_of(&closing);
        for words in ["script ends here", "not a model", "ANTHROPIC_API_KEY", "provider = \"anthropic\""] {
            assert!(text.contains(words), "{words:?} is not in {text:?}");
        }
        assert_eq!(closing.last(), Some(&Event::Finished(StopReason::EndTurn)));
        messages.extend([reply(), you(vec![said("still there?")])]);
    }
}

#[test]
fn the_pace_stretches_every_pause_and_changes_nothing_else() {
    let ask = || vec![you(vec![said("x")])];
    let total = |pace| perform(ask(), pace).iter().map(|(pause, _)| *pause).sum::<Duration>();
    let of = |pace| perform(ask(), pace).into_iter().map(|(_, event)| event).collect::<Vec<_>>();
    assert_eq!(total(0.0), Duration::ZERO);
    assert!(total(1.0) > Duration::from_millis(300) && total(1.0) < Duration::from_secs(3), "{:?}", total(1.0));
    assert!(total(2.0).abs_diff(total(1.0) * 2) < Duration::from_millis(1));
    assert_eq!(of(0.0), of(1.0));
}

#[test]
fn an_unknown_script_is_named_with_those_that_there_are() {
    let request = Request { model: "claude-sonnet-5-5".to_owned(), ..Request::default() };
    let error = provider(0.0).prepare(&request).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Options);
    for words in ["`rehearsal`", "`claude-sonnet-5-5`", "`welcome` and `tour`", "provider = \"anthropic\""] {
        assert!(error.message.contains(words), "{words:?} is not in {error}");
    }
}
