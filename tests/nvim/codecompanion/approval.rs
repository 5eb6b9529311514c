//! Approval, rejection, and what is told to those who listen.

use serde_json::json;

use super::{answered, eras, results, seen, text, with_calls};
use crate::chat::{previews, said};

/// Notes every event of that plugin's by name, tool and status.
const LISTEN: &str = "
vim.api.nvim_create_autocmd('User', { pattern = 'CodeCompanion*', callback = function(args)
  local data = args.data
  seen[#seen + 1] = table.concat({ args.match:sub(14), data.tool or '-', type(data.bufnr), tostring(data.status) }, ' ')
end })
";

#[test]
fn a_tool_decides_on_its_approval_and_hears_of_rejection() {
    let calls = [
        text("b_guarded", "harmless"),
        text("b_guarded", "delete"),
        text("c_asks", "harmless"),
        text("c_asks", "door"),
    ];
    let lua = eras::lua() + LISTEN;
    let mut chat = with_calls(&calls, "", &lua, &[]);
    chat.send_until("code 7 for harmless");
    let buffer = chat.nvim.lua("return vim.api.nvim_get_current_buf()", &[]);
    let shown: Vec<String> = previews(&mut chat.nvim).into_iter().map(|(_, text)| text).collect();
    assert_eq!(shown, [format!("b_guarded: Really delete in {buffer}?"), format!("c_asks: Open door in {buffer}?")]);
    for (call, words) in [("toolu_2", "Flemma tool:reject"), ("toolu_4", "Flemma tool:reject it is cold")] {
        chat.go_to(&format!("**Tool Result:** `{call}`"));
        chat.nvim.command(words);
    }
    chat.nvim.input("<C-]>");
    let found = answered(&mut chat);
    assert_eq!(
        found,
        [
            ("did harmless".to_owned(), false),
            ("The user keeps delete: no reason".to_owned(), true),
            ("code 7 for harmless".to_owned(), true),
            ("Kept closed: it is cold".to_owned(), true),
        ]
    );
    assert_eq!(
        seen(&mut chat),
        [
            "ToolAdded b_guarded number nil",
            "ToolAdded c_asks number nil",
            "ToolApprovalRequested b_guarded number nil",
            "ToolApprovalRequested c_asks number nil",
            "AgentStarted - number nil",
            "ToolsStarted - number nil",
            "ToolStarted b_guarded number nil",
            "ToolFinished b_guarded number success",
            "ToolStarted c_asks number nil",
            "ToolFinished c_asks number error",
            "AgentFinished - number nil",
            "ToolsFinished - number nil",
        ]
    );
}

#[test]
fn what_a_tool_declares_goes_through_the_chain_of_resolvers() {
    let lua = r"
      local schema = { type = 'function', ['function'] = { name = 'x', description = 'x', parameters = {} } }
      local cmds = { function() return { status = 'success', data = 'x' } end }
      local register = require('flemma.compat.codecompanion').register
      for name, opts in pairs({
        q_true = { requires_approval = true }, q_false = { require_approval = false }, q_none = {},
        q_first = { require_approval_before = false, requires_approval = true },
        q_word = { require_approval_before = 'always' },
        q_throws = { require_approval_before = function() error('in approval') end },
        q_nil = { require_approval_before = function() end },
      }) do
        register(name, { callback = { cmds = cmds, schema = schema, handlers = { setup = function() _G.ran = true end } }, opts = opts })
      end
      _G.decide = function(name) return { require('flemma.tools.approval').resolve(name, {}) } end";
    let mut chat = with_calls(&[("q_none", json!({}))], "", lua, &[]);
    let declared = "urn:flemma:approval:declared";
    for (name, expected) in [
        ("q_true", json!(["require_approval", declared])),
        ("q_false", json!(["approve", declared])),
        ("q_none", json!(["require_approval"])),
        ("q_first", json!(["approve", declared])),
        ("q_word", json!(["require_approval", declared])),
        ("q_throws", json!(["require_approval", declared])),
        ("q_nil", json!(["require_approval"])),
    ] {
        assert_eq!(chat.nvim.lua("return decide(...)", &[name.into()]), expected, "{name}");
    }
    // A question about a call that nobody has made runs nothing.
    assert_eq!(chat.nvim.lua("return ran", &[]), json!(null));
}

#[test]
fn a_preview_in_a_file_that_was_just_opened_runs_no_setup() {
    let file = "@You:\nHello\n\n@Assistant:\n**Tool Use:** `b_guarded` (`toolu_1`)\n\n```json\n{\"text\":\"it\"}\n```\n\n\
                @You:\n**Tool Result:** `toolu_1`\n\n```flemma:tool status=pending\n```\n";
    let lua = eras::lua()
        + "tools.b_guarded.callback.handlers.setup = function() seen[#seen + 1] = 'setup' end
           require('flemma.compat.codecompanion').setup(tools)";
    let mut chat = with_calls(&[], "", &lua, &[("old.chat", file)]);
    chat.nvim.command("edit old.chat");
    chat.nvim.wait_for_screen("Really it in");
    assert!(seen(&mut chat).is_empty());
}

/// A tool `slow` that is approved, is set up, never ends, and tells what it hears.
fn slow() -> String {
    format!(
        "{}
        require('flemma.compat.codecompanion').register('slow', {{
          callback = {{
            schema = tools.b_count.callback.schema,
            cmds = {{ function(tools, args) seen[#seen + 1] = 'run ' .. args.text end }},
            handlers = {{
              setup = function(self) seen[#seen + 1] = 'setup ' .. self.args.text end,
              on_exit = function(self) seen[#seen + 1] = 'exit ' .. self.args.text end,
            }},
            output = {{
              cancelled = function(self, tools) seen[#seen + 1] = 'cancelled ' .. self.args.text .. ' ' .. tools.status end,
            }},
          }},
          opts = {{ require_approval_before = function() return false end }},
        }})",
        eras::lua()
    )
}

#[test]
fn a_call_that_was_set_up_hears_that_it_was_cancelled() {
    let calls = [text("slow", "one"), text("slow", "two"), text("slow", "three")];
    let mut chat = with_calls(&calls, "tools = { max_concurrent = 5 }", &slow(), &[]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the calls", |nvim| nvim.text().matches("status=running").count() == 3);
    chat.nvim.wait_for("the first", |nvim| nvim.lua("return vim.tbl_contains(seen, 'run one')", &[]) == true);
    // The last one first: it does not run yet.
    chat.go_to("**Tool Result:** `toolu_3`");
    chat.nvim.command("Flemma tool:cancel");
    chat.go_to("**Tool Result:** `toolu_1`");
    chat.nvim.command("Flemma tool:cancel");
    answered(&mut chat);
    let seen = seen(&mut chat);
    assert_eq!(
        seen[3..],
        [
            "run one",
            "cancelled three cancelled",
            "exit three",
            "cancelled one cancelled",
            "exit one",
            "cancelled two cancelled",
            "exit two"
        ]
    );
}

#[test]
fn a_call_that_is_cancelled_before_its_start_hears_of_it() {
    // Its start is on the way to the disk.
    let lua = slow()
        + "\nvim.api.nvim_create_autocmd('User', { pattern = 'FlemmaToolExecuting', callback = function()
             vim.schedule(function() vim.cmd('Flemma tool:cancel-all') end)
           end })";
    let mut chat = with_calls(&[text("slow", "one")], "", &lua, &[]);
    chat.nvim.input("<C-]>");
    answered(&mut chat);
    let mut seen = seen(&mut chat);
    // On a slow machine it may have started.
    seen.retain(|what| what != "run one");
    assert_eq!(seen, ["setup one", "cancelled one cancelled", "exit one"]);
}

#[test]
fn cancelling_ends_the_call_and_starts_none_behind_it() {
    let lua = format!(
        "{}
        require('flemma.compat.codecompanion').register('slow', {{ callback = {{
          schema = tools.b_count.callback.schema,
          cmds = {{ function(tools, args, _, output_handler)
            seen[#seen + 1] = 'run ' .. args.text
            _G.answer, _G.chat = output_handler, tools.chat
          end }},
          handlers = {{ on_exit = function(self) seen[#seen + 1] = 'exit ' .. self.args.text end }},
          output = {{
            cancelled = function(self, tools) seen[#seen + 1] = 'cancelled ' .. self.args.text .. ' ' .. tools.status end,
            success = function(self) seen[#seen + 1] = 'success ' .. self.args.text end,
          }},
        }} }})",
        eras::lua()
    );
    let calls = [text("slow", "one"), text("slow", "two"), text("slow", "three")];
    let mut chat = with_calls(&calls, "tools = { require_approval = false, max_concurrent = 5 }", &lua, &[]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the first", |nvim| nvim.lua("return _G.answer ~= nil", &[]) == true);
    chat.nvim.lua("_G.answer({ status = 'success', data = 'done' }); _G.answer = nil", &[]);
    chat.nvim.wait_for("the second", |nvim| nvim.lua("return _G.answer ~= nil", &[]) == true);
    chat.go_to("**Tool Result:** `toolu_2`");
    chat.nvim.command("Flemma tool:cancel");
    let found = answered(&mut chat);
    assert_eq!(found[0], ("done".to_owned(), false));
    assert!(found[1].1 && found[2].1, "{found:?}");
    assert!(found[2].0.contains("did not run, because the user cancelled a call before it (`slow`)"), "{found:?}");
    // Nothing comes of what it still answers.
    chat.nvim.lua("_G.answer({ status = 'success', data = 'late' })", &[]);
    assert_eq!(
        seen(&mut chat),
        [
            "run one",
            "success one",
            "exit one",
            "run two",
            "cancelled two cancelled",
            "exit two",
            "cancelled three cancelled",
            "exit three"
        ]
    );
    // What a tool says to the chat when its call is over is not lost.
    chat.nvim.lua("_G.chat:add_buf_message({ content = 'I was' }); _G.chat:add_message({ content = 'too late' })", &[]);
    chat.nvim.wait_for("the register", |nvim| nvim.lua("return vim.fn.getreg('-')", &[]) == "I was\n\ntoo late");
    let told = said(&mut chat.nvim);
    assert_eq!(told.matches("slow (toolu_2): what the tool said came too late").count(), 1, "{told}");
}

#[test]
fn calls_of_one_conversation_run_one_after_another() {
    let lua = "_G.seen = {}
        require('flemma.compat.codecompanion').register('slow', { callback = {
          schema = { type = 'function', ['function'] = { name = 'slow', description = 'x', parameters = {} } },
          cmds = { function(tools, args, _, output_handler)
            seen[#seen + 1] = 'begin ' .. args.text
            vim.defer_fn(function()
              seen[#seen + 1] = 'end ' .. args.text
              output_handler({ status = 'success', data = args.text })
            end, args.text == 'one' and 20 or 1)
          end },
        } })";
    let calls = [text("slow", "one"), text("slow", "two")];
    let mut chat = with_calls(&calls, "tools = { require_approval = false, max_concurrent = 5 }", lua, &[]);
    assert_eq!(results(&mut chat), [("one".to_owned(), false), ("two".to_owned(), false)]);
    assert_eq!(seen(&mut chat), ["begin one", "end one", "begin two", "end two"]);
}

#[test]
fn a_listener_that_fails_does_not_break_the_call() {
    let lua = eras::lua()
        + "\nvim.api.nvim_create_autocmd('User', { pattern = 'CodeCompanion*', callback = function() error('x') end })";
    let mut chat = with_calls(&[text("b_paths", "good")], "tools = { require_approval = false }", &lua, &[]);
    chat.nvim.input("<C-]>");
    let server = &chat.server;
    chat.nvim.wait_for("the next request", |nvim| {
        // Neovim shows the error, and waits for a key.
        if nvim.mode().starts_with('r') {
            nvim.input("<CR>");
        }
        server.requests().len() == 2
    });
    assert_eq!(chat.messages(1)[2]["content"][0]["content"], "there is good");
}
