//! Event streams as OpenAI's Responses API sends them.
//!
//! Include it with `#[path = "../support/responses.rs"] mod responses;`.

// Each test binary uses its own part of this, and a test that cannot go on panics.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use serde_json::{Value, json};

/// One server-sent event.
pub fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or("none"))
}

/// A reply, built item by item; each element is one server-sent event.
#[derive(Clone, Debug)]
pub struct Stream {
    events: Vec<String>,
    items: usize,
}

impl Default for Stream {
    fn default() -> Self {
        Self::new()
    }
}

impl Stream {
    /// A reply that has begun.
    pub fn new() -> Self {
        Self { events: Vec::new(), items: 0 }
            .event(&json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}))
            .event(&json!({"type": "response.in_progress", "response": {"id": "resp_1", "status": "in_progress"}}))
    }

    /// A message of these pieces.
    pub fn text(self, pieces: &[&str]) -> Self {
        let whole = json!({"type": "output_text", "text": pieces.concat(), "annotations": []});
        let part = json!({"type": "output_text", "text": "", "annotations": []});
        let mut middle = vec![json!({"type": "response.content_part.added", "content_index": 0, "part": part})];
        middle.extend(
            pieces
                .iter()
                .map(|delta| json!({"type": "response.output_text.delta", "content_index": 0, "delta": delta})),
        );
        middle.push(json!({"type": "response.output_text.done", "content_index": 0, "text": pieces.concat()}));
        middle.push(json!({"type": "response.content_part.done", "content_index": 0, "part": whole}));
        let item = |content: Value| json!({"id": "msg_1", "type": "message", "role": "assistant", "content": content});
        self.item(&item(json!([])), middle, &item(json!([whole])))
    }

    /// A reasoning item with a summary of these parts, each in its pieces.
    pub fn reasoning(self, parts: &[&[&str]], encrypted: &str) -> Self {
        let mut middle = Vec::new();
        for (nth, pieces) in parts.iter().enumerate() {
            let part = json!({"type": "summary_text", "text": ""});
            middle.push(json!({"type": "response.reasoning_summary_part.added", "summary_index": nth, "part": part}));
            middle.extend(pieces.iter().map(
                |delta| json!({"type": "response.reasoning_summary_text.delta", "summary_index": nth, "delta": delta}),
            ));
            let text = pieces.concat();
            middle.push(json!({"type": "response.reasoning_summary_text.done", "summary_index": nth, "text": text}));
            middle.push(json!({"type": "response.reasoning_summary_part.done", "summary_index": nth,
                               "part": {"type": "summary_text", "text": text}}));
        }
        let summary: Vec<_> =
            parts.iter().map(|pieces| json!({"type": "summary_text", "text": pieces.concat()})).collect();
        // The thoughts are complete only at the end.
        let start = json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "half"});
        let end = json!({"id": "rs_1", "type": "reasoning", "summary": summary, "encrypted_content": encrypted});
        self.item(&start, middle, &end)
    }

    /// A call whose arguments arrive in these pieces.
    pub fn call(self, id: &str, name: &str, pieces: &[&str]) -> Self {
        let item = |arguments: &str| {
            json!({"id": format!("fc_{id}"), "type": "function_call", "call_id": id, "name": name,
                   "arguments": arguments})
        };
        let all = pieces.concat();
        let mut middle: Vec<_> = pieces
            .iter()
            .map(|delta| json!({"type": "response.function_call_arguments.delta", "delta": delta}))
            .collect();
        middle.push(json!({"type": "response.function_call_arguments.done", "arguments": all}));
        self.item(&item(""), middle, &item(&all))
    }

    /// Any item, with the events between its beginning and its end.
    pub fn item(mut self, start: &Value, middle: Vec<Value>, end: &Value) -> Self {
        let index = self.items;
        self.items += 1;
        self.push(&json!({"type": "response.output_item.added", "output_index": index, "item": start}));
        for mut event in middle {
            event["output_index"] = json!(index);
            event["item_id"] = start["id"].clone();
            self.push(&event);
        }
        self.push(&json!({"type": "response.output_item.done", "output_index": index, "item": end}));
        self
    }

    /// Any event.
    pub fn event(mut self, data: &Value) -> Self {
        self.push(data);
        self
    }

    /// The end of a reply that is whole.
    pub fn end(self) -> Self {
        self.last("response.completed", json!({"status": "completed", "incomplete_details": null}))
    }

    /// The end of a reply that is not whole, with why.
    pub fn incomplete(self, reason: &str) -> Self {
        let details = json!({"reason": reason});
        self.last("response.incomplete", json!({"status": "incomplete", "incomplete_details": details}))
    }

    fn last(self, kind: &str, mut response: Value) -> Self {
        response["usage"] = json!({
            "input_tokens": 100, "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
            "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 20}, "total_tokens": 150});
        self.event(&json!({"type": kind, "response": response}))
    }

    /// All of it.
    pub fn bytes(&self) -> Vec<u8> {
        self.events.concat().into_bytes()
    }

    fn push(&mut self, data: &Value) {
        let mut data = data.clone();
        data["sequence_number"] = json!(self.events.len());
        self.events.push(event(&data));
    }
}
