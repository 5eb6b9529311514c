//! Files that are open while a tool writes them.

use serde_json::json;

use super::chat::{Chat, Setup, call, prose, said};

#[test]
fn files_that_a_tool_has_written_are_read_again() {
    let text: String = (1..=20).map(|number| format!("line {number}\n")).collect();
    let files = [("a.txt", text.as_str()), ("b.txt", "one\n")];
    let setup = Setup { files: &files, options: "tools = { auto_approve = { 'write', 'edit' } }", ..Setup::default() };
    let replies = [
        call("toolu_1", "edit", &json!({ "label": null, "path": "a.txt", "old_text": "line 5\n", "new_text": "" })),
        call("toolu_2", "write", &json!({ "label": null, "path": "new.txt", "content": "made\n" })),
        call("toolu_3", "write", &json!({ "label": null, "path": "b.txt", "content": "two\n" })),
        prose(&["fine"]),
    ];
    let mut chat = Chat::start(&setup, replies);
    // Neovim would read none of them again by itself, and keep no undo history.
    let open = "set noautoread
        split a.txt | resize 5 | call setline(1, 'LINE 1') | silent write | call cursor(15, 3) | normal! zt
        split new.txt | split b.txt | call setline(1, 'mine') | wincmd b";
    for command in open.split('\n') {
        chat.nvim.command(command.trim());
    }
    let view = |chat: &mut Chat| {
        chat.nvim.lua("return vim.api.nvim_win_call(vim.fn.bufwinid('a.txt'), vim.fn.winsaveview)", &[])
    };
    let before = view(&mut chat);
    assert_eq!((&before["topline"], &before["lnum"]), (&json!(15), &json!(15)));
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("nothing was written: save b.txt to go on"));
    chat.wait_until_idle();
    let shown = |chat: &mut Chat, name: &str| {
        let text = "return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr(...), 0, -1, false), '\\n') .. '\\n'";
        chat.nvim.lua(text, &[json!(name)]).as_str().unwrap().to_owned()
    };
    let written = text.replace("line 1\n", "LINE 1\n").replace("line 5\n", "");
    assert_eq!(chat.nvim.file("a.txt"), written);
    chat.nvim.wait_for("the file", |nvim| nvim.lua("return vim.fn.getbufline('new.txt', 1)[1]", &[]) == "made");
    assert_eq!(shown(&mut chat, "a.txt"), written);
    assert_eq!(view(&mut chat), before);
    assert_eq!(shown(&mut chat, "b.txt"), "mine\n", "what is not saved stays");
    let said = said(&mut chat.nvim);
    assert_eq!(chat.nvim.file("b.txt"), "one\n", "a file with unsaved changes is not written");
    chat.nvim.command("wincmd t");
    assert_eq!(chat.nvim.lua("return vim.fn.bufname()", &[]), "b.txt");
    chat.nvim.command("silent write | wincmd b");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(chat.nvim.file("b.txt"), "two\n", "saving lets the call go on");
    chat.nvim.wait_for("the file", |nvim| nvim.lua("return vim.fn.getbufline('b.txt', 1)[1]", &[]) == "two");
    assert!(!said.contains("W13") && !said.contains("new.txt was"), "{said}");
    chat.nvim.command("wincmd t | wincmd j | wincmd j | silent undo");
    assert_eq!(chat.nvim.text(), text.replace("line 1\n", "LINE 1\n"), "undo goes back over it");
}

#[test]
fn approving_a_change_of_an_unsaved_file_keeps_the_buffer() {
    let options = "tools = { auto_approve = { 'write' } }";
    let setup = Setup { files: &[("b.txt", "one\n")], options, ..Setup::default() };
    let input = json!({ "label": null, "path": "b.txt", "content": "two\n" });
    let mut chat = Chat::start(&setup, [call("toolu_1", "write", &input), prose(&["fine"])]);
    chat.nvim.command("split b.txt | call setline(1, 'mine') | wincmd b");
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for_screen("save b.txt to go on, or approve the call");
    chat.wait_until_idle();
    chat.nvim.input("<M-CR>");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(chat.nvim.file("b.txt"), "two\n");
    let buffer = "return { vim.fn.getbufline('b.txt', 1, '$'), vim.bo[vim.fn.bufnr('b.txt')].modified }";
    assert_eq!(chat.nvim.lua(buffer, &[]), json!([["mine"], true]));
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("b.txt was changed on disk and in its buffer"));
}
