//! The code in `doc/codecompanion.md`, as it is written.

use serde_json::json;

use super::{answered, with_calls};
use crate::chat::{previews, said};

const PAGE: &str = include_str!("../../../doc/codecompanion.md");

/// The Lua of the page, block by block.
fn blocks() -> Vec<&'static str> {
    PAGE.split("\n```lua\n").skip(1).map(|rest| rest.split("\n```\n").next().unwrap()).collect()
}

#[test]
fn the_code_of_the_page_does_what_the_page_says() {
    let blocks = blocks();
    assert_eq!(blocks.len(), 3);
    let files = &[
        ("block1.lua", blocks[0]),
        ("block2.lua", blocks[1]),
        ("block3.lua", blocks[2]),
        (
            "ext/lua/codecompanion/_extensions/word_count/init.lua",
            "return { setup = function(opts) _G.unit = opts.unit end, exports = {} }",
        ),
    ];
    let lua = "vim.opt.rtp:append(vim.fn.getcwd() .. '/ext')
        for n = 1, 3 do dofile('block' .. n .. '.lua') end";
    let call = ("calculator", json!({ "action": { "left": "100", "right": "50", "operation": "times" } }));
    let mut chat = with_calls(&[call], "", lua, files);
    assert_eq!(chat.nvim.lua("return unit", &[]), "words");
    chat.nvim.input("<C-]>");
    chat.nvim
        .wait_for("the preview", |nvim| previews(nvim).iter().any(|(_, text)| text == "calculator: 100 times 50?"));
    chat.wait_until_idle();
    chat.go_to("**Tool Result:** `toolu_1`");
    chat.nvim.input("<M-CR>");
    assert_eq!(answered(&mut chat), [("The result is 5000".to_owned(), false)]);
    let tools = chat.server.requests()[0].json()["tools"].clone();
    let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "calculator").unwrap().clone();
    assert_eq!(
        tool["input_schema"]["properties"]["action"]["anyOf"][0]["properties"]["left"]["type"], "string",
        "{tool}"
    );
    assert_eq!(said(&mut chat.nvim), "");
}
