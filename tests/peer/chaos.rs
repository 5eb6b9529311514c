//! Failures: each of the peer's chaos modes, and the refusals of each vendor.

use serde_json::{Value, json};

use crate::{
    aimock::{Peer, understood},
    editor::{ANTHROPIC, Editor, Protocol},
    for_every_protocol,
};

for_every_protocol! {
    a_busy_server_is_asked_again_when_it_says
    a_server_that_fails_is_asked_again
    a_connection_that_breaks_before_the_reply_is_tried_again
    an_unreadable_reply_is_reported_and_changes_nothing
    a_reply_that_breaks_off_stays_as_far_as_it_came
    a_slow_server_is_waited_for_and_the_editor_stays_awake
    a_refusal_is_shown_in_the_servers_words
}

const ASKED: &str = "@You:\nHello\n";
const ANSWERED: &str = "@You:\nHello\n\n@Assistant:\nHi there.\n\n@You:\n\n";

fn peer() -> Peer {
    Peer::start(&json!([{"match": {"userMessage": "Hello"}, "response": {"content": "Hi there."}}]))
}

/// The first request meets `chaos`, the second gets the answer, and the user sees that. Returns the requests.
fn asked_twice(protocol: &Protocol, chaos: &Value, first: u64) -> Vec<Value> {
    let answer = json!({"content": "Hi there."});
    let peer = Peer::start(&json!([
        {"match": {"userMessage": "Hello", "sequenceIndex": 0}, "response": answer, "chaos": chaos},
        {"match": {"userMessage": "Hello", "sequenceIndex": 1}, "response": answer},
    ]));
    let mut editor = Editor::open(protocol, &peer, ASKED, "");
    editor.send();
    editor.nvim.wait_for_screen("retrying");
    editor.wait_for(ANSWERED);
    assert_eq!(editor.told(), "", "what went well in the end is not worth a message");
    assert_eq!(peer.statuses(), [first, 200]);
    let journal = peer.journal();
    assert_eq!(journal[0]["body"], journal[1]["body"], "the same is sent again");
    journal
}

fn a_busy_server_is_asked_again_when_it_says(protocol: &Protocol) {
    let journal = asked_twice(protocol, &json!({"rateLimitRate": 1}), 429);
    let time = |entry: &Value| entry["timestamp"].as_u64().unwrap();
    // `retry-after: 1`; the times are whole milliseconds.
    assert!(time(&journal[1]) - time(&journal[0]) >= 999, "{journal:?}");
}

fn a_server_that_fails_is_asked_again(protocol: &Protocol) {
    asked_twice(protocol, &json!({"dropRate": 1}), 500);
}

fn a_connection_that_breaks_before_the_reply_is_tried_again(protocol: &Protocol) {
    asked_twice(protocol, &json!({"disconnectRate": 1}), 0);
}

/// Sends a request that fails: the user sees this message, and the buffer is unchanged.
fn told(protocol: &Protocol, peer: &Peer, words: &[&str]) -> Editor {
    let mut editor = Editor::open(protocol, peer, ASKED, "");
    editor.send();
    editor.wait_until_told(words[0]);
    editor.wait_for(ASKED);
    let told = editor.told();
    for word in words {
        assert!(told.contains(word), "{word:?} is not in {told:?}");
    }
    editor
}

fn an_unreadable_reply_is_reported_and_changes_nothing(protocol: &Protocol) {
    let peer = peer();
    peer.chaos(&json!({"malformedRate": 1}));
    let mut editor = told(protocol, &peer, &["not a stream of events in `{malformed json: <<<chaos>>>`"]);
    assert_eq!(peer.statuses(), [200]);
    // The next attempt starts afresh.
    peer.calm();
    editor.send();
    editor.wait_for(ANSWERED);
}

fn a_refusal_is_shown_in_the_servers_words(protocol: &Protocol) {
    let error = json!({"message": "the model is on holiday", "type": "invalid_request_error", "code": "on_holiday"});
    let peer = Peer::start(&json!([{"match": {}, "response": {"error": error, "status": 400}}]));
    told(protocol, &peer, &["the model is on holiday"]);
    assert_eq!(peer.statuses(), [400], "what is refused is not asked again");
}

fn a_reply_that_breaks_off_stays_as_far_as_it_came(protocol: &Protocol) {
    let long = "one two three four five six seven eight nine ten eleven twelve";
    let peer = Peer::start(&json!([
        {"match": {"userMessage": "Hello"}, "response": {"content": long}, "chunkSize": 9, "latency": 20,
         "truncateAfterChunks": protocol.events_before_text + 4},
        {"match": {"userMessage": "Go on."}, "response": {"content": "thirteen"}},
    ]));
    let mut editor = Editor::open(protocol, &peer, ASKED, "");
    editor.send();
    editor.wait_until_told("in the middle of the reply");
    editor.nvim.wait_for("a prompt", |nvim| nvim.text().ends_with("<!-- flemma:aborted -->\n\n@You:\n\n"));
    let shown = editor.shown();
    let came = shown.strip_prefix("@You:\nHello\n\n@Assistant:\n").and_then(|rest| rest.split("\n\n").next()).unwrap();
    assert!(!came.is_empty() && long.starts_with(came), "{shown}");
    assert_eq!(peer.statuses().len(), 1, "what was shown is not asked for again");

    // The conversation continues, and the next request has what arrived of the reply.
    editor.say("Go on.");
    let before = shown.trim_end();
    editor.wait_for(&format!("{before}\nGo on.\n\n@Assistant:\nthirteen\n\n@You:\n\n"));
    let read = understood(&peer.journal()[1]);
    assert_eq!(read.len(), 3, "{read:?}");
    assert!(read[1].starts_with(&format!("assistant: {}", came.trim_end())), "{read:?}");
}

fn a_slow_server_is_waited_for_and_the_editor_stays_awake(protocol: &Protocol) {
    let peer = peer();
    peer.chaos(&json!({"latencyMs": 3000}));
    let mut editor = Editor::open(protocol, &peer, ASKED, "");
    editor.send();
    // The request is on its way, and everything but the conversation's text is the user's.
    editor.nvim.wait_for("the buffer to be locked", |nvim| nvim.lua("return vim.bo.modifiable", &[]) == false);
    editor.nvim.input(":let g:awake = 1<CR>");
    editor.nvim.wait_for("the command to run", |nvim| nvim.lua("return vim.g.awake", &[]) == 1);
    assert_eq!(peer.journal().len(), 0, "the peer has not answered yet");
    assert_eq!(editor.shown(), ASKED);
    editor.wait_for(ANSWERED);
    assert_eq!(peer.statuses(), [200]);
}

#[test]
fn a_server_that_is_too_slow_is_given_up_and_asked_again() {
    let answer = json!({"content": "Hi there."});
    let peer = Peer::start(&json!([
        {"match": {"userMessage": "Hello", "sequenceIndex": 0}, "response": answer, "chaos": {"latencyMs": 20_000}},
        {"match": {"userMessage": "Hello", "sequenceIndex": 1}, "response": answer},
    ]));
    let mut editor = Editor::open(&ANTHROPIC, &peer, ASKED, "timeout = 1, connect_timeout = 1");
    editor.send();
    editor.nvim.wait_for_screen("retrying");
    editor.wait_for(ANSWERED);
}

#[test]
fn a_failing_server_is_tried_four_times_and_then_reported() {
    let peer = peer();
    peer.chaos(&json!({"dropRate": 1}));
    let mut editor = told(&ANTHROPIC, &peer, &["Chaos: request dropped", "500"]);
    assert_eq!(peer.statuses(), [500; 4]);
    // Ctrl-C ends a pause at once.
    editor.send();
    editor.nvim.wait_for_screen("retrying");
    editor.nvim.input("<C-c>");
    editor.wait_for(ASKED);
    assert_eq!(peer.statuses().len(), 5);
}
