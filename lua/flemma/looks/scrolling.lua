--- Tells a cursor that the user has moved from one that Neovim has taken along because the window was scrolled.
local M = {}

local api = vim.api

---@class flemma.Scrolled
---@field line integer the line of the cursor, from 1
---@field top integer the first line of the window
---@field skipped integer the cells of that line that are above the window

--- The windows as they were after the last move of their cursors.
---@type table<integer, flemma.Scrolled>
local known = {}

---@return flemma.Scrolled
local function now()
  -- Neovim looks where the window begins now.
  local top = vim.fn.line("w0")
  return { line = vim.fn.line("."), top = top, skipped = vim.fn.winsaveview().skipcol }
end

--- Whether some lines take no more rows than 'scrolloff'.
---@param win integer
---@param first integer
---@param last integer
---@return boolean
local function is_near(win, first, last)
  local most = math.floor((api.nvim_win_get_height(win) - 1) / 2)
  return require("flemma.looks.hiding").rows(win, first, last) <= math.min(vim.wo[win].scrolloff, most)
end

--- In which direction the window was scrolled so that its cursor had to move: it is at the edge that the text goes to.
---@param win integer the current window
---@return -1|1|nil direction -1 towards the beginning of the text
function M.direction(win)
  local before, after = known[win], now()
  local line, top = after.line, after.top
  if not before or 2 * vim.wo[win].scrolloff >= api.nvim_win_get_height(win) - 1 then
    -- With such a 'scrolloff' the cursor stays in the middle, whether it is moved or the window is scrolled.
    return nil
  elseif top > before.top or top == before.top and after.skipped > before.skipped then
    -- The line before the cursor may take more rows than there are to the edge.
    return is_near(win, top, line - 2) and 1 or nil
  end
  local is_back = top < before.top or after.skipped < before.skipped
  -- Where the line is hidden that the cursor was taken to, Neovim shows it and scrolls back by its row.
  if is_back or line == before.line - 1 then
    return is_near(win, line + 2, vim.fn.line("w$")) and -1 or nil
  end
end

--- The cursor of a window stays where it is now.
---@param win integer the current window
function M.settle(win)
  known[win] = now()
end

---@param win integer
function M.forget(win)
  known[win] = nil
end

return M
