//! What is accepted is what is shown, byte for byte.

use super::super::support::{Nvim, Options};

#[test]
fn contents_go_through_a_buffer_byte_for_byte() {
    let mut nvim = Nvim::start(&Options { screen: None, ..Options::default() });
    let wrong = nvim.lua(
        r#"
        local content = require("flemma.review.content")
        local wrong = {}
        local units = { "a", "b", "\n", "\n", "\r\n", "\r\n", "\r", "\0", "\239\187\191", "\233", "ä", "" }
        math.randomseed(4)
        local function text()
          local parts = {}
          for at = 1, math.random(0, 6) do parts[at] = units[math.random(#units)] end
          return table.concat(parts)
        end
        local buf = vim.api.nvim_create_buf(false, true)
        for _ = 1, 4000 do
          local old, new = text(), text()
          if math.random(8) == 1 then old = nil end
          local form = content.form(old, new)
          for _, each in pairs({ old = old, new = new }) do
            content.fill(buf, each, form)
            local back = content.read(buf, content.is_line(each))
            if back ~= each then wrong[#wrong + 1] = { vim.inspect(each), vim.inspect(back), vim.inspect(old), vim.inspect(new) } end
          end
          if old and old ~= "" and new ~= "" then
            local hunks = require("flemma.review.hunks")
            local _, numbers = hunks.of({ old = old, hunks = {} }, new)
            local file, text = { old = old, new = new, hunks = numbers }, new
            -- Left out from the end on, and taken again.
            for _, goal in ipairs({ old, new }) do
              for _ = 1, 50 do
                local list = hunks.of(file, text)
                local hunk = vim.iter(list):rev():find(function(hunk) return hunk.is_left == (goal == new) end)
                if text == goal or not hunk then break end
                text = hunks.toggled(file, text, list, hunk)
              end
              if text ~= goal then wrong[#wrong + 1] = { vim.inspect(text), vim.inspect(old), vim.inspect(new) } end
            end
          end
        end
        return vim.list_slice(wrong, 1, 5)
        "#,
        &[],
    );
    assert_eq!(wrong, serde_json::json!([]), "an empty list of mistakes");
}
