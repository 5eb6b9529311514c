//! Extensions in folders on the runtime path, and what is written into the tools table.

use serde_json::{Value, json};

use super::{results, with_calls};
use crate::{
    anthropic::Stream,
    chat::{Chat, Setup, prose, reply, said},
};

const COUNTER: &str = include_str!("extensions/counter.lua");
const LATE: &str = include_str!("extensions/late.lua");
const PICTURES: &str = include_str!("extensions/pictures.lua");

/// A PNG of one white pixel.
const BASE64: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==";

/// The extensions, each in a folder of its own as a plugin manager has them.
const FILES: &[(&str, &str)] = &[
    ("counter/lua/codecompanion/_extensions/counter/init.lua", COUNTER),
    ("late/lua/codecompanion/_extensions/late.lua", LATE),
    ("pictures/lua/codecompanion/_extensions/pictures/init.lua", PICTURES),
];

/// Puts them on the runtime path.
const PATHS: &str = "
    for _, name in ipairs({ 'counter', 'late', 'pictures' }) do
      vim.opt.rtp:append(vim.fn.getcwd() .. '/' .. name)
    end
    _G.compat = require('flemma.compat.codecompanion')
";

/// The names of the tools that were offered in the `n`th request.
fn offered(chat: &Chat, n: usize) -> Vec<String> {
    let tools = chat.server.wait_for_requests(n + 1)[n].json()["tools"].clone();
    tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn calls(calls: &[(&str, Value)]) -> Stream {
    let add = |stream: Stream, (tool, input): &(&str, Value)| stream.tool_use(tool, tool, &[&input.to_string()]);
    calls.iter().fold(Stream::new(), add).end("tool_use")
}

#[test]
fn extensions_register_their_tools_at_setup_and_later() {
    let lua = format!(
        "{PATHS}
         _G.is_ok = compat.setup({{ extensions = {{
           counter = {{ enabled = true, opts = {{}} }},
           late = {{ opts = {{ delay = 1 }} }},
           absent = {{ enabled = false }},
         }} }})"
    );
    let options = "tools = { require_approval = false }, logging = { enabled = true, level = 'debug' }";
    let setup = Setup { files: FILES, lua: &lua, options, ..Setup::default() };
    let replies = [
        reply(&calls(&[("count", json!({ "step": 4 })), ("ask_counter", json!({})), ("swap", json!({}))])),
        prose(&["fine"]),
        reply(&calls(&[("swap", json!({}))])),
        prose(&["again"]),
    ];
    let mut chat = Chat::start(&setup, replies);
    chat.nvim.wait_for("the timer", |nvim| nvim.lua("return is_ok and is_late_done", &[]) == true);
    assert_eq!(chat.nvim.lua("return require('codecompanion').has('extensions')", &[]), true);
    let texts: Vec<_> = results(&mut chat).into_iter().map(|(text, _)| text).collect();
    assert_eq!(texts, ["the count is 4", "4", "first"]);
    let names = offered(&chat, 0);
    for name in ["count", "ask_counter", "goes", "swap"] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
    assert_eq!(
        chat.nvim.lua("return require('flemma.tools').get_groups()[1].tools", &[]),
        json!(["count", "ask_counter"])
    );
    // Nothing tells of a key that is replaced or removed, and nobody has to wait for anything but the next request.
    chat.nvim.lua(
        "local tools = require('codecompanion.config').interactions.chat.tools
         local names = {}
         for name in pairs(tools) do names[#names + 1] = name end
         table.sort(names)
         assert(table.concat(names, ' ') == 'ask_counter count goes groups opts swap', table.concat(names, ' '))
         vim.api.nvim_create_autocmd('User', { pattern = 'FlemmaRequestFinished', once = true, callback = function()
           tools.goes, tools.groups.both = nil, nil
           tools.swap.callback = vim.tbl_extend('force', tools.swap.callback, {
             cmds = { function() return { status = 'success', data = 'second' } end },
           })
           tools.count = vim.tbl_extend('force', tools.count, { enabled = false })
         end })",
        &[],
    );
    // The change happens between this reply and the request with its result.
    chat.nvim.input("GoAgain<Esc><C-]>");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nagain"));
    let names = offered(&chat, 3);
    assert!(names.contains(&"ask_counter".to_owned()), "{names:?}");
    assert!(!names.contains(&"goes".to_owned()) && !names.contains(&"count".to_owned()), "{names:?}");
    assert!(offered(&chat, 2).contains(&"goes".to_owned()));
    assert_eq!(chat.nvim.lua("return require('flemma.tools').get_groups()", &[]), json!([]));
    let log = chat.nvim.lua("return vim.fn.readfile(require('flemma.native').call('path', 'log'))", &[]).to_string();
    assert!(log.contains("debug CodeCompanion: [counter] 4 after {"), "{log}");
    assert_eq!(said(&mut chat.nvim), "");
}

#[test]
fn an_extension_that_cannot_be_loaded_is_named_with_the_reason() {
    let files = &[
        ("broken/lua/codecompanion/_extensions/broken.lua", "local x = = 1"),
        (
            "broken/lua/codecompanion/_extensions/missing.lua",
            "return { setup = function() require('mcphub').go() end }",
        ),
        ("broken/lua/codecompanion/_extensions/adapter.lua", "require('codecompanion.adapters.http').extend('x', {})"),
        (
            "broken/lua/codecompanion/_extensions/careful.lua",
            "local http = require('codecompanion.http')
             return { setup = function() _G.why = select(2, pcall(http.new, {})) end }",
        ),
        (
            "broken/lua/codecompanion/_extensions/config.lua",
            "return { setup = function() require('codecompanion.config').adapters.http.mine = {} end }",
        ),
        ("file.lua", "return { setup = function(opts) _G.from_file = opts.x end }"),
    ];
    let lua = "
        vim.opt.rtp:append(vim.fn.getcwd() .. '/broken')
        local extension = require('flemma.compat.codecompanion').extension
        assert(extension('config'))
        for _, name in ipairs({ 'broken', 'missing', 'adapter', 'absent' }) do
          assert(extension(name) == false, name)
        end
        assert(extension('careful'))
        assert(extension('file', { callback = './file.lua', opts = { x = 1 } }))
        assert(extension('func', { callback = function() return { setup = function(opts) _G.from_func = opts.x end } end, opts = { x = 2 } }))
        assert(extension('tbl', { callback = { setup = function(opts) _G.from_table = opts.x end }, opts = { x = 3 } }))
        assert(extension('plain', { callback = { exports = { five = 5 } } }))
        assert(require('codecompanion').register_extension('own', { setup = function() _G.from_own = true end, exports = { six = 6 } }))
        assert(not extension('e1', { callback = 'no.such' }))
        assert(not extension('e2', { callback = './no.lua' }))
        assert(not extension('e3', { callback = 3 }))
        assert(not extension('e4', { callback = {} }))
        assert(not extension('e5', { callback = function() return 5 end }))
        assert(not extension('e6', { opts = 5 }))
        assert(not extension('e7', 5))
        assert(not extension(''))
        assert(extension('e8', { enabled = false, callback = 'no.such' }))
        _G.exports = require('codecompanion').extensions";
    let mut chat = Chat::start(&Setup { files, lua, ..Setup::default() }, []);
    let found = chat.nvim.lua(
        "return { why, from_file, from_func, from_table, from_own, exports.plain.five, exports.own.six, exports.e1 == nil }",
        &[],
    );
    let why = found[0].as_str().unwrap().to_owned();
    assert_eq!(
        why,
        "`codecompanion.http.new()` is out of reach here: Flemma sends requests itself (:help flemma-codecompanion)"
    );
    assert_eq!(found, json!([why, 1, 2, 3, true, 5, 6, true]));
    chat.nvim.wait_for("the messages", |nvim| said(nvim).contains("extension: the name"));
    let told = said(&mut chat.nvim);
    for words in [
        "extension `broken`: the module `codecompanion._extensions.broken` cannot be loaded: ",
        "extension `missing`: `setup` failed: ",
        "module 'mcphub' not found",
        "extension `adapter`: the module `codecompanion._extensions.adapter` cannot be loaded: ",
        "`codecompanion.adapters.http.extend()` is out of reach here: Flemma talks to providers itself",
        "extension `absent`: there is no module `codecompanion._extensions.absent` on 'runtimepath'. Install and load the plugin that has it, or give `callback`",
        "extension `e1`: `callback` is \"no.such\", which cannot be loaded: module 'no.such' not found",
        "extension `e2`: `callback` is \"./no.lua\", but there is no such file",
        "extension `e3`: `callback` must be a module, a path, a function or a table, not a number",
        "extension `e4`: `callback` has no function `setup`",
        "extension `e5`: `callback` leads to a number; it must lead to a table with a function `setup`",
        "extension `e6`: `opts` must be a table, not a number",
        "extension `e7`: the options must be a table, not a number",
        "extension: the name must be a non-empty string, not \"\"",
    ] {
        assert!(told.contains(words), "{words}\n{told}");
    }
    assert!(!told.contains("stack traceback") && !told.contains("`e8`"), "{told}");
}

#[test]
fn an_extension_shows_images_and_words_a_rejection() {
    let lua = format!(
        "{PATHS}
         assert(compat.extension('pictures', {{ path = 'pic.png', base64 = '{BASE64}' }}))
         vim.fn.writefile(vim.base64.decode('{BASE64}'), 'pic.png', 'b')"
    );
    let calls = [("by_path", json!({})), ("by_data", json!({}))];
    let mut chat = with_calls(&calls, "tools = { require_approval = false }", &lua, FILES);
    results(&mut chat);
    let results = chat.messages(1)[2]["content"].clone();
    assert_eq!(results[0]["content"][0]["text"], "done\n\npic.png: PNG image, 1x1 pixels, 67 B");
    assert_eq!(results[0]["content"][1]["source"]["data"], BASE64);
    let text = results[1]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("see the image\n\n/"), "{text}");
    assert_eq!(results[1]["content"][1]["source"]["data"], BASE64);
}

#[test]
fn the_helper_for_rejections_passes_the_reason_on() {
    let lua = format!("{PATHS} assert(compat.extension('pictures', {{ path = 'pic.png' }}))");
    let calls = [("refuses", json!({ "message": "from the model" }))];
    let mut chat = with_calls(&calls, "", &lua, FILES);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the call", |nvim| nvim.text().contains("flemma:tool status=pending"));
    chat.nvim.lua("require('flemma.tools').resolve(0, 'toolu_1', { approved = false, message = 'too many' })", &[]);
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("**Tool Result:** `toolu_1` (error)"));
    let text = chat.nvim.text();
    assert!(text.contains("Not this time: \"too many\""), "{text}");
}

#[test]
fn an_unusable_entry_in_the_tools_table_is_told_once() {
    let lua = "
        require('flemma.compat.codecompanion')
        local tools = require('codecompanion.config').strategies.chat.tools
        tools.bad = { callback = { cmds = { print } } }
        tools.fine = { callback = { cmds = { function() return { status = 'success', data = 'x' } end }, schema = { type = 'function', ['function'] = { name = 'x' } } } }
        _G.at_once = require('flemma.tools').get('fine') ~= nil
        local config = require('codecompanion.config')
        config.interactions.chat.tools = vim.tbl_deep_extend('force', config.interactions.chat.tools, { more = tools.fine })
        vim.schedule(function() config.strategies.chat.tools.last = tools.fine end)";
    let mut chat = Chat::start(&Setup { lua, ..Setup::default() }, [prose(&["one"]), prose(&["two"])]);
    assert_eq!(chat.nvim.lua("return at_once", &[]), true);
    for reply in ["one", "two"] {
        chat.nvim.input("GoHello<Esc><C-]>");
        chat.nvim.wait_for("the reply", |nvim| nvim.text().contains(&format!("@Assistant:\n{reply}")));
        chat.wait_until_idle();
    }
    let names = offered(&chat, 0);
    assert!(["fine", "more", "last"].iter().all(|name| names.contains(&(*name).to_owned())), "{names:?}");
    let told = said(&mut chat.nvim);
    assert_eq!(told.matches("tool `bad`: `schema` is missing").count(), 1, "{told}");
}
