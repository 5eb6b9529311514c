//! The change of a call side by side.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::json;

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
fn the_key_shows_the_change_and_writing_accepts_it() {
    let mut chat = one_edit();
    wait_for_own_keys(&mut chat.nvim);
    let before = traces(&mut chat.nvim);
    open(&mut chat);
    assert_eq!(left(&mut chat)[4], "line 5");
    assert_eq!(chat.nvim.lines(0)[4..6], ["LINE 5", "more"]);
    assert_eq!(chat.nvim.cursor(), (5, 0));
    for words in ["a.txt (now)", "proposed", ":w accept  gX reject  :q later"] {
        chat.nvim.wait_for_screen(words);
    }
    chat.nvim.input(":w<CR>");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "a.txt"), lines().replace("line 5", "LINE 5\nmore"));
    chat.wait_until_idle();
    let after = traces(&mut chat.nvim);
    assert_eq!(before, after);
}

#[test]
fn the_names_of_both_sides_can_be_read_and_are_no_files() {
    let edit = edit("src/a.txt", "line 5", "LINE 5");
    let lua = "vim.o.showtabline = 2 vim.o.statusline = '%f'";
    let mut chat = waiting(&[("src/a.txt", &lines())], "edit", &edit, "");
    chat.nvim.lua(lua, &[]);
    chat.nvim.lua("vim.fn.bufadd('flemma://src/a.txt (now)')", &[]);
    open(&mut chat);
    chat.nvim.wait_for_screen("2 f//s/a.txt (proposed)");
    chat.nvim.wait_for_screen("flemma://src/a.txt (proposed)");
    // Somebody has the other name already.
    chat.nvim.wait_for_screen("flemma://src/a.txt (now 2)");
    // Neither is listed, and neither gets a file.
    assert!(!chat.nvim.lua("return vim.fn.execute('ls')", &[]).as_str().unwrap().contains("proposed"));
    chat.nvim.input("ggOmine<Esc>:noautocmd write<CR>:wall<CR>:q!<CR>");
    chat.nvim.wait_for("the end of the review", |nvim| nvim.lua("return #vim.api.nvim_list_tabpages()", &[]) == 1);
    let files = |folder: &str| std::fs::read_dir(chat.nvim.work().join(folder)).unwrap().flatten();
    assert_eq!(files("src").count(), 1);
    assert!(!files(".").any(|file| file.file_name().to_string_lossy().contains("flemma:")));
    assert_eq!(content(&chat, "src/a.txt"), lines());
}

#[test]
fn no_flag_of_diffopt_hides_a_difference() {
    let text = lines();
    let cases = [
        ("iwhite", text.replace("line 5\n", "    line 5\n").replace("line 7", "line  7")),
        ("iwhiteall", text.replace("line 5\n", "    line 5\n")),
        ("iwhiteeol", text.replace("line 5\n", "line 5  \n")),
        ("icase", text.replace("line 5\n", "LINE 5\n")),
        ("iblank", text.replace("line 5\n", "line 5\n\n")),
    ];
    for (flag, proposed) in cases {
        let input = json!({ "label": null, "path": "a.txt", "content": proposed });
        let lua = format!("vim.opt.diffopt:append('{flag}') Before = vim.o.diffopt");
        let mut chat = waiting(&[("a.txt", &text)], "write", &input, "");
        chat.nvim.lua(&lua, &[]);
        open(&mut chat);
        let marked = "local found = 0
            for line = 1, vim.fn.line('$') do
              found = found + (vim.fn.diff_hlID(line, 1) > 0 and 1 or 0)
            end
            return found";
        assert!(chat.nvim.lua(marked, &[]).as_u64() > Some(0), "{flag}");
        // In another tab page, the user's value counts.
        for (keys, is_users) in [("gt", true), ("gt", false), (":q<CR>", true)] {
            chat.nvim.input(keys);
            let same = "return vim.o.diffopt == Before";
            chat.nvim.wait_for(&format!("{flag} after {keys}"), |nvim| nvim.lua(same, &[]) == is_users);
        }
    }
}

#[test]
fn options_of_the_users_own_diffs_come_back() {
    let mut chat = one_edit();
    chat.nvim
        .command("set diffopt=internal,filler,iwhite,icase | tabnew a.txt | diffthis | vnew | diffthis | tabfirst");
    assert_eq!(chat.nvim.lua("return vim.o.scrollopt", &[]), "ver,jump,hor");
    open(&mut chat);
    chat.nvim.command("set diffopt+=context:3");
    assert_eq!(chat.nvim.lua("return vim.o.diffopt", &[]), "internal,filler,context:3");
    chat.nvim.input(":q<CR>");
    wait_for_message(&mut chat.nvim, "toolu_1 is not decided");
    assert_eq!(
        chat.nvim.lua("return { vim.o.diffopt, vim.o.scrollopt }", &[]),
        json!(["internal,filler,context:3,iwhite,icase", "ver,jump,hor"])
    );
}

#[test]
fn a_difference_that_diff_mode_folds_is_on_the_screen() {
    let old = (1..=60).map(|number| format!("line {number}\n")).collect::<String>();
    let new = old.replace("line 3\n", "LINE 3\n");
    for new in [old.trim_end(), new.trim_end()] {
        let mut chat = waiting(&[("a.txt", &old)], "write", &super::write("a.txt", new), "");
        open(&mut chat);
        let is_open = "return vim.iter(vim.api.nvim_tabpage_list_wins(0)):all(function(win)
            return vim.api.nvim_win_call(win, function() return vim.fn.foldclosed(60) == -1 end)
          end)";
        chat.nvim.wait_for("the last line", |nvim| nvim.lua(is_open, &[]) == true);
        chat.nvim.wait_for_screen("proposed, no newline at end");
        chat.nvim.input("G");
        chat.nvim.wait_for_screen("No newline at end of file");
    }
}

#[test]
fn failing_autocommands_leave_nothing_behind() {
    for event in ["TabClosed", "WinClosed", "DiffUpdated", "BufWipeout", "WinEnter"] {
        let mut chat = one_edit();
        let before = traces(&mut chat.nvim);
        open(&mut chat);
        chat.nvim.command(&format!("autocmd {event} * throw 'theirs'"));
        chat.nvim.input("ix<Esc>:q!<CR><CR><CR>");
        // Their error leaves the mappings as they are, and may come between the closing and the cursor.
        let kept = |traces: &serde_json::Value| [0, 2, 3, 4, 5, 6, 7].map(|at| traces[at].clone());
        chat.nvim.wait_for_value(event, &kept(&before), |nvim| kept(&traces(nvim)));
        assert!(!chat.nvim.messages().contains("Invalid window"), "{event}");
        assert_eq!(content(&chat, "a.txt"), lines());
    }
}

#[test]
fn a_view_that_cannot_be_closed_stays_whole() {
    let mut chat = one_edit();
    open(&mut chat);
    chat.nvim.input("ggOmine<Esc>:q<CR>");
    wait_for_message(&mut chat.nvim, "E37");
    chat.nvim.input(":tabclose<CR>");
    chat.nvim.wait_for("both windows", |nvim| {
        nvim.lua("return { #vim.api.nvim_tabpage_list_wins(0), vim.wo.diff, vim.fn.winnr() }", &[])
            == serde_json::json!([2, true, 2])
    });
    assert_eq!(left(&mut chat)[4], "line 5");
    // Another file in the right window ends the review, and a conversation is not shown twice.
    chat.nvim.input(":e! notes.chat<CR>");
    chat.nvim.wait_for("one tab", |nvim| nvim.lua("return #vim.api.nvim_list_tabpages()", &[]) == 1);
    assert!(chat.nvim.text().contains("status=pending"));
}

#[test]
fn narrow_windows_show_the_keys() {
    let mut chat = one_edit();
    open(&mut chat);
    chat.nvim.command("vertical resize 30");
    chat.nvim.wait_for_screen(":w accept  gX reject");
    chat.nvim.command("vertical resize 12");
    chat.nvim.wait_for_screen(":w gX :q");
    // What is not expected of what is written is said.
    chat.nvim.input(":setlocal ff=dos bomb noeol<CR>:w<CR>");
    let words = "a.txt gets the line breaks of 'fileformat' dos, and gets a byte order mark ('bomb'), and gets no line break at \
                 its end ('noendofline')";
    wait_for_message(&mut chat.nvim, words);
}

#[test]
fn a_line_break_that_an_option_takes_away_is_noted() {
    let mut chat = one_edit();
    open(&mut chat);
    chat.nvim.input("zRG:setlocal noeol<CR>");
    chat.nvim.wait_for_screen("\\ No newline at end of file");
    chat.nvim.input(":setlocal eol<CR>");
    chat.nvim.wait_for("no note", |nvim| nvim.row_with("\\ No newline").is_none());
}

#[test]
fn closing_the_left_side_leaves_no_half_view() {
    let mut chat = one_edit();
    open(&mut chat);
    // More room for the right side: the left one comes back.
    chat.nvim.input("<C-w>o");
    let both = "return { #vim.api.nvim_tabpage_list_wins(0), vim.wo.diff, vim.fn.winnr() }";
    chat.nvim.wait_for("both sides", |nvim| nvim.lua(both, &[]) == json!([2, true, 2]));
    // What was edited is kept.
    chat.nvim.input("ggOmine<Esc><C-w>h:q<CR>");
    wait_for_message(&mut chat.nvim, "toolu_1 is not decided; it still waits, with what you have made of it");
    assert_eq!(chat.nvim.lua("return #vim.api.nvim_list_tabpages()", &[]), 1);
    open(&mut chat);
    assert_eq!(chat.nvim.lines(0)[0], "mine");
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
        ("tab", "<C-w>h:q<CR>", approve),
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
        ("tab", "gT:w<CR>:bd<CR>:e notes.chat<CR>", approve),
    ] {
        let options = format!("tools = {{ auto_approve = {{}}, review = {{ view = '{view}' }} }}");
        let mut chat = waiting(&[("a.txt", &old)], "write", &super::write("a.txt", &new), &options);
        chat.nvim.command("let g:chat = bufnr()");
        chat.nvim.input("gK");
        let shown = "return vim.wo.diff or not vim.bo.modifiable";
        chat.nvim.wait_for("the view", |nvim| nvim.lua(shown, &[]) == true);
        chat.nvim.input("do");
        chat.nvim.input(leave);
        if !leave.is_empty() {
            chat.nvim.wait_for("the conversation", |nvim| nvim.lua("return vim.bo.filetype", &[]) == "chat");
        }
        if !leave.is_empty() && leave != discard {
            chat.nvim.wait_for(&format!("the preview after {leave}"), |nvim| {
                nvim.row_with("as you have edited it").is_some()
            });
            assert!(chat.nvim.row_with("+LINE 3").is_none());
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
        let (words, key) = if view == "tab" { ("a.txt (now, read-only)", ":w<CR>") } else { ("a.txt", "gA") };
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
        "ix<Esc>:tabclose!<CR>",
        ":bd<CR>",
        "ix<Esc>:bd!<CR>",
        ":bw<CR>",
        "<C-w>h<C-w>o",
        "<C-w>o:q<CR>",
        "<C-w>h:only<CR>",
        "<C-w>h:q<CR>",
        "<C-w>h<C-w>c",
        "<C-w>hZQ",
        "<C-w>h:bw<CR>",
        ":close<CR>",
        "<C-w>c",
        "ZQ",
        "<C-w>T:q<CR>",
        ":split<CR>:q<CR>:q<CR>",
        ":vsplit<CR>:bw<CR>",
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
