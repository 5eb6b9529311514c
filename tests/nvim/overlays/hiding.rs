//! What is hidden while the cursor is elsewhere.

use serde_json::json;

use super::{super::support::Nvim, OPEN, TEXT, open, rows};

/// The lines (from 1) that are marked as hidden, and those that should be: what the library says of the whole text, without
/// the block that the cursor is in.
const MARKED: &str = "
    local buf = vim.api.nvim_get_current_buf()
    local found, wanted = {}, {}
    local namespace = vim.api.nvim_create_namespace('flemma.cards')
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, namespace, 0, -1, { details = true })) do
      for line = mark[2], mark[4].end_row do
        found[#found + 1] = line + 1
      end
    end
    local first, last = require('flemma.view.cards').raw(buf)
    local list, block = require('flemma.native').call('cards', buf, 0, vim.api.nvim_buf_line_count(buf)), 1
    while list[block] do
      local after = block + 4 + 2 * list[block + 3]
      for at = block + 4, after - 1, 2 do
        for line = list[at], list[at + 1] - 1 do
          if not (first and list[at] >= first and list[at] < last) then
            wanted[#wanted + 1] = line + 1
          end
        end
      end
      block = after
    end
    table.sort(found)
    return { found, wanted }";

fn assert_marks(nvim: &mut Nvim, after: &str) {
    nvim.wait_for(&format!("the marks after {after}"), |nvim| {
        let marked = nvim.lua(MARKED, &[]);
        marked[0] == marked[1]
    });
}

#[test]
fn the_block_of_a_call_that_waits_shows_its_text_inside() {
    let mut nvim = open(TEXT, "", 80);
    for keys in ["/status=pending<CR>j", "?Tool Result:.. .toolu_3<CR>j", "/Result:.. .toolu_3<CR>i"] {
        nvim.input(keys);
        nvim.wait_for(keys, |nvim| {
            let rows = rows(nvim);
            let at = rows.iter().position(|row| row == "```flemma:tool status=pending");
            at.is_some_and(|at| rows[..at].iter().any(|row| row.starts_with("**Tool Result:** `toolu_3`")))
        });
        nvim.input("<Esc>gg");
        nvim.wait_for("the card", |nvim| !rows(nvim).iter().any(|row| row.contains("status=")));
        assert_marks(&mut nvim, keys);
    }
    // In Normal mode, the cursor rests on the card.
    nvim.input("/Result:.. .toolu_3<CR>");
    nvim.wait_for("the cursor", |nvim| nvim.cursor().0 > 30);
    nvim.wait_for_screen(" ? edit a.py");
    assert!(!rows(&mut nvim).iter().any(|row| row.contains("status=")));
}

#[test]
fn the_last_fence_of_the_conversation_is_hidden_as_well() {
    let waits = TEXT.find("\n\n@You:\nYes.").unwrap();
    let failed = TEXT.find("\n\n@Assistant:\nI fix it.").unwrap();
    for (text, card, above) in
        [(&TEXT[..waits], " ? edit", "  gA approve  gX reject  gY always"), (&TEXT[..failed], " ! bash", "exit code 1")]
    {
        let mut nvim = open(text, "", 80);
        nvim.wait_for_screen(card);
        let shown = rows(&mut nvim);
        assert_eq!(shown[shown.len() - 2..], [above, ""], "{shown:#?}");
        // In the block, it is shown as it is written.
        nvim.input("G");
        nvim.wait_for("the text", |nvim| rows(nvim).last().is_some_and(|row| row == "```"));
    }
    // What is being written is no fence yet.
    let mut nvim = open(TEXT[..failed].trim_end_matches("\n```"), "", 80);
    assert_eq!(rows(&mut nvim).last().unwrap(), "exit code 1");
}

#[test]
fn a_window_that_is_left_hides_its_block_until_it_is_entered() {
    for leave in [":new<CR>", ":belowright vnew<CR>"] {
        let mut nvim = open(TEXT, "", 120);
        nvim.input("/status=<CR>");
        nvim.wait_for("the block", |nvim| nvim.row_with("```flemma:tool").is_some());
        nvim.input(leave);
        nvim.wait_for("the card", |nvim| nvim.row_with(" ? edit").is_some() && nvim.row_with("flemma:tool").is_none());
        assert_marks(&mut nvim, leave);
        nvim.input("<C-w>p");
        nvim.wait_for("the block", |nvim| nvim.row_with("```flemma:tool").is_some());
        assert_marks(&mut nvim, "coming back");
    }
}

#[test]
fn marks_are_right_after_any_edit() {
    let mut nvim = open(TEXT, "", 80);
    let keys = [
        "/toolu_1<CR>dd",
        "u",
        "<C-r>",
        "u",
        "GVggd",
        "u",
        "gg/```<CR>x",
        "u",
        "/```json<CR>x",
        "ggjp",
        "u",
        ":g/```/d<CR>",
        "u",
        ":%s/bash/read/<CR>",
        "u",
        "/toolu_3<CR>V5jy",
        "Gp",
        "ggP",
        "uu",
        ":g/^$/d<CR>",
        "u",
        ":sort<CR>",
        "u",
        "gg4dd",
        "Go```<Esc>",
        "u",
        "/thinking<CR>dd",
        "u",
        ":m0<CR>",
        "u",
        "VGJ",
        "u",
        ":%normal A x<CR>",
        "u",
        "uuuuuuuuuu",
    ];
    for key in keys {
        nvim.input(key);
        nvim.wait_for("the keys", |nvim| nvim.mode() == "n");
        nvim.lua("return 1", &[]);
        assert_marks(&mut nvim, key);
    }
}

#[test]
fn marks_are_right_after_random_edits() {
    let mut nvim = open(&TEXT.repeat(5), "", 80);
    let edit = "
        math.randomseed(...)
        local pieces = { '```', '```json', '{}', '**Tool Use:** `read` (`x`)', '**Tool Result:** `x`', '', '@You:', '@Assistant:',
          '<thinking>', '</thinking>', 'words', '```flemma:tool status=pending' }
        for _ = 1, 40 do
          local count = vim.api.nvim_buf_line_count(0)
          local first = math.random(0, count)
          local last = math.min(count, first + math.random(0, 4))
          local lines = {}
          for _ = 1, math.random(0, 4) do
            lines[#lines + 1] = pieces[math.random(#pieces)]
          end
          if math.random(6) == 1 then
            vim.cmd('silent! undo')
          elseif math.random(8) == 1 then
            vim.cmd('silent! redo')
          else
            vim.api.nvim_buf_set_lines(0, first, last, false, lines)
          end
          if math.random(5) == 1 then
            vim.api.nvim_win_set_cursor(0, { math.random(vim.api.nvim_buf_line_count(0)), 0 })
            vim.cmd('doautocmd CursorMoved')
          end
        end";
    for seed in 0..12 {
        nvim.lua(edit, &[seed.into()]);
        nvim.lua("return 1", &[]);
        assert_marks(&mut nvim, &format!("seed {seed}"));
    }
}

#[test]
fn a_file_that_is_read_again_is_hidden_again() {
    let mut nvim = open(TEXT, "", 80);
    nvim.command("edit!");
    nvim.wait_for("the cards", |nvim| {
        let shown = rows(nvim);
        shown.iter().any(|row| row.starts_with(" ? edit")) && !shown.iter().any(|row| row.contains("flemma:tool"))
    });
    assert_marks(&mut nvim, ":edit!");
    nvim.command("split");
    nvim.request("nvim_ui_try_resize", &[json!(50), json!(40)]);
    nvim.wait_for("both windows", |nvim| {
        let shown = nvim.screen();
        shown.iter().filter(|row| row.as_str() == " You").count() >= 2
            && !shown.iter().any(|row| row.contains("flemma:tool"))
    });
}

#[test]
fn other_buffers_in_the_window_keep_their_options() {
    let mut nvim = open(TEXT, "", 80);
    assert_eq!(nvim.lua("return vim.wo.conceallevel", &[]), 2);
    nvim.command("edit other.txt");
    assert_eq!(nvim.lua("return vim.wo.conceallevel", &[]), 0);
    nvim.command("edit notes.chat");
    assert_eq!(nvim.lua("return vim.wo.conceallevel", &[]), 2);
}

#[test]
fn the_option_turns_all_of_it_off() {
    let off = format!("require('flemma').setup({{ {OPEN}, looks = {{ enabled = false }} }})");
    let mut nvim = open(TEXT, &off, 80);
    let shown = rows(&mut nvim);
    assert_eq!(shown[0], "@System:");
    assert!(shown.iter().any(|row| row == "```json"));
    assert_eq!(nvim.lua("return vim.wo.conceallevel", &[]), 0);
    let mut nvim = open(TEXT, "vim.o.conceallevel = 1", 80);
    assert_eq!(nvim.lua("return vim.wo.conceallevel", &[]), 1, "it is the user's");
    assert!(rows(&mut nvim).iter().any(|row| row == "```json"));
}

#[test]
fn markdown_keeps_its_signs_unless_the_user_conceals() {
    let text = "@You:\n\nSome **bold** words\n";
    let mut nvim = open(text, "", 80);
    assert!(rows(&mut nvim).contains(&"Some **bold** words".to_owned()));
    // Neovim gives the window the level that it had, which is not the user's.
    let conceals = "return require('flemma.view.overlays').conceals_markdown(vim.api.nvim_get_current_buf())";
    for command in ["edit!", "bdelete | edit notes.chat"] {
        nvim.command(command);
        nvim.wait_for("the conversation", |nvim| rows(nvim).contains(&"Some **bold** words".to_owned()));
        assert_eq!(nvim.lua(conceals, &[]), false, "{command}");
    }
    nvim.command("edit!");
    // Another plugin sets it later.
    nvim.command("setlocal conceallevel=3");
    nvim.wait_for("the user's level", |nvim| nvim.lua(conceals, &[]) == true);
    if nvim.lua("return require('flemma.view.markdown').available()", &[]) == true {
        nvim.wait_for("the conceal", |nvim| rows(nvim).contains(&"Some bold words".to_owned()));
        nvim.command("setlocal conceallevel=2");
        nvim.wait_for("the signs", |nvim| rows(nvim).contains(&"Some **bold** words".to_owned()));
    }
    let mut nvim = open(text, "vim.o.conceallevel = 2", 80);
    if nvim.lua("return require('flemma.view.markdown').available()", &[]) == true {
        nvim.wait_for("the conceal", |nvim| rows(nvim).contains(&"Some bold words".to_owned()));
    }
}
