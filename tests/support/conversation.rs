//! Conversations and their parts, in few words.
//!
//! Include it with `#[path = "../support/conversation.rs"] mod conversation;`.

// Each test binary uses its own part of this, and a test that cannot go on panics.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use std::{borrow::Cow, sync::Arc};

use flemma_model::{Event, Hosted, HostedBlock, Message, Part, Role, Signature};
use flemma_provider::{
    Decoder, Exchange, HttpRequest, ProviderError, ProviderName, Request, Server, ToolSpec, VendorOptions,
    auth::Environment,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use Role::{Assistant, User};

/// A conversation of these turns.
pub fn conversation(turns: Vec<(Role, Vec<Part>)>) -> Request {
    let messages = turns.into_iter().map(|(role, parts)| Arc::new(Message { role, parts })).collect();
    Request { model: "test-model".to_owned(), messages, ..Request::default() }
}

/// A conversation in which the user says hello.
pub fn hello() -> Request {
    conversation(vec![(User, vec![text("Hi")])])
}

pub fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

pub fn call(id: &str, input: Value) -> Part {
    Part::ToolUse { id: id.into(), name: "bash".to_owned(), input }
}

pub fn result(id: &str, output: &str, is_error: bool) -> Part {
    Part::ToolResult { id: id.into(), output: output.into(), is_error, attachments: Vec::new() }
}

pub fn thinking(text: &str, provider: &str, value: &str) -> Part {
    let signature = Signature { provider: provider.to_owned(), value: value.to_owned() };
    Part::Thinking { text: text.to_owned(), signature: Some(signature) }
}

pub fn tool(name: &str, strict: bool) -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    ToolSpec {
        name: name.to_owned(),
        description: "Reads a file.".to_owned(),
        input_schema: Arc::new(schema),
        strict,
        prompt: None,
    }
}

/// The vendor `name` with these options.
pub fn provider_of(name: &str, options: Value, environment: Environment) -> Server {
    let options = VendorOptions::new(ProviderName::from_name(name).unwrap(), options);
    Server::new(options, environment, |_| Ok(Vec::new()))
}

/// The vendor `name` at this address, with this key.
pub fn keyed(name: &str, base_url: &str, key: &'static str) -> Server {
    provider_of(name, json!({"base_url": base_url}), Environment::new(move |_| Some(key.to_owned())))
}

/// What is sent, and what reads the reply.
pub fn exchange(provider: &Server, request: &Request) -> Result<(HttpRequest, Box<dyn Decoder>), ProviderError> {
    match provider.prepare(request)? {
        Exchange::Http { request, decoder } => Ok((request, decoder)),
        Exchange::Script(_) => panic!("this provider is no script"),
    }
}

pub fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    let of = |(known, _): &&(Cow<'static, str>, String)| known == name;
    request.headers.iter().find(of).map(|(_, value)| value.as_str())
}

/// What the chunks bring, and how they end. Ids that were made up are numbered in their order, as in `call_1`.
pub fn decode<'a>(
    mut decoder: Box<dyn Decoder>,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Event>, Result<(), ProviderError>) {
    let mut events = Vec::new();
    for chunk in chunks {
        if let Err(error) = decoder.feed(chunk, &mut events) {
            number_made_up(&mut events);
            return (events, Err(error));
        }
    }
    let result = decoder.finish(&mut events);
    number_made_up(&mut events);
    (events, result)
}

fn number_made_up(events: &mut [Event]) {
    let mut found = Vec::new();
    for event in events {
        let id = match event {
            Event::ToolUse { id, .. } => &mut id.0,
            Event::Hosted(Hosted { block: HostedBlock::Call { id, .. }, .. }) => &mut id.0,
            _ => continue,
        };
        let Some((prefix, digits)) =
            id.split_once('_').filter(|(prefix, _)| ["call", "toolu", "vertex", "xml"].contains(prefix))
        else {
            continue;
        };
        if digits.len() == 12 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let at = found.iter().position(|known| known == id).unwrap_or(found.len());
            let numbered = format!("{prefix}_{}", at + 1);
            found.push(std::mem::replace(id, numbered));
        }
    }
}

/// `bytes` in pieces, cut at `cuts`.
pub fn pieces(bytes: &[u8], cuts: Vec<usize>) -> Vec<&[u8]> {
    let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

/// Any part of what `role` says; `signed` is thinking that the provider under test has signed.
fn any_part(role: Role, signed: Part) -> BoxedStrategy<Part> {
    let prose = "[ a-z\\n\"]{0,12}".prop_map(Part::Text);
    let id = "[a-z|]{0,4}";
    match role {
        User => {
            let output = (id, any::<bool>(), "[a-z ]{0,5}");
            prop_oneof![prose, output.prop_map(|(id, is_error, output)| result(&id, &output, is_error))].boxed()
        }
        Assistant => prop_oneof![
            prose,
            id.prop_map(|id| call(&id, json!({"command": "ls"}))),
            Just(thinking("foreign", "somebody", "x")),
            Just(signed),
        ]
        .boxed(),
    }
}

/// A turn with visible text at both ends: it stands for itself, as one of a real conversation does.
pub fn any_turn(role: Role, signed: Part) -> impl Strategy<Value = (Role, Vec<Part>)> {
    turn_of(role, any_part(role, signed))
}

/// Any turn of such parts, with visible text at both ends.
pub fn turn_of(role: Role, part: impl Strategy<Value = Part>) -> impl Strategy<Value = (Role, Vec<Part>)> {
    prop::collection::vec(part, 0..4).prop_map(move |mut parts| {
        parts.insert(0, text("from"));
        parts.push(text("to"));
        (role, parts)
    })
}

/// Turns that alternate; the last is the user's.
pub fn any_turns(signed: &Part) -> impl Strategy<Value = Vec<(Role, Vec<Part>)>> + use<> {
    let rounds = prop::collection::vec((any_turn(User, signed.clone()), any_turn(Assistant, signed.clone())), 1..5);
    (rounds, any_turn(User, signed.clone())).prop_map(|(rounds, last)| {
        let turns = rounds.into_iter().flat_map(|(user, assistant)| [user, assistant]);
        turns.chain([last]).collect()
    })
}
