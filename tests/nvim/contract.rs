//! The documented examples for tool authors work unchanged.

use serde_json::{Value, json};

use super::chat::{Chat, Setup, call, previews, prose};

const MY_SEARCH: &str = r#"
local tools = require("flemma.tools")
tools.register("my_search", {
  name = "my_search",
  description = "Search a knowledge base",
  input_schema = {
    type = "object",
    properties = {
      query = { type = "string", description = "Search query" },
      limit = { type = { "number", "null" }, description = "Max results" },
    },
    required = { "query", "limit" },
    additionalProperties = false,
  },
  format_preview = function(input, max_length)
    -- input: the tool's input arguments table
    -- max_length: available width after the "my_search: " prefix
    local preview = '"' .. input.query .. '"'
    if input.limit then
      preview = preview .. " (limit " .. input.limit .. ")"
    end
    return preview
  end,
  execute = function(input, context, callback) --[[ ... ]] end,
})
"#;

const EXPORT: &str = r#"
local tools = require("flemma.tools")
tools.register("export", {
  name = "export",
  description = "Save content to a file in the project",
  input_schema = {
    type = "object",
    properties = {
      path = { type = "string", description = "Output file path (relative or absolute)" },
      content = { type = "string", description = "Content to write" },
    },
    required = { "path", "content" },
    additionalProperties = false,
  },
  strict = true,
  async = false,
  execute = function(input, ctx)
    local path = ctx.path.resolve(input.path)

    if not ctx.sandbox.is_path_writable(path) then
      return { success = false, error = "Sandbox: write denied for " .. input.path }
    end

    -- Use tool-specific config (e.g. config.tools.export = { max_size = 102400 })
    local tool_config = ctx:get_config()
    local max_size = (tool_config and tool_config.max_size) or ctx.truncate.MAX_BYTES

    if #input.content > max_size then
      return {
        success = false,
        error = "Content exceeds " .. ctx.truncate.format_size(max_size) .. " limit",
      }
    end

    -- ... write logic ...

    return { success = true, output = "Saved " .. #input.content .. " bytes to " .. input.path }
  end,
})
"#;

/// Runs one call of a tool that is approved; gives what the provider sees of its result.
fn result(lua: &str, tool: &str, input: &Value, options: &str) -> Value {
    let options = format!("tools = {{ auto_approve = {{ '{tool}' }}, {options} }}");
    let setup = Setup { lua, options: &options, ..Setup::default() };
    let mut chat = Chat::start(&setup, [call("toolu_1", tool, input), prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    chat.messages(1)[2]["content"][0].clone()
}

#[test]
fn my_search_shows_its_own_preview() {
    for (limit, expected) in [(json!(3), "my_search: \"how\" (limit 3)"), (Value::Null, "my_search: \"how\"")] {
        let input = json!({"query": "how", "limit": limit});
        let mut chat =
            Chat::start(&Setup { lua: MY_SEARCH, ..Setup::default() }, [call("toolu_1", "my_search", &input)]);
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for("the preview", |nvim| !previews(nvim).is_empty());
        assert_eq!(previews(&mut chat.nvim)[0].1, expected);
    }
}

#[test]
fn export_answers_within_its_limit_and_refuses_beyond_it() {
    let saved = result(EXPORT, "export", &json!({"path": "out.txt", "content": "hello"}), "");
    assert_eq!(saved["content"], "Saved 5 bytes to out.txt");
    assert_ne!(saved["is_error"], true);

    let refused =
        result(EXPORT, "export", &json!({"path": "out.txt", "content": "hello"}), "export = { max_size = 4 }");
    assert_eq!(refused["content"], "Content exceeds 4 B limit");
    assert_eq!(refused["is_error"], true);

    let denied = result(EXPORT, "export", &json!({"path": "notes.chat", "content": "x"}), "");
    assert_eq!(denied["content"], "Sandbox: write denied for notes.chat");
}

#[test]
fn auto_approve_may_be_a_function() {
    let options = r#"
      auto_approve = function(tool_name, input, ctx)
        assert(ctx.tool_id == "toolu_1" and ctx.bufnr == vim.api.nvim_get_current_buf())
        if tool_name == "calculator" then return true end
        if tool_name == "bash" and input.command:match("rm %-rf") then return "deny" end
        if tool_name == "read" then error("on purpose") end
        if tool_name == "ls" then return "denied" end
        return false -- require approval
      end"#;
    let bash = |command: &str| ("bash", json!({"label": null, "command": command, "timeout": null}));
    let table = [
        (("calculator", json!({"expression": "6 * 7"})), "```\n42\n```"),
        (bash("rm -rf /"), "(error)\n\n```\nThe user's policy denies this call"),
        (bash("ls"), "```flemma:tool status=pending"),
        (("read", json!({"label": null, "path": "x", "offset": null, "limit": null})), "```flemma:tool status=pending"),
        // An unknown value never lets a tool run.
        (("ls", json!({"label": null, "path": null, "limit": null})), "```flemma:tool status=pending"),
    ];
    for ((tool, input), expected) in table {
        let options = format!("tools = {{ require_approval = false, calculator = {{ enabled = true }}, {options} }}");
        let setup = Setup { options: &options, ..Setup::default() };
        let mut chat = Chat::start(&setup, [call("toolu_1", tool, &input), prose(&["fine"])]);
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for(expected, |nvim| nvim.text().contains(expected));
    }
}

#[test]
fn what_no_model_can_read_is_an_error_and_null_is_null() {
    let lua = r#"
      local values = {
        output = { success = true, output = print }, error = { success = false, error = vim.uv.new_timer() }, null = vim.NIL,
        cdata = require("ffi").new("int64_t", 5), none = { success = true, output = vim.NIL }, number = { success = true, output = 5 },
      }
      require("flemma.tools").register("it", {
        description = "Does it.", input_schema = { type = "object" }, async = false,
        execute = function(input) return values[input.what] end,
      })"#;
    for (what, words, is_error) in [
        ("output", "it holds a function", true),
        ("error", "it holds a userdata", true),
        ("null", "null", false),
        ("cdata", "returned a cdata", true),
        ("none", "null", false),
        ("number", "5", false),
    ] {
        let found = result(lua, "it", &json!({ "what": what }), "");
        assert!(found["content"].as_str().unwrap().contains(words), "{what}: {found}");
        assert_eq!(found["is_error"] == true, is_error, "{what}: {found}");
    }
}
