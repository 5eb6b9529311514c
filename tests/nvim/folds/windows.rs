//! Folds in several windows, and options that stay with the conversation.

use serde_json::json;

use super::{
    TURN,
    chat::{Chat, Setup},
    closed,
};

/// The options that belong to folds.
const OPTIONS: &str = "return { vim.wo.foldmethod, vim.wo.foldtext, vim.wo.foldlevel, vim.wo.fillchars }";

fn start(text: &str) -> Chat {
    let files = [("other.txt", "One\n\ntext\n")];
    let mut chat = Chat::start(&Setup { text: Some(text), files: &files, ..Setup::default() }, []);
    chat.nvim.wait_for_screen("▸ bash cargo test ");
    chat.wait_until_idle();
    chat
}

#[test]
fn options_do_not_leak_into_other_files() {
    let mut chat = start(TURN);
    let plain = json!(["manual", "foldtext()", 0, ""]);
    let ours = chat.nvim.lua(OPTIONS, &[]);
    assert_ne!(ours, plain);
    for command in ["edit other.txt", "buffer notes.chat | split other.txt", "close | vnew", "tabnew other.txt"] {
        chat.nvim.command(command);
        assert_eq!(chat.nvim.lua(OPTIONS, &[]), plain, "{command}");
    }
    chat.nvim.command("buffer notes.chat");
    assert_eq!(chat.nvim.lua(OPTIONS, &[]), ours);
    chat.nvim.wait_for("folds", |nvim| closed(nvim).len() == 6);
    // It is no longer a conversation.
    chat.nvim.command("set filetype=text");
    assert_eq!(chat.nvim.lua(OPTIONS, &[]), plain);
    assert_eq!(chat.nvim.lua("return vim.fn.foldlevel(9)", &[]), 0);
}

#[test]
fn windows_are_folded_by_themselves_and_stay_so() {
    let mut chat = start(TURN);
    chat.nvim.input("/cargo<CR>zo");
    chat.nvim.wait_for("an open fold", |nvim| closed(nvim).len() == 5);
    chat.nvim.input("<C-w>s");
    chat.nvim.wait_for("the same folds", |nvim| closed(nvim).len() == 5);
    chat.nvim.input("zR<C-w>j");
    chat.nvim.wait_for("the other window", |nvim| closed(nvim).len() == 5);
    chat.nvim.input("Go<CR>@Assistant:<CR>unique<CR><CR>@You:<CR>two<Esc>");
    chat.nvim.wait_for("its folds", |nvim| nvim.lua("return vim.fn.foldlevel(vim.fn.search('unique', 'n'))", &[]) == 1);
    assert_eq!(closed(&mut chat.nvim).len(), 5);
    chat.nvim.input("<C-w>k");
    chat.nvim.wait_for("its folds", |nvim| nvim.lua("return vim.fn.foldlevel(vim.fn.search('unique', 'n'))", &[]) == 1);
    assert_eq!(closed(&mut chat.nvim), [""; 0]);
    chat.nvim.command("tabnew | buffer notes.chat");
    chat.nvim.wait_for("folds", |nvim| nvim.lua("return vim.fn.foldlevel(vim.fn.search('unique', 'n'))", &[]) == 1);
    chat.nvim.command("colorscheme habamax");
    chat.nvim.input("zM");
    chat.nvim.wait_for_screen("▸ You  Please look at both files.");
}

#[test]
fn a_diff_of_two_conversations_has_its_own_folds() {
    let mut chat = start(TURN);
    chat.nvim.command("diffthis | vsplit other.txt | diffthis");
    chat.nvim.command("wincmd p");
    chat.nvim.input("Goand more<Esc>");
    chat.nvim.wait_for("the text", |nvim| nvim.text().contains("and more"));
    assert_eq!(chat.nvim.lua("return vim.wo.foldmethod", &[]), "diff");
    chat.nvim.command("diffoff!");
    // Neovim turns 'foldenable' off here, because of the folds that it has made.
    chat.nvim.input("o<Esc>zi");
    chat.nvim.wait_for("our folds", |nvim| closed(nvim).len() == 6);
}

#[test]
fn a_long_file_opened_at_its_end_is_folded_throughout() {
    let text = TURN.split_once("\n\n").unwrap().1.repeat(500);
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, []);
    chat.nvim.input("G");
    let folded = "local n = 0 for line = 1, vim.fn.line('$') do n = n + (vim.fn.foldclosed(line) == line and 1 or 0) end return n";
    chat.nvim.wait_for("all folds", |nvim| nvim.lua(folded, &[]) == 5 * 500);
    assert_eq!(chat.nvim.mode(), "n");
}
