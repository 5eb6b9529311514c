//! What stops a reply or a tool from outside, and what the file then says.

use serde_json::json;

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, call, previews, prose, said},
    http::Reply,
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
    // The buffer has changes.
    chat.nvim.command("silent! quit");
    assert_eq!(chat.nvim.lua("return vim.bo.modifiable", &[]), false, "the reply goes on arriving");
    assert!(!chat.nvim.text().contains("aborted"));
}

#[test]
fn leaving_ends_the_reply_in_the_file_that_was_saved() {
    let mut chat = replying();
    chat.nvim.command("silent write");
    let file = chat.nvim.work().join("notes.chat");
    let _ = chat.nvim.try_lua("vim.cmd('qall')", &[]);
    chat.nvim.wait_for_exit();
    assert_eq!(std::fs::read_to_string(file).unwrap(), CUT_OFF);
}

#[test]
fn a_reply_that_another_plugin_cuts_off_says_so() {
    let mut chat = replying();
    chat.nvim.lua("vim.bo.modifiable = true vim.api.nvim_buf_set_lines(0, 1, 2, false, { 'Hullo' })", &[]);
    chat.wait_for_text(&CUT_OFF.replace("Hello", "Hullo"));
    assert!(said(&mut chat.nvim).contains("the buffer was changed by something else"));
}

#[test]
fn a_buffer_that_becomes_something_else_says_why_its_reply_ended() {
    let mut chat = replying();
    chat.nvim.command("set filetype=text");
    chat.nvim.wait_for("the warning", |nvim| said(nvim).contains("the buffer is no conversation any more"));
    assert!(chat.nvim.text().contains("half a reply\n\n<!-- flemma:aborted -->"), "{}", chat.nvim.text());
    assert_eq!(chat.nvim.lua("return vim.bo.modifiable", &[]), true);
}

#[test]
fn what_no_longer_runs_is_said_where_it_stands() {
    let text = "@You:\nHello\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{\"command\":\"ls\"}\n```\n\n\
                @You:\n**Tool Result:** `a`\n\n```flemma:tool status=running\n```\n";
    let mut chat = Chat::start(&Setup { text: Some(text), ..Setup::default() }, []);
    chat.nvim.wait_for("the preview", |nvim| {
        previews(nvim).iter().any(|(_, text)| text.starts_with("bash: nothing runs for this call any more"))
    });
}

#[test]
fn a_preview_may_look_and_not_touch() {
    let lua = "require('flemma.tools').register('mine', {
        description = 'x', input_schema = { type = 'object' }, approval = 'requires_approval',
        format_preview = function() vim.cmd('normal! ggdG') return 'x' end,
        execute = function() return 'done' end,
      })";
    let mut chat = Chat::start(&Setup { lua, ..Setup::default() }, [call("toolu_1", "mine", &json!({ "a": 1 }))]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the preview", |nvim| previews(nvim).iter().any(|(_, text)| text == "mine: a=1"));
    chat.wait_until_idle();
    assert!(chat.nvim.text().contains("@You:\nHello"));
    let messages = said(&mut chat.nvim);
    assert!(!messages.contains("Error") && !messages.contains("traceback"), "{messages}");
}

#[test]
fn the_end_of_a_long_command_is_on_the_screen() {
    let command = format!("echo {}; rm -rf ~", "a".repeat(300));
    let input = json!({ "command": command, "timeout": null, "label": "harmless" });
    let mut chat = Chat::start(&Setup::default(), [call("toolu_1", "bash", &input)]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the preview", |nvim| {
        previews(nvim).iter().any(|(_, text)| text.starts_with("bash: $ echo aaa") && text.ends_with("a; rm -rf ~"))
    });
}
