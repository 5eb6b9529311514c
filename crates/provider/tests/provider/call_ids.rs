//! The ids of calls in a request: whatever the conversation says, they are unique, the vendor takes them, and each result
//! stands for its own call.

use std::{collections::HashSet, sync::Arc};

use flemma_chat as chat;
use flemma_model::{Hosted, HostedBlock, Message, Part, Role};
use flemma_provider::{Request, Server};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    conversation::{call, exchange, result, text, thinking},
    providers::providers,
};

/// Ids as models, servers, other vendors and users write them.
const IDS: [&str; 15] = [
    "a", "a_2", "b", "toolu_01", "call_1", "", "_", "a b", "a_20b", "ü|", "vertex:a", "vertex:b", "vertex_1", "LONG",
    "LONGER",
];

fn id(name: &str) -> String {
    match name {
        "LONG" => "x".repeat(80),
        "LONGER" => "x".repeat(81),
        name => name.to_owned(),
    }
}

/// Rounds of calls; each round has every id once, as a document without an error has. The results come in any order.
fn any_rounds() -> impl Strategy<Value = Vec<Vec<(String, u8)>>> {
    let round = prop::sample::subsequence(IDS.to_vec(), 0..4);
    let round = (round, any::<[u8; 4]>()).prop_map(|(names, order)| names.into_iter().map(id).zip(order).collect());
    prop::collection::vec(round, 1..7)
}

/// A conversation of these rounds. Every call and its result hold the same number, which is nobody else's.
fn messages(rounds: &[Vec<(String, u8)>]) -> Vec<Arc<Message>> {
    let said = |role, parts| Arc::new(Message { role, parts });
    let mut messages = Vec::new();
    let mut number = 0;
    for round in rounds {
        messages.push(said(Role::User, vec![text("Go on")]));
        let numbered: Vec<_> = round.iter().zip(number..).collect();
        number += round.len();
        let calls = numbered.iter().map(|((id, _), number)| call(id, json!({ "number": number })));
        messages.push(said(Role::Assistant, [text("Well")].into_iter().chain(calls).collect()));
        let mut answers = numbered;
        answers.sort_by_key(|((_, order), _)| *order);
        let results = answers.iter().map(|((id, _), number)| result(id, &format!("result {number}"), false));
        messages.push(said(Role::User, results.collect()));
    }
    messages.retain(|message| !message.parts.is_empty());
    messages
}

/// What a body has of a call or a result.
#[derive(Clone, Debug, PartialEq)]
struct SentId {
    is_result: bool,
    id: Option<String>,
    number: u64,
}

fn body(provider: &Server, model: &str, messages: &[Arc<Message>]) -> Value {
    let request = Request { model: model.to_owned(), messages: messages.to_vec(), ..Request::default() };
    serde_json::from_slice(&exchange(provider, &request).unwrap().0.body).unwrap()
}

fn found_in(provider: &str, body: &Value) -> Vec<SentId> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let number = |text: &str| text.trim_start_matches("result ").parse().unwrap();
    let id = |value: &Value| value.as_str().map(str::to_owned);
    let of_call = |own: &Value, input: &Value| SentId {
        is_result: false,
        id: id(own),
        number: input["number"].as_u64().unwrap(),
    };
    let of_result =
        |own: &Value, said: &Value| SentId { is_result: true, id: id(own), number: number(said.as_str().unwrap()) };
    let parsed = |text: &Value| serde_json::from_str::<Value>(text.as_str().unwrap()).unwrap();
    let items: Vec<Value> = match provider {
        "anthropic" => list(&body["messages"]).iter().flat_map(|turn| list(&turn["content"])).collect(),
        "openai" => list(&body["input"]),
        "vertex" => list(&body["contents"]).iter().flat_map(|turn| list(&turn["parts"])).collect(),
        _ => list(&body["messages"]),
    };
    let mut found = Vec::new();
    for item in items {
        match item["type"].as_str() {
            Some("tool_use") => found.push(of_call(&item["id"], &item["input"])),
            Some("tool_result") => found.push(of_result(&item["tool_use_id"], &item["content"])),
            Some("function_call") => found.push(of_call(&item["call_id"], &parsed(&item["arguments"]))),
            Some("function_call_output") => found.push(of_result(&item["call_id"], &item["output"])),
            _ => {}
        }
        for call in list(&item["tool_calls"]) {
            found.push(of_call(&call["id"], &parsed(&call["function"]["arguments"])));
        }
        if item["role"] == "tool" {
            found.push(of_result(&item["tool_call_id"], &item["content"]));
        }
        if let Some(call) = item.get("functionCall") {
            found.push(of_call(&call["id"], &call["args"]));
        }
        if let Some(answer) = item.get("functionResponse") {
            found.push(of_result(&answer["id"], &answer["response"]["output"]));
        }
    }
    found
}

/// Whether the vendor takes the id.
fn is_legal(provider: &str, id: &str) -> bool {
    let limit = match provider {
        "anthropic" | "openai" => 64,
        _ => return !id.is_empty(),
    };
    (1..=limit).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

fn check(messages: &[Arc<Message>], calls: usize) -> Result<(), TestCaseError> {
    for (provider, models) in providers() {
        let name = provider.name();
        let found = found_in(name, &body(&provider, models[0], messages));
        prop_assert_eq!(found.len(), 2 * calls, "{}: {:?}", name, &found);
        let ids: Vec<_> = found.iter().filter(|one| !one.is_result).filter_map(|one| one.id.clone()).collect();
        let unique: HashSet<_> = ids.iter().collect();
        prop_assert_eq!(unique.len(), ids.len(), "{}: {:?}", name, &ids);
        for id in &ids {
            prop_assert!(is_legal(name, id), "{name}: {id:?}");
        }
        prop_assert!(name == "vertex" || ids.len() == calls, "{name}: {ids:?}");
        for answer in found.iter().filter(|one| one.is_result) {
            let call = found.iter().find(|one| !one.is_result && one.number == answer.number).unwrap();
            prop_assert_eq!(&answer.id, &call.id, "{}: call {}", name, call.number);
        }
        // An API that pairs by order finds the same.
        if name == "vertex" {
            let numbers = |is_result| -> Vec<_> {
                found.iter().filter(|one| one.is_result == is_result).map(|one| one.number).collect()
            };
            prop_assert_eq!(numbers(true), numbers(false));
        }
        // What stands already keeps its ids when the conversation grows.
        for end in 1..messages.len() {
            let before = found_in(name, &body(&provider, models[0], &messages[..end]));
            prop_assert_eq!(&before[..], &found[..before.len()], "{}: the first {} messages", name, end);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn ids_are_unique_and_legal_and_results_match_their_calls(rounds in any_rounds()) {
        check(&messages(&rounds), rounds.iter().map(Vec::len).sum())?;
    }
}

#[test]
fn an_id_that_comes_again_in_every_turn_is_sent_once() {
    let rounds: Vec<_> = (0..5).map(|order| vec![("call_0".to_owned(), order)]).collect();
    let messages = messages(&rounds);
    check(&messages, 5).unwrap();
    let (anthropic, models) = providers().swap_remove(0);
    let found = found_in("anthropic", &body(&anthropic, models[0], &messages));
    let ids: Vec<_> = found.iter().filter(|one| !one.is_result).map(|one| one.id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["call_0", "call_0_2", "call_0_3", "call_0_4", "call_0_5"], "the first one keeps its own");
}

#[test]
fn a_file_in_which_an_id_comes_again_is_sent_as_it_is_meant() {
    let round = |words: &str| {
        format!(
            "@Assistant:\n**Tool Use:** `ls` (`call_0`)\n\n```json\n{{\"path\":\"{words}\"}}\n```\n\n@You:\n\
             **Tool Result:** `call_0`\n\n```\nresult {words}\n```\n\n"
        )
    };
    let conversation = chat::read(&format!("@You:\nHi\n\n{}{}", round("1"), round("2"))).unwrap();
    for (provider, models) in providers() {
        let body = body(&provider, models[0], &conversation.messages).to_string();
        for output in ["result 1", "result 2"] {
            assert_eq!(body.matches(output).count(), 1, "{}: {body}", provider.name());
        }
    }
}

#[test]
fn ten_thousand_calls_of_one_id_are_sent_in_no_time() {
    let rounds: Vec<_> = (0..10_000).map(|_| vec![("a".to_owned(), 0)]).collect();
    let messages = messages(&rounds);
    let (anthropic, models) = providers().swap_remove(0);
    let found = found_in("anthropic", &body(&anthropic, models[0], &messages));
    let ids: HashSet<_> = found.iter().filter(|one| !one.is_result).map(|one| one.id.clone()).collect();
    assert_eq!(ids.len(), 10_000);
}

#[test]
fn hosted_calls_that_repeat_an_id_are_paired_too() {
    let hosted = |number: u32| {
        let call =
            json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": number}});
        let found = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [number]});
        let hosted = |block| Part::Hosted(Hosted::of("anthropic", block));
        vec![
            hosted(HostedBlock::Call { id: "srvtoolu_1".into(), name: "web_search".to_owned(), raw: call }),
            hosted(HostedBlock::Result { id: "srvtoolu_1".into(), raw: found, is_error: false }),
            text("SentId"),
        ]
    };
    let said = |role, parts| Arc::new(Message { role, parts });
    // The reply in between has lost its result: only that half is left out.
    let messages = [
        said(Role::User, vec![text("1")]),
        said(Role::Assistant, hosted(1)),
        said(Role::User, vec![text("2")]),
        said(Role::Assistant, vec![hosted(2).remove(0), text("Lost")]),
        said(Role::User, vec![text("3")]),
        said(Role::Assistant, hosted(3)),
        said(Role::User, vec![text("4")]),
    ];
    let (anthropic, models) = providers().swap_remove(0);
    let body = body(&anthropic, models[0], &messages);
    let blocks: Vec<Value> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|turn| turn["content"].as_array().unwrap().clone())
        .collect();
    let seen: Vec<_> = blocks
        .iter()
        .filter_map(|block| match block["type"].as_str()? {
            "server_tool_use" => Some((block["id"].as_str()?.to_owned(), block["input"]["query"].clone())),
            "web_search_tool_result" => Some((block["tool_use_id"].as_str()?.to_owned(), block["content"][0].clone())),
            _ => None,
        })
        .collect();
    let expected = [("srvtoolu_1", 1), ("srvtoolu_1", 1), ("srvtoolu_1_2", 3), ("srvtoolu_1_2", 3)];
    assert_eq!(seen, expected.map(|(id, number)| (id.to_owned(), json!(number))));
}

#[test]
fn items_of_openai_that_come_twice_have_ids_of_their_own() {
    let reasoning = |number: u32| {
        thinking("", "openai", &json!({"id": "rs_1", "encrypted_content": format!("secret {number}")}).to_string())
    };
    let search = || {
        let raw = json!({"type": "web_search_call", "id": "ws_1", "status": "completed"});
        Part::Hosted(Hosted::of("openai", HostedBlock::Result { id: "ws_1".into(), raw, is_error: false }))
    };
    let said = |role, parts| Arc::new(Message { role, parts });
    let messages = [
        said(Role::User, vec![text("1")]),
        said(Role::Assistant, vec![reasoning(1), search(), text("One")]),
        said(Role::User, vec![text("2")]),
        said(Role::Assistant, vec![reasoning(2), search(), text("Two")]),
        said(Role::User, vec![text("3")]),
    ];
    let (openai, models) = providers().swap_remove(1);
    let body = body(&openai, models[0], &messages);
    let ids: Vec<_> = body["input"].as_array().unwrap().iter().filter_map(|item| item["id"].as_str()).collect();
    assert_eq!(ids, ["rs_1", "ws_1", "rs_1_2", "ws_1_2"]);
}
