//! The change of a call in the window of the file.

use std::fs;

use serde_json::{Value, json};

use super::{
    super::chat::{Chat, virtual_lines},
    content, edit, lines, traces, wait_for_message, waiting,
};

const INLINE: &str = "tools = { auto_approve = {}, review = { view = 'inline' } }, notify = { usage = false }";

/// Three hunks: a line more at the top, one changed, one less at the end.
fn changed() -> String {
    format!("top\n{}", lines().replace("line 9\n", "LINE 9\nline 9 and a half\n").replace("line 20\n", ""))
}

fn three_hunks() -> Chat {
    waiting(&[("a.txt", &lines())], "write", &super::write("a.txt", &changed()), INLINE)
}

/// Presses the key, and waits for the view.
fn open(chat: &mut Chat) {
    chat.nvim.input("gK");
    let at = "return vim.fn.expand('%:t') == 'a.txt' and not vim.bo.modifiable";
    chat.nvim.wait_for("the view", |nvim| nvim.lua(at, &[]) == true);
    let marks =
        "return #vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('flemma.review'), 0, -1, {}) > 0";
    chat.nvim.wait_for("the hunks", |nvim| nvim.lua(marks, &[]) == true);
}

/// What is drawn over the file: the line above, and the text without the blanks up to the edge.
fn drawn(chat: &mut Chat) -> Vec<(u64, String)> {
    let all = virtual_lines(&mut chat.nvim, "flemma.review");
    all.into_iter().map(|(line, text)| (line, text.trim().to_owned())).collect()
}

fn pairs(expected: &[(u64, &str)]) -> Vec<(u64, String)> {
    expected.iter().map(|(line, text)| (*line, (*text).to_owned())).collect()
}

fn state(chat: &mut Chat) -> Value {
    chat.nvim
        .lua("return { vim.bo.modified, vim.fn.undotree().seq_last, vim.b.changedtick, vim.fn.getline(1, '$') }", &[])
}

#[test]
fn hunks_are_drawn_taken_and_left_in_the_file() {
    let mut chat = three_hunks();
    chat.nvim.command("split a.txt | nnoremap <buffer> do :echo 'mine'<CR>");
    let in_file = state(&mut chat);
    chat.nvim.command("wincmd p");
    let before = traces(&mut chat.nvim);
    open(&mut chat);
    let all = pairs(&[(1, "top"), (1, "1/3"), (9, "2/3"), (9, "LINE 9"), (9, "line 9 and a half"), (20, "3/3")]);
    assert_eq!(drawn(&mut chat), all);
    chat.nvim.wait_for("the line above the first", |nvim| nvim.row_with("top").is_some_and(|row| row == 0));
    assert_eq!(state(&mut chat), in_file, "nothing of the buffer changes");
    // It cannot be edited, and its keys are ours for now.
    chat.nvim.input("]c");
    chat.nvim.wait_for("the second hunk", |nvim| nvim.cursor() == (9, 0));
    chat.nvim.input("do");
    chat.nvim.wait_for_screen("2/3, left out");
    chat.nvim.input("x");
    wait_for_message(&mut chat.nvim, "E21");
    assert_eq!(state(&mut chat), in_file);
    chat.nvim.input("q");
    wait_for_message(&mut chat.nvim, "toolu_1 is not decided; it still waits");
    assert_eq!(traces(&mut chat.nvim), before);
    // Once more: the last hunk is left out, and the second is left and taken again.
    open(&mut chat);
    chat.nvim.input("]cdodp]cdogA");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "a.txt"), changed() + "line 20\n");
    chat.nvim
        .wait_for("the buffer of the file", |nvim| nvim.lua("return vim.fn.getbufline('a.txt', 1)[1]", &[]) == "top");
    let map = chat.nvim.lua(
        "vim.cmd('wincmd p') return { vim.fn.maparg('do', 'n'), vim.bo.modifiable, vim.fn.maparg('gA', 'n') }",
        &[],
    );
    assert_eq!(map, json!([":echo 'mine'<CR>", true, ""]));
    chat.nvim.command("silent undo");
    assert_eq!(chat.nvim.text(), lines(), "undo goes back over it");
}

#[test]
fn every_way_to_leave_the_file_leaves_nothing_behind() {
    let mut chat = three_hunks();
    // The file is not open: a window is split, and closed again.
    let before = traces(&mut chat.nvim);
    for keys in ["q", ":q<CR>", "<C-w>c", ":bd<CR>", ":bw<CR>", "gKq", "gK:q<CR>", ":close<CR>"] {
        open(&mut chat);
        if keys.starts_with("gK") {
            chat.nvim.input("gK");
            chat.nvim.wait_for("the other view", |nvim| nvim.lua("return vim.bo.buftype", &[]) == "acwrite");
            chat.nvim.input(":q<CR>");
        } else {
            chat.nvim.input(keys);
        }
        chat.nvim.wait_for_value(keys, &before, traces);
    }
    assert_eq!(content(&chat, "a.txt"), lines());
}

#[test]
fn a_file_in_a_window_of_the_users_is_an_ordinary_buffer() {
    // The user makes the window their own, or leaves no other one.
    for keys in ["<C-w>T", ":only<CR>q", ":only<CR>gXno<CR>"] {
        let mut chat = three_hunks();
        open(&mut chat);
        chat.nvim.input(keys);
        let borrowed = "local found = {}
             for _, buf in ipairs(vim.api.nvim_list_bufs()) do
               if vim.fn.bufname(buf):find('a.txt') then
                 found[#found + 1] = { vim.bo[buf].buflisted, vim.bo[buf].modified, vim.bo[buf].modifiable }
               end
             end
             return found";
        let expected = if keys == "<C-w>T" { json!([[true, false, true]]) } else { json!([]) };
        chat.nvim.wait_for(keys, |nvim| nvim.lua(borrowed, &[]) == expected);
        assert_eq!(content(&chat, "a.txt"), lines(), "{keys}");
    }
}

#[test]
fn the_review_goes_on_side_by_side_with_what_was_taken() {
    let mut chat = three_hunks();
    open(&mut chat);
    chat.nvim.input("dogK");
    chat.nvim.wait_for("the other view", |nvim| nvim.lua("return vim.bo.buftype", &[]) == "acwrite");
    assert_eq!(chat.nvim.lines(0)[0], "line 1", "the first hunk is left out");
    chat.nvim.input("ggOmine<Esc>:w<CR>");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "a.txt"), changed().replace("top\n", "mine\n"));
}

#[test]
fn folds_and_the_cursor_of_the_file_come_back() {
    let mut chat = three_hunks();
    chat.nvim.command("split a.txt | setlocal foldmethod=manual | 8,12fold | 1 | wincmd p");
    let folds = "local win = vim.fn.bufwinid('a.txt')
      return vim.api.nvim_win_call(win, function() return { vim.fn.foldclosed(9), vim.fn.line('.'), vim.wo.foldenable } end)";
    assert_eq!(chat.nvim.lua(folds, &[]), json!([8, 1, true]));
    open(&mut chat);
    chat.nvim.input("]c]c");
    chat.nvim.input("q");
    wait_for_message(&mut chat.nvim, "toolu_1 is not decided");
    assert_eq!(chat.nvim.lua(folds, &[]), json!([8, 1, true]));
}

#[test]
fn the_file_looks_as_before_wherever_it_is_shown_next() {
    let old = format!("{}{}\n", lines(), "0123456789".repeat(800));
    for keys in [":edit other.txt<CR>", ":bdelete<CR>", ":close<CR>", ":tabclose<CR>", "<C-w>o:edit other.txt<CR>"] {
        let setup = if keys.contains("tabclose") { "tab split a.txt" } else { "split a.txt" };
        let mut chat = waiting(&[("a.txt", &old)], "write", &super::write("a.txt", &format!("{old}behind\n")), INLINE);
        fs::write(chat.nvim.work().join("other.txt"), "other\n").unwrap();
        chat.nvim.command(&format!("{setup} | setlocal foldmethod=manual | 8,12fold | let g:file = bufnr('a.txt')"));
        let call = chat.nvim.lua("return vim.fn.bufnr('notes.chat')", &[]);
        if keys.contains("tabclose") {
            chat.nvim.command(&format!("split | buffer {call}"));
        } else {
            chat.nvim.command("wincmd p");
        }
        chat.nvim.input("gK");
        let off = "return vim.fn.expand('%:t') == 'a.txt' and not vim.wo.foldenable and not vim.wo.wrap";
        chat.nvim.wait_for("the view", |nvim| nvim.lua(off, &[]) == true);
        chat.nvim.input(keys);
        wait_for_message(&mut chat.nvim, "toolu_1 is not decided");
        let window = chat.nvim.lua("return vim.api.nvim_get_current_win()", &[]);
        chat.nvim.command("buffer a.txt");
        assert_eq!(window, chat.nvim.lua("return vim.api.nvim_get_current_win()", &[]), "{keys}");
        assert_eq!(chat.nvim.lua("return { vim.wo.foldenable, vim.wo.wrap }", &[]), json!([true, true]), "{keys}");
        chat.nvim.command("split");
        assert_eq!(chat.nvim.lua("return { vim.wo.foldenable, vim.wo.wrap }", &[]), json!([true, true]), "{keys}");
    }
}

#[test]
fn a_long_line_is_wrapped_in_a_narrow_window() {
    let long = "word ".repeat(30).trim_end().to_owned();
    let mut chat = waiting(&[("a.txt", &lines())], "edit", &edit("a.txt", "line 5", &long), INLINE);
    chat.nvim.command("vsplit a.txt | vertical resize 30 | wincmd p");
    open(&mut chat);
    let rows: Vec<_> = drawn(&mut chat).into_iter().filter(|(_, text)| text.contains("word")).collect();
    assert_eq!(rows.len(), 5, "{rows:?}");
    assert!(rows.iter().all(|(_, row)| row.len() <= 30), "{rows:?}");
}

#[test]
fn what_was_left_out_stays_so_when_the_file_changes() {
    let (start, end) = (lines(), lines().replace("line 3\n", "LINE 3\n").replace("line 9\n", "LINE 9\n"));
    let part = |text: &str| text.split_inclusive('\n').skip(2).take(7).collect::<String>();
    let mut chat = waiting(&[("a.txt", &start)], "edit", &edit("a.txt", &part(&start), &part(&end)), INLINE);
    open(&mut chat);
    chat.nvim.wait_for_screen("1/2");
    chat.nvim.input("do");
    chat.nvim.wait_for_screen("1/2, left out");
    fs::write(chat.nvim.work().join("a.txt"), format!("{start}theirs\n")).unwrap();
    wait_for_message(&mut chat.nvim, "the file has changed, so the proposal was made again");
    chat.nvim.wait_for_screen("1/2, left out");
    chat.nvim.input("gA");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "a.txt"), start.replace("line 9\n", "LINE 9\n") + "theirs\n");
}

#[test]
fn the_card_says_that_a_hunk_was_left_out() {
    let mut chat = three_hunks();
    open(&mut chat);
    let hint = "gA approve, gX reject, do/dp leave/take, gK edit, q leave";
    chat.nvim.wait_for_screen(hint);
    chat.nvim.input("]cdogA");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    chat.wait_until_idle();
    chat.nvim.input("gg");
    // The counts are those of what was written.
    chat.nvim.wait_for_screen("write a.txt +1 -1  2 of 3 changes");
    assert_eq!(chat.nvim.row_with(" B)"), None, "the size of the proposal");
}

#[test]
fn a_rewrite_of_very_many_lines_is_drawn_and_written() {
    let text = |sign: &str| (0..20_000).map(|line| format!("{sign}{line}\n")).collect::<String>();
    let (old, new) = (text("a"), text("b"));
    let mut chat = waiting(&[("a.txt", &old)], "write", &super::write("a.txt", &new), INLINE);
    open(&mut chat);
    let all = drawn(&mut chat);
    // As many as can be seen; the other view has the rest.
    let height = chat.nvim.lua("return vim.api.nvim_win_get_height(0)", &[]).as_u64().unwrap();
    let shown = height - 2;
    assert_eq!(all.len() as u64, shown + 1, "{:?}", &all[..3]);
    assert!(all.contains(&(20_000, format!("… {} more lines; gK shows them", 20_000 - shown))), "{all:?}");
    assert!(all.contains(&(20_000, format!("b{}", shown - 1))), "{all:?}");
    chat.nvim.input("dodp");
    chat.nvim.wait_for("the hunk", |_| true);
    chat.nvim.input("gA");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "a.txt"), new);
}

#[test]
fn a_change_that_is_shown_elsewhere_leaves_no_buffer() {
    let mut chat = waiting(&[("a.txt", &lines()), ("b.txt", "b\n")], "edit", &edit("b.txt", "b", "B"), INLINE);
    chat.nvim.command("split b.txt | wincmd p");
    let count = "return #vim.api.nvim_list_bufs()";
    let before = chat.nvim.lua(count, &[]);
    // Two files, of which the second has changes that are not saved.
    chat.nvim.lua(
        "vim.api.nvim_buf_set_lines(vim.fn.bufnr('b.txt'), 0, -1, false, { 'mine' })
         local calls, get = require('flemma.review.calls'), require('flemma.review.calls').get
         calls.get = function(buf, call, callback)
           get(buf, call, function(found, problem)
             found = found or { call_id = call, tool = 'edit', revision = 'r1', files = {} }
             local a = vim.fn.fnamemodify('a.txt', ':p')
             found.files = { { path = a, name = 'a.txt', old = table.concat(vim.fn.readfile(a), '\\n') .. '\\n', new = 'x\\n', hunks = {} },
               { path = vim.fn.fnamemodify('b.txt', ':p'), name = 'b.txt', old = 'b\\n', new = 'B\\n', hunks = {} } }
             callback(found)
           end)
         end",
        &[],
    );
    chat.nvim.input("gK");
    chat.nvim.wait_for("the other view", |nvim| nvim.lua("return vim.bo.buftype", &[]) == "acwrite");
    wait_for_message(&mut chat.nvim, "shown side by side: b.txt has changes that are not saved");
    chat.nvim.input(":q<CR>");
    chat.nvim.wait_for("the end of the buffers", |nvim| nvim.lua(count, &[]) == before);
}
