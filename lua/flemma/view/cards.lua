--- The lines of cards that are hidden, and the card whose text is shown because the cursor is in it.
---
--- In Normal mode the cursor rests on a card. Moving it to another line of the block, or any other mode, shows the block as it is
--- written, until the cursor leaves it. Neovim hides the marked lines as 'conceallevel' says, and moves the marks with the text.
local M = {}

local api = vim.api

local hidden = api.nvim_create_namespace("flemma.cards")
local raw = api.nvim_create_namespace("flemma.cards.raw")

local native = require("flemma.native").call

--- The block whose text is shown.
---@param buf integer
---@return integer? first from 0
---@return integer? last the line after it
function M.raw(buf)
  local mark = api.nvim_buf_get_extmark_by_id(buf, raw, 1, { details = true })
  if mark[1] then
    return mark[1], mark[3].end_row
  end
end

--- Where each block begins in a list of cards.
---@param list integer[]
---@return fun(): integer?
local function blocks(list)
  local at
  return function()
    at = at and at + 4 + 2 * list[at + 3] or 1
    return list[at] and at
  end
end

--- Hides what a reader need not see of the blocks that touch the lines `first..last`.
---@param buf integer
---@param first integer
---@param last integer
function M.hide(buf, first, last)
  local list = native("cards", buf, first, last) or {}
  local raw_first, raw_last = M.raw(buf)
  local opts = { conceal_lines = "", undo_restore = false, invalidate = true, strict = false }
  api.nvim_buf_clear_namespace(buf, hidden, first, last)
  for block in blocks(list) do
    if list[block] < first or list[block + 1] > last then
      api.nvim_buf_clear_namespace(buf, hidden, list[block], list[block + 1])
    end
    for at = block + 4, block + 2 + 2 * list[block + 3], 2 do
      if not (raw_first and list[at] >= raw_first and list[at] < raw_last) then
        opts.end_row = list[at + 1] - 1
        api.nvim_buf_set_extmark(buf, hidden, list[at], 0, opts)
      end
    end
  end
end

--- Neovim draws a window anew at every key if its first line is hidden. Without that line, it looks the same.
---@param buf integer
---@param win integer
function M.skip_hidden(buf, win)
  local top = vim.fn.line("w0", win)
  local line = top
  while #api.nvim_buf_get_extmarks(buf, hidden, { line - 1, 0 }, { line - 1, 0 }, { overlap = true, limit = 1 }) > 0 do
    line = line + 1
  end
  if line > top and api.nvim_win_get_cursor(win)[1] >= line then
    api.nvim_win_call(win, function()
      vim.fn.winrestview({ topline = line })
    end)
  end
end

--- The block at a line that is drawn as a card.
---@param buf integer
---@param line integer from 0
---@return integer? first from 0
---@return integer? last the line after it
---@return integer? card the line of the card
function M.at(buf, line)
  local list = native("cards", buf, line, line + 1) or {}
  for block in blocks(list) do
    if list[block] <= line and line < list[block + 1] then
      return list[block], list[block + 1], list[block + 2]
    end
  end
end

--- Shows the text of the block that the cursor of the current window is in, if it does not rest on its card.
---@param buf integer
local function follow(buf)
  local win = api.nvim_get_current_win()
  if api.nvim_win_get_buf(win) ~= buf then
    return
  end
  local line = api.nvim_win_get_cursor(win)[1] - 1
  local before, before_last = M.raw(buf)
  local first, last, card = M.at(buf, line)
  local is_new = before ~= first or last == line + 1
  local is_resting = line == card and is_new and api.nvim_get_mode().mode:find("^[nc]") ~= nil
  if is_resting or require("flemma.buffer.lock").is_locked(buf) then
    -- Whoever follows what runs has not moved there.
    first, last = nil, nil
  end
  if before == first and before_last == last then
    return
  end
  api.nvim_buf_del_extmark(buf, raw, 1)
  if first then
    -- Neovim draws the lines again, since they might have another colour.
    local opts = { id = 1, end_row = last, hl_group = "FlemmaRaw", undo_restore = false, right_gravity = false, strict = false }
    api.nvim_buf_set_extmark(buf, raw, first, 0, opts)
  end
  for _, block in ipairs({ { before, before_last }, { first, last } }) do
    if block[1] then
      M.hide(buf, block[1], math.min(block[2], api.nvim_buf_line_count(buf)))
    end
  end
end

---@param buf integer
function M.attach(buf)
  local group = api.nvim_create_augroup("flemma.cards." .. buf, { clear = true })
  api.nvim_create_autocmd({ "CursorMoved", "CursorMovedI", "ModeChanged", "WinEnter", "BufEnter" }, {
    group = group,
    buffer = buf,
    desc = "Flemma: show the text of the card that the cursor is in, or where the user writes",
    callback = function()
      follow(buf)
    end,
  })
  api.nvim_create_autocmd({ "WinLeave", "BufLeave" }, {
    group = group,
    buffer = buf,
    desc = "Flemma: hide the text of a card in a window that is left",
    callback = function()
      local first, last = M.raw(buf)
      if first then
        api.nvim_buf_del_extmark(buf, raw, 1)
        M.hide(buf, first, last --[[@as integer]])
      end
    end,
  })
end

---@param buf integer
function M.forget(buf)
  pcall(api.nvim_del_augroup_by_name, "flemma.cards." .. buf)
  if api.nvim_buf_is_valid(buf) then
    api.nvim_buf_clear_namespace(buf, hidden, 0, -1)
    api.nvim_buf_clear_namespace(buf, raw, 0, -1)
  end
end

return M
