//! The change of a call side by side.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::{Setup, call, content, edit, lines, open, prose, traces, wait_for_message, wait_for_own_keys, waiting};

fn one_edit() -> super::Chat {
    waiting(&[("a.txt", &lines())], "edit", &edit("a.txt", "line 5", "LINE 5\nmore"), "")
}

/// The lines of the window at the left.
fn left(chat: &mut super::Chat) -> Vec<String> {
    let lines = chat.nvim.lua("return vim.api.nvim_buf_get_lines(vim.fn.winbufnr(1), 0, -1, false)", &[]);
    lines.as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_key_shows_the_change_and_ga_approves_it() {
    let mut chat = one_edit();
    wait_for_own_keys(&mut chat.nvim);
    // The window in which the conversation was sent stays where it is: the user decides in this one.
    chat.nvim.command("split");
    let others = "return vim.fn.line('.', vim.fn.win_getid(2))";
    let other = chat.nvim.lua(others, &[]);
    let before = traces(&mut chat.nvim);
    open(&mut chat);
    assert_eq!(left(&mut chat)[4], "line 5");
    assert_eq!(chat.nvim.lines(0)[4..6], ["LINE 5", "more"]);
    assert_eq!(chat.nvim.cursor(), (5, 0));
    for words in ["a.txt (now)", "proposed", "gA approve  gX reject"] {
        chat.nvim.wait_for_screen(words);
    }
    chat.nvim.input("gA");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "a.txt"), lines().replace("line 5", "LINE 5\nmore"));
    chat.wait_until_idle();
    let after = traces(&mut chat.nvim);
    assert_eq!(before, after);
    assert_eq!(chat.nvim.lua(others, &[]), other);
}

#[test]
fn the_names_of_both_sides_can_be_read_and_are_no_files() {
    let edit = edit("src/a.txt", "line 5", "LINE 5");
    let lua = "vim.o.showtabline = 2 vim.o.statusline = '%f'";
    let mut chat = waiting(&[("src/a.txt", &lines())], "edit", &edit, "");
    chat.nvim.lua(lua, &[]);
    chat.nvim.lua("vim.fn.bufadd('flemma://review/toolu_1/src/a.txt (now)')", &[]);
    open(&mut chat);
    chat.nvim.wait_for_screen("2 f//r/t/s/a.txt");
    chat.nvim.wait_for_screen("flemma://review/toolu_1/src/a.txt");
    // Somebody has the other name already.
    chat.nvim.wait_for_screen("(now) (");
    // Neither is listed, and neither gets a file.
    assert!(!chat.nvim.lua("return vim.fn.execute('ls')", &[]).as_str().unwrap().contains("flemma:"));
    chat.nvim.input("ggOmine<Esc>:noautocmd write<CR>:wall<CR>:q!<CR>");
    chat.nvim.wait_for("the end of the review", |nvim| nvim.lua("return #vim.api.nvim_list_tabpages()", &[]) == 1);
    let files = |folder: &str| std::fs::read_dir(chat.nvim.work().join(folder)).unwrap().flatten();
    assert_eq!(files("src").count(), 1);
    assert!(!files(".").any(|file| file.file_name().to_string_lossy().contains("flemma:")));
    assert_eq!(content(&chat, "src/a.txt"), lines());
}

/// What the user has left out or edited is not written by an approval in the conversation.
#[test]
fn an_approval_elsewhere_is_for_what_was_made_of_the_change() {
    let old = lines();
    let new = old.replace("line 3\n", "LINE 3\n").replace("line 15\n", "LINE 15\n");
    let half = old.replace("line 15\n", "LINE 15\n");
    let approve = ":call search('status=pending')<CR>:Flemma tool:approve<CR>";
    let run = ":call search('status=pending')<CR><M-CR>";
    let by_hand = ":%s/status=pending/status=approved/<CR><C-]>";
    let by_script = ":lua require('flemma.tools').resolve(vim.g.chat, 'toolu_1', { approved = true })<CR>";
    let discard = ":q!<CR>";
    for (view, leave, decide) in [
        ("tab", ":q<CR>", approve),
        ("tab", "gT", approve),
        ("tab", discard, approve),
        ("inline", "q", approve),
        ("inline", "<C-w>w", approve),
        ("inline", "q", run),
        ("tab", "gT", by_hand),
        // From outside, while the review is on the screen.
        ("tab", "", by_script),
        ("inline", "", by_script),
        ("tab", ":noautocmd tabprevious<CR>", approve),
        // The call goes and comes back, and so does its conversation.
        ("inline", "qu<C-r>", approve),
        ("tab", "gT:w<CR>:e!<CR>", approve),
    ] {
        let options = format!("tools = {{ auto_approve = {{}}, review = {{ view = '{view}' }} }}");
        let mut chat = waiting(&[("a.txt", &old)], "write", &super::write("a.txt", &new), &options);
        chat.nvim.command("let g:chat = bufnr()");
        chat.nvim.input("gK");
        let shown = "return vim.b.flemma_review ~= nil";
        chat.nvim.wait_for("the view", |nvim| nvim.lua(shown, &[]) == true);
        chat.nvim.input("do");
        chat.nvim.input(leave);
        if !leave.is_empty() {
            chat.nvim.wait_for("the conversation", |nvim| nvim.lua("return vim.bo.filetype", &[]) == "chat");
        }
        if leave == discard {
            // It is shown once more, too. That is known one turn of the main loop after the window is closed.
            chat.nvim.lua("vim.schedule(function() vim.g.has_turned = true end)", &[]);
            chat.nvim.wait_for("the main loop", |nvim| nvim.lua("return vim.g.has_turned", &[]) == true);
            chat.wait_until_idle();
            chat.nvim.wait_for("the proposal", |nvim| nvim.row_with("as you have edited it").is_none());
        }
        let is_noted = !leave.is_empty() && leave != discard && !leave.contains("noautocmd");
        if is_noted {
            chat.nvim.wait_for(&format!("the preview after {leave}"), |nvim| {
                nvim.row_with("as you have edited it").is_some()
            });
            let shown = super::super::chat::previews(&mut chat.nvim);
            assert!(!shown.iter().any(|(_, row)| row.contains("+LINE 3")), "{shown:?}");
        }
        chat.nvim.input(decide);
        let text = "local buf = vim.fn.bufnr('notes.chat')
             return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), ' ')";
        chat.nvim.wait_for("the reply", |nvim| {
            nvim.lua(text, &[]).as_str().is_some_and(|text| text.contains("@Assistant: fine"))
        });
        let (told, is_whole) = (chat.nvim.lua(text, &[]).to_string(), leave == discard);
        assert_eq!(content(&chat, "a.txt"), if is_whole { &new } else { &half }.as_str(), "{view} {leave} {decide}");
        assert_eq!(told.contains("left out"), !is_whole, "{view} {leave}: {told}");
    }
}

#[test]
fn a_read_only_file_is_announced() {
    if !rustix::process::geteuid().is_root() {
        // For anybody else, nothing can be proposed.
        return;
    }
    for view in ["tab", "inline"] {
        let options = format!("tools = {{ auto_approve = {{}}, review = {{ view = '{view}' }} }}");
        let input = edit("a.txt", "line 5", "LINE 5");
        let setup = Setup { files: &[("a.txt", &lines())], options: &options, ..Setup::default() };
        let mut chat = super::Chat::start(&setup, [call("toolu_1", "edit", &input), prose(&["fine"])]);
        let path = chat.nvim.work().join("a.txt");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for_screen("this file is read-only");
        chat.wait_until_idle();
        chat.nvim.input("gK");
        let (words, key) = if view == "tab" { ("a.txt (now, read-only)", "gA") } else { ("a.txt", "gA") };
        chat.nvim.wait_for("the view", |nvim| nvim.lua("return vim.bo.filetype ~= 'chat'", &[]) == true);
        chat.nvim.wait_for_screen(words);
        if view == "inline" {
            chat.nvim.wait_for("the note", |nvim| nvim.row_with("this file is read-only").is_some_and(|row| row < 10));
        }
        chat.nvim.input(key);
        chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
        assert_eq!(content(&chat, "a.txt"), lines().replace("line 5\n", "LINE 5\n"), "{view}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o444, "{view}");
    }
}

#[test]
fn every_way_to_leave_leaves_nothing_behind() {
    let mut chat = one_edit();
    // A layout, and options of the user that diff mode changes.
    chat.nvim.command("set equalalways scrollopt=ver,jump foldmethod=indent | 10split a.txt | 30vsplit | wincmd b");
    chat.go_to("toolu_1");
    let before = traces(&mut chat.nvim);
    for keys in [
        ":q<CR>",
        "ix<Esc>:q!<CR>",
        ":tabclose<CR>",
        "ix<Esc>u:tabclose!<CR>",
        ":bd<CR>",
        "ix<Esc>:bd!<CR>",
        ":bw<CR>",
        "<C-w>o:q<CR>",
        "<C-w>h:q<CR>:q<CR>",
        "<C-w>h:tabclose<CR>",
        ":close<CR>",
        "<C-w>c",
        "ZQ",
        "ZZ",
        "]f[f]cdo:q!<CR>",
    ] {
        open(&mut chat);
        chat.nvim.input(keys);
        chat.nvim.wait_for_value(keys, &before, traces);
        assert!(chat.nvim.text().contains("status=pending"), "{keys}");
        assert_eq!(content(&chat, "a.txt"), lines(), "{keys}");
    }
    wait_for_message(&mut chat.nvim, "toolu_1 is not decided; it still waits");
}

#[test]
fn a_flag_that_hides_differences_is_named() {
    for flag in ["iwhite", "iwhiteall", "iwhiteeol", "icase", "iblank"] {
        let mut chat = one_edit();
        chat.nvim.command(&format!("set columns=160 diffopt+={flag}"));
        let before = chat.nvim.lua("return vim.o.diffopt", &[]);
        open(&mut chat);
        chat.nvim.wait_for_screen(&format!("'diffopt' with {flag} hides differences"));
        assert_eq!(chat.nvim.lua("return vim.o.diffopt", &[]), before, "the option is the user's");
    }
}

#[test]
fn a_line_break_that_goes_is_told_above_the_file() {
    let mut chat = waiting(&[("a.txt", &lines())], "write", &super::write("a.txt", lines().trim_end()), "");
    open(&mut chat);
    chat.nvim.wait_for_screen("proposed, no newline at end");
}

#[test]
fn what_was_edited_stays_until_the_call_is_decided() {
    let mut chat = one_edit();
    open(&mut chat);
    chat.nvim.input("ggOmine<Esc>:q<CR>");
    wait_for_message(&mut chat.nvim, "toolu_1 is not decided; it still waits, with your edit");
    assert_eq!(chat.nvim.lua("return #vim.api.nvim_list_tabpages()", &[]), 1);
    // Neovim warns about it like about any text that would be lost.
    chat.nvim.input(":qa<CR>");
    chat.nvim.wait_for_screen("E37");
    chat.nvim.input("<CR>:silent! tabonly<CR>:buffer notes.chat<CR>");
    chat.nvim.wait_for("the conversation", |nvim| nvim.lua("return vim.bo.filetype", &[]) == "chat");
    chat.nvim.input(":only<CR>");
    open(&mut chat);
    assert_eq!(chat.nvim.lines(0)[0], "mine");
    // Its history is there, too.
    chat.nvim.input("u");
    chat.nvim.wait_for("the proposal", |nvim| nvim.lines(0)[0] == "line 1");
    chat.nvim.input("<C-r>:q!<CR>");
    wait_for_message(&mut chat.nvim, "toolu_1 is not decided");
    open(&mut chat);
    assert_eq!(chat.nvim.lines(0)[0], "line 1", "it was given up");
    chat.nvim.input(":qa<CR>");
    chat.nvim.wait_for_exit();
}

#[test]
fn the_left_side_may_be_closed_alone() {
    let mut chat = one_edit();
    open(&mut chat);
    chat.nvim.input("<C-w>o");
    chat.nvim.wait_for("one window", |nvim| nvim.lua("return #vim.api.nvim_tabpage_list_wins(0)", &[]) == 1);
    assert_eq!(chat.nvim.lines(0)[4], "LINE 5");
    chat.nvim.input("gA");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "a.txt"), lines().replace("line 5", "LINE 5\nmore"));
}

#[test]
fn the_difference_in_a_long_line_is_seen() {
    let start = "0123456789".repeat(500);
    for wrap in ["wrap", "nowrap"] {
        let (old, new) = (format!("{start}old end\n"), format!("{start}NEW end\n"));
        let mut chat = waiting(&[("a.txt", &old)], "write", &super::write("a.txt", &new), "");
        chat.nvim.command(&format!("set {wrap}"));
        open(&mut chat);
        chat.nvim.wait_for_screen("old end");
        chat.nvim.wait_for_screen("NEW end");
        assert_eq!(chat.nvim.cursor(), (1, 5000), "{wrap}");
    }
    // One that fits is shown from its beginning.
    let mut chat = waiting(&[("a.txt", &lines())], "edit", &edit("a.txt", "line 5", "line five"), "");
    open(&mut chat);
    assert_eq!(chat.nvim.cursor(), (5, 0));
}
