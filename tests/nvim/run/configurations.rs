//! Configurations and tools that are not made for a Neovim without a user.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::json;

use super::desktop::Desktop;
use crate::chat::{call, prose};

/// A tool of the user's that runs without asking.
fn tool(body: &str) -> String {
    format!(
        "require('flemma.tools').register('it', {{
            description = 'Does it.', input_schema = {{ type = 'object' }}, approval = 'auto',
            execute = function() {body} end,
        }})"
    )
}

#[test]
fn a_script_does_not_answer_where_no_provider_is_set() {
    let user = Desktop::new("", "", [prose(&["fine"])]);
    let root = env!("CARGO_MANIFEST_DIR");
    let none = "no provider is set";
    for (lua, words, error) in [
        ("require('flemma').setup({})", "", none),
        ("error('broken by design')", "broken by design", none),
        ("require('flemma').setup({ provder = 'anthropic' })", "did you mean `provider`", "did you mean `provider`"),
        ("vim.api.nvim_create_autocmd('UIEnter', { callback = function() error('never') end })", "", none),
    ] {
        user.put("config/nvim/init.lua", &format!("vim.opt.runtimepath:prepend([==[{root}]==])\n{lua}"));
        let said = user.flemma(&["run", "notes.chat", "--json"]);
        assert_eq!((said.code, said.json()["requests"].as_u64()), (1, Some(0)), "{lua}: {said:?}");
        assert!(said.err.contains(words), "{lua}: {said:?}");
        assert!(said.json()["error"].as_str().unwrap().contains(error), "{lua}: {said:?}");
        assert_eq!(user.text("notes.chat"), "@You:\nHello\n");
    }
    // It is there for those who choose it.
    let said = user.flemma(&["run", "notes.chat", "--provider", "rehearsal"]);
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn an_error_after_setup_is_told() {
    let user = Desktop::new("", "vim.cmd('silent! nonsense') error('broken by design')", [prose(&["fine"])]);
    let said = user.flemma(&["run", "notes.chat"]);
    assert!(said.code == 0 && said.err.contains("broken by design"), "{said:?}");
    let user = Desktop::new("", "vim.cmd('silent! nonsense')", [prose(&["fine"])]);
    let said = user.flemma(&["run", "notes.chat"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
}

#[test]
fn prompts_that_nobody_answers_do_not_stop_it() {
    // More than fits on the screen, and a question.
    let lua = "for line = 1, 60 do print(line) end\n";
    let body = "return 'name: ' .. vim.fn.input('Your name? ')";
    let user = Desktop::new("", &(lua.to_owned() + &tool(body)), [call("toolu_1", "it", &json!({})), prose(&["fine"])]);
    let said = user.flemma(&["run", "notes.chat"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("asked for a key or for text") && said.err.lines().count() == 1, "{said:?}");
    let text = user.text("notes.chat");
    assert!(text.contains("@Assistant:\nfine\n") && text.contains("**Tool Result:** `toolu_1`"), "{text}");
}

#[test]
fn a_question_of_a_tool_is_cancelled_with_a_warning() {
    let ask = |function: &str| format!("local answer = {function} return 'got ' .. vim.inspect(answer)");
    let cases = [
        ("vim.fn.confirm('Delete it?', '&Yes\\n&No')", "got 0"),
        ("vim.api.nvim_call_function('confirm', { 'Delete it?' })", "got 0"),
        ("vim.fn.inputlist({ 'Which?', '1. a' })", "got 0"),
        (
            "(function() local got = 'none' vim.ui.select({ 1 }, {}, function(item) got = item end) return got end)()",
            "got nil",
        ),
        ("(function() local got = 'none' vim.ui.input({}, function(text) got = text end) return got end)()", "got nil"),
        ("vim.fn.input('Name? ')", "Keyboard interrupt"),
        ("vim.fn.inputsecret('Key? ')", "Keyboard interrupt"),
        ("vim.fn.getchar()", "Keyboard interrupt"),
        ("vim.fn.getcharstr()", "Keyboard interrupt"),
        ("vim.fn.getchar(0)", "got 0"),
    ];
    for (function, result) in cases {
        let user = Desktop::new("", &tool(&ask(function)), [call("toolu_1", "it", &json!({})), prose(&["fine"])]);
        let said = user.flemma(&["run", "notes.chat"]);
        let is_told = said.err.contains("asked for a key or for text");
        assert!(said.code == 0 && is_told != function.ends_with("(0)"), "{function}: {said:?}");
        assert!(user.text("notes.chat").contains(result), "{function}: {}", user.text("notes.chat"));
    }
}

#[test]
fn a_conversation_that_is_unloaded_is_a_failure() {
    for body in ["vim.cmd('%bwipeout!')", "vim.cmd('bdelete!')", "vim.cmd('edit!')"] {
        let user = Desktop::new("", &tool(body), [call("toolu_1", "it", &json!({}))]);
        let said = user.flemma(&["run", "notes.chat"]);
        assert!(said.code == 1 && said.err.contains("unloaded"), "{body}: {said:?}");
        user.wait_for_neovims_to_exit();
        let said = user.flemma(&["run", "notes.chat"]);
        assert!(said.code == 3 && said.out.contains("toolu_1 it approval"), "{body}: {said:?}");
    }
}

#[test]
fn the_time_limit_ends_a_neovim_that_hangs() {
    let user = Desktop::new("", "while true do vim.uv.sleep(50) end", []);
    let said = user.flemma(&["run", "notes.chat", "--timeout", "1"]);
    assert!(said.code == 1 && said.err.contains("after 1 second (--timeout)"), "{said:?}");
    user.wait_for_neovims_to_exit();
    // A script that starts something else than Neovim.
    let script = user.home().join("nvim");
    fs::write(&script, "#!/bin/sh\nenv HOME=\"$HOME\" sh -c 'sleep 600; true' --embed\ntrue\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    user.put("config/flemma/config.toml", &format!("nvim = '{}'", script.display()));
    let said = user.flemma(&["run", "notes.chat", "--timeout", "1"]);
    assert_eq!(said.code, 1, "{said:?}");
    user.wait_for_neovims_to_exit();
}

#[test]
fn a_plugin_manager_may_load_it_with_the_file() {
    let user = Desktop::new("", "", [prose(&["fine"]), prose(&["fine"])]);
    let path = user.home().join("config/nvim/init.lua");
    let init = fs::read_to_string(&path).unwrap();
    let detect = "vim.filetype.add({ extension = { chat = 'chat' } })";
    user.put(
        "config/nvim/init.lua",
        &format!(
            "{detect}\nvim.api.nvim_create_autocmd('FileType', {{ pattern = 'chat', once = true, callback = function()
            {init}
            vim.cmd('runtime! plugin/flemma.lua ftplugin/chat.*') end }})"
        ),
    );
    let said = user.flemma(&["run", "notes.chat"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    user.put("config/nvim/init.lua", &format!("{init}\nvim.o.eventignore = 'all'"));
    user.put("work/notes.chat", "@You:\nHello again\n");
    let said = user.flemma(&["run", "notes.chat"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
}

#[test]
fn an_error_in_the_configuration_is_said() {
    let error = "vim.api.nvim_create_autocmd('VimEnter', { callback = function() pcall(vim.cmd, 'nosuch') end })
        vim.cmd('silent! unknown')
        error('broken by design')";
    let user = Desktop::new("", error, [prose(&["fine"])]);
    let said = user.flemma(&["run", "notes.chat"]);
    assert!(said.code == 0 && said.err.contains("init.lua:") && said.err.contains("broken by design"), "{said:?}");
    // Neovim has no Flemma then.
    let path = user.home().join("config/nvim/init.lua");
    let init = fs::read_to_string(&path).unwrap();
    user.put("config/nvim/init.lua", &format!("error('broken before')\n{init}"));
    user.put("work/notes.chat", "@You:\nHello again\n");
    let said = user.flemma(&["run", "notes.chat"]);
    assert!(said.code == 1 && said.err.contains("broken before"), "{said:?}");
    assert!(said.err.contains("Neovim does not have Flemma"), "{said:?}");
}

#[test]
fn messages_name_no_keys_where_there_is_no_editor() {
    let body = "vim.fn.writefile({ '@You:', 'Mine' }, 'notes.chat') return 'done'";
    let user = Desktop::new("", &tool(body), [call("toolu_1", "it", &json!({})), prose(&["fine"])]);
    let said = user.flemma(&["run", "notes.chat"]);
    assert!(said.code == 1 && said.err.contains("something else has changed the file"), "{said:?}");
    assert!(!said.err.contains(":edit") && !said.err.contains(":write"), "{said:?}");
    assert_eq!(said.err.matches("was not written").count(), 1, "{said:?}");
    assert_eq!(user.text("notes.chat"), "@You:\nMine\n");

    let user = Desktop::new("", &tool("return 'a'"), [call("toolu_1", "it", &json!({}))]);
    let said = user.flemma(&["run", "notes.chat", "--max-turns", "1"]);
    assert_eq!(
        (said.code, said.err.as_str()),
        (1, "flemma: notes.chat: it was stopped after 1 request (--max-turns); run it again to go on\n")
    );
}
