//! Definitions of the two later eras.

use super::{results, seen, text, with_calls};

const TOOLS: &str = include_str!("eras.lua");

/// Registers them.
pub(super) fn lua() -> String {
    format!("{TOOLS}\nassert(require('flemma.compat.codecompanion').setup(tools))")
}

fn good(text: &str) -> (String, bool) {
    (text.to_owned(), false)
}

fn bad(text: &str) -> (String, bool) {
    (text.to_owned(), true)
}

#[test]
fn functions_of_both_later_eras_run_as_their_authors_expect() {
    let calls = [
        text("b_count", "four"),
        text("b_point", "2"),
        text("b_point", "3"),
        text("b_paths", "bad"),
        text("b_paths", "good"),
        text("c_search", "x"),
        text("c_inline", "here"),
        text("c_more", "y"),
        text("e_either", "z"),
    ];
    let mut chat = with_calls(&calls, "tools = { require_approval = false }", &lua(), &[]);
    let found = results(&mut chat);
    assert_eq!(
        found,
        [
            good("found 4\n\nfound success 8"),
            good("(1, 2) 1"),
            good("(1, 3) 2"),
            bad("sorry: there is no bad 0"),
            good("there is good"),
            good("one x, two\n\nfor x"),
            good("{\"before\":true,\"said\":\"here\"}"),
            good("c_more 2 one y"),
            good("z 1 success\n\nz! 2 success"),
        ]
    );
    let seen = seen(&mut chat);
    // All calls are prepared before they are decided about.
    let noted: Vec<&str> = seen.iter().map(String::as_str).collect();
    assert_eq!(
        noted,
        [
            "setup b_count success four",
            "c setup c_search",
            "c setup c_more",
            "e true",
            "b_count b_count table nil",
            "success four 1",
            "success four 2",
            "exit success 2",
            "c exit 1",
            "c exit 1",
        ]
    );
    let tools = chat.server.requests()[0].json()["tools"].clone();
    let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "b_count").unwrap().clone();
    assert_eq!(tool["description"], "Does b_count.\n\nUse b_count for every text.");
    assert_eq!(tool["input_schema"]["properties"]["text"]["type"], "string");
}

#[test]
fn definitions_come_from_modules_and_files_in_any_shape() {
    let definition = |words: &str| {
        format!(
            "return {{
               cmds = {{ function(_, args, third) return {{ status = 'success', data = {words} }} end }},
               schema = {{ type = 'function', ['function'] = {{ name = 'x', description = 'x', parameters = {{
                 type = 'object', properties = {{ text = {{ type = 'string' }} }}, required = {{}} }} }} }},
             }}"
        )
    };
    let (module, file) = (definition("'module ' .. args.text"), definition("'file ' .. args.text"));
    let shaped = definition("type(third) .. ' ' .. tostring(third and third.output_cb ~= nil)");
    let files = [("lua/my/tool.lua", module.as_str()), ("file.lua", &file), ("shaped.lua", &shaped)];
    let lua = "vim.opt.runtimepath:prepend(vim.fn.getcwd())
        local compat = require('flemma.compat.codecompanion')
        compat.register('from_module', { callback = 'my.tool' })
        compat.register('from_file', { callback = vim.fn.getcwd() .. '/file.lua' })
        compat.register('from_path', { path = './file.lua' })
        compat.register('as_b', { callback = './shaped.lua' }, { shape = 'b' })
        compat.register('as_c', { callback = './shaped.lua', opts = { shape = 'c' } })
        compat.register('gone', { callback = './file.lua' })
        _G.gone = { compat.unregister('gone'), compat.unregister('gone') }";
    let calls = [
        text("from_module", "1"),
        text("from_file", "2"),
        text("from_path", "3"),
        text("as_b", "4"),
        text("as_c", "5"),
        text("gone", "6"),
    ];
    let mut chat = with_calls(&calls, "tools = { require_approval = false }", lua, &files);
    let found = results(&mut chat);
    assert_eq!(found[..5], [good("module 1"), good("file 2"), good("file 3"), good("nil nil"), good("table true")]);
    assert!(found[5].1, "{found:?}");
    assert_eq!(chat.nvim.lua("return gone", &[]), serde_json::json!([true, false]));
}
