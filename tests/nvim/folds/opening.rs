//! What is folded when a conversation is opened.

use super::{
    TURN, WAITING,
    chat::{Chat, Setup},
    closed, rows, wait_for_closed,
};

/// The folds of [`TURN`] that are closed at first.
pub const CLOSED: [&str; 7] = [
    "[▸ frontmatter  lua  3 lines]",
    "[▸ thinking  2 lines]",
    "[▸ read]",
    "[▸ bash]",
    "[▸ edit]",
    "[▸ read greet.py 4-6  3 lines  ✓]",
    "[▸ bash cargo test  1 line  ✓]",
];

fn start(text: &str, options: &str, lua: &str) -> Chat {
    Chat::start(&Setup { text: Some(text), options, lua, ..Setup::default() }, [])
}

#[test]
fn good_cards_thinking_and_frontmatter_begin_closed() {
    let mut chat = start(TURN, "", "");
    wait_for_closed(&mut chat.nvim, &CLOSED);
    let all = rows(&mut chat.nvim);
    for open in ["@You:", "I read them.", "no such text", "Why?"] {
        assert!(all.iter().any(|row| row == open), "{open}: {all:#?}");
    }
    chat.nvim.wait_for_screen("▸ bash cargo test ");
}

#[test]
fn calls_that_wait_begin_open() {
    let mut chat = start(WAITING, "", "");
    wait_for_closed(&mut chat.nvim, &["[▸ read]", "[▸ read a.txt  1 line  ✓]", "[▸ bash]", "[▸ bash]"]);
}

#[test]
fn the_level_says_what_begins_closed() {
    let mut chat = start(TURN, "editing = { foldlevel = 0 }", "");
    wait_for_closed(
        &mut chat.nvim,
        &[
            CLOSED[0],
            "[▸ You  Please look at both files.  3 lines]",
            "[▸ Assistant  I read them.  26 lines]",
            CLOSED[5],
            CLOSED[6],
            "[▸ Assistant  One of them failed.  3 lines]",
        ],
    );
    let mut chat = start(TURN, "editing = { foldlevel = 99 }", "");
    chat.nvim.wait_for("folds", |nvim| nvim.lua("return vim.fn.foldlevel(10)", &[]) == 2);
    assert_eq!(closed(&mut chat.nvim), [""; 0]);
    chat.nvim.input("zM");
    chat.nvim.wait_for_screen("▸ Assistant  I read them.");
}

#[test]
fn folding_can_be_turned_off() {
    let mut chat = start(TURN, "editing = { foldlevel = false }", "");
    chat.nvim.wait_for_screen(" You");
    chat.nvim.input("Goand more<Esc>");
    chat.nvim.wait_for_screen("and more");
    assert_eq!(chat.nvim.lua("return { vim.fn.foldlevel(9), vim.wo.foldtext }", &[])[0], 0);
    assert_eq!(chat.nvim.lua("return vim.wo.foldtext", &[]), "foldtext()");
}

#[test]
fn the_users_own_fold_options_win() {
    let marker =
        "vim.api.nvim_create_autocmd('FileType', { pattern = 'chat', command = 'setlocal foldmethod=indent' })";
    let mut chat = start(TURN, "", marker);
    chat.nvim.wait_for_screen(" You");
    chat.nvim.input("Goand more<Esc>");
    chat.nvim.wait_for_screen("and more");
    assert_eq!(
        chat.nvim.lua("return { vim.wo.foldmethod, vim.wo.foldtext }", &[]),
        serde_json::json!(["indent", "foldtext()"])
    );
    let disabled = "vim.o.foldenable = false";
    let mut chat = start(TURN, "", disabled);
    chat.nvim.wait_for("folds", |nvim| nvim.lua("return vim.wo.foldtext", &[]) != "foldtext()");
    chat.nvim.input("Goand more<Esc>");
    chat.nvim.wait_for_screen("and more");
    assert_eq!(chat.nvim.lua("return vim.wo.foldenable", &[]), false);
    assert_eq!(closed(&mut chat.nvim), [""; 0]);
    // Nothing can be known of folds until then.
    chat.nvim.input("zio<Esc>");
    chat.nvim.wait_for_screen("▸ bash cargo test ");
    let everywhere = "vim.o.foldmethod = 'indent' vim.o.foldlevelstart = 99";
    let mut chat = start(TURN, "", everywhere);
    chat.nvim.wait_for_screen("▸ bash cargo test ");
    assert_eq!(
        chat.nvim.lua("return { vim.wo.foldmethod, vim.go.foldmethod }", &[]),
        serde_json::json!(["manual", "indent"])
    );
}
