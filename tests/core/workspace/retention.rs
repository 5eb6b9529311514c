//! Retention: requests leave out old results, and the file keeps them.

use std::cell::Cell;

use flemma_workspace::{LuaOutcome, LuaValue};
use serde_json::{Value, json};

use super::harness::{Harness, Setup, calls, prose};

/// A question, a call of `tool`, its result and the end of the reply.
fn exchange(n: usize, tool: &str) -> String {
    let result = output(n);
    format!(
        "@You:\nQuestion {n}\n\n@Assistant:\n**Tool Use:** `{tool}` (`id_{n}`)\n\n```json\n{{}}\n```\n\n\
         @You:\n**Tool Result:** `id_{n}`\n\n```\n{result}\n```\n\n@Assistant:\nAnswer {n}\n\n"
    )
}

/// A result that is longer than a stub.
fn output(n: usize) -> String {
    format!("result {n}: {}", "words ".repeat(100)).trim_end().to_owned()
}

/// What takes the place of it in a request.
fn stub(n: usize) -> String {
    format!(
        "[The result of this call ({} bytes) was left out to save space. Call the tool again if you need it.]",
        output(n).len()
    )
}

/// A conversation with a call of each of these tools in turn, at the next question.
fn after(tools: &[&str]) -> String {
    let past: String = tools.iter().enumerate().map(|(n, tool)| exchange(n, tool)).collect();
    past + "@You:\nNext"
}

/// Which of the results in a request are stubs.
#[track_caller]
fn left_out(chat: &Harness, n: usize) -> Vec<usize> {
    let results = chat.results(n);
    let is_left_out = |(n, result): (usize, &String)| {
        assert!(*result == output(n) || *result == stub(n), "{n}: {result}");
        (*result == stub(n)).then_some(n)
    };
    results.iter().enumerate().filter_map(is_left_out).collect()
}

fn start(text: &str, options: Value, replies: usize) -> Harness {
    let setup = Setup { text, options, ..Setup::default() };
    Harness::start(setup, (0..replies).map(|n| prose(&format!("Reply {n}"))))
}

#[track_caller]
fn go(chat: &Harness, reply: usize) {
    chat.go();
    chat.wait_for(&format!("@Assistant:\nReply {reply}"));
}

#[test]
fn a_request_leaves_out_old_results_and_the_file_keeps_them() {
    let text = after(&["read"; 5]);
    let options = json!({ "tools": { "retention": { "mode": "count", "value": 2 } } });
    let chat = start(&text, options, 2);
    go(&chat, 0);
    assert_eq!(left_out(&chat, 0), [0, 1]);
    assert!(chat.text().starts_with(&text), "the file has every byte:\n{}", chat.text());

    // The next request begins with the same bytes, so that the provider finds them in its cache.
    chat.type_below("And now?");
    go(&chat, 1);
    let messages = |n: usize| chat.body(n)["messages"].as_array().unwrap().clone();
    let first = messages(0);
    assert_eq!(messages(1)[..first.len()], first);
    assert!(chat.text().starts_with(&text), "{}", chat.text());

    // What is sent is what is estimated.
    let estimate = |options: Value| {
        let chat = start(&text, options, 0);
        while chat.workspace.usage.estimate(chat.current()) {}
        chat.drain_until("the estimate", |chat| !chat.host.told.borrow().is_empty());
        let line = chat.host.told.borrow()[0].clone();
        let words = line.split_once("about ").unwrap().1;
        words.split_once(" input tokens").unwrap().0.replace(',', "").parse::<usize>().unwrap()
    };
    let all = estimate(json!({}));
    let whole = estimate(json!({ "tools": { "retention": { "mode": "count", "value": 5 } } }));
    let less = estimate(json!({ "tools": { "retention": { "mode": "count", "value": 2 } } }));
    assert_eq!(all, whole);
    assert!(less + 200 < all, "{less} tokens in place of {all}");
}

#[test]
fn everything_is_sent_unless_the_user_says_otherwise() {
    let chat = start(&after(&["read"; 12]), json!({}), 1);
    go(&chat, 0);
    assert_eq!(left_out(&chat, 0), [0; 0]);
}

#[test]
fn the_users_retention_of_a_tool_beats_that_of_its_definition() {
    // `read` at 0, 2 and 4, `note` at 1, 3 and 5.
    let text = after(&["read", "note", "read", "note", "read", "note"]);
    let general = json!({ "mode": "count", "value": 1 });
    let table: [(Value, Value, Value, &[usize]); 6] = [
        (json!(null), json!(null), json!(null), &[]),
        (general.clone(), json!(null), json!(null), &[0, 1, 2, 3]),
        (general.clone(), json!({ "never_evict": true }), json!(null), &[0, 2]),
        (general.clone(), json!({ "never_evict": true }), json!({ "mode": "count", "value": 1 }), &[0, 1, 2, 3]),
        (json!(null), json!({ "mode": "count", "value": 1 }), json!(null), &[1, 3]),
        (general, json!({ "mode": "age", "value": 3 }), json!({ "mode": "age", "value": 1 }), &[0, 1, 2, 3, 5]),
    ];
    for (general, own, users, expected) in table {
        let about = format!("{general} {own} {users}");
        let options = json!({ "tools": { "retention": general, "note": { "retention": users } } });
        let chat = start(&text, options, 1);
        chat.register_with("note", json!({ "retention": own }), |_, _| None);
        go(&chat, 0);
        assert_eq!(left_out(&chat, 0), expected, "{about}");
    }
}

#[test]
fn a_file_sets_the_general_retention_of_its_conversation() {
    let text = after(&["read"; 4]);
    let options = json!({ "tools": { "retention": { "mode": "age", "value": 100 } } });
    let chat = start(&text, options, 1);
    chat.type_at(0, "```json\n{ \"tools\": { \"retention\": { \"mode\": \"count\", \"value\": 1 } } }\n```\n");
    chat.status_has("tools.retention.value 1 frontmatter");
    go(&chat, 0);
    assert_eq!(left_out(&chat, 0), [0, 1, 2]);

    // Half of a retention is a mistake in the frontmatter.
    let chat = start(&text, json!({}), 0);
    chat.type_at(0, "```json\n{ \"tools\": { \"retention\": { \"mode\": \"count\" } } }\n```\n");
    chat.go();
    let message = "`tools.retention.value` is missing; set it to a whole number from 1 up";
    assert!(chat.status()[1].ends_with(message), "{:?}", chat.status());
    assert_eq!(chat.sent(), 0);
}

#[test]
fn nothing_is_left_out_of_what_the_model_works_on() {
    let options = json!({ "tools": { "retention": { "mode": "count", "value": 1 }, "auto_approve": ["note"] } });
    let setup = Setup { text: &after(&["note"; 2]), options, ..Setup::default() };
    let replies = (0..3).map(|_| calls([("note", json!({})), ("note", json!({ "n": 2 }))])).chain([prose("Done")]);
    let chat = Harness::start(setup, replies);
    let count = Cell::new(2);
    chat.register_with("note", json!({}), move |_, answer| {
        let n = count.replace(count.get() + 1);
        answer.finish(LuaOutcome::new(LuaValue::Text(output(n).into_bytes()), false));
        None
    });
    chat.go();
    chat.wait_for("@Assistant:\nDone");
    for n in 0..4 {
        assert_eq!(left_out(&chat, n), [0], "request {n}");
    }
    assert_eq!(chat.results(3).len(), 8);
}
