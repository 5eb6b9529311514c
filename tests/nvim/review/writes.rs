//! Which commands accept what is at the right: a plain write of the proposed buffer, and nothing else.

use serde_json::json;

use super::{super::chat::Chat, content, edit, lines, open, wait_for_message, waiting};

fn one_edit() -> Chat {
    waiting(&[("a.txt", &lines())], "edit", &edit("a.txt", "line 5", "LINE 5"), "")
}

/// Edits the right side, and types keys: the call still waits, the review is whole, and nothing is left over.
fn approves_nothing(chat: &mut Chat, keys: &str, message: &str) {
    chat.nvim.input("ggOmine<Esc>");
    chat.nvim.wait_for("the text", |nvim| nvim.lines(0)[0] == "mine");
    chat.nvim.command("messages clear");
    chat.nvim.input(keys);
    if !message.is_empty() {
        wait_for_message(&mut chat.nvim, message);
    }
    chat.nvim.wait_for("the view as it was", |nvim| {
        let state = "return { vim.bo.buftype, vim.bo.modified, vim.fn.bufname():find('^flemma:') ~= nil,
          #vim.tbl_filter(function(b) return vim.bo[b].buflisted end, vim.api.nvim_list_bufs()),
          #vim.tbl_filter(function(b) return vim.fn.bufname(b):find('^flemma:') ~= nil end, vim.api.nvim_list_bufs()) }";
        nvim.lua(state, &[]) == json!(["acwrite", true, true, 1, 2])
    });
    assert_eq!(content(chat, "a.txt"), lines(), "{keys}");
    assert!(
        chat.nvim
            .lua("return table.concat(vim.fn.getbufline('notes.chat', 1, '$'), ' ')", &[])
            .to_string()
            .contains("status=pending")
    );
    chat.nvim.input("u");
}

#[test]
fn only_a_plain_write_accepts() {
    let mut chat = one_edit();
    chat.nvim.command("set autowriteall");
    open(&mut chat);
    let own = "`:write` without a name takes the change";
    for (command, message) in [
        ("saveas copy.txt", own),
        ("saveas! copy.txt", own),
        ("w other.txt", own),
        ("w! other.txt", own),
        ("1,3w!", "part of"),
        ("1,3w other.txt", own),
        ("w >>", "part of"),
        ("file renamed.txt | w", own),
        ("q", "E37"),
    ] {
        approves_nothing(&mut chat, &format!(":{command}<CR>"), message);
    }
    // `:!` writes what has changed where 'autowrite' is on. Return is for the question after its output.
    approves_nothing(&mut chat, ":!touch ran<CR><CR>", "");
    chat.nvim.wait_for("the command", |nvim| nvim.work().join("ran").exists());
    assert_eq!(content(&chat, "a.txt"), lines());
    // `:confirm` asks whether to save. That is no `:write`, whatever the answer is.
    approves_nothing(&mut chat, ":confirm q<CR>y", "only your own `:write` does that");
    approves_nothing(&mut chat, ":confirm bdelete<CR>y", "only your own `:write` does that");
    approves_nothing(&mut chat, ":confirm q<CR>c", "");
    // From another window, `:wall` is a write of the user.
    chat.nvim.input("ggOmine<Esc>:tabnext<CR>");
    chat.nvim.wait_for("the conversation", |nvim| nvim.lua("return vim.bo.filetype", &[]) == "chat");
    assert!(chat.nvim.text().contains("status=pending"));
    assert_eq!(chat.nvim.lua("return vim.o.autowriteall", &[]), true, "the option is the user's");
    assert_eq!(content(&chat, "a.txt"), lines());
    chat.nvim.input(":wall<CR>");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "a.txt"), format!("mine\n{}", lines()).replace("line 5\n", "LINE 5\n"));
    assert!(!chat.nvim.work().join("copy.txt").exists() && !chat.nvim.work().join("other.txt").exists());
}

#[test]
fn each_plain_write_accepts() {
    for keys in [":w!<CR>", ":x<CR>", ":up<CR>", ":%w<CR>", ":silent w<CR>", ":wqa<CR>", "<F2>", "ZZ"] {
        let mut chat = one_edit();
        chat.nvim.command("set autowrite confirm | nnoremap <F2> <Cmd>write<CR>");
        open(&mut chat);
        chat.nvim.input("ggOmine<Esc>");
        chat.nvim.wait_for("the text", |nvim| nvim.lines(0)[0] == "mine");
        chat.nvim.input(keys);
        let expected = format!("mine\n{}", lines()).replace("line 5\n", "LINE 5\n");
        let work = chat.nvim.work();
        if keys == ":wqa<CR>" {
            // Neovim leaves before the write. The approval is kept.
            chat.nvim.wait_for_exit();
            let (now, conversation) = (content(&chat, "a.txt"), chat.nvim.file("notes.chat"));
            assert_eq!(now, lines());
            assert!(conversation.contains("status=approved"), "{conversation}");
            continue;
        }
        chat.nvim.wait_for(keys, |_| std::fs::read_to_string(work.join("a.txt")).is_ok_and(|text| text == expected));
    }
}
