//! A call that changes several files, as the tools that rename pages do.

use serde_json::{Value, json};

use super::{super::chat::Chat, open, wait_for_message, waiting, write};

/// Six files: two are changed, one is made, one is deleted, one is moved, one is binary. What is accepted is kept in `accepted`.
const SIX: &str = "local calls = require('flemma.review.calls')
    accepted = vim.NIL
    calls.get = function(_, call, callback)
      vim.schedule(function()
        callback({ call_id = call, tool = 'rename_note', revision = 'r1', files = {
          { path = '/w/a.md', name = 'a.md', old = 'a\\n', new = 'A\\n' },
          { path = '/w/b.md', name = 'b.md', old = 'b\\r\\nb', new = 'B\\r\\nb' },
          { path = '/w/made.md', name = 'made.md', new = 'made\\n' },
          { path = '/w/gone.md', name = 'gone.md', old = 'gone\\n' },
          { path = '/w/old.md', name = 'old.md', old = 'one\\n', new = 'one\\ntwo\\n', moved_to = 'new.md' },
          { path = '/w/x.png', name = 'x.png', note = 'binary', old_size = 2048, new_size = 4096 },
        } })
      end)
    end
    calls.accept = function(buf, call, _, contents, callback)
      accepted = contents
      -- The call has its result.
      require('flemma.native').call('resolve_call', buf, call, { approved = false }, 'user', function() callback() end)
    end";

fn start() -> Chat {
    let mut chat = waiting(&[], "write", &write("a.md", "A\n"), "");
    chat.nvim.lua(SIX, &[]);
    open(&mut chat);
    chat
}

fn wait_for_place(chat: &mut Chat, place: &str) {
    chat.nvim.wait_for_screen(place);
}

fn accepted(chat: &mut Chat) -> Value {
    chat.nvim.wait_for("the approval", |nvim| nvim.lua("return accepted ~= vim.NIL", &[]) == true);
    chat.nvim.lua("return accepted", &[])
}

#[test]
fn every_file_is_looked_at_before_the_call_is_approved() {
    let mut chat = start();
    wait_for_place(&mut chat, "1/6 /w/a.md (now)");
    chat.nvim.input("]f");
    wait_for_place(&mut chat, "2/6 /w/b.md");
    chat.nvim.input("[f[f");
    wait_for_message(&mut chat.nvim, "this is the first file of the change");
    wait_for_place(&mut chat, "1/6 /w/a.md (now)");
    chat.nvim.input("]f");
    wait_for_place(&mut chat, "2/6 /w/b.md");
    assert_eq!(chat.nvim.lua("return { vim.bo.fileformat, vim.bo.endofline }", &[]), json!(["dos", false]));
    // Edited, and looked at again before it is taken.
    chat.nvim.input("Gomine<Esc>]f");
    wait_for_place(&mut chat, "3/6 /w/made.md (does not exist)");
    chat.nvim.input("[f");
    wait_for_place(&mut chat, "2/6 /w/b.md");
    assert_eq!(chat.nvim.lines(0), ["B", "b", "mine"]);
    assert_eq!(chat.nvim.lua("return accepted == vim.NIL", &[]), true);
    chat.nvim.input("]f");
    wait_for_place(&mut chat, "3/6 /w/made.md");
    chat.nvim.input("gL]f");
    wait_for_place(&mut chat, "4/6 /w/gone.md (now)");
    chat.nvim.wait_for_screen("deleted");
    chat.nvim.input("gL");
    chat.nvim.wait_for_screen("deleted, left out");
    chat.nvim.input("gL");
    chat.nvim.wait_for("the file as before", |nvim| nvim.row_with("left out").is_none());
    chat.nvim.input("]f");
    wait_for_place(&mut chat, "5/6 /w/old.md");
    chat.nvim.wait_for_screen("moved to new.md");
    chat.nvim.input("]f");
    wait_for_place(&mut chat, "6/6 /w/x.png");
    for words in ["/w/x.png (now)", "binary: the content is not shown", "2048 bytes", "4096 bytes"] {
        chat.nvim.wait_for_screen(words);
    }
    chat.nvim.input("gA");
    assert_eq!(accepted(&mut chat), json!([true, "B\r\nb\r\nmine", false, true, true, true]));
    chat.nvim.wait_for("the conversation", |nvim| nvim.lua("return vim.bo.filetype", &[]) == "chat");
}

#[test]
fn all_files_can_be_taken_at_once() {
    let mut chat = start();
    chat.nvim.input("gL]fggOmine<Esc>gA");
    assert_eq!(accepted(&mut chat), json!([false, "mine\r\nB\r\nb", true, true, true, true]));
}

#[test]
fn what_was_edited_in_another_file_is_kept() {
    let mut chat = start();
    chat.nvim.input("ggOmine<Esc>]f:q<CR>");
    wait_for_message(&mut chat.nvim, "it still waits");
    open(&mut chat);
    assert_eq!(chat.nvim.lines(0), ["mine", "A"]);
    // `:edit!` shows the proposal again.
    chat.nvim.input(":e!<CR>");
    chat.nvim.wait_for("the proposal", |nvim| nvim.lines(0) == ["A"]);
    chat.nvim.input("gA");
    assert_eq!(accepted(&mut chat), json!([true, true, true, true, true, true]));
}

#[test]
fn narrow_windows_show_one_side_above_the_other() {
    let mut chat = waiting(&[], "write", &write("a.md", "A\n"), "");
    chat.nvim.lua(SIX, &[]);
    chat.nvim.command("set columns=50");
    open(&mut chat);
    let layout = chat.nvim.lua("return vim.fn.winlayout()[1]", &[]);
    assert_eq!(layout, "col");
    chat.nvim.wait_for_screen("1/6 /w/a.md (now)");
}
