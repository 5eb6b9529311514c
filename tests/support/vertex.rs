//! Requests to Vertex AI's Gemini models, and event streams as they answer.
//!
//! Include it with `#[path = "../support/vertex.rs"] mod vertex;`.

// Each test binary uses its own part of this, and a test that cannot go on panics.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;

use flemma_model::{Message, Part, Role};
use flemma_provider::{
    Decoder, Exchange, HttpRequest, ProviderError, ProviderName, Request, Server, VendorOptions, auth::Environment,
};
use serde_json::{Value, json};

/// The access token.
pub const TOKEN: &str = "ya29.very-secret";

/// The models of a project, at `base_url` if there is one.
pub fn vertex(base_url: Option<&str>) -> Server {
    let options = json!({"base_url": base_url, "project_id": "my-project"});
    let token = Environment::new(|name| (name == "VERTEX_AI_ACCESS_TOKEN").then(|| TOKEN.to_owned()));
    let options = VendorOptions::new(ProviderName::from_name("vertex").unwrap(), options);
    Server::new(options, token, |_| Ok(Vec::new()))
}

/// What is sent for a request, and what reads the answer.
pub fn exchange(request: &Request) -> Result<(HttpRequest, Box<dyn Decoder>), ProviderError> {
    match vertex(None).prepare(request)? {
        Exchange::Http { request, decoder } => Ok((request, decoder)),
        Exchange::Script(_) => panic!("Vertex AI is no script"),
    }
}

/// A conversation with a model.
pub fn conversation(model: &str, messages: Vec<(Role, Vec<Part>)>) -> Request {
    let messages = messages.into_iter().map(|(role, parts)| Arc::new(Message { role, parts })).collect();
    Request { model: model.to_owned(), messages, ..Request::default() }
}

/// One server-sent event.
pub fn event(data: &Value) -> String {
    format!("data: {data}\r\n\r\n")
}

/// A reply; each element is one server-sent event.
#[derive(Clone, Debug, Default)]
pub struct Stream(Vec<String>);

impl Stream {
    /// A reply that has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// A chunk with these parts.
    pub fn parts(self, parts: Value) -> Self {
        self.event(&json!({
            "candidates": [{"content": {"role": "model", "parts": parts}, "safetyRatings": []}],
            "usageMetadata": {"trafficType": "ON_DEMAND"}, "modelVersion": "gemini-test", "responseId": "r1",
        }))
    }

    /// Chunks of text.
    pub fn text(self, pieces: &[&str]) -> Self {
        pieces.iter().fold(self, |stream, text| stream.parts(json!([{"text": text}])))
    }

    /// Chunks of thinking.
    pub fn thought(self, pieces: &[&str]) -> Self {
        pieces.iter().fold(self, |stream, text| stream.parts(json!([{"text": text, "thought": true}])))
    }

    /// A call.
    pub fn call(self, name: &str, args: Value) -> Self {
        self.parts(json!([{"functionCall": {"name": name, "args": args}}]))
    }

    /// Any event.
    pub fn event(mut self, data: &Value) -> Self {
        self.0.push(event(data));
        self
    }

    /// The end, with why the reply stopped.
    pub fn end(self, finish_reason: &str) -> Self {
        self.event(&json!({
            "candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": finish_reason}],
            "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 5,
                "cachedContentTokenCount": 60, "totalTokenCount": 125},
        }))
    }

    /// The events, each as its bytes.
    pub fn events(&self) -> &[String] {
        &self.0
    }

    /// All of it.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.concat().into_bytes()
    }
}
