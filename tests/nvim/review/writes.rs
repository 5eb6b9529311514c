//! What is at the right is approved by its key, and by nothing else: whoever writes the buffer, nothing is decided.

use serde_json::json;

use super::{super::chat::Chat, content, edit, lines, open, waiting};

fn one_edit() -> Chat {
    waiting(&[("a.txt", &lines())], "edit", &edit("a.txt", "line 5", "LINE 5"), "")
}

/// The call still waits, and the review is as it was.
fn is_undecided(chat: &mut Chat, how: &str) {
    chat.nvim.wait_for(how, |nvim| {
        let state = "return { vim.bo.buftype, vim.bo.modified, vim.fn.getline(1), vim.fn.bufname() }";
        nvim.lua(state, &[]) == json!(["acwrite", true, "mine", "flemma://review/toolu_1/a.txt"])
    });
    chat.wait_until_idle();
    assert_eq!(content(chat, "a.txt"), lines(), "{how}");
    let text = chat.nvim.lua("return table.concat(vim.fn.getbufline('notes.chat', 1, '$'), ' ')", &[]);
    assert!(text.to_string().contains("status=pending"), "{how}");
}

#[test]
fn no_write_approves() {
    let mut chat = one_edit();
    // Plugins that save by themselves do it like this.
    chat.nvim.command("autocmd InsertLeave,TextChanged * ++nested silent! write");
    chat.nvim.command("set autowriteall | nnoremap <F2> <Cmd>write<CR>");
    open(&mut chat);
    chat.nvim.input("ggOmine<Esc>");
    is_undecided(&mut chat, "a plugin");
    for keys in
        [":w<CR>", ":w!<CR>", ":up<CR>", ":%w<CR>", ":silent w<CR>", "<F2>", ":1,3w!<CR>", ":wall<CR>", ":wqa<CR>"]
    {
        chat.nvim.command("messages clear");
        chat.nvim.input(keys);
        chat.nvim.input("<CR><C-l>");
        is_undecided(&mut chat, keys);
    }
    chat.nvim.input(":w<CR>");
    super::wait_for_message(&mut chat.nvim, "toolu_1 still waits: gA approves it, with this text");
    chat.nvim.input("<CR>:!touch ran<CR><CR>");
    chat.nvim.wait_for("the command", |nvim| nvim.work().join("ran").exists());
    is_undecided(&mut chat, "!");
    // From the conversation as well.
    chat.nvim.input("gT:wall<CR><CR>");
    chat.nvim.wait_for("the conversation", |nvim| nvim.lua("return vim.bo.filetype", &[]) == "chat");
    chat.wait_until_idle();
    assert!(chat.nvim.text().contains("status=pending"));
    assert_eq!(content(&chat, "a.txt"), lines());
}
