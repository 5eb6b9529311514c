--- The hunk at the cursor of a review in the file's window, and the way to another one.
local content = require("flemma.review.content")
local hunks_of = require("flemma.review.hunks")
local windows = require("flemma.review.windows")

local line_of = hunks_of.line_of

local api = vim.api

local M = {}

--- Shows a hunk, with the rows that are drawn around it.
---@param view flemma.InlineView
---@param number integer
function M.go_to(view, number)
  local hunks = view:hunks_in(view:file())
  local hunk = hunks.list[number]
  if not hunk or not api.nvim_win_is_valid(view.win) then
    return
  end
  local count, file = api.nvim_buf_line_count(view.buf), view:file()
  local line = math.min(line_of(hunk), count)
  local above, below = 0, hunk.new_count
  if view.overlay then
    above, below = view.overlay:rows_around(number)
  end
  local place = hunks_of.first_difference(hunks, hunk, content.form(file.old, file.new))
  windows.show_place(view.win, line, place)
  api.nvim_win_call(view.win, function()
    vim.cmd("normal! zv")
    if above > 0 and line == 1 then
      vim.fn.winrestview({ topline = 1, topfill = above })
      return
    end
    local last = line + math.max(hunk.old_count - 1, 0)
    if vim.fn.line("w$") < last + 1 or api.nvim_win_get_height(0) - vim.fn.winline() <= below then
      -- The rows below the line count too.
      vim.cmd("normal! zt")
    end
  end)
end

--- The hunk at the cursor, or the nearest one before it.
---@param view flemma.InlineView
---@return flemma.Hunk?
---@return integer? number
function M.hunk_here(view)
  local line = api.nvim_win_get_cursor(view.win)[1]
  local list = view:hunks_in(view:file()).list
  local found = 1
  for number, hunk in ipairs(list) do
    if line_of(hunk) <= line then
      found = number
    end
  end
  return list[found], found
end

---@param view flemma.InlineView
---@param by integer
function M.next_hunk(view, by)
  local line = api.nvim_win_get_cursor(view.win)[1]
  local best
  for number, hunk in ipairs(view:hunks_in(view:file()).list) do
    local at = line_of(hunk)
    if by > 0 and at > line and not best or by < 0 and at < line then
      best = number
    end
  end
  if best then
    M.go_to(view, best)
  end
end

return M
