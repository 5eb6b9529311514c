--- What a conversation is doing, in the corner of its windows, while it works.
---
--- The activity stands below the last line, or beside the call that runs. A window that shows neither of these, because the reply
--- fills it or because the user reads further up, has a note in a piece of a row that is blank: it covers and moves no text, and
--- takes no focus. It changes once per second. Where the window scrolls or text arrives, it is hidden at once, and is back with
--- the next look. Only a user who reads further up, and whose rows are all full, has it at the end of the shortest row.
local M = {}

local api = vim.api

local blank = require("flemma.blank")

--- The time between two looks, in milliseconds.
local PERIOD = 1000

---@type table<integer, integer> the conversations that are at work, and since when, in milliseconds
local busy = {}
---@class flemma.ActivityNote
---@field win integer the float
---@field row integer the row of the window that it is in, from 0
---@field width integer
---@field is_blank boolean whether there is nothing below it
---@field is_hidden? boolean until the next look

---@type table<integer, flemma.ActivityNote> by the window that it belongs to
local notes = {}
---@type table<integer, integer> when text of a conversation that is at work was last written, in milliseconds
local written = {}
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
  if note and api.nvim_win_is_valid(note.win) then
    pcall(api.nvim_win_close, note.win, true)
  end
end

--- Hides a note until the next look.
---@param note flemma.ActivityNote
local function hide(note)
  note.is_hidden = true
  if api.nvim_win_is_valid(note.win) then
    pcall(api.nvim_win_set_config, note.win, { hide = true })
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

--- The row of a window in which a note covers no text; for a user who reads further up, at least the one with the least text.
---@param win integer
---@param buf integer
---@param width integer
---@return integer? row from 0
---@return boolean is_blank
local function row_for(win, buf, width)
  local last = vim.fn.getwininfo(win)[1].height - 1
  local is_following = require("flemma.following").follows(buf, win)
  local note = notes[win]
  if note and not note.is_hidden and note.row <= last then
    -- Nothing has moved since. What is below it cannot be read from the screen.
    local is_blank = note.is_blank and blank.cells(win, note.row, width, note.width) >= width
    if is_blank or not is_following then
      return note.row, is_blank
    end
    return nil, false
  end
  if blank.is_known(win) then
    local least, most = nil, -1
    -- Where it was, so that it does not jump about, and in a corner rather than in between.
    local rows = { note and note.row or 0, 0, last }
    for row = 1, is_following and 0 or last - 1 do
      rows[#rows + 1] = row
    end
    for _, row in ipairs(rows) do
      local count = row <= last and blank.cells(win, row, width) or -1
      if count == width then
        return row, true
      elseif count > most then
        least, most = row, count
      end
    end
    return not is_following and least or nil, false
  end
  local is_in_first = api.nvim_win_call(win, vim.fn.winline) == 1
  return not is_following and (is_in_first and last or 0) or nil, false
end

---@param win integer
---@param words string
---@param row integer
---@param is_blank boolean
local function put(win, words, row, is_blank)
  local note = notes[win]
  local zindex = api.nvim_win_get_config(win).zindex
  local config = {
    relative = "win",
    win = win,
    row = row,
    col = api.nvim_win_get_width(win) - api.nvim_strwidth(words),
    width = api.nvim_strwidth(words),
    height = 1,
    hide = false,
    focusable = false,
    style = "minimal",
    border = "none",
    -- Above the float of a conversation, and below the other ones.
    zindex = zindex and zindex + 1 or 40,
  }
  if note and api.nvim_win_is_valid(note.win) then
    local buf = api.nvim_win_get_buf(note.win)
    if api.nvim_buf_get_lines(buf, 0, 1, false)[1] ~= words then
      api.nvim_buf_set_lines(buf, 0, -1, false, { words })
    end
    api.nvim_win_set_config(note.win, config)
    note.row, note.width, note.is_blank, note.is_hidden = row, config.width, is_blank, nil
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
  notes[win] = { win = opened, row = row, width = config.width, is_blank = is_blank }
end

--- Shows, moves or removes the note of a window with a conversation that is at work.
---@param win integer
---@param buf integer
local function look_at(win, buf)
  local now, text = vim.uv.now(), require("flemma.native").call("doing", buf)
  local words = text and fit(text, api.nvim_win_get_width(win))
  local is_wanted = words
    and api.nvim_win_get_height(win) >= 3
    and now - busy[buf] >= PERIOD
    -- Where text arrives, no cell stays blank.
    and (now - (written[buf] or 0) >= PERIOD or not require("flemma.following").follows(buf, win))
    and not shows_activity(win, buf)
  if words and is_wanted then
    local row, is_blank = row_for(win, buf, api.nvim_strwidth(words))
    if row then
      return put(win, words, row, is_blank)
    end
  end
  remove(win)
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
      look_at(win, buf)
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
    busy[buf], written[buf] = nil, nil
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

--- Text was written to a conversation.
---@param buf integer
function M.note_written(buf)
  if not busy[buf] then
    return
  end
  written[buf] = vim.uv.now()
  for win, note in pairs(notes) do
    if api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == buf and require("flemma.following").follows(buf, win) then
      hide(note)
    end
  end
end

local group = api.nvim_create_augroup("flemma.activity", { clear = true })

-- A block shows its text when the cursor comes to it, so that rows may change without scrolling.
api.nvim_create_autocmd({ "WinScrolled", "CursorMoved" }, {
  group = group,
  desc = "Flemma: hide the note about the work in a window that changes",
  callback = function(args)
    local current = api.nvim_get_current_win()
    for win, note in pairs(notes) do
      if args.event == "CursorMoved" and win == current or vim.v.event[tostring(win)] then
        hide(note)
      end
    end
  end,
})

api.nvim_create_autocmd({ "WinClosed", "BufWinEnter", "WinResized" }, {
  group = group,
  desc = "Flemma: keep the notes about the work in the corners of their windows",
  callback = function()
    if next(notes) then
      vim.schedule(look)
    end
  end,
})

return M
