//! A key decides only about a call that the user has had time to see.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, call, prose, reply, said},
    support::Nvim,
};

const ASK: &str = "tools = { auto_approve = {} }";

/// What a held key repeats, in milliseconds.
const REPEAT: Duration = Duration::from_millis(30);

fn bash(command: &str) -> serde_json::Value {
    json!({ "command": command, "timeout": null, "label": null })
}

/// A conversation in which these calls of `bash` wait, and calls are seen after so many milliseconds.
fn waiting(ids: &[&str], delay: u32) -> Chat {
    let lua = format!("require('flemma.view.approval_delay').delay = {delay}");
    let setup = Setup { options: ASK, lua: &lua, ..Setup::default() };
    let calls = ids.iter().fold(Stream::new(), |stream, id| stream.tool_use(id, "bash", &[&bash(id).to_string()]));
    let mut chat = Chat::start(&setup, [reply(&calls.end("tool_use")), call("later", "bash", &bash("later"))]);
    chat.nvim.input("<C-]>");
    wait_for_calls(&mut chat.nvim, ids.len());
    chat.wait_until_idle();
    chat
}

fn pending(nvim: &mut Nvim) -> usize {
    nvim.text().matches("status=pending").count()
}

fn wait_for_calls(nvim: &mut Nvim, count: usize) {
    nvim.wait_for("the calls", |nvim| pending(nvim) == count);
}

/// Waits until the call under the cursor has been on the screen for long enough.
fn see(nvim: &mut Nvim) {
    let begun = Instant::now();
    nvim.wait_for("time to see", |_| begun.elapsed() > Duration::from_millis(600));
}

/// A key that is refused is not taken for one that is held down.
fn let_go(nvim: &mut Nvim) {
    let begun = Instant::now();
    nvim.wait_for("another key", |_| begun.elapsed() > Duration::from_millis(300));
    nvim.command("messages clear");
}

#[test]
fn a_held_key_decides_about_one_call() {
    let mut chat = waiting(&["one", "two"], 500);
    chat.nvim.input("<M-CR>");
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("bash (one) has only just appeared"));
    assert_eq!(pending(&mut chat.nvim), 2);
    see(&mut chat.nvim);
    chat.nvim.input(&"<M-CR>".repeat(30));
    wait_for_calls(&mut chat.nvim, 1);
    // Some systems wait for longer than the delay before a key that is held repeats.
    see(&mut chat.nvim);
    chat.nvim.command("messages clear");
    chat.nvim.input("<M-CR>");
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("another call was decided within the last second"));
    // The terminal goes on repeating the key.
    let held = Instant::now();
    while held.elapsed() < Duration::from_millis(900) {
        chat.nvim.input("<M-CR>");
        thread::sleep(REPEAT);
    }
    assert_eq!(pending(&mut chat.nvim), 1, "the cursor was led to a call that had been in sight");
    see(&mut chat.nvim);
    chat.nvim.input("<M-CR>");
    // The next reply comes under the same key.
    while pending(&mut chat.nvim) == 0 || !chat.nvim.text().contains("`later`") {
        chat.nvim.input("<M-CR>");
        thread::sleep(REPEAT);
    }
    let held = Instant::now();
    while held.elapsed() < Duration::from_millis(900) {
        chat.nvim.input("<M-CR>");
        thread::sleep(REPEAT);
    }
    assert_eq!(pending(&mut chat.nvim), 1);
    see(&mut chat.nvim);
    chat.nvim.input("<M-CR>");
    wait_for_calls(&mut chat.nvim, 0);
}

#[test]
fn every_key_that_decides_needs_a_call_that_was_seen() {
    let mut chat = waiting(&["one", "two", "three", "four"], 1_000_000_000);
    chat.nvim.lua("vim.keymap.set('n', 'X', '<Plug>(flemma-tool-execute)')", &[]);
    for keys in [
        "<M-CR>",
        "X",
        "gA",
        "gX",
        "gY",
        ":Flemma tool:execute<CR>",
        ":Flemma tool:approve<CR>",
        ":Flemma tool:approve always<CR>",
        ":Flemma tool:reject no<CR>",
        ":lua require('flemma.core').approve()<CR>",
    ] {
        let_go(&mut chat.nvim);
        chat.nvim.input(keys);
        chat.nvim.wait_for(keys, |nvim| said(nvim).contains("bash (one) has only just appeared"));
    }
    chat.nvim.input("<C-]>");
    chat.wait_until_idle();
    assert_eq!(pending(&mut chat.nvim), 4, "Ctrl-] decides about nothing");
    // Whoever names a call decides at once.
    chat.nvim.lua("require('flemma.tools').resolve(0, 'one', { approved = true })", &[]);
    wait_for_calls(&mut chat.nvim, 3);
    // Its result moves the lines below it.
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("exit code 127"));
    chat.wait_until_idle();
    chat.go_to("Result:** `two`");
    let line = chat.nvim.cursor().0;
    chat.nvim.command(&format!("{line}Flemma tool:reject no"));
    wait_for_calls(&mut chat.nvim, 2);
    chat.go_to("Result:** `three`");
    chat.nvim.lua("require('flemma.core').approve(vim.fn.line('.') - 1)", &[]);
    wait_for_calls(&mut chat.nvim, 1);
    chat.wait_until_idle();
    chat.nvim.command("%s/status=pending/status=rejected/");
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the next reply", |nvim| nvim.text().contains("`later`"));
}

#[test]
fn what_brings_a_call_before_the_user_starts_the_time() {
    let mut chat = waiting(&["one"], 500);
    for (what, bring) in [
        ("a window", "split"),
        ("a tab page", "tab split"),
        ("a buffer", "enew | redraw | buffer notes.chat"),
        ("a scroll", "2put =repeat(['text'], 200) | 1 | redraw | $"),
    ] {
        see(&mut chat.nvim);
        chat.nvim.command("messages clear");
        chat.nvim.command(bring);
        chat.go_to("Result:** `one`");
        chat.nvim.command("redraw");
        chat.nvim.input("<M-CR>");
        chat.nvim.wait_for(what, |nvim| said(nvim).contains("bash (one) has only just appeared"));
    }
    see(&mut chat.nvim);
    chat.nvim.input("<M-CR>");
    wait_for_calls(&mut chat.nvim, 0);
}

#[test]
fn a_review_decides_about_what_was_seen() {
    let lua = "require('flemma.view.approval_delay').delay = 1000000000";
    let setup = Setup { options: ASK, lua, files: &[("a.txt", "old\n")], ..Setup::default() };
    let input = json!({ "label": null, "path": "a.txt", "content": "new\n" });
    let mut chat = Chat::start(&setup, [call("one", "write", &input), prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    wait_for_calls(&mut chat.nvim, 1);
    chat.wait_until_idle();
    for view in ["tab", "inline"] {
        chat.nvim.lua("require('flemma.conversations.switch').set('tools.review.view', ...)", &[view.into()]);
        chat.nvim.input("gK");
        let opened = "return vim.bo.filetype ~= 'chat' and vim.fn.maparg('gA', 'n') ~= ''";
        chat.nvim.wait_for("the review", |nvim| nvim.lua(opened, &[]) == true);
        for key in ["gA", "gX"] {
            let_go(&mut chat.nvim);
            chat.nvim.input(key);
            chat.nvim.wait_for(key, |nvim| said(nvim).contains("write (one) has only just appeared"));
        }
        assert_eq!(chat.nvim.file("a.txt"), "old\n");
        if view == "inline" {
            chat.nvim.lua("require('flemma.view.approval_delay').delay = 0", &[]);
            chat.nvim.input("gA");
            chat.nvim.wait_for("the write", |nvim| nvim.file("a.txt") == "new\n");
            return;
        }
        chat.nvim.command("tabclose");
        chat.nvim.wait_for("the conversation", |nvim| nvim.lua("return vim.bo.filetype", &[]) == "chat");
    }
}
