--- What Neovim's diff mode does not show of two sides: lines that differ and look the same, and a line break at the end.
---
--- They get a note at their end, in which the characters that differ are named.
local overlay = require("flemma.review.overlay")
local slices = require("flemma.review.slices")

local M = {}

local api = vim.api

--- How wide a note is, in cells.
local WIDTH = 48

--- More rows than any content has: the file itself shows a line whole, however long it is, and a note takes no row. And the most lines
--- of a hunk that get notes.
local ROWS, LINES = 2 ^ 24, 20000

--- The notes of a buffer.
---@param buf integer
---@param first integer the line of the first text, from 1
---@param texts string[] those that are empty say nothing
---@param notes { buf: integer, line: integer, text: string }[]
local function add(buf, first, texts, notes)
  local count = api.nvim_buf_line_count(buf)
  for at, text in ipairs(texts) do
    if text ~= "" then
      notes[#notes + 1] = { buf = buf, line = math.min(first + at - 1, count) - 1, text = text }
    end
  end
end

--- Opens the closed folds of diff mode in which a line is: diff mode sees no difference there.
---@param buf integer
---@param line integer from 0
local function unfold(buf, line)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if vim.wo[win].diff then
      api.nvim_win_call(win, function()
        if vim.fn.foldclosed(line + 1) ~= -1 then
          vim.cmd((line + 1) .. "foldopen!")
        end
      end)
    end
  end
end

---@param note { buf: integer, line: integer, text: string }
local function draw(note)
  api.nvim_buf_set_extmark(note.buf, overlay.namespace, note.line, 0, {
    virt_text = { { "  ≠ " .. note.text, "FlemmaReviewNote" } },
    virt_text_pos = "eol",
    strict = false,
  })
end

--- Draws the notes, as soon as they are known, unless the text has changed by then.
---@param sides { old: integer, new: integer } buffers
---@param old string what the left side shows
---@param new string what the right side shows
---@param numbers integer[]? the hunks between them as in `flemma.ReviewedFile`; nil if they are not known
---@param form flemma.Form
---@param unfolds boolean whether the folds with notes are opened
function M.draw(sides, old, new, numbers, form, unfolds)
  local ticks = vim.tbl_map(api.nvim_buf_get_changedtick, sides)
  local function is_same()
    return vim.iter(pairs(sides)):all(function(side, buf)
      return api.nvim_buf_is_loaded(buf) and api.nvim_buf_get_changedtick(buf) == ticks[side]
    end)
  end
  local function clear()
    for _, buf in pairs(sides) do
      api.nvim_buf_clear_namespace(buf, overlay.namespace, 0, -1)
    end
  end
  if old == new then
    return clear()
  end
  local room = { width = WIDTH, height = ROWS, rows = ROWS, lines = LINES, wraps = true, dos = form.dos, bom = form.bom }
  overlay.rows(old, new, numbers, room, function(drawn)
    if not is_same() then
      return
    end
    clear()
    local notes = {}
    for number, rows in ipairs(drawn.rows) do
      local at = 8 * (number - 1)
      local old = vim.tbl_map(function(texts)
        return texts[1] or ""
      end, rows.old)
      add(sides.old, math.max(drawn.hunks[at + 1], 1), old, notes)
      add(sides.new, math.max(drawn.hunks[at + 3], 1), rows.same, notes)
    end
    slices.run(#notes, function(at)
      draw(notes[at])
      if unfolds then
        unfold(notes[at].buf, notes[at].line)
      end
    end, is_same)
  end)
end

return M
