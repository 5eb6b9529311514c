//! Images that the model sees, in a real editor.

use std::fs;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, prose, reply},
};

/// A PNG of one white pixel.
pub const BASE64: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==";

/// The content of the result in the `n`th request.
fn content(chat: &Chat, n: usize) -> Value {
    chat.messages(n)[2]["content"][0]["content"].clone()
}

#[test]
fn a_tool_in_lua_shows_images_by_path_and_as_bytes() {
    let lua = format!(
        "for name, attachments in pairs({{
           both = {{ 'pic.png', {{ data = vim.base64.decode('{BASE64}') }} }}, odd = {{ 3 }}, flat = 'pic.png', bare = {{ data = 'x' }}, none = {{}},
         }}) do
           require('flemma.tools').register(name, {{
             description = 'x', input_schema = {{ type = 'object' }},
             execute = function() return {{ success = true, output = 'done', attachments = attachments }} end,
           }})
         end"
    );
    let names = ["bare", "both", "flat", "none", "odd"];
    let stream = names.iter().fold(Stream::new(), |stream, name| stream.tool_use(name, name, &["{}"]));
    let setup = Setup { lua: &lua, options: "tools = { require_approval = false }", ..Setup::default() };
    let mut chat = Chat::start(&setup, [reply(&stream.end("tool_use")), prose(&["fine"])]);
    fs::write(chat.nvim.work().join("pic.png"), BASE64_STANDARD.decode(BASE64).unwrap()).unwrap();
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:\nfine"));
    let results = chat.messages(1)[2]["content"].clone();
    let both = &results[1]["content"];
    let text = both[0]["text"].as_str().unwrap();
    assert!(text.starts_with("done\n\npic.png: PNG image, 1x1 pixels, 67 B\n/"), "{text}");
    for n in 1..=2 {
        assert_eq!(both[n]["source"]["data"], BASE64);
    }
    assert_eq!(results[3]["content"], "done");
    for n in [0, 2, 4] {
        assert_eq!(results[n]["is_error"], true);
        assert!(results[n]["content"].as_str().unwrap().contains("`attachments` that cannot be read"), "{results}");
    }
}

#[test]
fn attachments_are_coloured_and_broken_ones_get_a_diagnostic() {
    let text = "@You:\nLook.\n\n@Assistant:\n**Tool Use:** `read` (`a`)\n\n```json\n{\"path\":\"x\"}\n```\n\n@You:\n\
                **Tool Result:** `a`\n\n```flemma:attachment type=image/png paht=\"/x.png\"\nx\n```\n";
    let mut chat = Chat::start(&Setup { text: Some(text), ..Setup::default() }, [prose(&["ok"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:\nok"));
    assert_eq!(content(&chat, 0), "x");
    let lines = chat
        .nvim
        .lua("return vim.tbl_map(function(item) return { item.lnum, item.message } end, vim.diagnostic.get(0))", &[]);
    assert_eq!(lines[0][0], 13);
    assert!(lines[0][1].as_str().unwrap().starts_with("`paht` is not known here"), "{lines}");
    let marks = chat.nvim.lua("return require('flemma.native').call('decorations', 0 + vim.fn.bufnr(), 13, 14)", &[]);
    assert_eq!(marks[0]["group"], "FlemmaAttachment");
}
