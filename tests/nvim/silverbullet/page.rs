//! The code in `doc/silverbullet.md`, as it is written.

use serde_json::json;

use super::{OPTIONS, VAULT};
use crate::{
    chat::said,
    codecompanion::{answered, with_calls},
};

const PAGE: &str = include_str!("../../../doc/silverbullet.md");

/// The Lua of the page, block by block.
fn blocks() -> Vec<&'static str> {
    PAGE.split("\n```lua\n").skip(1).map(|rest| rest.split("\n```\n").next().unwrap()).collect()
}

#[test]
fn the_code_of_the_page_does_what_the_page_says() {
    let blocks = blocks();
    assert_eq!(blocks.len(), 3);
    let mut files = VAULT.to_vec();
    files.extend([
        ("vault/Shopping.md", "- [ ] milk\n- [x] eggs\n- [ ] bread\n"),
        ("block1.lua", blocks[0]),
        ("block2.lua", blocks[1]),
        ("block3.lua", blocks[2]),
        (
            "home/notes/Library/Tools.md",
            "```space-lua\nai.tools.own = { description = 'x', handler = function() end }\n```\n",
        ),
    ]);
    // The first block sets up the plugin, which the test does itself.
    let lua = "assert(loadfile('block1.lua'))
        dofile('block2.lua')
        local home = vim.env.HOME
        vim.env.HOME = vim.fn.getcwd() .. '/home'
        dofile('block3.lua')
        vim.env.HOME = home";
    let page = json!({ "page": "Shopping" });
    let mut chat = with_calls(&[("count_tasks", page.clone()), ("finish_tasks", page)], OPTIONS, lua, &files);
    chat.send_until("question=\"Write Shopping?\"");
    assert!(chat.nvim.text().contains("2 open tasks"), "{}", chat.nvim.text());
    chat.go_to("status=pending");
    chat.nvim.command("Flemma tool:approve");
    assert_eq!(answered(&mut chat)[1], ("Checked off 2 tasks in Shopping".to_owned(), false));
    assert_eq!(chat.nvim.file("vault/Shopping.md"), "- [x] milk\n- [x] eggs\n- [x] bread\n");
    assert_eq!(chat.nvim.lua("return require('flemma.tools').get('own') ~= nil", &[]), true);
    assert_eq!(said(&mut chat.nvim), "");
}
