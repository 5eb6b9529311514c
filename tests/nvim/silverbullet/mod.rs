//! Tools that were written for SilverBullet.

mod expressions;
mod handlers;
mod kills;
mod loading;
mod page;
mod paths;
mod places;
mod plug;
mod restarts;
mod seed;
mod turns;

use serde_json::Value;

use crate::{chat::Chat, codecompanion};

/// A small folder of notes.
const VAULT: &[(&str, &str)] = &[
    ("vault/Index.md", "# Index\n\nSee [[Projects/Plan]] #hub\n"),
    ("vault/Projects/Plan.md", "---\ntags: [work]\nstatus: open # for now\n---\n# Plan\n\n- one\n"),
    ("vault/secret/Key.md", "hunter2\n"),
];

/// The options of a conversation with these notes. Reading the folder `secret` is denied.
const OPTIONS: &str =
    "tools = { notes = { enabled = true, root = 'vault' }, auto_approve = { '$default', '!read(vault/secret/**)' } }";

/// A conversation in which the model makes these calls in one reply, with the notes. `code` is loaded as a Lua file; before it,
/// the tables are global names.
fn with_tools(calls: &[(&str, Value)], code: &str) -> Chat {
    with_options("", calls, code)
}

/// The same with more options.
fn with_options(options: &str, calls: &[(&str, Value)], code: &str) -> Chat {
    let mut files = VAULT.to_vec();
    files.push(("tools.lua", code));
    codecompanion::with_calls(
        calls,
        &format!("{options} {OPTIONS}"),
        "_G.loaded = require('flemma.compat.silverbullet').load('tools.lua')",
        &files,
    )
}
