//! What goes wrong in a tool, and what it answers that nobody expects.

use serde_json::json;

use super::{results, seen, with_calls};
use crate::chat::said;

const TOOLS: &str = include_str!("trouble.lua");

/// Name, what the result contains, and whether it is an error.
const TABLE: &[(&str, &str, bool)] = &[
    ("t01_cmd", "in cmds", true),
    ("t02_table", "{\"code\":3}", true),
    ("t03_success", "`output.success` of the tool `t03_success` failed: ", true),
    ("t04_error", "Error calling `t04_error`: bad\n\n`output.error` failed: ", true),
    ("t05_setup", "`handlers.setup` of the tool `t05_setup` failed: ", true),
    ("t06_env", "`env` of the tool `t06_env` failed: ", true),
    ("t07_exit", "good", false),
    ("t08_prompt", "good", false),
    ("t10_false", "The function answered with false", true),
    ("t11_text", "plain", false),
    ("t12_none", "The tool `t12_none` has run.", false),
    ("t13_no", "false", false),
    ("t14_loop", "{\"itself\":\"<itself>\",\"name\":\"loop\"}", false),
    ("t15_print", "found a function, which no model can read", true),
    ("t16_bare", "one\n2", false),
    ("t17_bytes", "a\u{fffd}b", false),
    ("t18_empty", "has no commands to run", true),
    ("t19_error", "It says nothing about the cause.", true),
    ("t20_nil", "The function answered with nil", true),
    ("t21_both", "first", false),
    ("t22_odd", "for the user\n\na\nb\n\nsaid twice", false),
    ("t23_adapter", "`adapter.schema.model.default` is out of reach", true),
    ("t24_submit", "`chat:submit()` is out of reach", true),
    ("t25_later", "a moment later", false),
    ("t26_setup_makes", "good", false),
    ("t27_messages", "user Hello claude-test", false),
    ("t28_deep", "[[[[\"…\"]]]]", false),
    ("t29_object", "what it answered cannot be used: ", true),
    ("t30_behind", "what it answered cannot be used: ", true),
    ("t31_last", "good", false),
    ("t32_status", "The function answered with the status \"banana\"", true),
    ("t33_case", "fine", false),
    ("t34_number", "An entry of `cmds` has a number for its word 1", true),
    ("t35_third", "Before that, the tool found:\n\none\n\ntwo", true),
    ("t36_found", "Before that, the tool found:\n\ngood", true),
    ("t37_output", "`output.success` of the tool `t37_output` failed: ", true),
];

#[test]
fn whatever_a_tool_does_its_call_gets_one_result() {
    let lua = format!("{TOOLS}\nassert(require('flemma.compat.codecompanion').setup(tools))");
    let calls: Vec<_> = TABLE.iter().map(|(name, ..)| (*name, json!({}))).collect();
    let mut chat = with_calls(&calls, "tools = { require_approval = false }", &lua, &[]);
    let found = results(&mut chat);
    for ((name, words, is_error), (text, error)) in TABLE.iter().zip(&found) {
        assert!(text.contains(words), "{name}: {text}");
        assert_eq!(error, is_error, "{name}: {text}");
    }
    let seen = seen(&mut chat);
    for (name, ..) in TABLE {
        let exits = seen.iter().filter(|item| **item == format!("exit {name}")).count();
        // It never came as far as the functions, or has an `on_exit` of its own.
        let expected = usize::from(!["t05_setup", "t06_env", "t07_exit"].contains(name));
        assert_eq!(exits, expected, "{name}: {seen:?}");
    }
    assert!(!seen.contains(&"never".to_owned()));
    let told = said(&mut chat.nvim);
    assert!(told.contains("tool `t07_exit`: `handlers.on_exit` failed: "), "{told}");
}

#[test]
fn an_entry_that_cannot_be_used_is_named_and_stops_no_other() {
    let lua = r"
      local function schema() return { type = 'function', ['function'] = { name = 'x', parameters = {} } } end
      local cmds = { print }
      _G.ok = require('flemma.compat.codecompanion').setup({
        interactions = { chat = { tools = {
          good = { description = 'x', callback = { cmds = cmds, schema = schema() } },
          p01 = 3,
          p02 = { opts = { requires_approval = false } },
          p03 = { callback = 'no.such.module' },
          p04 = { callback = './no/such/file.lua' },
          p05 = { callback = 'strategies.chat.tools.editor' },
          p06 = { callback = function() error('in callback') end },
          p07 = { callback = function() return 'x' end },
          p08 = { callback = { cmds = cmds } },
          p09 = { callback = { cmds = cmds, schema = 'x' } },
          p10 = { callback = { cmds = cmds, schema = schema(), output = print } },
          p11 = { callback = { cmds = cmds, schema = schema() }, opts = { shape = 'd' } },
          p12 = { extends = 'nothing' },
          p13 = { extends = 'p13' },
          p14 = { callback = { cmds = cmds, schema = schema(), system_prompt = function() error('in prompt') end } },
          ['p 15'] = { callback = { cmds = cmds, schema = schema() } },
          p16 = { callback = { cmds = cmds, schema = { type = 'function', ['function'] = { parameters = { type = 'array' } } } } },
          p17 = { callback = { cmds = cmds, schema = schema() }, description = 5 },
          p18 = false,
          groups = {}, opts = { default_tools = {} },
        } } } })";
    let mut chat = with_calls(&[("good", json!({}))], "", lua, &[]);
    assert_eq!(chat.nvim.lua("return ok", &[]), false);
    let names = chat
        .nvim
        .lua("return vim.tbl_map(function(tool) return tool.name end, require('flemma.tools').get_all())", &[]);
    let names: Vec<_> = names.as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
    assert!(names.contains(&"good") && !names.iter().any(|name| name.starts_with('p') && name.len() == 3), "{names:?}");
    chat.nvim.wait_for("the messages", |nvim| said(nvim).contains("`p17`"));
    let told = said(&mut chat.nvim);
    for words in [
        "tool `p01`: the entry must be a table, not a number",
        "tool `p03`: `callback` is \"no.such.module\", which cannot be loaded: module 'no.such.module' not found",
        "tool `p04`: `callback` is \"./no/such/file.lua\", but there is no such file",
        "tool `p05`: `callback` is \"strategies.chat.tools.editor\", which is a tool of CodeCompanion itself",
        "tool `p06`: `callback` failed: ",
        "tool `p07`: `callback` leads to a string",
        "tool `p08`: `schema` is missing",
        "tool `p09`: `schema` must be a table, not a string",
        "tool `p10`: `output` must be a table, not a function",
        "tool `p11`: `shape` must be \"a\", \"b\" or \"c\", not \"d\"",
        "tool `p12`: `extends` is \"nothing\", and there is no such tool",
        "tool `p13`: `extends` is \"p13\"",
        "tool `p14`: `system_prompt` failed: ",
        "tool `p 15`: `name` must be 1 to 64 letters",
        "tool `p16`: `schema.function.parameters` must be a JSON Schema whose `type` is \"object\"",
        "tool `p17`: `description` must be a string, not a number",
    ] {
        assert!(told.contains(words), "{words}\n{told}");
    }
    // It changes a tool of that plugin.
    assert!(!told.contains("stack traceback") && !told.contains("p02"), "{told}");
}
