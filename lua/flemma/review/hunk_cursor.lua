--- The hunk at the cursor of a review in the file's window, and the way to another one.
local content = require("flemma.review.content")
local hunks_of = require("flemma.review.hunks")
local windows = require("flemma.review.windows")

local line_of = hunks_of.line_of

local api = vim.api

local M = {}

--- Shows a hunk, with the lines that are drawn above the first line of the buffer.
---@param view flemma.InlineView
---@param hunk? flemma.Hunk
function M.go_to(view, hunk)
  if not hunk or not api.nvim_win_is_valid(view.win) then
    return
  end
  local count, file = api.nvim_buf_line_count(view.buf), view:file()
  local place = hunks_of.first_difference(view:hunks_in(file), hunk, content.form(file.old, file.new))
  windows.show_place(view.win, math.min(line_of(hunk), count), place)
  api.nvim_win_call(view.win, function()
    vim.cmd("normal! zv")
    local is_first = hunk == view:hunks_in(view:file()).list[1]
    local above = is_first and view.overlay and view.overlay:rows_above() or 0
    local below = line_of(hunk) + math.max(hunk.old_count - 1, 0)
    if above > 0 then
      vim.fn.winrestview({ topline = 1, topfill = above })
    elseif vim.fn.line("w$") < below + 1 or api.nvim_win_get_height(0) - vim.fn.winline() <= hunk.new_count then
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
  for _, hunk in ipairs(view:hunks_in(view:file()).list) do
    local at = line_of(hunk)
    if by > 0 and at > line and not best or by < 0 and at < line then
      best = hunk
    end
  end
  if best then
    M.go_to(view, best)
  end
end

return M
