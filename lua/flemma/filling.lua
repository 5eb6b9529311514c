--- Fills windows in which text above is scrolled away although there are empty rows below the end of the text: folds have closed,
--- hidden lines have gone, or the window has grown.
local M = {}

local api = vim.api

---@param win integer the current window
---@param first integer from 1
---@param last? integer the last line of the text by default
---@return integer
local function rows(win, first, last)
  return api.nvim_win_text_height(win, { start_row = first - 1, end_row = last and last - 1 }).all
end

--- The cells of a row of a window.
---@param win integer
---@return integer
local function text_width(win)
  local info = vim.fn.getwininfo(win)[1]
  return math.max(1, info.width - info.textoff)
end

--- The rows of a window in which text can be seen.
---@param win integer
---@return integer
local function height(win)
  return api.nvim_win_get_height(win)
end

--- The empty rows below the end of the text, if there is text above the window.
---@param win integer the current window
---@return integer
local function empty(win)
  local top = vim.fn.line("w0")
  if top == 1 or vim.fn.line("w$") < vim.fn.line("$") then
    return 0
  end
  local skipped = math.floor(vim.fn.winsaveview().skipcol / text_width(win))
  return math.max(0, height(win) - (rows(win, top) - skipped))
end

--- The number of empty rows that could show text from above.
---@param win integer
---@return integer
function M.empty(win)
  return api.nvim_win_call(win, function()
    return empty(win)
  end)
end

--- Scrolls back by at most so many rows. Without 'smoothscroll', a window begins with a whole line.
---@param win integer the current window
---@param left integer
local function scroll_back(win, left)
  local view = vim.fn.winsaveview()
  local top, skipped = vim.fn.line("w0"), 0
  local before = top
  local width = text_width(win)
  if left > 0 and view.skipcol > 0 then
    -- The rows of the first line that are above the window come first.
    skipped = math.max(0, math.floor(view.skipcol / width) - left)
    left = left - math.floor(view.skipcol / width) + skipped
  end
  while left > 0 and top > 1 do
    local above = vim.fn.foldclosed(top - 1)
    local is_folded = above ~= -1
    above = is_folded and above or top - 1
    local height_above = rows(win, above, top - 1)
    if height_above > left then
      if vim.wo.smoothscroll and vim.wo.wrap and not is_folded then
        top, skipped = above, height_above - left
      end
      break
    end
    left, top = left - height_above, above
  end
  if top ~= before or view.skipcol ~= skipped * width then
    vim.fn.winrestview({ topline = top, topfill = 0, skipcol = skipped * width })
  end
end

--- Whether a window shows its lines up to one of them, with what is drawn between them.
---@param win integer the current window
---@param last integer from 1
---@return boolean
function M.shows(win, last)
  local skipped = math.floor(vim.fn.winsaveview().skipcol / text_width(win))
  return rows(win, vim.fn.line("w0"), last) - skipped <= height(win)
end

--- Scrolls back until a window has no empty row, or begins with the first line.
---@param win integer
function M.fill(win)
  api.nvim_win_call(win, function()
    scroll_back(win, empty(win))
  end)
end

--- Scrolls back where the cursor is at the top of a window, so that there is something above it to read.
---@param win integer
---@param last integer the line, from 1, that is to stay visible
function M.lead_in(win, last)
  api.nvim_win_call(win, function()
    local top, line = vim.fn.line("w0"), vim.fn.line(".")
    local skipped = math.floor(vim.fn.winsaveview().skipcol / text_width(win))
    local above = (line > top and rows(win, top, line - 1) or 0) - skipped
    local wanted = math.max(math.floor(height(win) / 3) - above, empty(win))
    scroll_back(win, math.min(wanted, height(win) - rows(win, top, last) + skipped))
  end)
end

api.nvim_create_autocmd("WinResized", {
  group = api.nvim_create_augroup("flemma.filling", { clear = true }),
  desc = "Flemma: fill the window of a conversation that is at its end",
  callback = function()
    for _, win in ipairs(vim.v.event.windows) do
      local buf = api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win)
      if buf and require("flemma.buffer").is_attached(buf) then
        if api.nvim_win_get_cursor(win)[1] == api.nvim_buf_line_count(buf) then
          M.fill(win)
        end
      end
    end
  end,
})

return M
