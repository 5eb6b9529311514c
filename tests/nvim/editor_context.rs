//! References to what the editor shows, captured in a real editor.

use std::{fs, process::Command};

use serde_json::json;

use super::chat::{Chat, Setup, prose, said};

const CODE: &str = "local M = {}\n\nfunction M.greet(name)\n  local words = 'hi'\n  return words\nend\n\nreturn M\n";

const FILES: &[(&str, &str)] = &[("a.lua", CODE), ("b.txt", "alpha\nbeta\n")];

/// An editor with `a.lua`, its cursor in a function, and `notes.chat` in a window above it.
fn beside(replies: usize) -> Chat {
    let setup = Setup { text: Some("@You:\n\n"), files: FILES, ..Setup::default() };
    let mut chat = Chat::start(&setup, (0..replies).map(|_| prose(&["ok"])));
    chat.wait_until_idle();
    chat.nvim.command("belowright split a.lua");
    chat.nvim.command("5");
    chat.nvim.lua(
        "vim.diagnostic.set(vim.api.nvim_create_namespace('test'), 0,
           { { lnum = 3, col = 2, message = 'unused\\nlocal', severity = 2, source = 'luals', code = 'W1' } })",
        &[],
    );
    chat.nvim.command("wincmd p");
    chat
}

fn send(chat: &mut Chat, words: &str) {
    chat.nvim.input(&format!("Go{words}<Esc><C-]>"));
    chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:\nok"));
    chat.wait_until_idle();
}

#[test]
fn a_reference_without_a_file_names_the_way_to_give_one() {
    let mut chat = Chat::start(&Setup { text: Some("@You:\n\n"), ..Setup::default() }, []);
    for kind in ["buffer", "symbol", "diagnostics"] {
        chat.nvim.input(&format!("GccSee @{kind}<Esc><C-]>"));
        let words = format!("open one, or name one: `@{kind}:./path`");
        chat.nvim.wait_for(kind, |nvim| said(nvim).contains(&words));
    }
}

#[test]
fn what_was_captured_has_a_line_and_a_diff_its_colours() {
    let mut chat = beside(1);
    let folder = chat.nvim.work();
    for arguments in [&["init", "-q"][..], &["add", "b.txt"]] {
        assert!(Command::new("git").args(arguments).current_dir(&folder).status().unwrap().success());
    }
    fs::write(folder.join("b.txt"), "alpha\nBETA\n").unwrap();
    send(&mut chat, "See @diff and @buffer");
    chat.nvim.command("only");
    chat.nvim.input("zRG");
    chat.nvim.wait_for("the lines", |nvim| {
        nvim.command("redraw");
        let rows = nvim.screen();
        [" @diff", " @buffer"].iter().all(|line| rows.iter().any(|row| row == line))
            && !rows.iter().any(|row| row.contains("flemma:captured"))
    });
    let added = chat.nvim.row_with("+BETA").expect("the diff");
    let inspect = "vim.api.nvim__inspect_cell(1, 0, 0) vim.cmd('redraw!')
        return vim.api.nvim__inspect_cell(1, ..., 1)[2] or {}";
    let plain = chat.nvim.row_with("@buffer and").or(chat.nvim.row_with("See @diff")).expect("the message");
    chat.nvim.wait_for("the colours", |nvim| nvim.lua(inspect, &[added.into()]) != nvim.lua(inspect, &[plain.into()]));
}

#[test]
fn the_file_in_the_other_window_is_meant() {
    let mut chat = beside(1);
    chat.nvim.command("wincmd p");
    chat.nvim.command("call setline(1, 'local N = {}')");
    chat.nvim.lua(
        "vim.fn.setqflist({}, ' ', { title = 'make', items = {
           { filename = 'b.txt', lnum = 2, col = 1, text = 'beta is bad', type = 'E' } } })",
        &[],
    );
    chat.nvim.command("wincmd p");
    let before = chat.nvim.text();
    send(&mut chat, "See @symbol, @diagnostics, @buffer and @quickfix");
    let text = chat.nvim.text();
    for captured in [
        "of=\"@symbol\"\na.lua, lines 3 to 6: `M.greet`, with unsaved changes\n3\tfunction M.greet(name)\n",
        "of=\"@diagnostics\"\na.lua: 1 diagnostic, with unsaved changes\na.lua:4:3 warning: unused\n    local (luals W1)\n",
        "of=\"@buffer\"\na.lua, 8 lines, with unsaved changes\n1\tlocal N = {}\n",
        "of=\"@quickfix\"\nquickfix list: 1 entry\nb.txt:2:1 error: beta is bad\n",
    ] {
        assert!(text.contains(captured), "`{captured}` is not in\n{text}");
    }
    let sent = chat.messages(0)[0]["content"].to_string();
    assert!(sent.contains("beta is bad") && sent.contains("local N"), "{sent}");
    // The fences are folds of their own, which begin closed.
    let folded = "return vim.fn.foldclosed(vim.fn.search('captured of=\"@buffer', 'wn')) > 0";
    assert_eq!(chat.nvim.lua(folded, &[]), true, "{:#?}", chat.nvim.screen());
    chat.nvim.lua("vim.cmd('normal! gg')", &[]);
    chat.nvim.wait_for("the fold", |nvim| {
        nvim.screen().iter().any(|row| row.starts_with(" ▸ @symbol") && row.ends_with("5 lines"))
    });
    // One step back: the reply and what was captured.
    chat.nvim.input("u");
    let typed = format!(
        "{}See @symbol, @diagnostics, @buffer and @quickfix\n",
        before.trim_end_matches('\n').to_owned() + "\n\n"
    );
    let now = chat.nvim.text();
    assert_eq!(now.trim_end(), typed.trim_end(), "{now}");
}

#[test]
fn the_file_before_is_meant_where_there_is_one_window() {
    let mut chat = beside(2);
    chat.nvim.command("wincmd p");
    chat.nvim.command("only");
    chat.nvim.command("edit notes.chat");
    chat.wait_until_idle();
    send(&mut chat, "See @symbol");
    assert!(chat.nvim.text().contains("a.lua, lines 3 to 6: `M.greet`"), "{}", chat.nvim.text());
    // A path names another file, which has to be open.
    chat.nvim.input("GoSee @buffer:./b.txt<Esc><C-]>");
    chat.nvim.wait_for("an error", |nvim| said(nvim).contains("b.txt is not open in the editor"));
    chat.wait_until_idle();
    assert_eq!(chat.server.requests().len(), 1);
    chat.nvim.command("badd b.txt | call bufload('b.txt')");
    chat.send_until("b.txt, 2 lines\n1\talpha\n2\tbeta\n");
}

#[test]
fn the_buffer_is_the_last_one_with_a_file() {
    let mut chat = beside(2);
    // Into the file, then into a terminal and a list, and back.
    chat.nvim.command("wincmd p");
    chat.nvim.command("belowright split b.txt");
    chat.nvim.command("belowright new | call termopen(['cat'])");
    chat.nvim.command("copen");
    chat.nvim.command("1wincmd w");
    send(&mut chat, "See @buffer");
    let text = chat.nvim.text();
    assert!(text.contains("of=\"@buffer\"\nb.txt, 2 lines\n1\talpha\n"), "{text}");
    chat.nvim.command("normal! gg");
    chat.nvim.wait_for("the fold", |nvim| {
        nvim.screen().iter().any(|row| row.starts_with(" ▸ @buffer  b.txt, 2 lines") && row.ends_with("3 lines"))
    });
}

#[test]
fn a_language_server_knows_symbols_too() {
    let mut chat = beside(1);
    chat.nvim.command("wincmd p");
    chat.nvim.command("edit b.txt");
    chat.nvim.command("2");
    chat.nvim.command("wincmd p");
    chat.nvim.input("GoSee @symbol<Esc><C-]>");
    let none = "@symbol: neither treesitter nor a language server knows a symbol around line 2 of b.txt";
    chat.nvim.wait_for("an error", |nvim| said(nvim).contains(none));
    chat.wait_until_idle();
    chat.nvim.lua(
        "local buf = vim.fn.bufnr('b.txt')
         local range = { start = { line = 1, character = 0 }, ['end'] = { line = 1, character = 4 } }
         vim.lsp.start({ name = 'fake', cmd = function()
           return {
             request = function(method, _, answer)
               vim.schedule(function()
                 answer(nil, method == 'initialize' and { capabilities = { documentSymbolProvider = true } }
                   or { { name = 'beta', kind = 12, range = range, selectionRange = range } })
               end)
               return true, 1
             end,
             notify = function() return true end,
             is_closing = function() return false end,
             terminate = function() end,
           }
         end }, { bufnr = buf })",
        &[],
    );
    chat.nvim.wait_for("the server", |nvim| {
        let ready =
            "return #vim.lsp.get_clients({ bufnr = vim.fn.bufnr('b.txt'), method = 'textDocument/documentSymbol' })";
        nvim.lua(ready, &[]) == 1
    });
    chat.send_until("b.txt, lines 2 to 2: `beta`\n2\tbeta\n");
}

#[test]
fn a_strangers_references_are_asked_about() {
    let text = "@You:\nSee @buffer and @diff\n";
    let setup = Setup { text: Some(text), files: FILES, ..Setup::default() };
    let mut chat = Chat::start(&setup, [prose(&["ok"])]);
    chat.nvim.command("belowright split a.lua | wincmd p");
    chat.record_questions();
    chat.nvim.input("<C-]>");
    chat.wait_for_question(1);
    assert_eq!(
        chat.nvim.lua("return { vim.g.prompt, vim.g.items[2] }", &[]),
        json!([
            "notes.chat would send what your editor shows, by references that you did not write in this session: \
             @buffer, @diff",
            "Send this"
        ])
    );
    chat.nvim.lua("choose(1)", &[]);
    assert_eq!(chat.nvim.cursor(), (2, 0));
    assert!(chat.server.requests().is_empty());
    assert_eq!(chat.nvim.text(), text);
}
