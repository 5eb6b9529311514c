//! Whatever is done to the text, the folds are those of the text.

use serde_json::json;

use super::{
    TURN,
    chat::{Chat, Setup},
};

/// Runs random edits with undo and redo, and compares the level of every line with that of the document.
const EDITS: &str = r#"
    local seed, count = ...
    math.randomseed(seed)
    local native = require('flemma.native')
    local buf = vim.api.nvim_get_current_buf()
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
    local function expected()
      local levels, list = {}, native.call('folds', buf, 0, vim.fn.line('$'), 1)
      for at = 1, #list, 5 do
        if list[at] > 0 then
          for line = list[at + 1], list[at + 2] do
            levels[line] = (levels[line] or 0) + 1
          end
        end
      end
      return levels
    end
    for step = 1, count do
      edit()
      vim.wait(0)
      vim.wait(1)
      local levels = expected()
      for line = 1, vim.fn.line('$') do
        if vim.fn.foldlevel(line) ~= (levels[line] or 0) then
          return { step, line, vim.fn.foldlevel(line), levels[line] or 0,
            vim.api.nvim_buf_get_lines(0, 0, -1, true) }
        end
      end
    end
    return true
"#;

#[test]
fn folds_follow_every_edit_undo_and_move() {
    let mut chat = Chat::start(&Setup { text: Some(TURN), ..Setup::default() }, []);
    chat.wait_until_idle();
    chat.nvim.wait_for_screen("▸ bash cargo test ");
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
