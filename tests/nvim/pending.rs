//! `:Flemma pending`: what waits in all conversations.

use std::fs;

use serde_json::{Value, json};

use super::{
    chat::{Chat, Setup, call, said},
    command_line::PORT,
    durable::journal,
};

/// A conversation on the disk in which a call waits, on line 13.
const OTHER: &str = "@You:\nHello\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{\"command\":\"ls\"}\n```\n\n\
                     @You:\n**Tool Result:** `a`\n\n```flemma:tool status=pending\n```\n";

/// The entries of the quickfix list: the end of the name, the line, the text.
fn entries(chat: &mut Chat) -> Value {
    chat.nvim.lua(
        "return vim.tbl_map(function(item)
           return { vim.fn.fnamemodify(vim.fn.bufname(item.bufnr), ':t'), item.lnum, item.text }
         end, vim.fn.getqflist())",
        &[],
    )
}

fn title(chat: &mut Chat) -> Value {
    chat.nvim.lua("return vim.fn.getqflist({ title = 1 }).title", &[])
}

#[test]
fn what_waits_is_listed_and_a_jump_lands_on_the_call() {
    let files = [("deep/other.chat", OTHER), ("deep/done.chat", "@You:\nHello\n"), ("bad.chat", "\u{1}")];
    let setup = Setup { files: &files, lua: PORT, ..Setup::default() };
    let mut chat = Chat::start(&setup, [call("toolu_1", "port", &json!({}))]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the question", |nvim| nvim.text().contains("kind=elicitation"));
    chat.wait_until_idle();
    // A list of the user's.
    chat.nvim.lua("vim.fn.setqflist({ { bufnr = 1, lnum = 2, text = 'mine' } }, ' ')", &[]);
    chat.nvim.command("Flemma pending");
    chat.nvim.wait_for("the window", |nvim| nvim.lua("return vim.bo.buftype", &[]) == "quickfix");
    let found = entries(&mut chat);
    assert_eq!(found.as_array().unwrap().len(), 2, "{found}");
    assert_eq!(found[0][0], "notes.chat");
    assert!(found[0][2].as_str().unwrap().starts_with("port: waits for your answer, until 20"), "{found}");
    assert_eq!(found[1], json!(["other.chat", 12, "bash ls: waits for your approval"]));
    assert_eq!(title(&mut chat), "Flemma: calls that wait");
    // What waits comes before the path.
    let rows = chat.nvim.text();
    assert!(rows.contains("bash ls: waits for your approval  | deep/other.chat:12\n"), "{rows}");
    // Enter on each entry.
    for number in [1, 2] {
        chat.nvim.command(&format!("{number}cc"));
        let here = "return { vim.bo.filetype, vim.api.nvim_get_current_line(), vim.fn.foldclosed('.') }";
        let here = chat.nvim.lua(here, &[]);
        assert_eq!((&here[0], &here[2]), (&json!("chat"), &json!(-1)), "{here}");
        assert!(here[1].as_str().unwrap().starts_with("**Tool Result:**"), "{here}");
    }
    // Both are open now. The list that is shown is filled again, and the user's is still there.
    chat.nvim.command("Flemma pending");
    chat.nvim.wait_for("the window", |nvim| nvim.lua("return vim.bo.buftype", &[]) == "quickfix");
    assert_eq!(entries(&mut chat).as_array().unwrap().len(), 2);
    chat.nvim.command("silent colder");
    assert_eq!(entries(&mut chat), json!([["notes.chat", 2, "mine"]]));
    // Below a folder, and for the user who has gone on typing.
    chat.nvim.command("wincmd p | startinsert");
    chat.nvim.command("Flemma pending deep");
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("2 calls wait; `:copen` shows the list"));
    assert_ne!(chat.nvim.lua("return vim.bo.buftype", &[]), "quickfix");
}

#[test]
fn a_call_known_to_the_journal_is_found_from_anywhere() {
    let setup = Setup { lua: PORT, ..Setup::default() };
    let mut chat = Chat::start(&setup, [call("toolu_1", "port", &json!({}))]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the question", |nvim| nvim.file("notes.chat").contains("kind=elicitation"));
    chat.wait_until_idle();
    let journal = journal(&mut chat);
    chat.nvim.wait_for("its record", |_| fs::read_to_string(&journal).is_ok_and(|text| text.contains("toolu_1")));
    chat.nvim.command("cd / | cd $TMPDIR | bwipeout!");
    chat.nvim.command("Flemma pending");
    chat.nvim.wait_for("the window", |nvim| nvim.lua("return vim.bo.buftype", &[]) == "quickfix");
    let found = entries(&mut chat);
    assert_eq!(found[0][0], "notes.chat", "{found}");
    // Only a folder without any.
    chat.nvim.command("cclose | call setqflist([], 'f')");
    chat.nvim.command("Flemma pending .");
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("no call waits"));
}

#[test]
fn where_nothing_waits_the_quickfix_list_stays() {
    let mut chat = Chat::start(&Setup::default(), []);
    let own = "vim.fn.setqflist({}, ' ', { title = 'mine', items = { { bufnr = 1, lnum = 1, text = 'mine' } } })";
    chat.nvim.lua(own, &[]);
    chat.nvim.command("Flemma pending");
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("no call waits"));
    assert_eq!(entries(&mut chat), json!([["notes.chat", 1, "mine"]]));
    assert_eq!((title(&mut chat), chat.nvim.lua("return vim.fn.winnr('$')", &[])), (json!("mine"), json!(1)));
    chat.nvim.command("Flemma pending nowhere");
    chat.nvim
        .wait_for("the message", |nvim| said(nvim).contains("there is no folder") && said(nvim).contains("/nowhere"));
}
