//! Tools that were written for CodeCompanion.

mod approval;
mod commands;
mod eras;
mod extensions;
mod first_era;
mod hostile;
mod installed;
mod modules;
mod offer;
mod page;
mod trouble;

use serde_json::{Value, json};

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, prose, reply, said},
};

/// A conversation in which the model makes these calls in one reply, in an editor that runs `lua` after `setup`. The ids are
/// `toolu_1` and so on.
pub fn with_calls(calls: &[(&str, Value)], options: &str, lua: &str, files: &[(&str, &str)]) -> Chat {
    let stream = calls.iter().enumerate().fold(Stream::new(), |stream, (n, (tool, input))| {
        stream.tool_use(&format!("toolu_{}", n + 1), tool, &[&input.to_string()])
    });
    let setup = Setup { lua, options, files, ..Setup::default() };
    Chat::start(&setup, [reply(&stream.end("tool_use")), prose(&["fine"])])
}

/// Sends, and waits for the reply to the results. Gives each result as the provider sees it: the text, and whether it is an
/// error.
pub fn results(chat: &mut Chat) -> Vec<(String, bool)> {
    chat.nvim.input("<C-]>");
    answered(chat)
}

/// The same for a conversation that was sent.
pub fn answered(chat: &mut Chat) -> Vec<(String, bool)> {
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    chat.wait_until_idle();
    let messages = chat.messages(1);
    let told = said(&mut chat.nvim);
    assert!(!told.contains("stack traceback") && !told.contains("internal error"), "{told}");
    let results = messages[2]["content"].as_array().cloned().unwrap_or_default();
    results
        .iter()
        .map(|result| {
            let text = match &result["content"] {
                Value::String(text) => text.clone(),
                blocks => blocks[0]["text"].as_str().unwrap_or_default().to_owned(),
            };
            (text, result["is_error"] == true)
        })
        .collect()
}

/// A call with one text.
fn text(tool: &'static str, text: &str) -> (&'static str, Value) {
    (tool, json!({ "text": text }))
}

/// What the tools have noted in `_G.seen`.
fn seen(chat: &mut Chat) -> Vec<String> {
    let seen = chat.nvim.lua("return seen", &[]);
    seen.as_array().into_iter().flatten().map(|item| item.as_str().unwrap_or_default().to_owned()).collect()
}
