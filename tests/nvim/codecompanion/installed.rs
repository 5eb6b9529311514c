//! Ways in which extensions that people have installed use that plugin.

use serde_json::{Value, json};

use super::{answered, results, with_calls};
use crate::{
    anthropic::Stream,
    chat::{Chat, Setup, prose, reply, said},
};

const DEEP: &str = include_str!("extensions/deep.lua");

const FILES: &[(&str, &str)] = &[
    ("deep/lua/codecompanion/_extensions/deep.lua", DEEP),
    ("deep/lua/codecompanion/_extensions/broken/tool.lua", "return require('some.absent.module')"),
    ("extending.lua", "return { extends = 'd09_extended', description = 'From a file', opts = { more = 1 } }"),
    ("known.txt", "one\ntwo\n"),
    ("said.txt", "already said\n"),
];

const LUA: &str = "
    vim.opt.rtp:append(vim.fn.getcwd() .. '/deep')
    _G.compat = require('flemma.compat.codecompanion')
    _G.is_ok = compat.setup({ extensions = { deep = {} } })
";

/// Name, input, what the result is or begins with, and whether it is an error.
fn table() -> Vec<(&'static str, Value, &'static str, bool)> {
    vec![
        (
            "d01_adapter",
            json!({}),
            "`codecompanion.adapters.resolve()` is out of reach here: Flemma talks to providers itself, and has none of \
             CodeCompanion's adapters (:help flemma-codecompanion)",
            true,
        ),
        (
            "d00_helper",
            json!({}),
            "`codecompanion.interactions.chat.tools.builtin.helpers.add_diff()` is out of reach here: Flemma has nothing like it",
            true,
        ),
        ("d02_http", json!({}), "`codecompanion.schema.get_default()` is out of reach here: ", true),
        (
            "d03_chat",
            json!({}),
            "`codecompanion.interactions.chat.new()` is out of reach here: a tool has no chats of its own, because \
             conversations cannot start conversations yet",
            true,
        ),
        ("d04_buffer", json!({}), "It is in the buffer.\n\n<findings>:\n\nfound 1\nfound 2", false),
        ("d05_file", json!({}), "The text of the other is: already said. 3\n\nknown.txt:\n\none\ntwo", false),
        ("d06_undeclared", json!({ "anything": { "at": "here" }, "all": 1 }), "here 1", false),
        ("d07_missing", json!({}), "module 'some.absent.module' not found", true),
        ("d08_built", json!({ "text": "hello" }), "hello", false),
        ("d09_extended", json!({ "text": "one" }), "extended one", false),
        ("d10_file", json!({ "text": "two" }), "extended two", false),
        ("d11_bare", json!({}), "a text of 2", false),
        ("d12_entry", json!({ "text": "words" }), "echo done words echo+out out", false),
        ("d13_raw", json!({ "text": "raw" }), "merged x raw", false),
        ("d15_joins", json!({}), "true <a>1</a>", false),
        ("d16_heard", json!({}), "heard a title", false),
        ("d17_both", json!({ "text": "x" }), "both x x", false),
    ]
}

#[test]
fn a_function_with_nothing_behind_it_says_so_when_it_is_called() {
    let table = table();
    let calls: Vec<_> = table.iter().map(|(name, input, ..)| (*name, input.clone())).collect();
    let mut chat = with_calls(&calls, "tools = { require_approval = false }", LUA, FILES);
    assert_eq!(chat.nvim.lua("return { is_ok, loaded }", &[]), json!([true, ["table", "table", "table", "table"]]));
    let found = results(&mut chat);
    for ((name, _, words, is_error), (text, error)) in table.iter().zip(&found) {
        assert!(text.contains(words) && error == is_error, "{name}: {text}");
    }
    assert_eq!(found.len(), table.len());
    // In the author's place.
    assert!(found[0].0.contains("deep.lua:"), "{}", found[0].0);
    // One line.
    assert_eq!(found[7].0.matches('\n').count(), 0, "{}", found[7].0);
    assert_eq!(found[15].0, "heard a title");
    assert_eq!(said(&mut chat.nvim), "");
}

#[test]
fn what_a_tool_says_before_it_runs_counts_for_its_approval() {
    let calls = [
        ("d08_built", json!({ "text": "hello" })),
        ("d14_refused", json!({})),
        ("d17_both", json!({ "text": "x" })),
        ("d18_setup", json!({ "text": "harmless" })),
        ("d18_setup", json!({ "text": "more" })),
    ];
    let mut chat = with_calls(&calls, "", LUA, FILES);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the calls", |nvim| nvim.text().matches("flemma:tool status=pending").count() == 4);
    chat.nvim.wait_for("the call that was set up to run", |nvim| nvim.text().contains("did harmless"));
    chat.nvim.wait_for_screen("echo hello; echo ${text}");
    chat.nvim.wait_for_screen("In 1?");
    chat.nvim.lua(
        "local resolve = require('flemma.tools').resolve
         resolve(0, 'toolu_1', { approved = true })
         resolve(0, 'toolu_2', { approved = false, message = 'not now' })
         resolve(0, 'toolu_3', { approved = true })
         resolve(0, 'toolu_5', { approved = true })",
        &[],
    );
    let found = answered(&mut chat);
    assert_eq!(found[1], ("Kept: \"not now\"".to_owned(), true));
    assert_eq!(found[4], ("did more".to_owned(), false));
}

#[test]
fn messages_name_the_true_cause() {
    let lua = format!(
        "{LUA}
         compat.register('theirs', {{ callback = 'codecompanion.strategies.chat.tools.catalog.grep_search' }})
         compat.register('broken', {{ callback = '_extensions.broken.tool' }})
         compat.register('absent', {{ callback = 'codecompanion._extensions.none.tool' }})
         require('codecompanion.config').interactions.chat.tools.written = {{ callback = 'codecompanion._extensions.broken.tool' }}
         _G.own = {{ pcall(require('codecompanion').chat) }}
         local chat = require('codecompanion').last_chat
         vim.schedule(function() _G.told = {{ pcall(function() chat():add_message({{ content = 'x' }}) end) }} end)"
    );
    let mut chat = Chat::start(&Setup { lua: &lua, files: FILES, ..Setup::default() }, []);
    chat.nvim.wait_for("the messages", |nvim| said(nvim).contains("tool `written`"));
    let found = said(&mut chat.nvim);
    for words in [
        "tool `theirs`: `callback` is \"codecompanion.strategies.chat.tools.catalog.grep_search\", which is a tool of CodeCompanion itself",
        "tool `broken`: `callback` is \"_extensions.broken.tool\", which cannot be loaded: ",
        "tool `absent`: `callback` is \"codecompanion._extensions.none.tool\", which cannot be loaded: module 'codecompanion._extensions.none.tool' not found",
        "tool `written`: `callback` is \"codecompanion._extensions.broken.tool\", which cannot be loaded: ",
    ] {
        assert!(found.contains(words), "{words}\n{found}");
    }
    assert_eq!(found.matches("module 'some.absent.module' not found").count(), 2, "{found}");
    assert!(!found.contains("no field package") && !found.contains("loop or previous"), "{found}");
    let own = chat.nvim.lua("return own[2]", &[]).to_string();
    assert!(own.contains("`codecompanion.chat()` is out of reach here: a tool has no chats of its own"), "{own}");
    let told = chat.nvim.lua("return told[2]", &[]).to_string();
    assert!(told.contains("no call of a tool runs whose result this could be"), "{told}");
}

#[test]
fn a_command_of_the_first_era_finds_its_own_lines() {
    let lua = "_G.ok = require('flemma.compat.codecompanion').setup({ lists = { callback = {
        name = 'lists',
        cmds = { { 'echo', 'first' }, { 'printf', 'a\\nb\\n' }, { 'sh', '-c', 'echo wrong >&2; exit 2' } },
        schema = { _attr = { name = 'lists' }, action = { word = 'x' } },
        output = {
          success = function(agent, cmd, stdout)
            agent.chat:add_buf_message({ role = 'user', content = cmd.cmd[1] .. ': ' .. table.concat(stdout, ' ') })
          end,
          error = function(agent, cmd, stderr)
            agent.chat:add_buf_message({ role = 'user', content = 'failed: ' .. stderr[1] })
          end,
        } } } })";
    let calls = [("lists", json!({ "action": { "word": "x" } }))];
    let mut chat = with_calls(&calls, "tools = { require_approval = false }", lua, &[]);
    assert_eq!(results(&mut chat), [("echo: first\n\nprintf: a b\n\nfailed: wrong".to_owned(), true)]);
}

#[test]
fn prompts_of_groups_are_asked_for_each_request() {
    let lua = "
        _G.count = 0
        local function define(prompt)
          return { callback = {
            cmds = { function() return 'x' end },
            schema = { _attr = { name = 'late' }, action = { word = 'x' } },
            system_prompt = prompt,
          } }
        end
        _G.ok = require('flemma.compat.codecompanion').setup({
          plain = define('x'),
          late = define(function() return _G.server.name end),
          groups = { counted = { tools = { 'plain' }, system_prompt = function(_, about)
            count = count + 1
            return ('Request %d in %s on %s, %s.'):format(count, vim.fs.basename(about.cwd), about.os, about.language)
          end } },
        })
        _G.server = { name = 'ready' }";
    let setup = Setup { text: None, lua, options: "tools = { require_approval = false }", ..Setup::default() };
    let call = Stream::new().tool_use("toolu_1", "late", &[r#"{"action":{"word":"x"}}"#]).end("tool_use");
    let mut chat = Chat::start(&setup, [reply(&call), prose(&["fine"])]);
    assert_eq!(chat.nvim.lua("return ok", &[]), false);
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("tool `late`: `system_prompt` failed: "));
    chat.nvim.input("i");
    chat.nvim.type_text("@You:\nUse @counted");
    chat.nvim.input("<Esc>");
    let found = results(&mut chat);
    assert_eq!(found, [("x".to_owned(), false)]);
    let system = |n: usize| chat.server.requests()[n].json()["system"].to_string();
    let (first, second) = (system(0), system(1));
    assert!(first.contains("Request ") && first.contains(", English."), "{first}");
    assert_ne!(first, second);
    assert_eq!(said(&mut chat.nvim).matches("`system_prompt` failed").count(), 1);
}

#[test]
fn our_presets_do_not_approve_a_tool_of_our_name() {
    let lua = "assert(require('flemma.compat.codecompanion').setup({ read = { callback = {
        cmds = { function(_, args) return 'theirs ' .. args.path end },
        schema = { type = 'function', ['function'] = { name = 'read', description = 'x', parameters = {
          type = 'object', properties = { path = { type = 'string' } } } } } } } }))";
    let calls = [("read", json!({ "path": "a.txt" }))];
    let mut chat = with_calls(&calls, "", lua, &[]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the question", |nvim| nvim.text().contains("flemma:tool status=pending"));
    // A name that the user writes means whatever is registered.
    let options = "tools = { auto_approve = { '$default', 'read' } }";
    let mut chat = with_calls(&calls, options, lua, &[]);
    assert_eq!(results(&mut chat), [("theirs a.txt".to_owned(), false)]);
}
