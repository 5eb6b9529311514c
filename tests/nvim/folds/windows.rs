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
fn deleting_a_call_closes_no_other_one_that_was_opened() {
    let call = |n: usize| format!("**Tool Use:** `bash` (`t{n}`)\n\n```json\n{{\"command\":\"make {n}\"}}\n```\n\n");
    let result = |n: usize, how: &str| format!("**Tool Result:** `t{n}`{how}\n\n```\nline {n}\n```\n\n");
    let calls: String = (1..=3).map(call).collect();
    let results: String = [(1, ""), (2, " (error)"), (3, "")].map(|(n, how)| result(n, how)).concat();
    let text = format!("@You:\nMake all.\n\n@Assistant:\n{calls}@You:\n{results}@Assistant:\nDone.\n\n@You:\n");
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, []);
    chat.nvim.wait_for("closed cards", |nvim| !closed(nvim).is_empty());
    chat.nvim.input("zR");
    chat.nvim.wait_for("open cards", |nvim| closed(nvim).is_empty());
    chat.go_to("Tool Use:** `bash` (`t1`)");
    chat.nvim.input("daT");
    chat.nvim.wait_for("the deletion", |nvim| !nvim.text().contains("Use:** `bash` (`t1`)"));
    // The folds are made again after the change.
    chat.nvim.input("gg");
    chat.nvim.wait_for("the cursor", |nvim| nvim.cursor().0 == 1);
    chat.nvim.lua("vim.wait(50)", &[]);
    assert_eq!(closed(&mut chat.nvim), [""; 0]);
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
    chat.nvim.wait_for("folds", |nvim| closed(nvim).len() == 7);
    // It is no longer a conversation.
    chat.nvim.command("set filetype=text");
    assert_eq!(chat.nvim.lua(OPTIONS, &[]), plain);
    assert_eq!(chat.nvim.lua("return vim.fn.foldlevel(9)", &[]), 0);
}

#[test]
fn windows_are_folded_by_themselves_and_stay_so() {
    let mut chat = start(TURN);
    chat.nvim.input("/cargo<CR>zo");
    chat.nvim.wait_for("an open fold", |nvim| closed(nvim).len() == 6);
    chat.nvim.input("<C-w>s");
    chat.nvim.wait_for("the same folds", |nvim| closed(nvim).len() == 6);
    chat.nvim.input("zR<C-w>j");
    chat.nvim.wait_for("the other window", |nvim| closed(nvim).len() == 6);
    chat.nvim.input("Go<CR>@Assistant:<CR>unique<CR><CR>@You:<CR>two<Esc>");
    chat.nvim.wait_for("its folds", |nvim| nvim.lua("return vim.fn.foldlevel(vim.fn.search('unique', 'n'))", &[]) == 1);
    assert_eq!(closed(&mut chat.nvim).len(), 6);
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
    chat.nvim.input("zi");
    chat.nvim.wait_for("our folds", |nvim| closed(nvim).len() == 7);
}

#[test]
fn folds_come_back_after_another_foldmethod() {
    let mut chat = start(TURN);
    chat.nvim.wait_for("our folds", |nvim| closed(nvim).len() == 7);
    chat.nvim.command("set foldmethod=indent | redraw");
    assert_eq!(closed(&mut chat.nvim), [""; 0]);
    chat.nvim.command("set foldmethod=manual");
    chat.nvim.wait_for("our folds", |nvim| closed(nvim).len() == 7);
}

#[test]
fn nvim_ufo_is_kept_away_whenever_it_is_loaded() {
    let mut chat = start(TURN);
    chat.nvim.wait_for("our folds", |nvim| closed(nvim).len() == 7);
    // It deletes them, and sets 'foldtext'.
    chat.nvim.input("zE");
    chat.nvim.wait_for("no folds", |nvim| closed(nvim).is_empty());
    let ufo = "HasUfo = true
        package.loaded.ufo = { hasAttached = function() return HasUfo end, detach = function() HasUfo = nil end }
        vim.wo.foldtext = \"v:lua.require'ufo.main'.foldtext()\"";
    chat.nvim.lua(ufo, &[]);
    chat.nvim.wait_for_screen("▸ bash cargo test ");
    chat.nvim.wait_for("our folds", |nvim| closed(nvim).len() == 7);
    assert_eq!(chat.nvim.lua("return HasUfo == nil", &[]), true);
}

#[test]
fn a_long_file_opened_at_its_end_is_folded_throughout() {
    let text = TURN.split_once("\n\n").unwrap().1.repeat(500);
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, []);
    let shown = "return vim.fn.foldlevel(vim.fn.line('w0')) > 0 and vim.fn.line('.')";
    let last = text.lines().count();
    for line in (1..=last).rev().step_by(4_000).chain([1]) {
        chat.nvim.input(&format!("{line}G"));
        chat.nvim.wait_for("the folds there", |nvim| nvim.lua(shown, &[]) == line);
    }
    let folded = "local n = 0 for line = 1, vim.fn.line('$') do n = n + (vim.fn.foldclosed(line) == line and 1 or 0) end return n";
    chat.nvim.wait_for("all folds", |nvim| nvim.lua(folded, &[]) == 6 * 500);
    assert_eq!(chat.nvim.mode(), "n");
}

#[test]
fn a_card_that_is_deleted_and_brought_back_opens_no_other() {
    let card = |id: usize| format!("**Tool Use:** `bash` (`t{id}`)\n\n```json\n{{\"command\":\"make {id}\"}}\n```\n\n");
    let result = |id: usize| format!("**Tool Result:** `t{id}`\n\n```\nok\n```\n\n");
    let uses: String = (1..=4).map(card).collect();
    let results: String = (1..=4).map(result).collect();
    let text = format!("@You:\nMake all.\n\n@Assistant:\n{uses}@You:\n{results}@Assistant:\nDone.\n\n@You:\nWhy?\n");
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, []);
    let whole: Vec<String> = (1..=4)
        .map(|_| "[▸ bash]".to_owned())
        .chain((1..=4).map(|id| format!("[▸ bash make {id}  1 line  ✓]")))
        .collect();
    chat.nvim.wait_for_value("the cards", &whole, closed);
    chat.wait_until_idle();
    for line in 1..=3 {
        chat.go_to(&format!("make {line}"));
        chat.nvim.input("dd");
        chat.nvim.wait_for("one card less", |nvim| closed(nvim).iter().filter(|card| *card == "[▸ bash]").count() == 3);
        chat.nvim.input("u");
        chat.nvim.wait_for("the text", |nvim| nvim.text() == text);
        chat.nvim.wait_for("the cards", |nvim| whole[4..].iter().all(|card| closed(nvim).contains(card)));
        chat.nvim.input("zc");
        chat.nvim.wait_for_value("the cards", &whole, closed);
    }
    // Another window on the same text.
    chat.nvim.command("split");
    chat.go_to("make 2");
    chat.nvim.input("ddu");
    chat.nvim.wait_for("the text", |nvim| nvim.text() == text);
    chat.nvim.input("<C-w>j");
    chat.nvim.wait_for("the other cards", |nvim| {
        let closed = closed(nvim);
        whole[4..].iter().all(|card| closed.contains(card))
    });
}
