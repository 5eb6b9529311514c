//! The change of a call in the window of the file.

use std::fs;

use serde_json::{Value, json};

use super::{
    super::chat::{Chat, virtual_lines},
    content, edit, lines, traces, wait_for_message, waiting,
};

const INLINE: &str = "tools = { auto_approve = {}, review = { view = 'inline' } }";

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
    let at = "return vim.fn.expand('%:t') == 'a.txt' and vim.b.flemma_review ~= nil";
    chat.nvim.wait_for("the view", |nvim| nvim.lua(at, &[]) == true);
    let marks =
        "return #vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('flemma.review'), 0, -1, {}) > 0";
    chat.nvim.wait_for("the hunks", |nvim| nvim.lua(marks, &[]) == true);
}

/// What is drawn over the file: the line above, and the text without the blanks up to the edge.
fn drawn(chat: &mut Chat) -> Vec<(u64, String)> {
    let all = virtual_lines(&mut chat.nvim, "flemma.review");
    all.into_iter().map(|(line, text)| (line, text.trim().trim_start_matches(['+', '-']).to_owned())).collect()
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
    // Its keys are those of the review for now.
    chat.nvim.input("]c");
    chat.nvim.wait_for("the second hunk", |nvim| nvim.cursor() == (9, 0));
    chat.nvim.input("do");
    chat.nvim.wait_for_screen("2/3, left out");
    assert_eq!(state(&mut chat), in_file);
    chat.nvim.input("q");
    wait_for_message(&mut chat.nvim, "toolu_1 is not decided; it still waits");
    assert_eq!(traces(&mut chat.nvim), before);
    // Once more: the second hunk is still left out and is taken again, and the last one is left out.
    open(&mut chat);
    chat.nvim.wait_for_screen("2/3, left out");
    chat.nvim.input("]cdp]cdogA");
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
    // It is the only window.
    for keys in [":only<CR>q", ":only<CR>gXno<CR>"] {
        let mut chat = three_hunks();
        open(&mut chat);
        chat.nvim.input(keys);
        let borrowed = "local found = {}
             for _, buf in ipairs(vim.api.nvim_list_bufs()) do
               if vim.fn.bufname(buf) == 'a.txt' then
                 found[#found + 1] = { vim.bo[buf].buflisted, vim.bo[buf].modified, vim.bo[buf].modifiable }
               end
             end
             return found";
        chat.nvim.wait_for(keys, |nvim| nvim.lua(borrowed, &[]) == json!([]));
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
    chat.nvim.input("ggOmine<Esc>gA");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "a.txt"), changed().replace("top\n", "mine\n"));
}

#[test]
fn a_long_line_is_wrapped_in_a_narrow_window() {
    let long = "word ".repeat(30).trim_end().to_owned();
    let mut chat = waiting(&[("a.txt", &lines())], "edit", &edit("a.txt", "line 5", &long), INLINE);
    chat.nvim.command("vsplit a.txt | vertical resize 30 | wincmd p");
    open(&mut chat);
    let rows: Vec<_> = drawn(&mut chat).into_iter().filter(|(_, text)| text.contains("word")).collect();
    assert_eq!(rows.len(), 6, "{rows:?}");
    assert!(rows.iter().all(|(_, row)| row.len() <= 30), "{rows:?}");
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
    chat.nvim.input("do");
    chat.nvim.wait_for_screen("left out");
    chat.nvim.input("dpgA");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "a.txt"), new);
}

#[test]
fn a_file_with_unsaved_changes_is_shown_side_by_side() {
    let mut chat = waiting(&[("a.txt", &lines()), ("b.txt", "b\n")], "edit", &edit("b.txt", "b", "B"), INLINE);
    chat.nvim.command("split b.txt | call setline(1, 'mine') | wincmd p");
    let count =
        "return #vim.tbl_filter(function(buf) return not vim.b[buf].flemma_review end, vim.api.nvim_list_bufs())";
    let before = chat.nvim.lua(count, &[]);
    chat.nvim.input("gK");
    chat.nvim.wait_for("the other view", |nvim| nvim.lua("return vim.bo.buftype", &[]) == "acwrite");
    wait_for_message(&mut chat.nvim, "shown side by side: b.txt has changes that are not saved");
    chat.nvim.input(":q<CR>");
    chat.nvim.wait_for("the end of the buffers", |nvim| nvim.lua(count, &[]) == before);
}

#[test]
fn editing_the_file_leaves_its_review() {
    let mut chat = three_hunks();
    chat.nvim.command("split a.txt | nnoremap <buffer> do :echo 'mine'<CR> | wincmd p");
    open(&mut chat);
    chat.nvim.input("x");
    wait_for_message(&mut chat.nvim, "toolu_1 is not decided; it still waits");
    let left = "local buf = vim.fn.bufnr('a.txt')
         local namespace = vim.api.nvim_create_namespace('flemma.review')
         local maps = vim.tbl_map(function(map) return map.lhs end, vim.api.nvim_buf_get_keymap(buf, 'n'))
         return { vim.bo[buf].modified, maps, #vim.api.nvim_buf_get_extmarks(buf, namespace, 0, -1, {}) }";
    chat.nvim.wait_for("an ordinary buffer", |nvim| nvim.lua(left, &[]) == json!([true, ["do"], 0]));
    assert_eq!(content(&chat, "a.txt"), lines());
}

#[test]
fn a_change_in_a_closed_fold_is_seen() {
    let mut chat = three_hunks();
    chat.nvim.command("split a.txt | setlocal foldmethod=manual | 8,12fold | 1 | wincmd p");
    open(&mut chat);
    let fold = "return vim.fn.foldclosed(9)";
    chat.nvim.wait_for("the open fold", |nvim| nvim.lua(fold, &[]) == -1);
    assert_eq!(chat.nvim.lua("return vim.wo.foldenable", &[]), true);
}

#[test]
fn a_text_that_was_edited_is_drawn_in_the_file() {
    let mut chat = three_hunks();
    open(&mut chat);
    chat.nvim.input("gK");
    chat.nvim.wait_for("the other view", |nvim| nvim.lua("return vim.bo.buftype", &[]) == "acwrite");
    chat.nvim.input("Gomine<Esc>:q<CR>");
    wait_for_message(&mut chat.nvim, "toolu_1 is not decided");
    open(&mut chat);
    chat.nvim.wait_for("the text", |nvim| {
        virtual_lines(nvim, "flemma.review").iter().any(|(_, row)| row.starts_with("+mine"))
    });
    chat.nvim.input("gA");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "a.txt"), changed() + "mine\n");
}

#[test]
fn a_file_that_changes_is_drawn_again() {
    let mut chat = waiting(&[("a.txt", &lines())], "edit", &edit("a.txt", "line 5\n", "LINE 5\n"), INLINE);
    open(&mut chat);
    fs::write(chat.nvim.work().join("a.txt"), format!("first\n{}", lines())).unwrap();
    wait_for_message(&mut chat.nvim, "the file has changed, so the proposal was made again");
    chat.nvim.wait_for("the hunk", |nvim| {
        let rows = nvim.screen();
        rows.iter().position(|row| row.contains("+LINE 5")).is_some_and(|at| at > 0 && rows[at - 1].contains("line 5"))
    });
    chat.nvim.input("gA");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "a.txt"), format!("first\n{}", lines().replace("line 5\n", "LINE 5\n")));
}
