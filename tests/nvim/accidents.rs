//! Accidents during a turn: a wiped buffer, a changed file, a deleted folder.

use std::fs;

use serde_json::json;

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, prose, reply, said},
    http::Reply,
};

/// Points in a turn at which foreign code may run between two steps of the plugin.
const MOMENTS: [&str; 8] = [
    "User FlemmaRequestSending",
    "User FlemmaRequestFinished",
    "User FlemmaToolExecuting",
    "User FlemmaToolFinished",
    "User FlemmaToolPending",
    "BufWritePost",
    "BufModifiedSet",
    // The library changes text in the drain; a foreign timer runs right after it.
    "on_lines",
];

/// What happens then, in Lua. `buf`, `file` and `folder` are the conversation's.
const ACCIDENTS: [(&str, &str); 7] = [
    (
        "the buffer is wiped",
        "if vim.api.nvim_buf_is_valid(buf) then vim.api.nvim_buf_delete(buf, { force = true }) end",
    ),
    ("the buffer is read anew", "vim.api.nvim_buf_call(buf, function() vim.cmd('silent edit!') end)"),
    (
        "the text is changed",
        "vim.bo[buf].modifiable = true pcall(vim.api.nvim_buf_set_lines, buf, 0, -1, false, { '@You:', 'x' })",
    ),
    ("the file is changed", "vim.fn.writefile({ '@You:', 'theirs' }, file)"),
    (
        "the file is changed, and a timer wipes the buffer",
        "vim.fn.writefile({ '@You:', 'theirs' }, file)
         vim.defer_fn(function() pcall(vim.api.nvim_buf_delete, buf, { force = true }) end, 1)",
    ),
    ("the folder is gone", "vim.fn.delete(folder, 'rf')"),
    ("the filetype is another", "vim.bo[buf].filetype = 'text'"),
];

/// A reply with a call.
fn first() -> Reply {
    let input = json!({"label": null, "command": "echo hi", "timeout": null}).to_string();
    reply(&Stream::new().text(&["I look.\n"]).tool_use("toolu_1", "bash", &[&input]).end("tool_use"))
}

#[test]
fn no_accident_at_any_moment_of_a_turn_hurts_the_editor() {
    let cases: Vec<_> = MOMENTS.iter().flat_map(|moment| ACCIDENTS.map(|accident| (*moment, accident))).collect();
    // One request a case at most, and every request has the same answer.
    let replies: Vec<Reply> = (0..=cases.len()).map(|_| first()).collect();
    let lua = "function _G.case(name, moment, accident, policy)
          folder = vim.fn.getcwd() .. '/' .. name
          vim.fn.mkdir(folder)
          file = folder .. '/a.chat'
          vim.fn.writefile({ '@You:', 'Hello' }, file)
          vim.cmd('silent edit! ' .. file)
          buf = vim.api.nvim_get_current_buf()
          happened = false
          local run = assert(loadstring(accident))
          local function happen()
            if not happened then
              happened = true
              run()
            end
          end
          local group = vim.api.nvim_create_augroup('accident', { clear = true })
          if moment == 'on_lines' then
            vim.api.nvim_buf_attach(buf, false, { on_lines = function() vim.schedule(happen) return true end })
          else
            local event, pattern = unpack(vim.split(moment, ' '))
            vim.api.nvim_create_autocmd(event, { group = group, pattern = pattern or '*.chat', callback = happen })
          end
        end";
    let options = "editing = { auto_write = true },
        tools = { autopilot = { max_turns = 1 }, auto_approve = function() return vim.g.policy end }";
    let mut chat = Chat::start(&Setup { options, lua, ..Setup::default() }, replies);
    for (index, (moment, (accident, code))) in cases.iter().enumerate() {
        let what = format!("{moment}: {accident}");
        let policy = if moment.ends_with("Pending") { "require_approval" } else { "approve" };
        chat.nvim.lua("vim.g.policy = ...", &[policy.into()]);
        chat.nvim.command("messages clear");
        chat.nvim.lua("case(...)", &[format!("case{index}").into(), (*moment).into(), (*code).into()]);
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for(&format!("{what}: to happen"), |nvim| nvim.lua("return happened", &[]) == true);
        chat.nvim.wait_for(&format!("{what}: rest"), |nvim| {
            if nvim.request("nvim_get_mode", &[])["blocking"] == true {
                nvim.fail(&format!("{what}: a question"));
            }
            nvim.lua(
                "return not vim.api.nvim_buf_is_valid(buf) or (vim.bo[buf].modifiable
                   and vim.fn.exists('#flemma.saving.flight.' .. buf) == 0)",
                &[],
            ) == true
        });
        let messages = said(&mut chat.nvim);
        for odd in
            ["Error executing", "traceback", "internal error", "E11", "E5", "E37", "E162", "writing to the buffer"]
        {
            assert!(!messages.contains(odd), "{what}: {messages}");
        }
        // An external change of the file is kept, unless the file was written before it.
        if accident.starts_with("the file is changed") && *moment == "User FlemmaRequestSending" {
            let file = chat.nvim.work().join(format!("case{index}/a.chat"));
            assert_eq!(fs::read_to_string(file).unwrap(), "@You:\ntheirs\n", "{what}");
        }
        chat.nvim.command("autocmd! accident");
        chat.nvim.lua("pcall(vim.api.nvim_buf_delete, buf, { force = true })", &[]);
    }
    // The plugin still works.
    chat.nvim.lua("vim.g.policy = 'approve'", &[]);
    chat.nvim.command("silent edit! last.chat | call setline(1, ['@You:', 'Hello'])");
    chat.send_until("```\nhi\n```");
}

#[test]
fn who_loads_the_plugin_again_gets_what_was_there() {
    let lua = r#"
      _G.register = function()
        require("flemma.tools").register("slow", {
          description = "Waits.", input_schema = { type = "object" }, approval = "auto", async = true,
          execute = function(_, _, callback) _G.answer = callback end,
        })
      end
      register()
      _G.again = function()
        for name in pairs(package.loaded) do
          if name:find("^flemma") then package.loaded[name] = nil end
        end
        vim.g.loaded_flemma = nil
        vim.cmd("runtime! plugin/flemma.lua")
      end"#;
    let slow = reply(&Stream::new().tool_use("toolu_1", "slow", &["{}"]).end("tool_use"));
    let mut chat = Chat::start(&Setup { lua, ..Setup::default() }, [slow, prose(&["fine"]), prose(&["on"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the call", |nvim| nvim.lua("return answer ~= nil", &[]) == true);
    chat.nvim.lua("again() register() answer('done')", &[]);
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert!(chat.nvim.text().contains("done"), "{}", chat.nvim.text());
    chat.wait_until_idle();
    chat.nvim.lua("again()", &[]);
    chat.nvim.input("Gomore<Esc><C-]>");
    chat.nvim.wait_for("the next reply", |nvim| nvim.text().contains("@Assistant:\non"));
    let told = said(&mut chat.nvim);
    assert_eq!(told.matches("To load it anew, restart Neovim").count(), 1, "{told}");
    assert!(!told.contains("another buffer"), "{told}");
}

#[test]
fn a_file_that_is_deleted_is_told_once() {
    let calls = |n: usize| {
        let input = json!({ "label": null, "command": format!("echo {n}"), "timeout": null }).to_string();
        reply(&Stream::new().tool_use(&format!("toolu_{n}"), "bash", &[&input]).end("tool_use"))
    };
    let options = "tools = { require_approval = false }";
    let setup = Setup { options, files: &[("other.txt", "x\n")], ..Setup::default() };
    let mut chat = Chat::start(&setup, [calls(1), calls(2), calls(3), prose(&["fine"])]);
    chat.nvim.command("badd other.txt | call bufload('other.txt')");
    fs::remove_file(chat.nvim.work().join("other.txt")).unwrap();
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    chat.wait_until_idle();
    let told = said(&mut chat.nvim);
    assert_eq!(told.matches("other.txt is open here, but the file was deleted").count(), 1, "{told}");
}
