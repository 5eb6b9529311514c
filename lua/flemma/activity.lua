--- What a conversation is doing, in the corner of its windows, while it works.
---
--- The activity stands below the last line, or beside the call that runs. A window that shows neither of these, because the reply
--- fills it or because the user reads further up, has a note of one row in a corner: it moves no text, takes no focus, and stays
--- until the work ends, so that nothing flickers. It changes once per second.
local M = {}

local api = vim.api

--- The time between two looks, in milliseconds.
local PERIOD = 1000

---@type table<integer, integer> the conversations that are at work, and since when, in milliseconds
local busy = {}
---@type table<integer, integer> the float by the window in whose corner it is
local notes = {}
---@type uv.uv_timer_t?
local timer

--- When a status line last said what a conversation is doing, in milliseconds; nil if none ever did.
---@type integer?
local told

--- A status line says what its conversation is doing.
function M.note_status_line()
  told = vim.uv.now()
end

--- Whether the status line of each window says it.
---@return boolean
local function has_status_lines()
  return told ~= nil and vim.uv.now() - told < 3 * PERIOD and vim.o.laststatus == 2
end

---@param win integer the window with the conversation
local function remove(win)
  local note = notes[win]
  notes[win] = nil
  if note and api.nvim_win_is_valid(note) then
    pcall(api.nvim_win_close, note, true)
  end
end

--- Whether a window shows the activity itself.
---@param win integer
---@param buf integer
---@return boolean
local function shows_activity(win, buf)
  -- These bring up to date which lines the window shows.
  local first, last = vim.fn.line("w0", win), vim.fn.line("w$", win)
  local bottom = api.nvim_win_get_position(win)[1] + api.nvim_win_get_height(win)
  local marks = api.nvim_buf_get_extmarks(buf, require("flemma.ui").live, { first - 1, 0 }, { last - 1, -1 }, { details = true })
  for _, mark in ipairs(marks) do
    local row = vim.fn.screenpos(win, mark[2] + 1, math.max(mark[3], 1)).row
    -- The rows below the last line are not shown where there is no room for them.
    if row > 0 and (mark[4].virt_text or row < bottom) then
      return true
    end
  end
  return false
end

--- What fits into a third of a window: all of it, or what comes before the figures.
---@param text string
---@param width integer
---@return string?
local function fit(text, width)
  for _, words in ipairs({ text, text:match("^[^,]+") }) do
    words = " " .. words .. " "
    if 3 * api.nvim_strwidth(words) <= width then
      return words
    end
  end
end

--- The corner of a window that the cursor is not in.
---@param win integer
---@param words string
---@return vim.api.keyset.win_config
local function corner(win, words)
  local height = api.nvim_win_get_height(win)
  local below = api.nvim_win_call(win, vim.fn.winline) == 1
  local zindex = api.nvim_win_get_config(win).zindex
  return {
    relative = "win",
    win = win,
    anchor = below and "SE" or "NE",
    row = below and height or 0,
    col = api.nvim_win_get_width(win),
    width = api.nvim_strwidth(words),
    height = 1,
    focusable = false,
    style = "minimal",
    border = "none",
    -- Above the float of a conversation, and below the other ones.
    zindex = zindex and zindex + 1 or 40,
  }
end

---@param win integer
---@param words string
local function put(win, words)
  local note = notes[win]
  local config = corner(win, words)
  if note and api.nvim_win_is_valid(note) then
    local buf = api.nvim_win_get_buf(note)
    if api.nvim_buf_get_lines(buf, 0, 1, false)[1] ~= words then
      api.nvim_buf_set_lines(buf, 0, -1, false, { words })
    end
    api.nvim_win_set_config(note, config)
    return
  end
  local buf = require("flemma.scratch").create()
  vim.bo[buf].bufhidden = "wipe"
  api.nvim_buf_set_lines(buf, 0, -1, false, { words })
  config.noautocmd = true
  -- For example, the command-line window does not allow other windows.
  local ok, opened = pcall(api.nvim_open_win, buf, false, config)
  if not ok then
    api.nvim_buf_delete(buf, { force = true })
    return
  end
  vim.wo[opened].winhighlight = "NormalFloat:FlemmaSpinner"
  vim.wo[opened].wrap = false
  notes[win] = opened
end

--- Brings the notes of the current tab page up to date.
local function look()
  local is_told = has_status_lines()
  for win in pairs(notes) do
    if is_told or not api.nvim_win_is_valid(win) or not busy[api.nvim_win_get_buf(win)] then
      remove(win)
    end
  end
  for _, win in ipairs(is_told and {} or api.nvim_tabpage_list_wins(0)) do
    -- The list has the notes too, and one of them may just have been closed.
    local buf = api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win)
    if buf and busy[buf] and require("flemma.buffer").is_attached(buf) then
      local text = require("flemma.native").call("doing", buf)
      local words = text and fit(text, api.nvim_win_get_width(win))
      if not words or api.nvim_win_get_height(win) < 3 then
        remove(win)
      elseif notes[win] or (vim.uv.now() - busy[buf] >= PERIOD and not shows_activity(win, buf)) then
        put(win, words)
      end
    end
  end
  if not next(busy) and timer then
    timer:stop()
  end
end

--- A request or a tool is running in a conversation, or no longer is.
---@param buf integer
---@param is_busy boolean
function M.show(buf, is_busy)
  if not is_busy then
    busy[buf] = nil
    -- The next turn may begin at once. A window must not be closed while another one is being closed.
    vim.schedule(look)
    return
  end
  local options = require("flemma.options").get()
  if busy[buf] or not options or not options.looks.activity then
    return
  end
  busy[buf] = vim.uv.now()
  timer = timer or assert(vim.uv.new_timer())
  if not timer:is_active() then
    timer:start(PERIOD, PERIOD, vim.schedule_wrap(look))
  end
end

api.nvim_create_autocmd({ "WinClosed", "BufWinEnter", "WinResized" }, {
  group = api.nvim_create_augroup("flemma.activity", { clear = true }),
  desc = "Flemma: keep the notes about the work in the corners of their windows",
  callback = function()
    if next(notes) then
      vim.schedule(look)
    end
  end,
})

return M
