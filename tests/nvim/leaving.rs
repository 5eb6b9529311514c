//! Events that stop a reply or a tool from outside, and what the file contains afterwards.

use serde_json::json;

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, call, previews, prose, reply, said},
    http::{Gate, Reply},
};

/// A reply of which only the beginning comes.
fn half() -> Reply {
    let stream = Stream::new().text(&["half a reply"]).end("end_turn");
    let events = stream.events();
    events[..3].iter().fold(Reply::stream(), |reply, event| reply.chunk(event.as_str())).hang()
}

fn replying() -> Chat {
    let mut chat = Chat::start(&Setup::default(), [half(), prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the beginning", |nvim| nvim.text().contains("half a reply"));
    chat
}

const CUT_OFF: &str = "@You:\nHello\n\n@Assistant:\nhalf a reply\n\n<!-- flemma:aborted -->\n\n@You:\n\n";

#[test]
fn a_quit_that_neovim_refuses_stops_nothing() {
    let mut chat = replying();
    chat.nvim.command("split other.txt | call setline(1, 'mine') | wincmd p");
    chat.nvim.command("silent! qall");
    assert_eq!(chat.nvim.lua("return vim.v.errmsg:match('^E%d+')", &[]), "E162");
    chat.nvim.command("buffer notes.chat");
    assert_eq!(chat.nvim.lua("return vim.bo.modifiable", &[]), false, "the reply goes on arriving");
    assert!(!chat.nvim.text().contains("aborted"), "{}", chat.nvim.text());
}

#[test]
fn leaving_ends_the_reply_and_keeps_what_has_arrived() {
    for leave in [":qa<CR>", ":q<CR>", "ZZ", ":wqa<CR>", ":cquit<CR>"] {
        let mut chat = replying();
        chat.nvim.command("Flemma queue mine");
        let file = chat.nvim.work().join("notes.chat");
        chat.nvim.input(leave);
        chat.nvim.wait_for_exit();
        // What was queued is the user's to send.
        assert_eq!(std::fs::read_to_string(file).unwrap(), CUT_OFF.trim_end().to_owned() + "\nmine\n", "{leave}");
    }
}

#[test]
fn without_auto_write_neovim_asks_about_the_file() {
    let setup = Setup { options: "editing = { auto_write = false }", ..Setup::default() };
    let mut chat = Chat::start(&setup, [half()]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the beginning", |nvim| nvim.text().contains("half a reply"));
    chat.nvim.input(":qa<CR>");
    chat.nvim.wait_for_screen("E37");
    assert_eq!(chat.nvim.file("notes.chat"), "@You:\nHello\n");
}

#[test]
fn a_draft_outlives_leaving_without_a_write() {
    let mut chat = replying();
    chat.nvim.input("i");
    chat.nvim.wait_for("the window", |nvim| nvim.lua("return vim.bo.filetype", &[]) == "flemma_queue");
    chat.nvim.input("half a thought<Esc>:qa<CR>");
    chat.nvim.wait_for_screen("E37");
    let file = chat.nvim.work().join("notes.chat");
    chat.nvim.input(":qa!<CR>");
    chat.nvim.wait_for_exit();
    let mut again = Chat::another(&chat, &file, ("", ""), []);
    again.nvim.wait_for("the draft", |nvim| said(nvim).contains("a message that you were writing here was kept"));
    again.nvim.command("Flemma queue");
    again.nvim.wait_for("its text", |nvim| nvim.text() == "half a thought\n");
}

#[test]
fn a_file_saved_during_a_reply_is_marked_as_cut_off() {
    for leave in ["qall!", "quit!", "cquit", "bdelete!", "bwipeout!", "edit!", "noautocmd bdelete!"] {
        let gate = Gate::new();
        let stream = Stream::new().text(&["half ", "a reply"]).end("end_turn");
        let events = stream.events();
        let reply = events[..3].iter().fold(Reply::stream(), |reply, event| reply.chunk(event.as_str())).hold(&gate);
        let reply = reply.chunk(events[3].as_str()).hang();
        let mut chat = Chat::start(&Setup::default(), [reply]);
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for("the beginning", |nvim| nvim.text().contains("half"));
        chat.nvim.command("silent write");
        gate.open();
        chat.nvim.wait_for("more of it", |nvim| nvim.text().contains("half a reply"));
        let file = chat.nvim.work().join("notes.chat");
        if leave.starts_with("noautocmd") {
            chat.nvim.command(leave);
            let locked = "return require('flemma.buffer.target').is_attached(1)";
            chat.nvim.wait_for("the buffer to be let go", |nvim| nvim.lua(locked, &[]) == false);
            continue;
        }
        let _ = chat.nvim.try_lua(&format!("vim.cmd('{leave}')"), &[]);
        if leave.contains('b') || leave.starts_with("edit") {
            let messages = said(&mut chat.nvim);
            assert!(messages.contains("both were stopped") && !messages.contains("Error"), "{leave}: {messages}");
            if leave == "edit!" {
                chat.wait_for_text(CUT_OFF);
                chat.nvim.command("set noautoread | checktime");
                assert_eq!(chat.nvim.lua("return { vim.bo.modified, vim.bo.modifiable }", &[]), json!([false, true]));
            }
        } else {
            chat.nvim.wait_for_exit();
        }
        assert_eq!(std::fs::read_to_string(file).unwrap(), CUT_OFF, "{leave}");
    }
    // Without `auto_write`, a file that was not written during the reply stays as it was.
    let setup = Setup { options: "editing = { auto_write = false }", ..Setup::default() };
    let mut chat = Chat::start(&setup, [half()]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the beginning", |nvim| nvim.text().contains("half a reply"));
    let file = chat.nvim.work().join("notes.chat");
    let _ = chat.nvim.try_lua("vim.cmd('qall!')", &[]);
    chat.nvim.wait_for_exit();
    assert_eq!(std::fs::read_to_string(file).unwrap(), "@You:\nHello\n");
}

#[test]
fn all_calls_that_run_end_in_a_file_whose_buffer_goes() {
    for leave in ["bwipeout!", "edit!", "qall!"] {
        let lua = "for _, name in ipairs({ 'one', 'two', 'three' }) do
            require('flemma.tools').register(name, {
              description = 'x', input_schema = { type = 'object' }, approval = 'auto', async = true,
              execute = function() return function() end end,
            })
          end";
        let stream =
            ["one", "two", "three"].iter().fold(Stream::new(), |stream, name| stream.tool_use(name, name, &["{}"]));
        let setup = Setup { lua, ..Setup::default() };
        let mut chat = Chat::start(&setup, [reply(&stream.end("tool_use"))]);
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for("the calls", |nvim| nvim.text().matches("status=running").count() == 3);
        let head = chat.nvim.text();
        let head = &head[..head.rfind("@You:\n").unwrap()];
        chat.nvim.command("silent write");
        let file = chat.nvim.work().join("notes.chat");
        let _ = chat.nvim.try_lua(&format!("vim.cmd('{leave}')"), &[]);
        if leave == "qall!" {
            chat.nvim.wait_for_exit();
        }
        let cancelled = "```\nThe user cancelled this call while it was running. What it had done by then, such as a file that it had written, stays done.\n```";
        let results = ["one", "two", "three"].map(|name| format!("**Tool Result:** `{name}` (error)\n\n{cancelled}\n"));
        assert_eq!(std::fs::read_to_string(file).unwrap(), format!("{head}@You:\n{}", results.join("\n")), "{leave}");
    }
}

#[test]
fn a_reply_that_another_plugin_cuts_off_says_so() {
    let mut chat = replying();
    chat.nvim.lua("vim.bo.modifiable = true vim.api.nvim_buf_set_lines(0, 1, 2, false, { 'Hullo' })", &[]);
    chat.wait_for_text(&CUT_OFF.replace("Hello", "Hullo"));
    assert!(said(&mut chat.nvim).contains("the buffer was changed by something else"));
}

#[test]
fn a_changed_filetype_ends_the_reply_and_explains_why() {
    let mut chat = replying();
    chat.nvim.command("set filetype=text");
    chat.nvim.wait_for("the warning", |nvim| said(nvim).contains("the buffer is no longer a conversation"));
    assert!(chat.nvim.text().contains("half a reply\n\n<!-- flemma:aborted -->"), "{}", chat.nvim.text());
    assert_eq!(chat.nvim.lua("return vim.bo.modifiable", &[]), true);
}

#[test]
fn a_call_that_no_longer_runs_is_marked_in_its_preview() {
    let text = "@You:\nHello\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{\"command\":\"ls\"}\n```\n\n\
                @You:\n**Tool Result:** `a`\n\n```flemma:tool status=running\n```\n";
    let mut chat = Chat::start(&Setup { text: Some(text), ..Setup::default() }, []);
    chat.nvim.wait_for("the preview", |nvim| {
        previews(nvim).iter().any(|(_, text)| text.starts_with("bash: this call is no longer running"))
    });
}

#[test]
fn a_preview_may_look_and_not_touch() {
    let lua = "require('flemma.tools').register('mine', {
        description = 'x', input_schema = { type = 'object' }, approval = 'requires_approval',
        format_preview = function() _G.asked = true vim.cmd('normal! ggdG') return 'x' end,
        execute = function() return 'done' end,
      })";
    let mut chat = Chat::start(&Setup { lua, ..Setup::default() }, [call("toolu_1", "mine", &json!({ "a": 1 }))]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the preview", |nvim| nvim.lua("return asked", &[]) == true);
    // It has failed, so the card has the input.
    chat.nvim.wait_for_screen("? mine a=1");
    chat.wait_until_idle();
    assert!(chat.nvim.text().contains("@You:\nHello"));
    let messages = said(&mut chat.nvim);
    assert!(!messages.contains("Error") && !messages.contains("traceback"), "{messages}");
}

#[test]
fn a_long_command_is_on_the_screen_to_its_end() {
    let command = format!("echo {} && sneaky; echo {}; rm -rf ~", "a".repeat(300), "b".repeat(300));
    let input = json!({ "command": command, "timeout": null, "label": "harmless" });
    let mut chat = Chat::start(&Setup::default(), [call("toolu_1", "bash", &input)]);
    chat.nvim.input("<C-]>");
    for words in ["bash: $ echo", "a && sneaky; echo", "b; rm -rf ~"] {
        chat.nvim.wait_for_screen(words);
    }
}

/// A command that ignores the polite signal, and so do a child in the background and one that has left the group. Each
/// writes its process id to a file.
const STUBBORN: &str = "trap '' TERM HUP
    (trap '' TERM HUP; sh -c 'echo $PPID' >child; while :; do sleep 0.1; done) &
    setsid sh -c 'trap \"\" TERM HUP; echo $$ >far; while :; do sleep 0.1; done' &
    echo $$ >shell
    while :; do sleep 0.1; done";

fn pid(chat: &Chat, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(chat.nvim.folder("work").join(name)).ok()?;
    text.ends_with('\n').then(|| text.trim().to_owned())
}

fn is_alive(pid: &str) -> bool {
    // A zombie counts as gone.
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
}

/// The child processes of a process, from all of its threads.
fn children_of(parent: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_child = |pid: &String| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)) == Some(parent)
    };
    pids.filter(is_child).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn child_processes_end_however_the_editor_ends() {
    for way in ["kill -KILL", "kill -TERM", "kill -HUP", "qall!", "cquit", "<C-c>", "timeout"] {
        let timeout = if way == "timeout" { json!(0.5) } else { json!(null) };
        let input = json!({ "label": null, "command": STUBBORN, "timeout": timeout });
        let setup = Setup {
            options: "tools = { auto_approve = { 'bash' }, bash = { timeout = 600 }, autopilot = { enabled = true, max_turns = 1 } }",
            ..Setup::default()
        };
        let mut chat = Chat::start(&setup, [call("toolu_1", "bash", &input)]);
        chat.nvim.input("<C-]>");
        let names = ["shell", "child", "far"];
        chat.nvim.wait_for("the command", |nvim| {
            let work = nvim.folder("work");
            names.iter().all(|name| std::fs::read_to_string(work.join(name)).is_ok_and(|text| text.ends_with('\n')))
        });
        let pids = names.map(|name| pid(&chat, name).unwrap());
        match way {
            "kill -KILL" => chat.nvim.kill(),
            "<C-c>" => chat.nvim.input("<C-c>"),
            "timeout" => {}
            _ if way.starts_with("kill") => {
                let editor = chat.nvim.lua("return vim.uv.os_getpid()", &[]).to_string();
                let signal = way.rsplit(' ').next().unwrap();
                assert!(
                    std::process::Command::new("sh")
                        .args(["-c", &format!("kill {signal} {editor}")])
                        .status()
                        .unwrap()
                        .success()
                );
            }
            _ => drop(chat.nvim.try_lua(&format!("vim.cmd('{way}')"), &[])),
        }
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while let Some(left) = pids.iter().zip(names).find(|(pid, _)| is_alive(pid)) {
            assert!(std::time::Instant::now() < deadline, "{way}: {left:?} is still running");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn background_processes_survive_a_normal_exit() {
    let input = json!({ "label": null, "command": "sleep 600 & echo $! >left; echo started", "timeout": null });
    let setup = Setup { options: "tools = { auto_approve = { 'bash' } }", ..Setup::default() };
    let mut chat = Chat::start(&setup, [call("toolu_1", "bash", &input), prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("fine"));
    let left = pid(&chat, "left").unwrap();
    let editor = chat.nvim.lua("return vim.uv.os_getpid()", &[]).to_string();
    let children = children_of(&editor);
    assert_eq!(children.len(), 1, "the watchdog");
    let _ = chat.nvim.try_lua("vim.cmd('qall!')", &[]);
    chat.nvim.wait_for_exit();
    while children.iter().any(|child| is_alive(child)) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(is_alive(&left), "the result said that it goes on running");
    std::process::Command::new("kill").arg(&left).status().unwrap();
}

/// Finds what is kept for a buffer: entries of tables that the plugin's functions can reach, and autocommands.
const TRACES: &str = "
    local buf = ...
    local found, seen = {}, { [package.loaded] = true, [_G] = true, [vim] = true }
    local function walk(value, path)
      if type(value) == 'table' and not seen[value] then
        seen[value] = true
        for key, item in pairs(value) do
          if key == buf then found[#found + 1] = path end
          walk(item, path .. '.' .. tostring(key))
        end
      elseif type(value) == 'function' and not seen[value] then
        seen[value] = true
        for index = 1, math.huge do
          local name, item = debug.getupvalue(value, index)
          if not name then break end
          walk(item, path .. ':' .. name)
        end
      end
    end
    for name, module in pairs(package.loaded) do
      if vim.startswith(name, 'flemma.') then walk(module, name) end
    end
    for _, command in ipairs(vim.api.nvim_get_autocmds({})) do
      local group = command.group_name or ''
      if vim.startswith(group, 'flemma.') and vim.endswith(group, '.' .. buf) then
        found[#found + 1] = group .. ' ' .. command.event
      end
    end
    return found";

#[test]
fn nothing_is_kept_of_a_buffer_that_is_gone() {
    let ends = ["bwipeout!", "set filetype=text", "bdelete!", "bunload!"];
    let replies = ends.iter().map(|_| prose(&["fine"]));
    let lua = "vim.o.statusline = [[%{%v:lua.require'flemma.statusline'.component()%}]] vim.o.hidden = true";
    let mut chat = Chat::start(&Setup { lua, ..Setup::default() }, replies);
    // Numbers that are not an index of any list.
    chat.nvim.lua("for _ = 1, 500 do vim.api.nvim_create_buf(false, true) end", &[]);
    for (count, end) in ends.iter().enumerate() {
        chat.nvim.command(&format!("edit other-{count}.chat"));
        chat.nvim.command("silent %s/$/ x/ | silent undo");
        chat.nvim.input("GA Hello<C-]>");
        chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("fine"));
        chat.wait_until_idle();
        chat.nvim.input("<Esc>");
        let buf = chat.nvim.lua("return vim.api.nvim_get_current_buf()", &[]);
        assert_ne!(chat.nvim.lua(TRACES, std::slice::from_ref(&buf)), json!([]), "an open conversation is known");
        chat.nvim.command(end);
        chat.nvim.wait_for_value(&format!("no trace after {end}"), &json!([]), |nvim| {
            nvim.lua(TRACES, std::slice::from_ref(&buf))
        });
    }
}
