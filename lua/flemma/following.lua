--- The windows that follow a conversation: where their cursors move, and the return to Insert mode.
local M = {}

local api = vim.api

---@class flemma.Watcher
---@field win integer the window in which the key was pressed
---@field line integer the line of its cursor when the key was pressed, or when we last moved it
---@field decides? boolean whether the cursor was moved to a pending call
---@field has_room boolean whether the user has left empty rows below the end of the text

---@type table<integer, flemma.Watcher> by buffer
local watchers = {}

--- Where the cursor of each window was left at the end of the text that arrives.
---@type table<integer, { line: integer, column: integer }>
local ends = {}

--- Where the user was in Insert mode when a buffer was locked; nil after that.
---@type table<integer, { win: integer, line: integer, column: integer }>
local typing = {}

local namespace = api.nvim_create_namespace("flemma.following")

--- Any key means that the user is not just waiting: Insert mode is not restored in any buffer.
local function watch_keys()
  local mouse_moves = vim.keycode("<MouseMove>")
  vim.on_key(function(_, typed)
    if typed ~= "" and typed ~= mouse_moves then
      typing = {}
      vim.on_key(nil, namespace)
    end
  end, namespace)
end

--- Insert mode is not restored in this buffer.
---@param buf integer
local function forget_typing(buf)
  typing[buf] = nil
  if not next(typing) then
    vim.on_key(nil, namespace)
  end
end

--- The buffer is no longer a conversation.
---@param buf integer
function M.forget(buf)
  watchers[buf] = nil
  forget_typing(buf)
end

--- The user pressed a key in the current window, so it follows the conversation.
---@param buf integer
function M.watch(buf)
  local win = api.nvim_get_current_win()
  if require("flemma.buffer").is_attached(buf) and api.nvim_win_get_buf(win) == buf then
    local has_room = require("flemma.filling").empty(win) > 0
    ends[win] = nil
    watchers[buf] = { win = win, line = api.nvim_win_get_cursor(win)[1], has_room = has_room }
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

--- Whether the user has gone back in the last line, which may be a paragraph of many rows: by scrolling, or with the cursor.
---@param win integer
---@return boolean
local function has_gone_back(win)
  local left, cursor = ends[win], api.nvim_win_get_cursor(win)
  return left ~= nil and left.line == cursor[1] and cursor[2] < left.column
end

--- Whether the cursor of a window is where the conversation has moved it, or where it was when the key was pressed.
---@param buf integer
---@param win integer
---@return boolean
function M.leads(buf, win)
  local watcher = watcher_in(buf, win)
  return watcher ~= nil and watcher.line == api.nvim_win_get_cursor(win)[1] and not has_gone_back(win)
end

--- Whether the cursor of a window is only where it is because the conversation goes on there, and not to decide about a call.
---@param buf integer
---@param win integer
---@return boolean
function M.carries(buf, win)
  local watcher = watcher_in(buf, win)
  return watcher ~= nil and not watcher.decides and M.leads(buf, win)
end

--- The same, and the conversation is about to carry it on.
---@param buf integer
---@param win integer
---@return boolean
function M.is_passing(buf, win)
  return M.carries(buf, win) and require("flemma.lock").is_locked(buf)
end

--- Whether a window follows the conversation: its cursor is on the last line, or where the conversation has moved it.
---@param buf integer
---@param win integer
---@return boolean
function M.follows(buf, win)
  local is_last = api.nvim_win_get_cursor(win)[1] == api.nvim_buf_line_count(buf) and not has_gone_back(win)
  return is_last or M.leads(buf, win)
end

--- Moves a window's cursor. A watching window continues to watch.
local function move(buf, win, line, column)
  ends[win] = nil
  require("flemma.seen").moved(win)
  if win == api.nvim_get_current_win() then
    -- Leaves scrolling to the next redraw. `nvim_win_set_cursor()` measures the lines at once, which takes milliseconds for
    -- a long line.
    vim.fn.cursor(line, column + 1)
  else
    api.nvim_win_set_cursor(win, { line, column })
  end
  local watcher = watcher_in(buf, win)
  if watcher then
    watcher.line = api.nvim_win_get_cursor(win)[1]
  end
end

--- Whether the user has a selection or a pending operator, which depend on the cursor.
local function is_selecting(win)
  local mode = api.nvim_get_mode().mode
  return win == api.nvim_get_current_win() and (mode:find("^[vV\22sS\19]") or mode:find("^no")) ~= nil
end

--- The windows that follow the conversation: those whose cursor is on the last line, and the watching one, unless the user
--- has moved its cursor.
---@param buf integer
---@return integer[]
local function followers(buf)
  local last = api.nvim_buf_line_count(buf)
  return vim.tbl_filter(function(win)
    local line = api.nvim_win_get_cursor(win)[1]
    local watcher = watcher_in(buf, win)
    return (line == last or (watcher ~= nil and watcher.line == line)) and not has_gone_back(win) and not is_selecting(win)
  end, vim.fn.win_findbuf(buf))
end

--- The text is about to change. A window whose cursor is on the last line follows the new text; the others do not move.
---@param buf integer
---@return fun(written: boolean) settle to be called after the change
function M.before_write(buf)
  local count = api.nvim_buf_line_count(buf)
  local at_end = vim.tbl_filter(function(win)
    if api.nvim_win_get_cursor(win)[1] ~= count then
      ends[win] = nil
      return false
    end
    return not has_gone_back(win) and not is_selecting(win)
  end, vim.fn.win_findbuf(buf))
  local watcher = watchers[buf]
  local function line_of_watcher()
    local shows = watcher and api.nvim_win_is_valid(watcher.win) and api.nvim_win_get_buf(watcher.win) == buf
    return shows and api.nvim_win_get_cursor(watcher.win)[1] or nil
  end
  local watches = watcher and line_of_watcher() == watcher.line
  return function(written)
    if watcher and watches then
      -- A change of the text above has moved the cursor, and not the user.
      watcher.line = line_of_watcher() or watcher.line
    end
    if not written then
      return
    end
    count = api.nvim_buf_line_count(buf)
    for _, win in ipairs(at_end) do
      move(buf, win, count, #api.nvim_buf_get_lines(buf, count - 1, count, false)[1])
      ends[win] = { line = count, column = api.nvim_win_get_cursor(win)[2] }
    end
  end
end

--- The buffer is locked while the user is in Insert mode in the current window.
---@param buf integer
function M.leave_insert(buf)
  local win = api.nvim_get_current_win()
  local cursor = api.nvim_win_get_cursor(win)
  typing[buf] = { win = win, line = cursor[1], column = cursor[2] }
  watch_keys()
  require("flemma.notify").take_said()
  vim.cmd.stopinsert()
end

--- The user did not just wait for the end of the turn, or has a decision to make: Insert mode is not restored.
---@param buf integer
function M.stop_typing(buf)
  forget_typing(buf)
end

--- Restores Insert mode if the user was in it when the turn began and has only waited since.
---@param buf integer
local function type_on(buf)
  local was, watcher = typing[buf], watchers[buf]
  if not was or not api.nvim_buf_is_loaded(buf) or require("flemma.lock").is_locked(buf) then
    return
  end
  local mode = api.nvim_get_mode().mode
  if mode:sub(1, 1) == "i" then
    -- The turn was so short that `:stopinsert` has not taken effect yet.
    api.nvim_create_autocmd("InsertLeave", {
      once = true,
      callback = function()
        M.type_on_later(buf)
      end,
    })
    return
  end
  local win = api.nvim_get_current_win()
  local cursor = api.nvim_win_get_cursor(win)
  if win == was.win and require("flemma.native").call("waits_at", buf, cursor[1] - 1) then
    -- The turn goes on when the call has its result. What is typed on the block would break it.
    return
  end
  forget_typing(buf)
  -- In Insert mode, Neovim shows its name in place of a message.
  if require("flemma.notify").take_said() or win ~= was.win or api.nvim_win_get_buf(win) ~= buf or mode ~= "n" then
    return
  end
  if not watcher or watcher.win ~= win or watcher.line ~= cursor[1] or not vim.bo[buf].modifiable then
    return
  end
  -- Leaving Insert mode moves the cursor one column to the left. On a line that we moved it to, it goes to the end.
  local length = #api.nvim_get_current_line()
  local column = cursor[1] == was.line and math.min(was.column, length) or length
  if column < length then
    api.nvim_win_set_cursor(win, { cursor[1], column })
  end
  vim.cmd.startinsert({ bang = column == length })
end

--- The buffer is unlocked. Insert mode is restored after everything else at the end of the turn.
---@param buf integer
function M.type_on_later(buf)
  if typing[buf] then
    vim.schedule(function()
      type_on(buf)
    end)
  end
end

--- Whether the user is about to decide about a call. The cursor must not move to another one then.
---@param buf integer
---@param win integer
---@param reason "pending"|"awaited"|"result"|"prompt" why the cursor should move
---@return boolean
local function is_deciding(buf, win, reason)
  local watcher = watcher_in(buf, win)
  local was_led_here = watcher ~= nil and watcher.decides == true
  if reason == "prompt" or (reason ~= "result" and not was_led_here) then
    return false
  end
  return require("flemma.native").call("waits_at", buf, api.nvim_win_get_cursor(win)[1] - 1) == true
end

--- Moves the cursor in the windows that follow the conversation. Other windows do not move.
---@param buf integer
---@param line integer from 0
---@param reason "pending"|"awaited"|"result"|"prompt"
function M.cursor(buf, line, reason)
  local options = require("flemma.options").get()
  local wanted = options and options.tools.cursor_after_result
  if reason == "result" and wanted == "stay" then
    return
  end
  -- "next": to where the conversation continues, which is its end.
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
      if watcher then
        watcher.decides = reason == "pending" or nil
      end
    end
    if stays or reason == "pending" then
      require("flemma.reveal").lead(win, buf)
    end
  end
end

--- Whether a window has no empty rows but those of the conversation: the user has left none when the key was pressed.
---@param buf integer
---@param win integer
---@return boolean
function M.fills(buf, win)
  local watcher = watcher_in(buf, win)
  return watcher ~= nil and not watcher.has_room
end

--- The conversation has come to rest: the windows that follow it show as much of it as they can.
---@param buf integer
function M.rest(buf)
  for _, win in ipairs(followers(buf)) do
    if M.fills(buf, win) then
      require("flemma.reveal").lead(win, buf)
    end
  end
end

--- Rows were drawn above the end of the text. Neovim leaves a cursor below the edge of its window then, until it is moved.
---@param buf integer
function M.show_cursor(buf)
  local last = api.nvim_buf_line_count(buf)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if api.nvim_win_get_cursor(win)[1] == last then
      api.nvim_win_call(win, function()
        if vim.fn.winline() > api.nvim_win_get_height(0) then
          -- This makes Neovim look again.
          vim.fn.winrestview(vim.fn.winsaveview())
        end
      end)
    end
  end
end

--- A reply begins: moves the cursor to the end in the windows that follow it.
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

api.nvim_create_autocmd("WinClosed", {
  group = api.nvim_create_augroup("flemma.following", { clear = true }),
  callback = function(args)
    ends[tonumber(args.match)] = nil
  end,
})

return M
