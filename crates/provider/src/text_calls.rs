//! Calls that a model has written as text.
//!
//! A server without a parser for a model's own form of calls sends them on as prose: `<tool_call>{…}</tool_call>`, a JSON
//! object in a fence, `<function=read>`. They are not run, since the text may as well be an example. The user is told.

use super::Request;

/// The most bytes of a reply's end in which a call is looked for.
const MAX_TEXT: usize = 64 * 1024;

/// What a text ends with that ends in a call.
const ENDS: [&str; 4] = ["}", "]", ">", "```"];

/// What stands before the name of the tool: DeepSeek's form, an older one of the same, Kimi's, and that of gpt-oss.
const BEFORE: [&str; 4] = [
    "<｜tool▁call▁begin｜>",
    "function<｜tool▁sep｜>",
    "<|tool_call_begin|>functions.",
    "<|channel|>commentaryto=functions.",
];

/// Looks for calls in the text of one reply.
pub(super) struct TextCalls {
    /// The tools on offer.
    names: Vec<String>,
    text: String,
}

impl TextCalls {
    /// Those of the tools of a request.
    pub fn of(request: &Request) -> Self {
        Self { names: request.tools.iter().map(|tool| tool.name.clone()).collect(), text: String::new() }
    }

    /// Takes a piece of text.
    pub fn read(&mut self, text: &str) {
        if self.names.is_empty() {
            return;
        }
        self.text.push_str(text);
        if self.text.len() > 2 * MAX_TEXT {
            let kept = self.text.ceil_char_boundary(self.text.len() - MAX_TEXT);
            self.text.drain(..kept);
        }
    }

    /// What the user is told of a reply without calls; `None` if its text does not end in one.
    pub fn warning(&self) -> Option<String> {
        let text = self.text.trim_end();
        if !ENDS.iter().any(|end| text.ends_with(end)) {
            return None;
        }
        let compact: String = text.split_whitespace().collect();
        let name = self.names.iter().find(|name| calls(&compact, name))?;
        Some(format!(
            "The model has written a call of `{name}` as text, and it was not run. If it does so again, set \
             `tool_protocol = \"xml\"`, or start its server with a parser for the model's tool calls."
        ))
    }
}

/// Whether there is a call of a tool in a text without white space, in any of the forms in which models were taught to write one.
fn calls(compact: &str, name: &str) -> bool {
    let is_json = ["arguments", "parameters"].iter().any(|field| compact.contains(&format!("\"{field}\":")));
    (is_json && compact.contains(&format!("\"name\":\"{name}\"")))
        || compact.contains(&format!("<function={name}>"))
        || compact.contains(&format!("<invokename=\"{name}\">"))
        || BEFORE.iter().any(|before| compact.contains(&format!("{before}{name}")))
}
