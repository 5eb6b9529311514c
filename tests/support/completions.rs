//! Event streams as servers of OpenAI's Chat Completions send them.
//!
//! Include it with `#[path = "../support/completions.rs"] mod completions;`.

// Each test binary uses its own part of this, and a test that cannot go on panics.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use serde_json::{Value, json};

/// A reply, built chunk by chunk; each element is one server-sent event.
#[derive(Clone, Debug, Default)]
pub struct Stream(Vec<String>);

impl Stream {
    /// A reply that has begun as OpenAI's do.
    pub fn new() -> Self {
        Self::default().delta(json!({"role": "assistant", "content": ""}))
    }

    /// A chunk with this delta.
    pub fn delta(self, delta: Value) -> Self {
        self.chunk(&json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
                           "choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
    }

    /// Prose, in these pieces.
    pub fn text(self, pieces: &[&str]) -> Self {
        pieces.iter().fold(self, |stream, piece| stream.delta(json!({"content": piece})))
    }

    /// Thinking, in these pieces.
    pub fn thinking(self, field: &str, pieces: &[&str]) -> Self {
        pieces.iter().fold(self, |stream, piece| stream.delta(json!({field: piece})))
    }

    /// A call as OpenAI sends it: the first piece has its id and its name.
    pub fn call(self, index: u32, id: &str, name: &str, pieces: &[&str]) -> Self {
        let first = json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
        pieces.iter().fold(self.calls(json!([first])), |stream, piece| {
            stream.calls(json!([{"index": index, "function": {"arguments": piece}}]))
        })
    }

    /// A chunk with these pieces of calls.
    pub fn calls(self, pieces: Value) -> Self {
        self.delta(json!({"tool_calls": pieces}))
    }

    /// Any chunk.
    pub fn chunk(self, data: &Value) -> Self {
        self.line(&format!("data: {data}\n\n"))
    }

    /// Any text of the stream.
    pub fn line(mut self, line: &str) -> Self {
        self.0.push(line.to_owned());
        self
    }

    /// The reason why the reply ends.
    pub fn stop(self, reason: &str) -> Self {
        self.chunk(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
    }

    /// The chunk with the counts.
    pub fn usage(self) -> Self {
        self.chunk(&json!({"choices": [], "usage": {
            "prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
            "prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens_details": {"reasoning_tokens": 20}}}))
    }

    /// The end as OpenAI sends it.
    pub fn end(self, reason: &str) -> Self {
        self.stop(reason).usage().line("data: [DONE]\n\n")
    }

    /// All of it.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.concat().into_bytes()
    }
}
