--- The windows of reviews.
local loan = require("flemma.review.loan")

local M = {}

local api = vim.api

--- Gives a window the options of a new one: it was split off a conversation, which has its own.
---@param win integer
function M.reset(win)
  if not api.nvim_win_is_valid(win) then
    return
  end
  api.nvim_win_call(win, function()
    for name, info in pairs(api.nvim_get_all_options_info()) do
      if info.scope == "win" then
        pcall(vim.cmd, ("noautocmd silent! setlocal %s<"):format(name))
      end
    end
  end)
end

--- Shows a window of the user without folds for now. What is folded, and where they are in the file, comes back.
---@param win integer
---@return fun() restore
function M.unfold(win)
  local buf = api.nvim_win_get_buf(win)
  local view = api.nvim_win_call(win, vim.fn.winsaveview)
  local fold = loan.take(win, "foldenable", false)
  return function()
    fold()
    if api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == buf then
      api.nvim_win_call(win, function()
        vim.fn.winrestview(view)
      end)
    end
  end
end

--- Puts the cursor on a line, so that a place in it can be seen: at its beginning, unless that place would not be seen then.
---@param win integer
---@param line integer
---@param column integer the place, in bytes from 0
function M.show_place(win, line, column)
  api.nvim_win_call(win, function()
    api.nvim_win_set_cursor(win, { line, column })
    local width = math.max(api.nvim_win_get_width(win) - vim.fn.getwininfo(win)[1].textoff, 1)
    local place = vim.fn.virtcol(".")
    if vim.wo[win].wrap then
      -- What is drawn below the line has to be seen too.
      if place <= width * api.nvim_win_get_height(win) / 2 then
        vim.cmd("normal! 0")
      end
    else
      vim.cmd(place > width and "normal! zs10zh" or "normal! 0")
    end
  end)
end

--- Does something even if an autocommand of the user fails: then once more without autocommands.
---@param run fun()
---@param is_done fun(): boolean
---@return boolean is_done
local function insist(run, is_done)
  pcall(run)
  if not is_done() then
    local ignored = vim.o.eventignore
    vim.o.eventignore = "all"
    pcall(run)
    vim.o.eventignore = ignored
  end
  return is_done()
end

--- Closes a window, unless it is the last one.
---@param win integer
---@return boolean is_closed
function M.close(win)
  return insist(function()
    api.nvim_win_close(win, true)
  end, function()
    return not api.nvim_win_is_valid(win)
  end)
end

--- Takes a buffer away.
---@param buf integer
function M.wipe(buf)
  if api.nvim_buf_is_valid(buf) then
    insist(function()
      api.nvim_buf_delete(buf, { force = true })
    end, function()
      return not api.nvim_buf_is_valid(buf)
    end)
  end
end

--- Goes to a window.
---@param win integer
function M.enter(win)
  if api.nvim_win_is_valid(win) then
    insist(function()
      api.nvim_set_current_win(win)
    end, function()
      return api.nvim_get_current_win() == win
    end)
  end
end

return M
