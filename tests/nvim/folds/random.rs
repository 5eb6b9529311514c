//! Whatever is done to the text, the folds are those of the text.

use serde_json::json;

use super::{
    TURN,
    chat::{Chat, Setup},
    support::Nvim,
};

/// Finds the first line whose level is not that of the document, and the level that it should have; 0 if there is none.
const WRONG: &str = r#"
    function Wrong()
      local buf = vim.api.nvim_get_current_buf()
      local levels, list = {}, require('flemma.native').call('folds', buf, 0, vim.fn.line('$'), 1)
      local at = 1
      while list[at] do
        for fold = at + 4, at + 1 + 3 * list[at + 3], 3 do
          for line = list[fold], list[fold + 1] do
            levels[line] = (levels[line] or 0) + 1
          end
        end
        at = at + 4 + 3 * list[at + 3]
      end
      for line = 1, vim.fn.line('$') do
        if vim.fn.foldlevel(line) ~= (levels[line] or 0) then
          return line, levels[line] or 0
        end
      end
      return 0
    end
"#;

/// Runs random edits with undo and redo, and compares the level of every line with that of the document.
const EDITS: &str = r#"
    local seed, count = ...
    math.randomseed(seed)
    local pieces = {
      { '@You:' }, { '@Assistant:' }, { '@Assistant:', 'Words.', '' }, { '' }, { 'Words.', 'More words.' },
      { '<thinking>', 'Hm.', '</thinking>' }, { '<thinking>' }, { '</thinking>' }, { '```' },
      { '**Tool Use:** `read` (`toolu_9`)', '', '```json', '{}', '```', '' },
      { '@You:', '**Tool Result:** `toolu_9`', '', '```', 'one', '```', '' },
    }
    local function pick(list)
      return list[math.random(#list)]
    end
    local function edit()
      local last = vim.fn.line('$')
      local at = math.random(last)
      local way = math.random(10)
      vim.fn.cursor(at, 1)
      if way <= 4 then
        vim.fn.append(at, pick(pieces))
      elseif way == 5 then
        vim.cmd('silent ' .. at .. ',' .. math.min(last, at + math.random(0, 12)) .. 'delete _')
      elseif way == 6 then
        vim.cmd('silent! normal! J')
      elseif way == 7 then
        vim.cmd('silent ' .. at .. ',' .. math.min(last, at + 5) .. 'move ' .. (math.random(2) == 1 and 0 or '$'))
      elseif way == 8 then
        vim.cmd('silent! undo')
      elseif way == 9 then
        vim.cmd('silent! redo')
      else
        vim.cmd('silent! normal! ' .. pick({ 'zo', 'zc', 'za', 'zR', 'zM', 'zO' }))
      end
    end
    for step = 1, count do
      edit()
      vim.wait(0)
      vim.wait(1)
      local line, level = Wrong()
      if line > 0 then
        return { step, line, vim.fn.foldlevel(line), level, vim.api.nvim_buf_get_lines(0, 0, -1, true) }
      end
    end
    return true
"#;

#[test]
fn folds_follow_every_edit_undo_and_move() {
    let mut chat = Chat::start(&Setup { text: Some(TURN), ..Setup::default() }, []);
    chat.wait_until_idle();
    chat.nvim.wait_for_screen("▸ bash cargo test ");
    chat.nvim.lua(WRONG, &[]);
    for seed in 1..=12 {
        let result = chat.nvim.lua(EDITS, &[json!(seed), json!(60)]);
        if result != true {
            chat.nvim.fail(&format!(
                "seed {seed}, step {}, line {}: level {} instead of {}\n{}",
                result[0], result[1], result[2], result[3], result[4]
            ));
        }
    }
    assert!(!chat.nvim.messages().contains("cannot be folded"), "{}", chat.nvim.messages());
}

/// Changes of many lines.
const LONG_EDITS: &str = r#"
    for _, command in ipairs({ ... }) do
      vim.cmd('silent ' .. command)
      vim.cmd('redraw')
    end
"#;

#[test]
fn folds_follow_long_changes() {
    let text = TURN.split_once("\n\n").unwrap().1.repeat(100);
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, []);
    chat.wait_until_idle();
    chat.nvim.lua(WRONG, &[]);
    // A window has the folds of what it has shown, and of what is near that.
    let is_right = |nvim: &mut Nvim| {
        for place in ["gg", "3500G", "7000G", "10500G", "14000G", "G"] {
            nvim.input(place);
            nvim.command("redraw");
        }
        nvim.lua("return (Wrong())", &[]) == 0
    };
    chat.nvim.wait_for("all folds", is_right);
    for commands in [
        json!(["%s/cargo/gofer/"]),
        json!(["undo"]),
        json!(["redo", "1,40delete"]),
        json!(["undo", "$-300,$delete", "1000put ='words'"]),
        json!(["1,1400yank", "$put", "$-60,$delete", "1delete"]),
        json!(["undo"]),
        json!(["g/^```$/s/$/`/", "700,800delete"]),
        json!(["undo", "undo", "normal! G"]),
        json!(["%s/^@Assistant:/@You:/", "normal! gg"]),
        json!(["undo", "normal! 50%"]),
    ] {
        chat.nvim.lua(LONG_EDITS, commands.as_array().unwrap());
        chat.nvim.wait_for(&format!("the folds after {commands}"), is_right);
    }
    assert!(!chat.nvim.messages().contains("cannot be folded"), "{}", chat.nvim.messages());
}
