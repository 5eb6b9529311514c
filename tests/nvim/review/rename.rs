//! A page that is renamed: every file of the change is looked at before it is made.

use std::fs;

use serde_json::{Value, json};

use super::{content, open, wait_for_message};
use crate::chat::{Chat, Setup, call, prose};

const PAGES: &[(&str, &str)] = &[
    ("vault/Old.md", "# Old\n\nMe: [[Old]]\n"),
    ("vault/Index.md", "first\nSee [[Old]].\nlast\n"),
    ("vault/Deep/Page.md", "[old](../Old.md) and [[Index]]\n"),
];

const OPTIONS: &str = "tools = { notes = { enabled = true, root = 'vault' }, auto_approve = {} }";

fn waiting() -> Chat {
    let setup = Setup { files: PAGES, options: OPTIONS, ..Setup::default() };
    let input = json!({ "label": null, "page": "Old", "new_page": "Deep/New" });
    let mut chat = Chat::start(&setup, [call("toolu_1", "rename_note", &input), prose(&["fine"])]);
    chat.send_until("status=pending");
    chat
}

/// All pages, with what they have.
fn vault(chat: &Chat) -> [String; 4] {
    ["vault/Old.md", "vault/Deep/New.md", "vault/Index.md", "vault/Deep/Page.md"].map(|name| content(chat, name))
}

fn before() -> [String; 4] {
    [PAGES[0].1.to_owned(), "(gone)".to_owned(), PAGES[1].1.to_owned(), PAGES[2].1.to_owned()]
}

fn result(chat: &Chat) -> Value {
    chat.messages(1)[2]["content"][0].clone()
}

fn wait_for_the_end(chat: &mut Chat) {
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    chat.wait_until_idle();
}

#[test]
fn a_rename_shows_the_move_and_every_link() {
    let mut chat = waiting();
    open(&mut chat);
    // First the links in other pages, and last the page itself: its new name, and the link to itself.
    chat.nvim.wait_for_screen("1/3 vault/Deep/Page.md (now)");
    assert_eq!(chat.nvim.lines(0), ["[old](New.md) and [[Index]]"]);
    chat.nvim.input("]f");
    chat.nvim.wait_for_screen("2/3 vault/Index.md (now)");
    assert_eq!(chat.nvim.lines(0), ["first", "See [[Deep/New]].", "last"]);
    // Edited on the way.
    chat.nvim.input("Gomine<Esc>]f");
    chat.nvim.wait_for_screen("3/3 vault/Old.md (now)");
    chat.nvim.wait_for_screen("moved to Deep/New");
    assert_eq!(chat.nvim.lines(0), ["# Old", "", "Me: [[Deep/New]]"]);
    assert_eq!(vault(&chat), before(), "nothing is written before all is decided");
    chat.nvim.input("gA");
    wait_for_the_end(&mut chat);
    let expected = [
        "(gone)",
        "# Old\n\nMe: [[Deep/New]]\n",
        "first\nSee [[Deep/New]].\nlast\nmine\n",
        "[old](New.md) and [[Index]]\n",
    ];
    assert_eq!(vault(&chat), expected);
    let result = result(&chat);
    assert!(result["is_error"] != true && result.to_string().contains("edited"), "{result}");
    assert_eq!(chat.nvim.lua("return #vim.api.nvim_list_tabpages()", &[]), 1);
    // It is taken back as a move.
    chat.nvim.command("Flemma undo");
    chat.nvim.wait_for("the question", |nvim| nvim.screen().iter().any(|line| line.contains("vault/Old.md")));
}

#[test]
fn a_rejected_rename_leaves_everything_as_it_was() {
    let mut chat = waiting();
    open(&mut chat);
    chat.nvim.wait_for_screen("1/3 vault/Deep/Page.md (now)");
    chat.nvim.input("]f");
    chat.nvim.wait_for_screen("2/3");
    chat.nvim.input("gXnot this name<CR>");
    wait_for_the_end(&mut chat);
    assert_eq!(vault(&chat), before());
    let result = result(&chat);
    assert!(result["is_error"] == true && result.to_string().contains("not this name"), "{result}");
    assert!(!chat.nvim.work().join("vault/Deep/New.md").exists());
}

#[test]
fn a_new_name_that_is_taken_meanwhile_writes_nothing() {
    let mut chat = waiting();
    open(&mut chat);
    chat.nvim.wait_for_screen("1/3 vault/Deep/Page.md (now)");
    // Another program takes the new name meanwhile.
    fs::write(chat.nvim.work().join("vault/Deep/New.md"), "theirs\n").unwrap();
    chat.nvim.input("gA");
    chat.nvim.wait_for_screen("There is already a page `Deep/New`. Nothing was changed.");
    assert_eq!(content(&chat, "vault/Deep/New.md"), "theirs\n");
    assert_eq!(content(&chat, "vault/Old.md"), PAGES[0].1);
}

#[test]
fn a_page_that_is_left_out_stays_so_when_another_changes() {
    let mut chat = waiting();
    open(&mut chat);
    chat.nvim.wait_for_screen("1/3 vault/Deep/Page.md (now)");
    chat.nvim.input("gL]f");
    chat.nvim.wait_for_screen("2/3 vault/Index.md (now)");
    fs::write(chat.nvim.work().join("vault/Index.md"), format!("{}theirs\n", PAGES[1].1)).unwrap();
    wait_for_message(&mut chat.nvim, "the file has changed, so the proposal was made again");
    chat.nvim.input("gA");
    wait_for_the_end(&mut chat);
    assert_eq!(content(&chat, "vault/Deep/Page.md"), PAGES[2].1);
    assert_eq!(content(&chat, "vault/Index.md"), "first\nSee [[Deep/New]].\nlast\ntheirs\n");
}
