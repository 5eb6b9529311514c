--- Where the user came from: the window, other than a conversation, in which they were last.
local M = {}

local api = vim.api

---@param buf integer
---@return boolean
local function is_chat(buf)
  return vim.bo[buf].filetype == "chat"
end

---@param win integer
---@return boolean
local function is_ordinary(win)
  return win ~= 0
    and api.nvim_win_is_valid(win)
    and api.nvim_win_get_config(win).relative == ""
    and not is_chat(api.nvim_win_get_buf(win))
end

--- The window that is not a conversation's in which the user was last.
---@return integer?
function M.window()
  local current = api.nvim_get_current_win()
  if is_ordinary(current) then
    return current
  end
  local previous = vim.fn.win_getid(vim.fn.winnr("#"))
  if is_ordinary(previous) then
    return previous
  end
  local best, used
  for _, win in ipairs(api.nvim_list_wins()) do
    if is_ordinary(win) then
      local last = vim.fn.getbufinfo(api.nvim_win_get_buf(win))[1].lastused
      if not used or last > used then
        best, used = win, last
      end
    end
  end
  return best
end

--- Whether a buffer has a file of the user's, or may get one.
---@param buf integer
---@return boolean
local function is_file(buf)
  return buf > 0 and api.nvim_buf_is_valid(buf) and api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == "" and not is_chat(buf)
end

--- A window that shows a buffer: the one that was used last.
---@param buf integer
---@return integer?
local function window_of(buf)
  local previous = vim.fn.win_getid(vim.fn.winnr("#"))
  local wins = vim.fn.win_findbuf(buf)
  return vim.list_contains(wins, previous) and previous or wins[1]
end

--- When each buffer was entered last, as a number that grows: Neovim counts in seconds.
---@type table<integer, integer>
local entered = {}
local moment = 0

--- Notes from now on which buffers the user enters. A conversation was opened, so this may be asked for.
function M.follow()
  api.nvim_create_autocmd({ "BufEnter", "WinEnter" }, {
    group = api.nvim_create_augroup("flemma.origin", { clear = true }),
    desc = "Flemma: note the file that the user was in last",
    callback = function()
      local buf = api.nvim_get_current_buf()
      if is_file(buf) then
        moment = moment + 1
        entered[buf] = moment
      end
    end,
  })
end

--- The buffer of those that were entered, which is still there, in which the user was last.
---@return integer?
local function last_entered()
  local best
  for buf, at in pairs(entered) do
    if not api.nvim_buf_is_valid(buf) then
      entered[buf] = nil
    elseif is_file(buf) and (not best or at > entered[best]) then
      best = buf
    end
  end
  return best
end

--- The buffer that the user came from: the one in which they were last that has a file or may get one. A terminal, a list and a
--- conversation are passed over.
---@return integer? buf
---@return integer? win
function M.buffer()
  local last = last_entered()
  if last then
    return last, window_of(last)
  end
  local win = M.window()
  if win and is_file(api.nvim_win_get_buf(win)) then
    return api.nvim_win_get_buf(win), win
  end
  local best, used = vim.fn.bufnr("#"), nil
  best = is_file(best) and best or nil
  used = best and vim.fn.getbufinfo(best)[1].lastused
  for _, info in ipairs(vim.fn.getbufinfo({ bufloaded = 1, buflisted = 1 })) do
    if is_file(info.bufnr) and (not used or info.lastused > used) then
      best, used = info.bufnr, info.lastused
    end
  end
  return best, best and window_of(best)
end

--- The loaded buffer of a file.
---@param path string absolute
---@return integer? buf
---@return integer? win
function M.of_file(path)
  local bufs = vim.tbl_filter(function(buf)
    return api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ""
  end, api.nvim_list_bufs())
  for _, buf in ipairs(bufs) do
    if api.nvim_buf_get_name(buf) == path then
      return buf, window_of(buf)
    end
  end
  -- It may be open under another name.
  local real = require("flemma.real").names(bufs, { path })
  for _, buf in ipairs(bufs) do
    if real[path] and real[api.nvim_buf_get_name(buf)] == real[path] then
      return buf, window_of(buf)
    end
  end
end

--- The position of the cursor in a buffer.
---@param buf integer
---@param win? integer
---@return integer row from 0
---@return integer column in bytes
function M.cursor(buf, win)
  local pos = win and api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == buf and api.nvim_win_get_cursor(win)
    or api.nvim_buf_get_mark(buf, '"')
  local row = math.max(0, math.min(pos[1], api.nvim_buf_line_count(buf)) - 1)
  return row, pos[2]
end

return M
