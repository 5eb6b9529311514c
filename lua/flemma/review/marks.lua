--- What Neovim's diff mode does not show of two sides: lines that differ and look the same, and a line break at the end.
---
--- They get a note at their end, in which the characters that differ are named.
local hunks_of = require("flemma.review.hunks")
local overlay = require("flemma.review.overlay")

local M = {}

local api = vim.api

--- How wide a note is, in cells.
local WIDTH = 48

--- More rows than any line has: the file itself shows a line whole, however long it is.
local ROWS = 2 ^ 24

--- The most bytes of both sides that are looked at again after an edit.
local MOST = 512 * 1024

---@param buf integer
---@param first integer the line of the first text, from 1
---@param texts string[] those that are empty say nothing
local function draw(buf, first, texts)
  local count = api.nvim_buf_line_count(buf)
  for at, text in ipairs(texts) do
    if text ~= "" then
      api.nvim_buf_set_extmark(buf, overlay.namespace, math.min(first + at - 1, count) - 1, 0, {
        virt_text = { { "  ≠ " .. text, "FlemmaReviewNote" } },
        virt_text_pos = "eol",
      })
    end
  end
end

--- Draws the notes.
---@param sides { old: integer, new: integer } buffers
---@param old string what the left side shows
---@param new string what the right side shows
---@param form flemma.Form
---@param is_again? boolean whether it is after an edit
function M.draw(sides, old, new, form, is_again)
  if is_again and #old + #new > MOST then
    return
  end
  for _, buf in pairs(sides) do
    api.nvim_buf_clear_namespace(buf, overlay.namespace, 0, -1)
  end
  if old == new then
    return
  end
  local hunks = hunks_of.between(old, new)
  local drawn = overlay.rows(overlay.pieces(hunks, "utf-8", form), WIDTH, ROWS, true)
  for number, hunk in ipairs(hunks.list) do
    local rows = drawn[number] or { old = {}, same = {} }
    draw(sides.old, math.max(hunk.old_first, 1), rows.old)
    draw(sides.new, math.max(hunk.new_first, 1), rows.same)
  end
end

return M
