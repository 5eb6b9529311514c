//! A longer conversation begins with the bytes of the shorter one, for every provider: vendors keep what they have read
//! under its beginning, and a request that changes there is read, and paid for, from the start.
//!
//! Two things move with the end of a conversation and are left out: what closes the JSON, and Anthropic's marks of
//! where the vendor is to keep something, which are no part of what it reads.

use std::sync::Arc;

use flemma_model::{Message, Part, Role};
use flemma_provider::{Request, Server};
use proptest::prelude::*;

use crate::{
    conversation::{any_turns, exchange, thinking},
    providers::{conversations, providers, settings, two_tools},
};

/// The marks, as they stand in a body. In a string of JSON their quotation marks would be escaped.
const MARKS: [&str; 2] =
    [r#","cache_control":{"type":"ephemeral"}"#, r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#];

/// Thinking as each provider signs it.
fn any_signed() -> impl Strategy<Value = Part> {
    let openai = r#"{"id":"rs_1","encrypted_content":"c2VjcmV0","summary":["Look","Then act"]}"#;
    prop::sample::select(vec![
        thinking("Hm.", "anthropic", "EqQBCgIYAhIM"),
        thinking("Look\n\nThen act", "openai", openai),
        thinking("Hm.", "openai_compatible", "reasoning_content@localhost:11434"),
        thinking("Hm.", "vertex", "c2ln"),
        thinking("Hm.", "vertex", "c2ln thought"),
        thinking("", "vertex", "c2ln text"),
    ])
}

/// The body, without the marks and without what closes it: a message, too, goes on where the reply in between has
/// nothing that this provider is sent.
fn beginning(provider: &Server, request: &Request) -> String {
    let sent = exchange(provider, request).unwrap_or_else(|error| panic!("{}: {error}", provider.name())).0;
    let body = MARKS.iter().fold(String::from_utf8(sent.body).unwrap(), |body, mark| body.replace(mark, ""));
    body.trim_end_matches(['"', ']', '}']).to_owned()
}

/// Asserts it of the conversation up to each of the user's messages, for every provider, model and setting. Returns how
/// often the conversation grew.
fn assert_prefixes(system: Option<&str>, messages: &[Arc<Message>]) -> Result<usize, TestCaseError> {
    let is_last = |end: &usize| messages.get(*end).is_none_or(|next| next.role != Role::User);
    let ends: Vec<_> =
        (1..=messages.len()).filter(|end| messages[end - 1].role == Role::User && is_last(end)).collect();
    for (provider, models) in providers() {
        for (model, (setting, parameters)) in
            models.iter().flat_map(|model| settings().into_iter().map(move |setting| (model, setting)))
        {
            let request = |end: usize| Request {
                model: (*model).to_owned(),
                system: system.map(str::to_owned),
                messages: messages[..end].to_vec(),
                tools: two_tools(),
                parameters: parameters.clone(),
                ..Request::default()
            };
            let bodies: Vec<_> = ends.iter().map(|end| beginning(&provider, &request(*end))).collect();
            for pair in bodies.windows(2) {
                let name = provider.name();
                prop_assert!(pair[1].starts_with(&pair[0]), "{name}, {model}, {setting}\n{}\n{}", pair[0], pair[1]);
                prop_assert!(pair[1].len() > pair[0].len());
            }
        }
    }
    Ok(ends.len().saturating_sub(1))
}

#[test]
fn a_file_that_grows_grows_at_its_end_for_every_provider() {
    let grown = conversations()
        .iter()
        .map(|(name, conversation)| {
            let grown = assert_prefixes(conversation.system.as_deref(), &conversation.messages);
            grown.unwrap_or_else(|error| panic!("{name}: {error}"))
        })
        .sum::<usize>();
    assert!(grown > 10, "the conversations grew {grown} times");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_longer_conversation_starts_with_the_shorter_ones_bytes(
        system in prop::option::of("[a-z]{1,9}"),
        turns in any_signed().prop_flat_map(|signed| any_turns(&signed)),
    ) {
        let messages: Vec<_> = turns.into_iter().map(|(role, parts)| Arc::new(Message { role, parts })).collect();
        let grown = assert_prefixes(system.as_deref(), &messages)?;
        prop_assert!(grown > 0);
    }
}
