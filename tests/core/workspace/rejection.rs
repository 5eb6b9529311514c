//! What the model is told of a call that the user rejects, where the tool has words for it.

use flemma_workspace::Resolution;
use serde_json::{Value, json};

use super::harness::{Harness, calls, prose};

/// A conversation in which two calls of `mine` wait, which words its rejections like this.
fn waiting(word: impl Fn(&Value) -> Result<Value, String> + 'static) -> Harness {
    let replies = [calls([("mine", json!({ "n": 1 })), ("mine", json!({ "n": 2 }))]), prose("fine")];
    let chat = Harness::new("@You:\nHello", replies);
    let hook = chat.scripts.hook(word);
    chat.register_hooks("mine", json!({}), &[("format_rejection", hook)]);
    chat.go();
    chat.wait_for_pending(2);
    chat
}

const FIRST: &str = "Tool Result:** `call_0`";
const SECOND: &str = "Tool Result:** `call_1`";

#[test]
fn a_rejection_has_the_words_of_the_tool() {
    let chat = waiting(|asked| Ok(json!(format!("No {} for {}.", asked["input"]["n"], asked["reason"]))));
    chat.reject(FIRST, None);
    chat.reject(SECOND, Some("too late"));
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["Error: No 1 for null.", "Error: No 2 for \"too late\"."]);
    let asked = chat.scripts.asked.borrow().clone();
    let first = json!({ "input": { "n": 1 }, "id": "call_0", "reason": null });
    assert_eq!(
        asked,
        [first, json!({ "input": { "n": 2 }, "id": "call_1", "reason": "too late" })],
        "once for each call"
    );
}

#[test]
fn the_reason_of_the_user_always_reaches_the_model() {
    let chat = waiting(|_| Ok(json!("Rejected.\n")));
    chat.reject(FIRST, Some("too late"));
    chat.wait_for_pending(1);
    chat.type_at(chat.line_with("status=pending") + 1, "not this one");
    chat.replace_line(chat.line_with("status=pending"), "```flemma:tool status=rejected");
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["Error: Rejected.\n\ntoo late", "Error: Rejected.\n\nnot this one"]);
}

#[test]
fn without_words_of_the_tool_flemma_has_its_own() {
    let own = "Error: The user rejected this call; it did not run.";
    for answer in [Ok(Value::Null), Ok(json!(" \n")), Err("on purpose".to_owned())] {
        let throws = answer.is_err();
        let chat = waiting(move |_| answer.clone());
        chat.reject(FIRST, None);
        chat.reject(SECOND, Some("no"));
        chat.wait_for("@Assistant:\nfine");
        assert_eq!(chat.results(1), [own, "Error: no"]);
        let told = chat.told();
        let warnings = told.iter().filter(|told| told.contains("`format_rejection` failed: on purpose")).count();
        assert_eq!(warnings, usize::from(throws), "{told:?}");
    }
}

#[test]
fn a_long_text_of_the_tool_is_cut() {
    let chat = waiting(|_| Ok(json!("é".repeat(100_000))));
    chat.reject(FIRST, Some("because"));
    chat.reject(SECOND, None);
    chat.wait_for("@Assistant:\nfine");
    let results = chat.results(1);
    assert!(
        results.iter().all(|result| result.len() < 52_000),
        "{:?}",
        results.iter().map(String::len).collect::<Vec<_>>()
    );
    assert!(results[0].ends_with("\n\nbecause"));
}

#[test]
fn a_question_that_is_declined_has_the_words_of_its_tool() {
    let chat = Harness::new("@You:\nHello", [calls([("ask", json!({ "question": "Which?" }))]), prose("fine")]);
    let hook = chat.scripts.hook(|_| Ok(json!("Nobody knows.")));
    chat.define_hooks("ask", json!({ "executor": "human" }), &[("format_rejection", hook)]);
    chat.go();
    chat.wait_for_pending(1);
    assert_eq!(chat.resolve("call_0", Resolution::Reject(Some("ask again".into()))), Ok(()));
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["Error: Nobody knows.\n\nask again"]);
}
