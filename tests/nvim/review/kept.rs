//! What the user has made of a change and has not decided about, after the review was closed.

use serde_json::json;

use super::{
    super::{
        anthropic::Stream,
        chat::{Setup, prose, reply},
    },
    Chat, content, edit, lines, wait_for_message, waiting, write,
};

fn changed() -> String {
    lines().replace("line 3\n", "LINE 3\n").replace("line 15\n", "LINE 15\n")
}

fn options(view: &str) -> String {
    format!("tools = {{ auto_approve = {{}}, review = {{ view = '{view}' }} }}")
}

fn open(chat: &mut Chat) {
    chat.nvim.input("gK");
    let shown = "return vim.b.flemma_review ~= nil";
    chat.nvim.wait_for("the view", |nvim| nvim.lua(shown, &[]) == true);
}

fn wait_for_chat(chat: &mut Chat) {
    chat.nvim.wait_for("the conversation", |nvim| nvim.lua("return vim.bo.filetype", &[]) == "chat");
}

/// The window of the user was there before the review.
#[test]
fn a_buffer_has_nothing_of_a_review_whose_window_was_closed() {
    for way in ["ZQ", ":q!<CR>", ":bun<CR>", ":bd<CR>", ":q<CR>", ":enew<CR>", ":set nohidden<CR>:q<CR>"] {
        let mut chat = waiting(&[("a.txt", &lines())], "write", &write("a.txt", &changed()), &options("inline"));
        chat.nvim.command("nnoremap <buffer> q <Nop> | vsplit a.txt | nnoremap <buffer> ]c <Cmd>let g:mine = 1<CR>");
        chat.nvim.command("wincmd p");
        open(&mut chat);
        chat.nvim.input(way);
        // The key of the review is of no use right after it, away from the call, which has a key of the same name.
        chat.nvim.input("gggA");
        chat.wait_until_idle();
        chat.nvim.wait_for("the end of the review", |nvim| {
            nvim.lua("return not require('flemma.review').is_shown(vim.fn.bufnr('notes.chat'))", &[]) == true
        });
        chat.nvim.command("sbuffer a.txt");
        let found = chat.nvim.lua(
            "local keys = vim.tbl_map(function(map) return map.lhs end, vim.api.nvim_buf_get_keymap(0, 'n'))
             table.sort(keys)
             local marks = vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('flemma.review'), 0, -1, {})
             return { vim.b.flemma_review == nil, keys, #marks }",
            &[],
        );
        assert_eq!(found, serde_json::json!([true, ["]c"], 0]), "{way}");
        assert_eq!(content(&chat, "a.txt"), lines(), "{way}");
    }
}

/// What is at the right is what `:w` writes.
#[test]
fn a_change_that_was_left_out_is_shown_as_that() {
    for view in ["tab", "inline"] {
        let mut chat = waiting(&[("a.txt", &lines())], "write", &write("a.txt", &changed()), &options(view));
        open(&mut chat);
        if view == "tab" {
            chat.nvim.input(":%diffget<CR>gT");
            wait_for_chat(&mut chat);
            chat.nvim.wait_for_screen("as you have edited it");
            chat.nvim.command("tabonly!");
            open(&mut chat);
        } else {
            chat.nvim.input("do]cdogK");
            chat.nvim.wait_for("the other view", |nvim| nvim.lua("return vim.wo.diff", &[]) == true);
        }
        let right = |chat: &mut Chat| {
            chat.nvim.lua("return table.concat(vim.fn.getbufline(vim.fn.winbufnr(2), 1, '$'), '\\n') .. '\\n'", &[])
        };
        assert_eq!(right(&mut chat), lines().as_str(), "{view}");
        chat.nvim.input("gA");
        wait_for_message(&mut chat.nvim, "nothing is left of the change");
        assert_eq!(content(&chat, "a.txt"), lines());
        // The proposal comes back.
        chat.nvim.input(":e!<CR>");
        chat.nvim.wait_for("the proposal", |nvim| nvim.lua("return vim.fn.getline(3)", &[]) == "LINE 3");
    }
}

#[test]
fn a_view_closes_when_what_it_shows_was_approved_elsewhere() {
    for view in ["tab", "inline"] {
        let mut chat = waiting(&[("a.txt", &lines())], "write", &write("a.txt", &changed()), &options(view));
        open(&mut chat);
        chat.nvim.input("do");
        chat.nvim.input(if view == "tab" { "gT" } else { "<C-w>w" });
        wait_for_chat(&mut chat);
        chat.nvim.wait_for_screen("as you have edited it");
        chat.nvim.input(":call search('status=pending')<CR><M-CR>");
        chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("@Assistant:\nfine"));
        chat.nvim.wait_for("one tab page", |nvim| nvim.lua("return #vim.api.nvim_list_tabpages()", &[]) == 1);
        chat.wait_until_idle();
        assert_eq!(content(&chat, "a.txt"), lines().replace("line 15\n", "LINE 15\n"), "{view}");
        chat.nvim.input(":wqa<CR>");
        chat.nvim.wait_for_exit();
    }
}

#[test]
fn the_key_opens_no_other_call_than_that_under_the_cursor() {
    let [first, second] =
        [edit("a.txt", "line 5", "LINE 5"), edit("a.txt", "line 9", "LINE 9")].map(|it| it.to_string());
    let stream = Stream::new().tool_use("toolu_1", "edit", &[&first]).tool_use("toolu_2", "edit", &[&second]);
    let options = options("tab");
    let setup = Setup { files: &[("a.txt", &lines())], options: &options, ..Setup::default() };
    let mut chat = Chat::start(&setup, [reply(&stream.end("tool_use")), prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("both blocks", |nvim| nvim.text().matches("status=pending").count() == 2);
    chat.wait_until_idle();
    chat.nvim.input("gg:call search('status=pending')<CR>:s/pending/approved/<CR>gK");
    wait_for_message(&mut chat.nvim, "toolu_1 does not wait for approval");
    assert_eq!(chat.nvim.lua("return #vim.api.nvim_list_tabpages()", &[]), 1);
}

#[test]
fn the_key_says_why_there_is_nothing_to_review() {
    let command = json!({ "label": null, "command": "true", "timeout": null });
    let question = json!({ "question": "Which colour?", "options": ["red", "green"], "default": null });
    for (tool, input, words) in [
        ("bash", command, "`bash` has no diff to show"),
        ("ask_user", question, "`ask_user` asks a question; Alt-Enter answers it"),
    ] {
        let mut chat = waiting(&[], tool, &input, "");
        chat.go_to("status=");
        chat.nvim.input("gK");
        wait_for_message(&mut chat.nvim, words);
    }
}
