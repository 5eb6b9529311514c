//! Which of the tools a model is offered, and when.

use serde_json::Value;

use crate::{
    anthropic::Stream,
    chat::{Chat, Setup, prose, reply},
};

const TOOLS: &str = "
_G.seen = {}
local function define(name, fields)
  return vim.tbl_extend('force', { callback = {
    cmds = { function() return { status = 'success', data = 'x' } end },
    schema = { type = 'function', ['function'] = { name = name, description = 'x', parameters = {} } },
  } }, fields or {})
end
_G.asked = {}
local tools = {
  plain = define('plain'),
  listed = define('listed'),
  grouped = define('grouped'),
  off = define('off', { enabled = false }),
  never = define('never', { enabled = function() return false end }),
  maybe = define('maybe', { enabled = function(opts)
    asked[#asked + 1] = opts.name .. ' ' .. opts.adapter.model.name
    return true
  end }),
  groups = {
    pair = { description = 'Two tools', tools = { 'plain', 'maybe' }, system_prompt = 'Use ${tools} together.' },
    usual = { tools = { 'grouped' }, prompt = function() return 'Be quick.' end },
    broken = { tools = 'plain' },
  },
  opts = { default_tools = { 'listed', 'usual' } },
}
_G.ok = require('flemma.compat.codecompanion').setup(tools, OPTS)
";

/// The tools that are offered to a model after this message, and the system prompt.
fn offered(message: &str, opts: &str) -> (Vec<String>, String, Chat) {
    let text = format!("@You:\n{message}\n");
    let lua = TOOLS.replace("OPTS", opts);
    let setup = Setup { text: None, lua: &lua, ..Setup::default() };
    let mut chat = Chat::start(&setup, [prose(&["fine"])]);
    // The user writes it: text that was in the file offers nothing.
    chat.nvim.input("i");
    chat.nvim.type_text(text.trim_end());
    chat.nvim.input("<Esc>");
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    let body = chat.server.requests()[0].json();
    let known = ["plain", "listed", "grouped", "off", "never", "maybe"];
    let tools = body["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    let tools = tools.filter(|name| known.contains(name)).map(str::to_owned).collect();
    let system = match &body["system"] {
        Value::Null => String::new(),
        system => system.to_string(),
    };
    (tools, system, chat)
}

#[test]
fn a_copy_of_the_tools_table_changes_nothing() {
    let lua = "local compat = require('flemma.compat.codecompanion')
        local function define() return { callback = { cmds = { function() return 'x' end }, schema = { type = 'function' } } } end
        compat.register('rare', define(), { offer = 'named' })
        local config = require('codecompanion.config')
        config.interactions.chat.tools = vim.tbl_deep_extend('force', config.interactions.chat.tools, { new = define() })";
    let mut chat = Chat::start(&Setup { lua, ..Setup::default() }, [prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    let body = chat.server.requests()[0].json();
    let names: Vec<_> =
        body["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"new") && !names.contains(&"rare"), "{names:?}");
}

#[test]
fn a_tool_that_another_one_adds_is_offered_from_then_on() {
    let lua = "local function define(run) return { callback = { cmds = { run }, schema = { type = 'function' } } } end
        local function x() return 'x' end
        require('flemma.compat.codecompanion').setup({
          rare = define(x),
          other = define(x),
          adds = define(function(self, args)
            local registry = self.chat.tool_registry
            if not registry.in_use.rare then
              registry:add('rare', {})
              registry:add_group('others')
              return registry.groups.others.tools[1]
            end
            registry:remove_group('others')
            return tostring(registry.groups.others)
          end),
          groups = { others = { tools = { 'other' } } },
          opts = { default_tools = { 'adds' } },
        }, { offer = 'named' })
        -- As an extension does that passes on what it has found.
        require('codecompanion').setup({ interactions = { chat = { tools = { more = define(x) } } } })";
    let call = || reply(&Stream::new().tool_use("toolu_1", "adds", &["{}"]).end("tool_use"));
    let setup = Setup { lua, options: "tools = { require_approval = false }", ..Setup::default() };
    let mut chat = Chat::start(&setup, [call(), call(), prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    let names = |n: usize| chat.server.requests()[n].json()["tools"].to_string();
    let offers = |n: usize| ["rare", "other", "more"].map(|name| names(n).contains(&format!("\"{name}\"")));
    assert_eq!([0, 1, 2].map(offers), [[false, false, false], [true, true, false], [true, false, false]]);
}

#[test]
fn all_enabled_tools_are_offered_unless_they_are_to_be_named() {
    let (tools, system, mut chat) = offered("Hello", "nil");
    assert_eq!(tools, ["grouped", "listed", "maybe", "plain"]);
    assert!(!system.contains("together"));
    assert_eq!(chat.nvim.lua("return { asked[1], ok }", &[]), serde_json::json!(["anthropic claude-test", false]));
    chat.nvim
        .wait_for("the message", |nvim| crate::chat::said(nvim).contains("group `broken`: `tools` must be a list"));
}

#[test]
fn a_named_tool_is_offered_with_those_that_always_are() {
    let (tools, ..) = offered("Hello", "{ offer = 'named' }");
    assert_eq!(tools, ["grouped", "listed"]);
    let (tools, ..) = offered("Use @plain and @never, please.", "{ offer = 'named' }");
    assert_eq!(tools, ["grouped", "listed", "plain"]);
    let (tools, system, _) = offered("Use @pair.", "{ offer = 'named' }");
    assert_eq!(tools, ["grouped", "listed", "maybe", "plain"]);
    assert!(system.contains("Use `plain`, `maybe` together."), "{system}");
}
