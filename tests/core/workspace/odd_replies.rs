//! Replies of servers that only nearly speak the protocol, from the wire to the file and back.

use serde_json::json;

use super::harness::{Harness, Setup, prose};
use crate::{completions::Stream, http::Reply};

fn chat(first: Stream) -> Harness {
    let options = json!({ "tools": { "auto_approve": ["read"] } });
    let replies = [Reply::stream().chunk(first.bytes()), prose("fine")];
    Harness::start(Setup { options, files: &[("a.txt", "here\n")], ..Setup::default() }, replies)
}

#[test]
fn a_chunk_that_cannot_be_read_costs_a_warning_and_no_reply() {
    let chat = chat(Stream::new().text(&["one "]).line("data: oops\n\n").text(&["two"]).end("stop"));
    chat.go();
    chat.wait_for("@Assistant:\none two\n\n@You:");
    chat.wait_for_words("warn: A part of the reply may be missing: 127.0.0.1");
}

#[test]
fn a_call_that_is_written_as_text_is_not_run_and_said() {
    let call = "<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"a.txt\"}}</tool_call>";
    let chat = chat(Stream::new().text(&[call]).end("stop"));
    chat.go();
    chat.wait_for("</tool_call>\n\n@You:");
    chat.wait_for_words("The model has written a call of `read` as text, and it was not run.");
    assert_eq!(chat.sent(), 1);
}

#[test]
fn what_a_server_wants_back_with_a_call_goes_back_with_it() {
    let extra = json!({ "google": { "thought_signature": "c2ln" } });
    let function = json!({ "name": "read", "arguments": "{\"path\": \"a.txt\"}" });
    let call = json!([{ "index": 0, "id": "call_0", "function": function, "extra_content": extra }]);
    let chat = chat(Stream::new().calls(call).end("tool_calls"));
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.body(1)["messages"][1]["tool_calls"][0]["extra_content"], extra);
}
