//! Loading code, and the table `ai.tools`.

use serde_json::json;

use super::with_tools;
use crate::{
    chat::said,
    codecompanion::{results, with_calls},
};

#[test]
fn tools_come_and_go_with_the_table() {
    let mut chat = with_tools(&[], "");
    let registered = "local tool = require('flemma.tools').get(...)
        return { tool ~= nil, tool and tool.description or '', tool and tool.approval or '' }";
    let get = |chat: &mut crate::chat::Chat, name: &str| chat.nvim.lua(registered, &[name.into()]);
    chat.nvim.lua(
        "sb = require('flemma.compat.silverbullet')
         sb.ai.tools.one = { description = 'first', handler = function() return 'x' end }",
        &[],
    );
    assert_eq!(get(&mut chat, "one"), json!([true, "first", "auto"]));
    chat.nvim
        .lua("sb.ai.tools.one = { description = 'second', requiresApproval = true, handler = function() end }", &[]);
    assert_eq!(get(&mut chat, "one"), json!([true, "second", "requires_approval"]));
    // What is assigned counts for the code that follows: also `nil`, a field, and what is written to the table itself.
    let at_once = "local tools, get = sb.ai.tools, require('flemma.tools').get
        tools.one.description = 'third'
        local third = get('one').description
        local count = require('flemma.tools').count()
        tools.one = nil
        local is_gone = get('one') == nil and require('flemma.tools').count() == count - 1
        for _, tool in ipairs(require('flemma.tools').get_all({ include_disabled = true })) do
          is_gone = is_gone and tool.name ~= 'one'
        end
        return { third, is_gone }";
    assert_eq!(chat.nvim.lua(at_once, &[]), json!(["third", true]));
    chat.nvim.lua("sb.ai.tools = { two = { description = 'x', handler = function() end } }", &[]);
    assert_eq!(get(&mut chat, "two")[0], true);
    assert_eq!(chat.nvim.lua("return vim.tbl_keys(sb.ai.tools)", &[]), json!(["two"]));
    let offered = "local tool = require('flemma.tools').get('two') return tool.enabled";
    chat.nvim.lua("sb.config.set('ai', { chat = { enableTools = false } })", &[]);
    assert_eq!(chat.nvim.lua(offered, &[]), false);
    chat.nvim.lua("sb.config.set('ai.chat.enableTools', true)", &[]);
    assert_eq!(chat.nvim.lua(offered, &[]), true);
    assert_eq!(chat.nvim.lua("return sb.config.get('ai.chat.other', 7)", &[]), 7);
}

#[test]
fn a_tool_that_cannot_be_used_is_reported() {
    let mut chat = with_tools(&[], "");
    chat.nvim.lua("sb = require('flemma.compat.silverbullet')", &[]);
    for (entry, words) in [
        ("7", "a tool is a table with `description`, `parameters` and `handler`, not a number"),
        ("{ description = 'x' }", "`handler` is missing"),
        ("{ handler = print }", "`description` is missing"),
        ("{ description = 'x', handler = 7 }", "`handler` must be a function, not a number"),
        ("{ description = 'x', handler = print, requiresApproval = 'yes' }", "`requiresApproval` must be a boolean"),
        ("{ description = 'x', handler = print, readOnly = true, requiresApproval = true }", "`readOnly` does not go"),
        (
            "{ description = 'x', handler = print, readPathParam = 7 }",
            "`readPathParam` must be the name of a parameter",
        ),
        ("{ description = 'x', handler = print, readPathParam = 'page' }", "`readPathParam` is \"page\", but"),
        ("{ description = 'x', handler = print, parameters = { type = 'array' } }", "`parameters` must be"),
    ] {
        chat.nvim.lua(&format!("vim.cmd.messages('clear') sb.ai.tools.bad = {entry}"), &[]);
        chat.nvim.wait_for("the message", |nvim| !said(nvim).is_empty());
        let told = said(&mut chat.nvim);
        assert!(told.contains(words), "{entry}: {told}");
        assert_eq!(chat.nvim.lua("return require('flemma.tools').get('bad')", &[]), json!(null));
        chat.nvim.lua("sb.ai.tools.bad = nil", &[]);
        chat.nvim.wait_for("the tick", |nvim| {
            nvim.lua("return #require('flemma.compat.silverbullet.tools').names()", &[]) == 0
        });
    }
}

#[test]
fn files_pages_and_folders_are_loaded() {
    let page = "# Tools\n\nText.\n\n```lua\nerror('not this one')\n```\n\n```space-lua\nai.tools.from_page = {\n  \
                description = 'x',\n  handler = function() return shared .. ' page' end,\n}\n```\n\n- In a list:\n\n  \
                ```space-lua\n  ai.tools.from_list = { description = 'x', handler = function() return 'list' end }\n  \
                ai.tools.bash = { description = 'x', handler = function() end }\n  ```\n";
    let files = &[
        (
            "lib/a.lua",
            "shared = 'the'\nai.tools.from_file = { description = 'x', handler = function() return shared end }",
        ),
        ("lib/deep/b.md", page),
        ("lib/broken.md", "\n\n```space-lua\nlocal x = = 1\n```\n"),
        ("lib/throws.md", "\n```space-lua\n\nlocal x = nil .. 'x'\n```\n"),
        ("empty.md", "# Nothing\n"),
    ];
    let lua = "local load = require('flemma.compat.silverbullet').load
        _G.loaded = { load('lib/a.lua'), load('lib'), load('empty.md'), load('nowhere') }";
    let calls = [("from_file", json!({})), ("from_page", json!({})), ("from_list", json!({}))];
    let mut chat = with_calls(&calls, "", lua, files);
    assert_eq!(chat.nvim.lua("return loaded", &[]), json!([true, false, false, false]));
    assert_eq!(chat.nvim.lua("return _G.shared", &[]), json!(null), "what code writes into global names stays with it");
    let told = said(&mut chat.nvim);
    assert!(told.contains("broken.md:4:") && told.contains("throws.md:4:"), "{told}");
    assert!(told.contains("deep/b.md` has put a tool `bash` in the place of Flemma's own"), "{told}");
    assert!(told.contains("there is no `space-lua` block in") && told.contains("there is no file"), "{told}");
    assert_eq!(
        results(&mut chat),
        [("the".to_owned(), false), ("the page".to_owned(), false), ("list".to_owned(), false)]
    );
}

#[test]
fn a_block_is_read_at_the_end_of_a_page_and_in_quotations() {
    let tool = |name: &str| {
        format!("ai.tools.{name} = {{\n> description = 'x',\n> handler = function() return '{name}' end,\n> }}")
    };
    let quoted = format!("> ```space-lua\n> {}\n> ```\n", tool("quoted"));
    let last = format!("# Last\n\n```space-lua\n{}\n```", tool("last").replace("> ", ""));
    let files = &[
        ("lib/a.md", quoted.as_str()),
        ("lib/b.md", last.as_str()),
        ("bytecode.lua", "\x1bLJ"),
        ("thrown.lua", "error({ code = 7 })"),
    ];
    let lua = "local load = require('flemma.compat.silverbullet').load
        vim.fn.system({ 'mkfifo', 'pipe.lua' })
        _G.loaded = { load('lib'), load('bytecode.lua'), load('thrown.lua'), load('pipe.lua') }";
    let mut chat = with_calls(&[("quoted", json!({})), ("last", json!({}))], "", lua, files);
    let told = said(&mut chat.nvim);
    assert_eq!(chat.nvim.lua("return loaded", &[]), json!([true, false, false, false]), "{told}");
    for words in ["bytecode.lua: ", "thrown.lua: ", "pipe.lua is neither a file nor a folder"] {
        assert!(told.contains(words), "{told}");
    }
    assert_eq!(results(&mut chat), [("quoted".to_owned(), false), ("last".to_owned(), false)]);
}

/// As where Neovim was installed without its parsers, or with one for another version.
#[test]
fn pages_without_a_parser_for_markdown_are_refused_whole() {
    let tool = |name: &str| format!("ai.tools.{name} = {{ description = 'x', handler = function() end }}\n");
    let page = format!("```space-lua\n{}```\n", tool("in_page"));
    let (first, only) = (tool("in_file"), tool("alone"));
    let files = &[
        ("lib/a.lua", first.as_str()),
        ("lib/b.md", page.as_str()),
        ("plain/a.lua", only.as_str()),
        ("plain/b.md", "# Text\n"),
    ];
    for (lacking, words) in [
        (
            "vim.treesitter.language.add = function() return nil, 'No parser for language' end",
            "finds no tree-sitter parser",
        ),
        ("vim.treesitter.language.add = function() error('ABI version mismatch') end", "finds no tree-sitter parser"),
        ("vim.treesitter.query.parse = function() error('Invalid node type') end", "does not fit this Neovim"),
    ] {
        let lua = format!(
            "local load = require('flemma.compat.silverbullet').load
            {lacking}
            _G.loaded = {{ load('lib'), load('lib/b.md'), load('plain') }}"
        );
        let mut chat = with_calls(&[], "", &lua, files);
        let told = said(&mut chat.nvim);
        assert_eq!(chat.nvim.lua("return loaded", &[]), json!([false, false, true]), "{told}");
        for words in ["lib/b.md: its `space-lua` blocks cannot be read", words, "nothing was loaded"] {
            assert!(told.contains(words), "{told}");
        }
        assert!(!told.contains("traceback") && !told.contains("load.lua"), "{told}");
        let names = "return require('flemma.compat.silverbullet.tools').names()";
        assert_eq!(chat.nvim.lua(names, &[]), json!(["alone"]));
    }
}

#[test]
fn an_entry_that_is_refused_is_not_kept() {
    let mut chat = with_tools(&[], "");
    let names = "sb = require('flemma.compat.silverbullet')
        sb.ai.tools.bad = { description = 'x' }
        sb.ai.tools.good = { description = 'x', handler = print }
        return vim.tbl_keys(sb.ai.tools)";
    assert_eq!(chat.nvim.lua(names, &[]), json!(["good"]));
}
