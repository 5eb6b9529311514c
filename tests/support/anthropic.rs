//! Event streams as Anthropic's Messages API sends them.
//!
//! Include it with `#[path = "../support/anthropic.rs"] mod anthropic;`.

// Each test binary uses its own part of this, and a test that cannot go on panics.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use serde_json::{Value, json};

/// One server-sent event.
pub fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or("none"))
}

/// A delta of text for the block `index`.
pub fn text_delta(index: usize, text: &str) -> String {
    event(&json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}))
}

/// A reply, built block by block; each element is one server-sent event.
#[derive(Clone, Debug)]
pub struct Stream {
    events: Vec<String>,
    blocks: usize,
}

impl Default for Stream {
    fn default() -> Self {
        Self::new()
    }
}

impl Stream {
    /// A reply that has begun.
    pub fn new() -> Self {
        let start = json!({"type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test", "content": [],
            "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 12, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 4,
                      "output_tokens": 1}}});
        Self { events: vec![event(&start)], blocks: 0 }
    }

    /// A block of text, in these pieces.
    pub fn text(self, pieces: &[&str]) -> Self {
        let deltas = pieces.iter().map(|text| json!({"type": "text_delta", "text": text})).collect();
        self.block(json!({"type": "text", "text": ""}), deltas)
    }

    /// A block of thinking with its signature.
    pub fn thinking(self, pieces: &[&str], signature: &str) -> Self {
        let mut deltas: Vec<_> =
            pieces.iter().map(|text| json!({"type": "thinking_delta", "thinking": text})).collect();
        deltas.push(json!({"type": "signature_delta", "signature": signature}));
        self.block(json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
    }

    /// A block of hidden thinking.
    pub fn redacted(self, data: &str) -> Self {
        self.block(json!({"type": "redacted_thinking", "data": data}), Vec::new())
    }

    /// A tool use whose input arrives in these pieces.
    pub fn tool_use(self, id: &str, name: &str, pieces: &[&str]) -> Self {
        let deltas = pieces.iter().map(|text| json!({"type": "input_json_delta", "partial_json": text})).collect();
        self.block(json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas)
    }

    /// Any block with any deltas.
    pub fn block(mut self, start: Value, deltas: Vec<Value>) -> Self {
        let index = self.blocks;
        self.blocks += 1;
        self.push(&json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            self.push(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        self.push(&json!({"type": "content_block_stop", "index": index}));
        self
    }

    /// Any event.
    pub fn event(mut self, data: &Value) -> Self {
        self.push(data);
        self
    }

    /// The end, with why the reply stopped.
    pub fn end(mut self, stop_reason: &str) -> Self {
        self.push(&json!({"type": "message_delta",
            "delta": {"stop_reason": stop_reason, "stop_sequence": null}, "usage": {"output_tokens": 34}}));
        self.push(&json!({"type": "message_stop"}));
        self
    }

    /// The events, each as its bytes.
    pub fn events(&self) -> &[String] {
        &self.events
    }

    /// All of it.
    pub fn bytes(&self) -> Vec<u8> {
        self.events.concat().into_bytes()
    }

    fn push(&mut self, data: &Value) {
        self.events.push(event(data));
    }
}
