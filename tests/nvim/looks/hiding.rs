//! What is hidden while the cursor is elsewhere.

use serde_json::json;

use super::{super::support::Nvim, OPEN, TEXT, open, rows};

/// The lines (from 1) that are marked as hidden, and those that should be: what the library says of the whole text, without
/// the block that the cursor is in.
const MARKED: &str = "
    local buf = vim.api.nvim_get_current_buf()
    local hiding = require('flemma.looks.hiding')
    -- A test that counts what is asked does not count this.
    local ask = Uncounted or require('flemma.native').call
    local found, wanted = {}, {}
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, hiding.namespace, 0, -1, { details = true })) do
      for line = mark[2], mark[4].end_row do
        found[#found + 1] = line + 1
      end
    end
    local first, last = hiding.block_in(vim.api.nvim_get_current_win(), buf)
    for _, block in ipairs(ask('hidden', buf, 0, vim.api.nvim_buf_line_count(buf)) or {}) do
      if not (first and block.first < last and block.last > first) then
        for _, lines in ipairs(block.lines) do
          for line = lines[1], lines[2] - 1 do
            wanted[#wanted + 1] = line + 1
          end
        end
      end
    end
    table.sort(found)
    return { found, wanted }";

fn assert_marks(nvim: &mut Nvim, after: &str) {
    let marked = nvim.lua(MARKED, &[]);
    assert_eq!(marked[0].to_string(), marked[1].to_string(), "after {after}:\n{}", nvim.text());
}

/// Waits until the slices of a long change are marked.
fn wait_for_marks(nvim: &mut Nvim) {
    nvim.wait_for("the marks", |nvim| {
        let marked = nvim.lua(MARKED, &[]);
        marked[0] == marked[1]
    });
}

#[test]
fn inputs_and_fences_are_hidden_until_the_cursor_is_there() {
    let mut nvim = open(TEXT, "", 80);
    let shown = rows(&mut nvim);
    assert!(!shown.iter().any(|row| row.contains("```") || row.contains("\"label\"") || row.contains("thinking>")));
    let use_row = shown.iter().position(|row| row.starts_with(" > read")).unwrap();
    assert!(shown[use_row + 1].starts_with(" > bash"), "calls are a list");
    nvim.input("/greet.lua<CR>");
    nvim.wait_for("the block", |nvim| rows(nvim).iter().any(|row| row.starts_with("{\"label\":\"the greeting\"")));
    let shown = rows(&mut nvim);
    let header = shown.iter().position(|row| row.starts_with("**Tool Use:** `read` (`toolu_1`)")).unwrap();
    assert_eq!(shown[header + 2..header + 5], ["```json".to_owned(), shown[header + 3].clone(), "```".to_owned()]);
    assert_eq!(shown.iter().filter(|row| row.contains("```")).count(), 2, "only this block is shown: {shown:#?}");
    nvim.input("gg");
    nvim.wait_for("the card", |nvim| !rows(nvim).iter().any(|row| row.contains("```")));
    assert_marks(&mut nvim, "leaving the block");
}

#[test]
fn a_window_that_is_left_hides_its_block_until_it_is_entered() {
    for leave in [":new<CR>", ":belowright vnew<CR>"] {
        let mut nvim = open(TEXT, "", 120);
        nvim.input("/greet.lua<CR>zt");
        nvim.wait_for("the block", |nvim| nvim.row_with("{\"label\":\"the greeting\"").is_some());
        nvim.input(leave);
        nvim.wait_for("the card", |nvim| nvim.row_with(" > bash").is_some() && nvim.row_with("```").is_none());
        assert_marks(&mut nvim, leave);
        nvim.input("<C-w>p");
        nvim.wait_for("the block", |nvim| nvim.row_with("{\"label\":\"the greeting\"").is_some());
        assert_eq!(nvim.lua("return vim.fn.line('w0') == vim.fn.line('.')", &[]), true, "it is where it was");
        assert_marks(&mut nvim, "coming back");
        // What floats over the window is a part of it for the user.
        let float = "vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), true, { relative = 'win', row = 9,
            col = 9, width = 9, height = 1 })";
        nvim.lua(float, &[]);
        nvim.input("x<Esc>");
        nvim.wait_for("a row of text", |nvim| nvim.row_with("{\"label\":\"the greeting\"").is_some());
        nvim.command("close");
        // Another buffer in the same window.
        nvim.command("belowright split | enew");
        nvim.wait_for("the card", |nvim| nvim.row_with(" > bash").is_some() && nvim.row_with("```").is_none());
    }
}

#[test]
fn the_cursor_keeps_its_row_when_it_enters_and_leaves_a_block() {
    let filler = "words\n".repeat(200);
    // The preview of a call that waits is between two lines.
    let text = TEXT.replace("```flemma:tool status=pending\n", "```\nDone.\n");
    let text = format!("@You:\n{filler}\n{text}\n@Assistant:\n{filler}");
    let mut nvim = open(&text, "", 80);
    nvim.input("/@System<CR>zz");
    let mut row = nvim.lua("return vim.fn.winline()", &[]);
    for (keys, moves) in [("j", 1), ("k", -1)] {
        for _ in 0..70 {
            let line = nvim.cursor().0;
            nvim.input(keys);
            nvim.wait_for("the cursor to move", |nvim| nvim.cursor().0 != line);
            let now = nvim.lua("vim.cmd('redraw') return vim.fn.winline()", &[]);
            let by = now.as_i64().unwrap() - row.as_i64().unwrap();
            assert!(by == moves || by == 0, "line {line}, {keys}: the cursor went from row {row} to {now}");
            row = now;
        }
    }
    assert_marks(&mut nvim, "moving");
}

#[test]
fn the_cursor_keeps_its_row_at_every_scroll_offset() {
    let filler = format!("{}\n", "words ".repeat(30)).repeat(12);
    let text = TEXT.replace("```flemma:tool status=pending\n", "```\nDone.\n");
    let text = format!("@You:\n{filler}\n{text}\n@Assistant:\n{filler}");
    let folded = "require('flemma').setup({ editing = { foldlevel = 99 } })";
    for (init, height) in [("", 24), (folded, 24), (folded, 14)] {
        keeps_its_row_everywhere(&mut open(&text, init, 50), &text, height);
    }
}

fn keeps_its_row_everywhere(nvim: &mut Nvim, text: &str, height: u64) {
    nvim.request("nvim_ui_try_resize", &[json!(50), json!(height)]);
    let first = text.lines().position(|line| line == "I look at the code.").unwrap() + 1;
    let last = text.lines().position(|line| line == "I fix it.").unwrap() + 1;
    let mut wrong = Vec::new();
    for line in first..=last {
        for row in 4..height - 4 {
            for key in ["k", "j"] {
                // Far away, nothing is shown; then the line is in this row.
                let go = "local line, row = ...
                    vim.cmd('normal! gg') vim.cmd('doautocmd CursorMoved') vim.cmd('redraw')
                    vim.cmd('normal! ' .. line .. 'Gzt') vim.cmd('doautocmd CursorMoved') vim.cmd('redraw')
                    local by = row - vim.fn.winline()
                    if by > 0 then vim.cmd('normal! ' .. by .. vim.keycode('<C-y>')) end
                    vim.cmd('doautocmd CursorMoved') vim.cmd('redraw')
                    return { vim.fn.winline(), vim.fn.line('.') }";
                let before = nvim.lua(go, &[line.into(), row.into()]);
                nvim.input(key);
                nvim.wait_for("the cursor to move", |nvim| json!(nvim.cursor().0) != before[1]);
                let after = nvim.lua("vim.cmd('redraw') return vim.fn.winline()", &[]);
                let by = after.as_i64().unwrap() - before[0].as_i64().unwrap();
                // The input takes two rows.
                let moves = if key == "k" { -2..=0 } else { 0..=2 };
                if !moves.contains(&by) {
                    wrong.push(format!("{key} from line {} in row {}: row {after}", before[1], before[0]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "in {height} rows: {wrong:#?}");
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
fn a_long_change_is_marked_in_slices() {
    let mut nvim = open(&TEXT.repeat(60), "", 80);
    wait_for_marks(&mut nvim);
    // How many lines the longest piece of work is about.
    let watch = "
        local native = require('flemma.native')
        local call = native.call
        Longest, Uncounted = 0, call
        function native.call(name, buf, first, last, ...)
          if name == 'hidden' then
            Longest = math.max(Longest, last - first)
          end
          return call(name, buf, first, last, ...)
        end";
    nvim.lua(watch, &[]);
    // What comes behind the first edit comes before the rest of its slices.
    let edits = [
        "%s/```$/````/",
        "undo",
        "redo",
        "undo",
        "%s/```$/````/ | 1,40delete",
        "undo",
        "%s/```$/````/ | 2000,2100delete | 1put ='words'",
        "undo",
        "1,2000yank | $put | 1000delete | $-300,$delete",
        "undo",
    ];
    for edit in edits {
        let after = "
            vim.cmd('silent ' .. ...)
            vim.cmd('normal! ' .. math.floor(vim.fn.line('$') / 2) .. 'G')
            vim.cmd('doautocmd TextChanged')
            vim.cmd('redraw')
            local first, last = vim.fn.line('w0') - 1, vim.fn.line('w$')
            local buf, wrong = vim.api.nvim_get_current_buf(), {}
            local hiding = require('flemma.looks.hiding')
            local open_first, open_last = hiding.block_in(vim.api.nvim_get_current_win(), buf)
            for _, block in ipairs(require('flemma.native').call('hidden', buf, first, last) or {}) do
              local is_open = open_first and block.first < open_last and block.last > open_first
              for _, lines in ipairs(is_open and {} or block.lines) do
                local marks = vim.api.nvim_buf_get_extmarks(buf, hiding.namespace, { lines[1], 0 }, { lines[2] - 1, 0 },
                  { overlap = true, limit = 1 })
                if #marks == 0 then
                  wrong[#wrong + 1] = lines[1] + 1
                end
              end
            end
            return wrong";
        let wrong = nvim.lua(after, &[edit.into()]);
        assert_eq!(wrong.to_string(), "[]", "what the window shows is hidden at once after {edit}");
        wait_for_marks(&mut nvim);
    }
    let longest = nvim.lua("return Longest", &[]).as_u64().unwrap();
    assert!(longest < 2_000, "{longest} lines were marked at once");
}

#[test]
fn the_whole_block_of_a_call_that_waits_shows_its_text() {
    let mut nvim = open(TEXT, "", 80);
    for keys in ["/status=pending<CR>j", "?Tool Result:.. .toolu_3<CR>"] {
        nvim.input(keys);
        nvim.wait_for(keys, |nvim| {
            let rows = rows(nvim);
            let at = rows.iter().position(|row| row == "```flemma:tool status=pending");
            at.is_some_and(|at| rows[at - 2].starts_with("**Tool Result:** `toolu_3`"))
        });
        nvim.input("gg");
        nvim.wait_for("the card", |nvim| !rows(nvim).iter().any(|row| row.starts_with("```")));
    }
}

#[test]
fn a_file_that_is_read_again_shows_the_block_of_the_cursor() {
    let mut nvim = open(TEXT, "", 80);
    nvim.wait_for_screen("a.py does not exist.");
    for keys in ["/greet.lua<CR>", "kk"] {
        nvim.input(keys);
        nvim.wait_for("the block", |nvim| rows(nvim).iter().any(|row| row.starts_with("{\"label\":\"the greeting\"")));
        let before = rows(&mut nvim);
        nvim.command("edit!");
        let block = |rows: Vec<String>| {
            rows.into_iter().skip_while(|row| !row.starts_with("**Tool Use:**")).take(5).collect::<Vec<_>>()
        };
        let before = block(before);
        assert_eq!(before.len(), 5);
        nvim.wait_for("the same block", |nvim| block(rows(nvim)) == before);
    }
}

#[test]
fn a_file_that_is_read_again_is_hidden_again() {
    let mut nvim = open(TEXT, "", 80);
    nvim.command("edit!");
    nvim.wait_for("the cards", |nvim| {
        let shown = rows(nvim);
        shown.iter().any(|row| row.starts_with(" > read")) && !shown.iter().any(|row| row.contains("```"))
    });
    assert_marks(&mut nvim, ":edit!");
    nvim.command("split");
    nvim.request("nvim_ui_try_resize", &[json!(50), json!(40)]);
    nvim.wait_for("both windows", |nvim| {
        let shown = nvim.screen();
        shown.iter().filter(|row| row.as_str() == " You").count() >= 2 && !shown.iter().any(|row| row.contains("```"))
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
    let conceals = "return require('flemma.looks').conceals_markdown(vim.api.nvim_get_current_buf())";
    for command in ["edit!", "bdelete | edit notes.chat"] {
        nvim.command(command);
        nvim.wait_for("the conversation", |nvim| rows(nvim).contains(&"Some **bold** words".to_owned()));
        assert_eq!(nvim.lua(conceals, &[]), false, "{command}");
    }
    nvim.command("setlocal conceallevel=3 | edit!");
    nvim.wait_for("the user's level", |nvim| nvim.lua(conceals, &[]) == true);
    let mut nvim = open(text, "vim.o.conceallevel = 2", 80);
    if nvim.lua("return require('flemma.markdown').available()", &[]) == true {
        nvim.wait_for("the conceal", |nvim| rows(nvim).contains(&"Some bold words".to_owned()));
    }
}
