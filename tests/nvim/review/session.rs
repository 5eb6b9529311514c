//! A session that was saved while a review was open.

use serde_json::json;

use super::{edit, lines, open, waiting};

#[test]
fn a_session_brings_back_no_review() {
    let mut chat = waiting(&[("a.txt", &lines())], "edit", &edit("a.txt", "line 5", "LINE 5"), "");
    open(&mut chat);
    chat.nvim.command("mksession s.vim");
    chat.nvim.input(":q<CR>");
    chat.nvim.wait_for("the conversation", |nvim| nvim.lua("return vim.bo.filetype", &[]) == "chat");
    chat.nvim.command("messages clear");
    chat.nvim.command("bwipeout! flemma://review/toolu_1/a.txt");
    chat.nvim.input(":source s.vim<CR>");
    chat.nvim.wait_for_screen("This review is closed.");
    // No prompt waits for a key.
    assert_eq!(chat.nvim.mode(), "n");
    let pages = "local found = {}
         for _, buf in ipairs(vim.api.nvim_list_bufs()) do
           if vim.fn.bufname(buf):find('^flemma:') then
             local bo = vim.bo[buf]
             local first = vim.fn.getbufline(buf, 1)[1] or ''
             found[#found + 1] = { first:match('^This review is closed') ~= nil, bo.modifiable, bo.modified, bo.buftype, bo.bufhidden }
           end
         end
         return found";
    let page = json!([true, false, false, "nofile", "wipe"]);
    assert_eq!(chat.nvim.lua(pages, &[]), json!([page, page]));
    // `:edit` does not make more of it, and it goes with its window.
    chat.nvim.input(":e!<CR>");
    chat.nvim.wait_for("the page", |nvim| nvim.lua(pages, &[]) == json!([page, page]));
    chat.nvim.input(":q<CR>:q<CR>");
    chat.nvim.wait_for("the conversation", |nvim| nvim.lua("return vim.bo.filetype", &[]) == "chat");
    assert_eq!(chat.nvim.lua(pages, &[]), json!([]));
    // The review itself opens as before.
    open(&mut chat);
    assert_eq!(chat.nvim.lines(0)[4], "LINE 5");
    chat.nvim.input(":e!<CR>");
    chat.nvim.wait_for("the proposal", |nvim| nvim.lines(0)[4] == "LINE 5");
}
