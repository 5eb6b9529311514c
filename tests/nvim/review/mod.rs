//! Reviewing what a call would change in files, as a user does it.

mod content;
mod events;
mod files;
mod inline;
mod kept;
mod late;
mod leaving;
mod marks;
mod previews;
mod refused;
mod rename;
mod session;
mod tab;
mod tall;
mod writes;

use std::fs;

use serde_json::{Value, json};

use super::{
    chat::{Chat, Setup, call, prose, said},
    support::Nvim,
};

/// A call of `edit`.
fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "label": null, "path": path, "old_text": old, "new_text": new })
}

/// A call of `write`.
fn write(path: &str, content: &str) -> Value {
    json!({ "label": null, "path": path, "content": content })
}

/// No call runs without the user.
const ASK: &str = "tools = { auto_approve = {} }";

/// Twenty numbered lines.
fn lines() -> String {
    (1..=20).map(|number| format!("line {number}\n")).collect()
}

/// A moment after a call has begun to wait, all keys are Neovim's own again.
fn wait_for_own_keys(nvim: &mut Nvim) {
    nvim.wait_for("the keys", |nvim| nvim.lua("return vim.fn.maparg('i', 'n') == ''", &[]) == true);
}

/// A conversation in which one call waits for approval.
fn waiting(files: &[(&str, &str)], tool: &str, input: &Value, options: &str) -> Chat {
    let options = if options.is_empty() { ASK } else { options };
    let setup = Setup { files, options, ..Setup::default() };
    let mut chat = Chat::start(&setup, [call("toolu_1", tool, input), prose(&["fine"])]);
    chat.send_until("status=pending");
    chat
}

/// What is left behind by a review, or changed by it: nothing.
fn traces(nvim: &mut Nvim) -> Value {
    nvim.lua(
        "local names, maps = {}, {}
         local bufs = vim.tbl_filter(function(buf)
           -- A message is no part of it.
           local win = vim.fn.win_findbuf(buf)[1]
           local is_shown = not win or vim.api.nvim_win_get_config(win).focusable
           -- The text of an undecided call stays, hidden.
           return is_shown and (win ~= nil or not vim.fn.bufname(buf):find('^flemma://review'))
         end, vim.api.nvim_list_bufs())
         for _, buf in ipairs(bufs) do
           names[#names + 1] = { vim.fn.bufname(buf), vim.bo[buf].buftype, vim.bo[buf].modified, vim.bo[buf].modifiable }
           maps[#maps + 1] = vim.tbl_map(function(map) return map.lhs end, vim.api.nvim_buf_get_keymap(buf, 'n'))
         end
         local wins = vim.tbl_map(function(win)
           local where = vim.api.nvim_win_get_position(win)
           return { win, vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win), where, vim.wo[win].diff,
             vim.wo[win].winbar, vim.wo[win].scrollbind, vim.wo[win].cursorbind, vim.wo[win].foldmethod }
         end, vim.tbl_filter(function(win) return vim.api.nvim_win_get_config(win).relative == '' end, vim.api.nvim_list_wins()))
         local namespace = vim.api.nvim_create_namespace('flemma.review')
         local marks = vim.tbl_map(function(buf)
           return #vim.api.nvim_buf_get_extmarks(buf, namespace, 0, -1, {})
         end, bufs)
         local groups = vim.tbl_filter(function(name) return name:find('^flemma.review') end, vim.fn.getcompletion('', 'augroup'))
         return { names, maps, wins, marks, groups, vim.o.scrollopt, vim.o.equalalways, vim.o.eventignore, vim.fn.getreginfo('\"'),
           vim.fn.getreg('#'), vim.api.nvim_get_current_win(), #vim.fn.getjumplist()[1] }",
        &[],
    )
}

/// Presses the key, and waits for the view.
fn open(chat: &mut Chat) {
    chat.nvim.input("gK");
    chat.nvim.wait_for("the proposal", |nvim| nvim.lua("return vim.bo.buftype", &[]) == "acwrite");
}

fn content(chat: &Chat, name: &str) -> String {
    fs::read_to_string(chat.nvim.work().join(name)).unwrap_or_else(|_| "(gone)".to_owned())
}

fn wait_for_message(nvim: &mut Nvim, words: &str) {
    nvim.wait_for(words, |nvim| said(nvim).contains(words));
    nvim.command("messages clear");
}
