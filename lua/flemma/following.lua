--- Who wants to see what comes: the windows that follow a conversation, where their cursors go, and insert mode.
local M = {}

local api = vim.api

---@class flemma.Watcher
---@field win integer the window whose key set the conversation going
---@field line integer the line its cursor was on when that key, or we, last moved it
---@field decides? boolean whether it was led to a call that waits for the user

---@type table<integer, flemma.Watcher> by buffer
local watchers = {}

--- Where the user was in insert mode when a buffer was locked; nil when that is over.
---@type table<integer, { win: integer, line: integer, column: integer }>
local typing = {}

local namespace = api.nvim_create_namespace("flemma.following")

--- Any key that the user presses is something else than to wait: insert mode is not given back, in no buffer.
local function watch_keys()
  local mouse_moves = vim.keycode("<MouseMove>")
  vim.on_key(function(_, typed)
    if typed ~= "" and typed ~= mouse_moves then
      typing = {}
      vim.on_key(nil, namespace)
    end
  end, namespace)
end

--- Insert mode is not given back in this buffer.
---@param buf integer
local function forget_typing(buf)
  typing[buf] = nil
  if not next(typing) then
    vim.on_key(nil, namespace)
  end
end

--- The buffer is no conversation any more.
---@param buf integer
function M.forget(buf)
  watchers[buf] = nil
  forget_typing(buf)
end

--- The user set the conversation going in the current window: it is the one that wants to see what comes.
---@param buf integer
function M.watch(buf)
  local win = api.nvim_get_current_win()
  if require("flemma.buffer").is_attached(buf) and api.nvim_win_get_buf(win) == buf then
    watchers[buf] = { win = win, line = api.nvim_win_get_cursor(win)[1] }
  end
end

--- The watcher of a buffer, if it is this window.
---@param buf integer
---@param win integer
---@return flemma.Watcher?
local function watcher_in(buf, win)
  local watcher = watchers[buf]
  return watcher and watcher.win == win and watcher or nil
end

--- Moves a window's cursor; one that watches goes on watching.
local function move(buf, win, line, column)
  if win == api.nvim_get_current_win() then
    -- Leaves it to the next redraw to scroll. `nvim_win_set_cursor()` measures the lines for that at once, and of a long
    -- line that takes milliseconds.
    vim.fn.cursor(line, column + 1)
  else
    api.nvim_win_set_cursor(win, { line, column })
  end
  local watcher = watcher_in(buf, win)
  if watcher then
    watcher.line = api.nvim_win_get_cursor(win)[1]
  end
end

--- Whether the user is about to do something with the text up to the cursor: a selection, or an operator that waits.
local function is_selecting(win)
  local mode = api.nvim_get_mode().mode
  return win == api.nvim_get_current_win() and (mode:find("^[vV\22sS\19]") or mode:find("^no")) ~= nil
end

--- The windows that want to see what comes: those whose cursor is on the last line, and the one that watches. A
--- user who moves the cursor in that one has something else to look at.
---@param buf integer
---@return integer[]
local function followers(buf)
  local last = api.nvim_buf_line_count(buf)
  return vim.tbl_filter(function(win)
    local line = api.nvim_win_get_cursor(win)[1]
    local watcher = watcher_in(buf, win)
    return (line == last or (watcher ~= nil and watcher.line == line)) and not is_selecting(win)
  end, vim.fn.win_findbuf(buf))
end

--- The text is about to change. A window whose cursor is on the last line follows what is added; every other one stays.
---@param buf integer
---@return fun(written: boolean) settle to be called when it has changed
function M.before_write(buf)
  local count = api.nvim_buf_line_count(buf)
  local at_end = vim.tbl_filter(function(win)
    return api.nvim_win_get_cursor(win)[1] == count and not is_selecting(win)
  end, vim.fn.win_findbuf(buf))
  local watcher = watchers[buf]
  local function line_of_watcher()
    local shows = watcher and api.nvim_win_is_valid(watcher.win) and api.nvim_win_get_buf(watcher.win) == buf
    return shows and api.nvim_win_get_cursor(watcher.win)[1] or nil
  end
  local watches = watcher and line_of_watcher() == watcher.line
  return function(written)
    if watcher and watches then
      -- Text that came or went above the cursor has moved it, and not the user.
      watcher.line = line_of_watcher() or watcher.line
    end
    if not written then
      return
    end
    count = api.nvim_buf_line_count(buf)
    for _, win in ipairs(at_end) do
      move(buf, win, count, #api.nvim_buf_get_lines(buf, count - 1, count, false)[1])
    end
  end
end

--- The buffer is locked while the user is in insert mode in the current window.
---@param buf integer
function M.leave_insert(buf)
  local win = api.nvim_get_current_win()
  local cursor = api.nvim_win_get_cursor(win)
  typing[buf] = { win = win, line = cursor[1], column = cursor[2] }
  watch_keys()
  require("flemma.lastline").forget()
  vim.cmd.stopinsert()
end

--- The user did something else than wait for the end of the turn, or has something to decide: insert mode is not given
--- back.
---@param buf integer
function M.stop_typing(buf)
  forget_typing(buf)
end

--- Gives insert mode back to a user who was in it when the turn began and has only waited since.
---@param buf integer
local function type_on(buf)
  local was, watcher = typing[buf], watchers[buf]
  if not was or not api.nvim_buf_is_loaded(buf) or require("flemma.buffer").is_locked(buf) then
    return
  end
  forget_typing(buf)
  local win = api.nvim_get_current_win()
  if win ~= was.win or api.nvim_win_get_buf(win) ~= buf or api.nvim_get_mode().mode ~= "n" then
    return
  end
  local cursor = api.nvim_win_get_cursor(win)
  if not watcher or watcher.win ~= win or watcher.line ~= cursor[1] or not vim.bo[buf].modifiable then
    return
  end
  -- Leaving insert mode moves the cursor one to the left. On a line that the conversation moved it to, it goes to the end.
  local length = #api.nvim_get_current_line()
  local column = cursor[1] == was.line and math.min(was.column, length) or length
  if column < length then
    api.nvim_win_set_cursor(win, { cursor[1], column })
  end
  require("flemma.lastline").keep()
  vim.cmd.startinsert({ bang = column == length })
end

--- The buffer is the user's again. Only when everything that belongs to the end of the turn is done do they type on.
---@param buf integer
function M.type_on_later(buf)
  if typing[buf] then
    vim.schedule(function()
      type_on(buf)
    end)
  end
end

--- Whether the user is about to decide on a call: then no other one may come under the cursor.
---@param buf integer
---@param win integer
---@param reason "pending"|"result"|"prompt" why the cursor is to move
---@return boolean
local function is_deciding(buf, win, reason)
  local watcher = watcher_in(buf, win)
  local was_led_here = watcher ~= nil and watcher.decides == true
  if reason == "prompt" or (reason == "pending" and not was_led_here) then
    return false
  end
  return require("flemma.native").call("waits_at", buf, api.nvim_win_get_cursor(win)[1] - 1) == true
end

--- Moves the cursor in the windows in which the user follows the conversation. Whoever reads elsewhere is left alone.
---@param buf integer
---@param line integer from 0
---@param reason "pending"|"result"|"prompt"
function M.cursor(buf, line, reason)
  local options = require("flemma.options").get()
  local wanted = options and options.tools.cursor_after_result
  if reason == "result" and wanted == "stay" then
    return
  end
  -- "next": to where the conversation goes on, which is its end.
  line = reason == "result" and wanted == "next" and math.huge or line + 1
  line = math.min(line, api.nvim_buf_line_count(buf))
  if reason == "pending" then
    M.stop_typing(buf)
  end
  for _, win in ipairs(followers(buf)) do
    local stays = is_deciding(buf, win, reason)
    if not stays then
      move(buf, win, line, 0)
      local watcher = watcher_in(buf, win)
      if watcher and reason == "pending" then
        watcher.decides = true
      end
    end
    if stays or reason == "pending" then
      require("flemma.ui").reveal(buf, win, api.nvim_win_get_cursor(win)[1])
    end
  end
end

--- A reply begins: puts the cursor at the end where the user wants to see it come.
---@param buf integer
function M.follow(buf)
  local options = require("flemma.options").get()
  if options and options.tools.cursor_after_result == "stay" then
    return
  end
  for _, win in ipairs(followers(buf)) do
    move(buf, win, api.nvim_buf_line_count(buf), 0)
  end
end

return M
