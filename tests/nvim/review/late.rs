//! A review of a change that takes long to find out.

use super::{super::chat::Chat, edit, lines, wait_for_message, wait_for_own_keys, waiting};

/// A conversation in which the answer to the key is held back, until `Answer` is called.
fn held_back() -> Chat {
    let mut chat = waiting(&[("a.txt", &lines())], "edit", &edit("a.txt", "line 5", "LINE 5"), "");
    chat.nvim.lua(
        "local calls = require('flemma.review.calls')
         local get = calls.get
         calls.get = function(buf, call, callback)
           get(buf, call, function(...)
             local answer = { n = select('#', ...), ... }
             Answer = function() callback(unpack(answer, 1, answer.n)) end
           end)
         end",
        &[],
    );
    chat.go_to("toolu_1");
    chat.nvim.input("gK");
    chat.nvim.wait_for("the answer", |nvim| nvim.lua("return Answer ~= nil", &[]) == true);
    chat
}

fn answer(chat: &mut Chat) {
    chat.nvim.lua("Answer()", &[]);
}

#[test]
fn a_late_answer_opens_the_review() {
    let mut chat = held_back();
    answer(&mut chat);
    chat.nvim.wait_for("the proposal", |nvim| nvim.lua("return vim.bo.buftype", &[]) == "acwrite");
}

#[test]
fn a_late_answer_takes_no_focus_from_the_user() {
    for keys in [":split<CR>", ":tabnew<CR>", "i"] {
        let mut chat = held_back();
        wait_for_own_keys(&mut chat.nvim);
        chat.nvim.input(keys);
        let gone = "return vim.api.nvim_get_mode().mode == 'i' or #vim.api.nvim_list_wins() > 1";
        chat.nvim.wait_for(keys, |nvim| nvim.lua(gone, &[]) == true);
        answer(&mut chat);
        chat.nvim.input("<Esc>");
        wait_for_message(&mut chat.nvim, "the change of toolu_1 can be reviewed now");
        assert_ne!(chat.nvim.lua("return vim.bo.buftype", &[]), "acwrite", "{keys}");
        // The next press looks at it again.
        chat.nvim.command("silent! tabonly | silent! only");
        chat.nvim.lua("vim.cmd.buffer('notes.chat') Answer = nil", &[]);
        chat.nvim.input("gK");
        chat.nvim.wait_for("the next answer", |nvim| nvim.lua("return Answer ~= nil", &[]) == true);
        answer(&mut chat);
        chat.nvim.wait_for("the proposal", |nvim| nvim.lua("return vim.bo.buftype", &[]) == "acwrite");
    }
}
