//! What the provider is sent, and what it answers.

use serde_json::{Value, json};

use super::harness::Harness;
use crate::{
    completions::Stream,
    http::{Gate, Recorded, Reply},
};

/// A whole reply of prose.
pub fn prose(text: &str) -> Reply {
    Reply::stream().chunk(Stream::new().text(&[text]).end("stop").bytes())
}

/// A reply of prose that waits for the test after its first word.
pub fn held(first: &str, gate: &Gate, rest: &str) -> Reply {
    let begin = Stream::new().text(&[first]).bytes();
    Reply::stream().chunk(begin).hold(gate).chunk(Stream::default().text(&[rest]).end("stop").bytes())
}

/// A reply that calls tools: their names and inputs. The ids are `call_0`, `call_1` and so on.
pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Reply {
    let stream = calls.into_iter().zip(0..).fold(Stream::new(), |stream, ((tool, input), index)| {
        stream.call(index, &format!("call_{index}"), tool, &[&input.to_string()])
    });
    Reply::stream().chunk(stream.end("tool_calls").bytes())
}

/// The input of a call of `bash`.
pub fn bash(command: &str) -> Value {
    json!({ "label": null, "command": command, "timeout": null })
}

/// A reply that calls `bash` once for each command.
pub fn commands(commands: &[&str]) -> Reply {
    calls(commands.iter().map(|command| ("bash", bash(command))))
}

impl Harness {
    /// How many requests went out, whether or not they have arrived. Nothing has to be waited for to know that there was
    /// none.
    pub fn sent(&self) -> usize {
        let announced = self.host.announced.borrow();
        announced.iter().filter(|line| line.starts_with("sending")).count()
    }

    /// The body of the `n`th request, from 0.
    pub fn body(&self, n: usize) -> Value {
        self.request(n).json()
    }

    /// All words of the messages of the `n`th request.
    pub fn words(&self, n: usize) -> String {
        fn text(value: &Value, into: &mut String) {
            match value {
                Value::String(words) => into.push_str(words),
                Value::Array(list) => list.iter().for_each(|value| text(value, into)),
                Value::Object(entries) => entries.values().for_each(|value| text(value, into)),
                _ => {}
            }
        }
        let mut all = String::new();
        text(&self.body(n)["messages"], &mut all);
        all
    }

    pub fn request(&self, n: usize) -> Recorded {
        self.server.wait_for_requests(n + 1)[n].clone()
    }

    /// The results in the `n`th request, in order.
    pub fn results(&self, n: usize) -> Vec<String> {
        let body = self.body(n);
        let messages = body["messages"].as_array().unwrap();
        let results = messages.iter().filter(|message| message["role"] == "tool");
        results.map(|message| message["content"].as_str().unwrap().trim_end().to_owned()).collect()
    }

    /// The names of the tools in the `n`th request.
    pub fn offered(&self, n: usize) -> Vec<String> {
        let body = self.body(n);
        let tools = body["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    }
}
