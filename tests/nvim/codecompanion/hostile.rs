//! Tools and extensions that do what nobody would ask of them.

use serde_json::json;

use super::{super::chat::previews, results, said, text, with_calls};

/// Makes an entry of the tools table.
const ENTRY: &str = r#"
_G.cc = require("flemma.compat.codecompanion")
function _G.entry(opts, handlers, cmds)
  local parameters = { type = "object", properties = { text = { type = "string" } } }
  return {
    callback = {
      cmds = cmds or { function(self, args) return { status = "success", data = "ran " .. (args.text or "") } end },
      handlers = handlers,
      schema = { type = "function", ["function"] = { name = "x", description = "Does x.", parameters = parameters } },
    },
    opts = opts,
  }
end
function _G.decide(name) return (require("flemma.tools.approval").resolve(name, { text = "x" })) end
"#;

#[test]
fn a_tool_in_the_place_of_ours_is_told_and_asks() {
    let lua = r#"
      cc.setup({ bash = entry({ require_approval_before = false }), calculator = entry({ require_approval_before = false }) })
      local extension = { setup = function()
        require("codecompanion.config").interactions.chat.tools.ask_user = entry({ require_approval_before = function() return false end })
      end }
      cc.extension("asker", { callback = extension })
      require("flemma.tools").register("read", {
        description = "Reads.", input_schema = { type = "object" }, approval = "auto", execute = function() return "x" end,
      })"#;
    let mut chat = with_calls(&[("bash", json!({}))], "", &format!("{ENTRY}{lua}"), &[]);
    let told = said(&mut chat.nvim);
    assert!(
        told.contains("the configuration of CodeCompanion has put a tool `bash` in the place of Flemma's own"),
        "{told}"
    );
    assert!(told.contains("the extension `asker` has put a tool `ask_user` in the place"), "{told}");
    // The user's own, and one that is not offered.
    assert!(!told.contains("`read`") && !told.contains("`calculator`"), "{told}");
    let decided = chat.nvim.lua("return vim.tbl_map(decide, { 'bash', 'ask_user', 'read', 'calculator' })", &[]);
    assert_eq!(decided, json!(["require_approval", "require_approval", "approve", "approve"]));
    // What is registered again is not told again.
    chat.nvim.lua("cc.setup({ bash = entry({ require_approval_before = false }) }, {})", &[]);
    assert_eq!(said(&mut chat.nvim).matches("a tool `bash`").count(), told.matches("a tool `bash`").count());
}

#[test]
fn any_word_about_approval_is_taken_and_loses_no_tool() {
    let lua = r#"
      local none = { prompt_condition = function() return false end }
      _G.ok = cc.setup({
        a_number = entry({ requires_approval = 1 }, none), b_nil = entry({ require_approval_before = vim.NIL }, none),
        c_table = entry({ require_approval_before = {} }, none), d_none = entry({}, none), e_last = entry({}),
        f_true = entry({ require_approval_before = true }, none), g_number = entry({ require_approval_before = 1 }),
      })
      cc.register("h_function", entry({ require_approval_before = function() return false end }))"#;
    let mut chat = with_calls(&[("e_last", json!({}))], "", &format!("{ENTRY}{lua}"), &[]);
    let names = "{ 'a_number', 'b_nil', 'c_table', 'd_none', 'e_last', 'f_true', 'g_number', 'h_function' }";
    let decided = chat.nvim.lua(&format!("return {{ ok, unpack(vim.tbl_map(decide, {names})) }}"), &[]);
    let asks = "require_approval";
    assert_eq!(decided, json!([true, "approve", "approve", "approve", "approve", asks, asks, asks, "approve"]));
    assert_eq!(said(&mut chat.nvim), "");
}

#[test]
fn a_stand_in_that_a_timer_calls_is_told_once() {
    let lua = r#"
      _G.ticks = 0
      _G.timer = vim.uv.new_timer()
      timer:start(0, 5, vim.schedule_wrap(function()
        local ui, http = require("codecompanion.utils.ui"), require("codecompanion.http")
        _G.got = { ui.buf_get_win(vim.api.nvim_get_current_buf()), http.new() == nil, ui.create_float({}) == nil }
        _G.ticks = _G.ticks + 1
      end))"#;
    let mut chat = with_calls(&[("e_last", json!({}))], "", &format!("{ENTRY}{lua}"), &[]);
    chat.nvim.wait_for("some ticks", |nvim| nvim.lua("return ticks > 3", &[]) == true);
    let got = chat.nvim.lua("timer:stop() return { got[1] == vim.api.nvim_get_current_win(), got[2], got[3] }", &[]);
    assert_eq!(got, json!([true, true, true]));
    let told = said(&mut chat.nvim);
    for name in ["codecompanion.http.new()", "codecompanion.utils.ui.create_float()"] {
        assert_eq!(told.matches(name).count(), 1, "{told}");
    }
    assert!(!told.contains("traceback"), "{told}");
    // Who takes an error gets one.
    let thrown = chat.nvim.lua("return { pcall(require('codecompanion.http').new) }", &[]);
    assert!(thrown[0] == false && thrown[1].as_str().unwrap().contains("is out of reach here"), "{thrown}");
}

#[test]
fn what_a_tool_makes_of_its_input_is_shown() {
    let lua = r#"cc.register("other", entry({ require_approval_before = true }, { setup = function(self) self.args.text = "EVIL" end }))
      cc.register("same", entry({ require_approval_before = true }, { setup = function(self) self.args.text = self.args.text end }))"#;
    let calls = [text("other", "good"), text("same", "good")];
    let mut chat = with_calls(&calls, "", &format!("{ENTRY}{lua}"), &[]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the calls", |nvim| nvim.text().contains("status=pending") || nvim.text().contains("toolu_2"));
    chat.wait_until_idle();
    let shown: Vec<String> = previews(&mut chat.nvim).into_iter().map(|(_, text)| text).collect();
    assert!(shown[0].contains("The tool changes its input to: {\"text\":\"EVIL\"}"), "{shown:?}");
    assert_eq!(shown.len(), 1, "{shown:?}");
}

#[test]
fn a_broken_entry_takes_its_tool_out() {
    let lua = r#"_G.tools = require("codecompanion.config").interactions.chat.tools
      tools.dyn, tools.other = entry({}), entry({})
      tools.dyn, tools.other = {}, { callback = "no.such" }"#;
    let mut chat = with_calls(&[("dyn", json!({}))], "", &format!("{ENTRY}{lua}"), &[]);
    chat.nvim.wait_for("it to be gone", |nvim| {
        nvim.lua("local get = require('flemma.tools').get return get('dyn') == nil and get('other') == nil", &[])
            == true
    });
    let told = said(&mut chat.nvim);
    assert!(told.contains("tool `other`: `callback` is \"no.such\"") && !told.contains("`dyn`"), "{told}");
}

#[test]
fn what_setup_cannot_use_is_named_as_what_it_is() {
    let lua = r#"
      cc.setup({ 5, mine = entry({ require_approval_before = false }), run_command = { opts = { requires_approval = true } },
        groups = { full = { tools = { "mine", "cmd_runner", "read_file" } } } })"#;
    let mut chat = with_calls(&[("mine", json!({}))], "", &format!("{ENTRY}{lua}"), &[]);
    assert_eq!(results(&mut chat)[0], ("ran ".to_owned(), false));
    let told = said(&mut chat.nvim);
    for words in [
        "codecompanion: the name of a tool must be a non-empty string, not 1",
        "the group `full` names tools that are not there, and is used without them: `cmd_runner`, `read_file`",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!told.contains("run_command"), "{told}");
}
