//! Commands that are given in a window with code, and the titles by which they name conversations.

use serde_json::json;

use super::{
    super::{
        chat::{Chat, Setup, call, prose, said},
        http::Reply,
    },
    FILES, current, windows,
};

fn start(replies: impl IntoIterator<Item = Reply>) -> Chat {
    let options = "tools = { auto_approve = {} }";
    let mut chat = Chat::start(&Setup { files: &FILES, options, ..Setup::default() }, replies);
    chat.nvim.command("edit code/src/main.rs");
    chat
}

/// The project's conversation, in which this was sent, beside the code, in which the cursor is.
fn beside(replies: impl IntoIterator<Item = Reply>, words: &str) -> Chat {
    let mut chat = start(replies);
    chat.nvim.input(&format!(":Flemma toggle<CR>i{words}<Esc><C-]>"));
    chat.nvim.wait_for("the conversation", |nvim| nvim.text().contains("@Assistant:"));
    chat.wait_until_idle();
    chat.nvim.input("<C-w>p");
    chat.nvim.wait_for("the code", |nvim| current(nvim) == "main.rs");
    chat
}

#[test]
fn commands_from_code_are_about_the_conversation_shown() {
    let mut chat = beside([prose(&["Hi"])], "Fix the parser");
    chat.nvim.command("Flemma status");
    chat.nvim.wait_for("the name", |nvim| said(nvim).contains("status: in Fix the parser"));
    assert!(chat.nvim.text().starts_with("idle\n"), "{}", chat.nvim.text());
    chat.nvim.input("q");
    chat.nvim.wait_for("the code", |nvim| current(nvim) == "main.rs");
    for (command, message) in [
        ("Flemma undo", "undo: in Fix the parser"),
        ("Flemma tool:cancel", "tool:cancel: in Fix the parser"),
        ("Flemma tool:approve", "`:Flemma tool:approve`: no call waits in Fix the parser"),
        ("Flemma send", "this buffer is not a conversation"),
    ] {
        chat.nvim.command("messages clear");
        chat.nvim.command(command);
        chat.nvim.wait_for(message, |nvim| said(nvim).contains(message));
    }
    // Hidden, it is the project's; with none, that is said.
    chat.nvim.command("Flemma toggle");
    chat.nvim.wait_for("the code", |nvim| windows(nvim) == ["main.rs"]);
    chat.nvim.command("messages clear");
    chat.nvim.command("Flemma changes");
    chat.nvim.wait_for("the name", |nvim| said(nvim).contains("changes: in Fix the parser"));
    let mut chat = start([]);
    chat.nvim.command("Flemma rollback | let g:never = 1");
    chat.nvim.wait_for("the advice", |nvim| said(nvim).contains("the project has no conversation yet"));
    assert_eq!(chat.nvim.lua("return vim.g.never == nil", &[]), true);
}

#[test]
fn approving_from_code_means_the_only_call_on_the_screen() {
    let bash = json!({ "command": "echo hi", "timeout": null, "label": null });
    let mut chat = beside([call("toolu_1", "bash", &bash), prose(&["fine"])], "Run it");
    let text = "return table.concat(vim.fn.getbufline(vim.fn.winbufnr(2), 1, '$'), ' ')";
    // Out of sight, it is not decided.
    chat.nvim.command("Flemma toggle");
    chat.nvim.wait_for("the code", |nvim| windows(nvim) == ["main.rs"]);
    chat.nvim.command("Flemma tool:approve");
    chat.nvim.wait_for("the refusal", |nvim| said(nvim).contains("no conversation is on the screen"));
    chat.nvim.input(":Flemma toggle<CR>gg<C-w>p");
    chat.nvim.wait_for("the code", |nvim| windows(nvim).len() == 2 && current(nvim) == "main.rs");
    chat.nvim.command("messages clear");
    chat.nvim.command("Flemma tool:approve");
    chat.nvim.wait_for("the name", |nvim| said(nvim).contains("tool:approve: in Run it"));
    chat.nvim
        .wait_for("the end", |nvim| nvim.lua(text, &[]).as_str().is_some_and(|text| text.contains("@Assistant: fine")));
    assert_eq!(current(&mut chat.nvim), "main.rs");
}

#[test]
fn a_conversation_is_shown_by_its_title() {
    let mut chat = start([prose(&["Hi"])]);
    chat.nvim.command("set statusline& laststatus=2 showtabline=2 columns=100");
    chat.nvim.input(":Flemma toggle tab<CR>iFix the 100% parser<Esc><C-]>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("@Assistant:\nHi"));
    chat.wait_until_idle();
    chat.nvim.wait_for("the write", |nvim| nvim.lua("return vim.bo.modified", &[]) == false);
    assert_eq!(chat.nvim.lua("return vim.b.flemma_title", &[]), "Fix the 100% parser");
    chat.nvim.command("edit | redrawstatus! | redrawtabline");
    chat.nvim.wait_for("the lines", |nvim| {
        let rows = nvim.screen();
        let is_status = |row: &String| row.starts_with("Fix the 100% parser ") && row.contains("claude-test");
        rows[0].contains("/main.rs ") && rows[0].contains(" Fix the 100% parser") && rows.iter().any(is_status)
    });
    // A page of ours has a name that says what it is.
    chat.nvim.command("Flemma status | redraw!");
    chat.nvim.wait_for("the page", |nvim| nvim.screen()[0].contains("/status"));
    chat.nvim.command("close");
    // The user's own lines stay.
    chat.nvim.command("set statusline=mine tabline=%t");
    chat.nvim.command("edit | redrawstatus!");
    chat.nvim.wait_for("the user's", |nvim| nvim.lua("return vim.wo.statusline", &[]) == "mine");
}
