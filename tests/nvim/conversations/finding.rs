//! Full-text search over conversations, and forks of them.

use serde_json::json;

use super::{FILES, put, state_folder};
use crate::{
    chat::{Chat, Setup, prose, said},
    support::{Nvim, Options},
};

/// The quickfix list: the name of each file, the line and the text.
fn found(nvim: &mut Nvim) -> serde_json::Value {
    nvim.lua(
        "return vim.tbl_map(function(item)
           return { vim.fs.basename(vim.api.nvim_buf_get_name(item.bufnr)), item.lnum, item.text }
         end, vim.fn.getqflist())",
        &[],
    )
}

#[test]
fn find_lists_conversations_that_have_all_words() {
    let mut nvim = Nvim::start(&Options {
        init: "require('flemma').setup({})",
        files: &FILES,
        arguments: &["code/src/main.rs"],
        ..Options::default()
    });
    let folder = state_folder(&nvim, "code");
    put(&folder, "2026-01-01-old.chat", "@You:\nWhy does the parser fail?\n\n@Assistant:\nA missing brace.\n", 90);
    put(&folder, "2026-01-02-new.chat", "@You:\nThe PARSER again.\n\n@Assistant:\nIt has a brace too many.\n", 10);
    put(&folder, "2026-01-03-none.chat", "@You:\nThe parser.\n", 5);
    put(&state_folder(&nvim, "other"), "2026-01-04-other.chat", "@You:\nparser, brace\n", 1);
    put(&nvim.work().join("code"), "notes.chat", "@You:\na brace of parsers\n", 50);
    nvim.command("Flemma find brace parser");
    let project = json!([
        ["2026-01-02-new.chat", 2, "The PARSER again."],
        ["2026-01-02-new.chat", 5, "It has a brace too many."],
        ["notes.chat", 2, "a brace of parsers"],
        ["2026-01-01-old.chat", 2, "Why does the parser fail?"],
        ["2026-01-01-old.chat", 5, "A missing brace."],
    ]);
    nvim.wait_for_value("the list", &project, found);
    assert_eq!(nvim.lua("return vim.bo.buftype", &[]), "quickfix");
    nvim.command("cclose | Flemma find! brace, parser");
    nvim.wait_for("no conversation", |nvim| said(nvim).contains("no conversation has all of: brace, parser"));
    nvim.command("Flemma! find PARSER, Brace");
    nvim.wait_for_value("the other project", &json!([["2026-01-04-other.chat", 2, "parser, brace"]]), found);
    nvim.command("Flemma find nothing");
    nvim.wait_for("no conversation", |nvim| said(nvim).contains("no conversation of this project has all of: nothing"));
    nvim.command("Flemma find");
    nvim.wait_for("the error", |nvim| said(nvim).contains("`:Flemma find` needs words to look for"));
}

#[test]
fn a_fork_goes_on_from_an_earlier_message() {
    let text = "```json\n{\"thinking\": \"low\"}\n```\n\n@You:\nOne\n\n@Assistant:\nFirst.\n\n@You:\nTwo\n\n@Assistant:\nSecond.\n";
    let mut chat = Chat::start(&Setup { text: Some(text), ..Setup::default() }, [prose(&["ok"])]);
    chat.go_to("First.");
    chat.nvim.command("Flemma fork");
    chat.nvim.wait_for("the fork", |nvim| nvim.lua("return vim.fn.expand('%:t')", &[]) == "notes-2.chat");
    let from = chat.nvim.work().join("notes.chat");
    let head = format!(
        "```json\n{{\"thinking\": \"low\"}}\n```\n<!-- flemma:forked from=\"{}\" message=2 -->\n",
        from.display()
    );
    assert_eq!(chat.nvim.text(), format!("{head}\n@You:\nOne\n\n@Assistant:\nFirst.\n\n@You:\n\n"));
    chat.nvim.input("iAnother way<Esc><C-]>");
    let sent = chat.messages(0);
    let texts: Vec<_> = sent.as_array().unwrap().iter().map(|message| &message["content"][0]["text"]).collect();
    assert_eq!(texts, ["One", "First.", "Another way"]);
    assert_eq!(chat.nvim.file("notes.chat"), text, "the other one stays");
    // The next one has another name, and a message of the user's is theirs to change.
    chat.nvim.command("buffer notes.chat");
    chat.go_to("Two");
    chat.nvim.command("Flemma fork");
    chat.nvim.wait_for("the fork", |nvim| nvim.lua("return vim.fn.expand('%:t')", &[]) == "notes-3.chat");
    assert!(chat.nvim.text().ends_with("First.\n\n@You:\nTwo\n"), "{}", chat.nvim.text());
}
