--- Where the cursors of the windows on a conversation move, and the return to Insert mode.
---
--- A window whose cursor is on the last line follows the text, and so does the one in which a key has sent the conversation
--- until the user moves its cursor. Neovim scrolls.
local M = {}

local api = vim.api

--- The window in which each conversation was last sent, and the line of its cursor then, or where it was moved to since.
---@type table<integer, { win: integer, line: integer }>
local sent = {}

--- Where the cursor of each window was left at the end of the text that arrives.
---@type table<integer, { line: integer, column: integer }>
local ends = {}

--- The windows that were led to a call that waits, which is to be seen with what is drawn below it, and their first line when they
--- last showed that.
---@type table<integer, { buf: integer, line: integer, top?: integer }>
local led = {}

--- Where the user was in Insert mode when a buffer was locked; nil after any key.
---@type table<integer, { win: integer, line: integer, column: integer }>
local typing = {}

local namespace = api.nvim_create_namespace("flemma.cursor")
local mouse_moves = vim.keycode("<MouseMove>")

--- Whether a line belongs to a call that waits for the user's decision.
---@param buf integer
---@param line integer from 0
---@return boolean
function M.waits_at(buf, line)
  local calls = require("flemma.native").call("calls", buf, "waiting", { first = line, last = line + 1 }) or {}
  return vim.iter(calls):any(function(call)
    return call.has_block
  end)
end

local function waits_at(buf, win)
  return M.waits_at(buf, api.nvim_win_get_cursor(win)[1] - 1)
end

--- The buffer is no longer a conversation.
---@param buf integer
function M.forget(buf)
  sent[buf], typing[buf] = nil, nil
  for win, at in pairs(led) do
    led[win] = at.buf ~= buf and at or nil
  end
end

--- The user has sent the conversation of the current window, which follows it from any line.
---@param buf integer
function M.watch(buf)
  local win = api.nvim_get_current_win()
  if api.nvim_win_get_buf(win) == buf then
    ends[win] = nil
    sent[buf] = { win = win, line = api.nvim_win_get_cursor(win)[1] }
  end
end

--- Whether the cursor of a window is on the last line. The last line may be a paragraph of many rows, in which the user has gone
--- back to read.
---@param buf integer
---@param win integer
local function is_at_end(buf, win)
  local line, column = unpack(api.nvim_win_get_cursor(win))
  local left = ends[win]
  return line == api.nvim_buf_line_count(buf) and not (left and left.line == line and column < left.column)
end

--- Whether a window follows the conversation.
---@param buf integer
---@param win integer
---@return boolean
function M.follows(buf, win)
  local watched = sent[buf]
  local is_watched = watched and watched.win == win and watched.line == api.nvim_win_get_cursor(win)[1]
  return is_watched or is_at_end(buf, win)
end

---@param buf integer
---@param which fun(buf: integer, win: integer): boolean
---@return integer[]
local function windows(buf, which)
  local mode = api.nvim_get_mode().mode
  -- A selection and a pending operator depend on the cursor.
  local depending = (mode:find("^[vV\22sS\19]") or mode:find("^no")) and api.nvim_get_current_win()
  return vim.tbl_filter(function(win)
    return which(buf, win) and win ~= depending
  end, vim.fn.win_findbuf(buf))
end

---@param buf integer
---@param win integer
---@param line integer from 1
---@param column integer from 0
local function move(buf, win, line, column)
  require("flemma.view.approval_delay").moved(win)
  if win == api.nvim_get_current_win() then
    -- `nvim_win_set_cursor()` measures the lines at once, which takes milliseconds for a long one.
    vim.fn.cursor(line, column + 1)
  else
    api.nvim_win_set_cursor(win, { line, column })
  end
  if sent[buf] and sent[buf].win == win then
    sent[buf].line = line
  end
end

--- Whether the cursor of a window is where it was led to.
---@param win integer
local function is_led(win)
  local at = led[win]
  local is_there = at and api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == at.buf
  return is_there and api.nvim_win_get_cursor(win)[1] == at.line
end

---@param win integer
local function top_of(win)
  return api.nvim_win_call(win, vim.fn.winsaveview).topline
end

--- The windows that were led to a call and that nobody has moved or scrolled since.
---@param buf integer
---@return integer[]
local function leading(buf)
  return vim.tbl_filter(function(win)
    return is_led(win) and (led[win].top or top_of(win)) == top_of(win)
  end, vim.fn.win_findbuf(buf))
end

--- The text is about to change.
---@param buf integer
---@return fun() settle to be called after the change
function M.before_write(buf)
  local watched = sent[buf]
  local is_watched = watched and api.nvim_win_is_valid(watched.win) and M.follows(buf, watched.win)
  local followers = windows(buf, is_at_end)
  local waiting, shown = vim.tbl_filter(is_led, vim.fn.win_findbuf(buf)), leading(buf)
  return function()
    local last = api.nvim_buf_line_count(buf)
    local column = #api.nvim_buf_get_lines(buf, last - 1, last, false)[1]
    for _, win in ipairs(followers) do
      move(buf, win, last, column)
      ends[win] = { line = last, column = api.nvim_win_get_cursor(win)[2] }
    end
    if is_watched and api.nvim_win_is_valid(watched.win) then
      -- Text above has moved the cursor, and not the user.
      watched.line = api.nvim_win_get_cursor(watched.win)[1]
    end
    for _, win in ipairs(waiting) do
      if led[win] and api.nvim_win_is_valid(win) then
        led[win].line = api.nvim_win_get_cursor(win)[1]
        led[win].top = not vim.list_contains(shown, win) and led[win].top or nil
      end
    end
  end
end

--- Rows were drawn above the cursor: has Neovim look where the cursor is.
---@param buf integer
function M.show_cursor(buf)
  for _, win in ipairs(windows(buf, is_at_end)) do
    api.nvim_win_set_cursor(win, api.nvim_win_get_cursor(win))
  end
end

--- A reply begins: moves the cursor to the end in the windows that follow it.
---@param buf integer
function M.follow(buf)
  local options = require("flemma.options").get()
  if options and options.tools.cursor_after_result ~= "stay" then
    for _, win in ipairs(windows(buf, M.follows)) do
      move(buf, win, api.nvim_buf_line_count(buf), 0)
    end
  end
end

--- Moves the cursor in the windows that follow the conversation. Where the user may be deciding about another call, it stays.
---@param buf integer
---@param line integer from 0
---@param reason "pending"|"awaited"|"result"|"prompt"
function M.move_to(buf, line, reason)
  local options = require("flemma.options").get()
  local wanted = options and options.tools.cursor_after_result
  if reason == "result" and wanted == "stay" then
    return
  elseif reason == "pending" then
    typing[buf] = nil
  end
  local last = api.nvim_buf_line_count(buf)
  -- "next": to where the conversation continues, which is its end.
  line = reason == "result" and wanted == "next" and last or math.min(line + 1, last)
  for _, win in ipairs(windows(buf, M.follows)) do
    if reason == "prompt" or not ((reason == "result" or is_led(win)) and waits_at(buf, win)) then
      move(buf, win, line, 0)
      led[win] = reason == "pending" and { buf = buf, line = line } or nil
    end
  end
end

--- Shows what is drawn below the card at the cursor: it goes to the line below the card for a moment, so that Neovim scrolls. The
--- lines of the card itself are hidden.
---@param win integer
function M.show_below(win)
  api.nvim_win_call(win, function()
    local line = vim.fn.line(".")
    if vim.fn.line("w$") == vim.fn.line("$") then
      -- What was above may be folded since.
      vim.fn.cursor(1, 1)
      vim.fn.line("w0")
    end
    local _, last = require("flemma.view.cards").at(api.nvim_win_get_buf(win), line - 1)
    vim.fn.cursor(math.min((last or line) + 1, vim.fn.line("$")), 1)
    vim.fn.line("w0")
    vim.fn.cursor(line, 1)
  end)
end

--- Folds, or what is drawn below calls, are about to change: the windows that were led to a call show it afterwards, unless the user
--- has moved or scrolled them.
---@param buf integer
---@param change fun()
function M.keep_shown(buf, change)
  local shown = leading(buf)
  change()
  for _, win in ipairs(shown) do
    if is_led(win) then
      M.show_below(win)
      led[win].top = top_of(win)
    end
  end
end

--- The buffer is locked while the user is in Insert mode in the current window.
---@param buf integer
function M.leave_insert(buf)
  local win = api.nvim_get_current_win()
  local cursor = api.nvim_win_get_cursor(win)
  typing[buf] = { win = win, line = cursor[1], column = cursor[2] }
  -- Any key means that the user is not just waiting.
  vim.on_key(function(_, typed)
    if typed ~= "" and typed ~= mouse_moves then
      typing = {}
      vim.on_key(nil, namespace)
    end
  end, namespace)
  require("flemma.notify").take_said()
  vim.cmd.stopinsert()
end

--- Insert mode is not restored in this buffer.
---@param buf integer
function M.stop_typing(buf)
  typing[buf] = nil
end

--- Restores Insert mode if the user was in it when the turn began and has only waited since.
---@param buf integer
local function type_on(buf)
  local was, win = typing[buf], api.nvim_get_current_win()
  if not was or not api.nvim_buf_is_loaded(buf) or require("flemma.buffer.lock").is_locked(buf) then
    return
  elseif api.nvim_get_mode().mode:sub(1, 1) == "i" then
    -- The turn was so short that `:stopinsert` has not taken effect yet.
    api.nvim_create_autocmd("InsertLeave", {
      once = true,
      callback = function()
        M.type_on_later(buf)
      end,
    })
    return
  elseif win == was.win and waits_at(buf, win) then
    -- The turn goes on when the call has its result.
    return
  end
  typing[buf] = nil
  -- In Insert mode, Neovim shows its name in place of a message.
  if require("flemma.notify").take_said() then
    return
  end
  local is_there = win == was.win and api.nvim_win_get_buf(win) == buf and M.follows(buf, win)
  if is_there and api.nvim_get_mode().mode == "n" and vim.bo[buf].modifiable then
    local line, length = api.nvim_win_get_cursor(win)[1], #api.nvim_get_current_line()
    -- On a line that the conversation has led to, it goes on at the end.
    local column = line == was.line and math.min(was.column, length) or length
    api.nvim_win_set_cursor(win, { line, column })
    vim.cmd.startinsert({ bang = column == length })
  end
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

return M
