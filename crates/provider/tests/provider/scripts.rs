//! The scripts that are compiled in, and the project that the tour works on.

use std::{collections::HashSet, fs, sync::Arc};

use flemma_chat as chat;
use flemma_model::{Event, Message, Part, Role, ToolInput};
use flemma_provider::{
    Exchange, ProviderName, Request, Server, VendorOptions,
    auth::Environment,
    rehearsal::{TOUR, WELCOME},
};
use serde_json::{Value, json};

use crate::providers::root;

/// Plays the model to the end of its script, as a user would who lets everything run.
fn play(model: &str) -> (Vec<String>, Vec<(String, String, Value)>) {
    let text = if model == "tour" { TOUR } else { WELCOME };
    let messages = chat::read(text).expect("the script is a conversation").messages;
    let replies = messages.iter().filter(|message| message.role == Role::Assistant).count();
    let options = VendorOptions::new(ProviderName::default(), json!({"pace": 0}));
    let provider = Server::new(options, Environment::new(|_| None), |text| Ok(chat::read(text).unwrap().messages));
    let (mut texts, mut calls) = (Vec::new(), Vec::new());
    let mut request = Request { model: model.to_owned(), ..Request::default() };
    for _ in 0..replies {
        let Ok(Exchange::Script(events)) = provider.prepare(&request) else { panic!("a script is played") };
        let mut said = String::new();
        for (_, event) in events {
            match event {
                Event::Text(text) => said.push_str(&text),
                Event::ToolUse { id, name, input: ToolInput::Json(input) } => calls.push((id.0, name, input)),
                _ => {}
            }
        }
        texts.push(said);
        let result =
            Part::ToolResult { id: "x".into(), output: "as it is".into(), is_error: false, attachments: Vec::new() };
        request.messages.push(Arc::new(Message { role: Role::Assistant, parts: Vec::new() }));
        request.messages.push(Arc::new(Message { role: Role::User, parts: vec![result] }));
    }
    (texts, calls)
}

fn file(name: &str) -> String {
    fs::read_to_string(root().join("doc/tour").join(name)).unwrap()
}

#[test]
fn both_scripts_say_that_they_are_no_model_and_how_to_get_one() {
    for model in ["welcome", "tour"] {
        let (texts, _) = play(model);
        assert!(texts[0].contains("I am a script") && texts[0].contains("not a model"), "{}", texts[0]);
        let last = texts.last().unwrap();
        assert!(last.contains("ANTHROPIC_API_KEY") && last.contains("provider = \"anthropic\""), "{last}");
    }
    assert!(play("welcome").1.is_empty(), "the welcome calls no tools");
}

#[test]
fn the_tour_calls_its_tools_in_order_and_quotes_results() {
    let (texts, calls) = play("tour");
    let names: Vec<_> = calls.iter().map(|(_, name, _)| name.as_str()).collect();
    assert_eq!(names, ["read", "edit", "bash", "bash", "bash"]);
    assert_eq!(calls.iter().map(|(id, ..)| id).collect::<HashSet<_>>().len(), calls.len(), "every id is its own");
    assert_eq!(texts.iter().filter(|text| text.contains("as it is")).count(), 2);
    assert!(texts.iter().all(|text| !text.contains("{{")));
}

#[test]
fn the_tour_fits_the_project_that_it_works_on() {
    let (_, calls) = play("tour");
    let field = |nth: usize, name: &str| calls[nth].2[name].as_str().unwrap().to_owned();
    assert_eq!(field(1, "path"), "greet.py");
    let greet = file("greet.py");
    assert_eq!(greet.matches(&field(1, "old_text")).count(), 1, "the edit fits exactly once");
    assert!(greet.replace(&field(1, "old_text"), &field(1, "new_text")).contains("Hello, {name}!"));
    assert!(file("test_greet.py").contains("\"Hello, Ada!\"") && field(2, "command").contains("test_greet.py"));
    assert!(field(3, "command").contains("notes.md") && !file("notes.md").is_empty());
    // Strict tools: every property is there, those without a value as null.
    for (_, name, input) in &calls {
        let keys: Vec<_> = input.as_object().unwrap().keys().map(String::as_str).collect();
        match name.as_str() {
            "read" => assert_eq!(keys, ["label", "path", "offset", "limit"]),
            "edit" => assert_eq!(keys, ["label", "path", "old_text", "new_text"]),
            _ => assert_eq!(keys, ["label", "command", "timeout"]),
        }
    }
}

#[test]
fn the_document_that_opens_the_tour_is_ready_to_send() {
    let text = fs::read_to_string(root().join("doc/tour.chat")).unwrap();
    let conversation = chat::read(&text).unwrap();
    assert!(conversation.system.is_some());
    assert_eq!(conversation.messages.len(), 1);
    assert!(text.contains("Ctrl-]"));
}
