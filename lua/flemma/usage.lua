--- Shows what conversations use: a summary after each turn, and `:Flemma usage`.
---
--- The summary is a small float at the right of a window that shows the conversation: in the lower corner below the end of the
--- text, in the upper one if that is blank, or else in the one with less text that the cursor's line is not in. It takes no focus
--- and no keys, and disappears at the next key or after a while. If there is not enough room, or it would cover more than half of
--- the window's width, it is shortened or not shown.
local M = {}

local api = vim.api

local blank = require("flemma.blank")

local namespace = api.nvim_create_namespace("flemma.usage")

---@class flemma.UsageFloat
---@field win integer the float
---@field target integer the window in whose corner it is
---@field buf integer the conversation
---@field lines string[]
---@field place string the place of the target on the screen
---@type flemma.UsageFloat?
local float
---@type uv.uv_timer_t?
local timer

--- The window to show it in: the current one if it shows the conversation, or another one on this tab page.
---@param buf integer
---@return integer?
local function window_of(buf)
  local function fits(win)
    return api.nvim_win_get_buf(win) == buf and api.nvim_win_get_config(win).relative == ""
  end
  if fits(0) then
    return api.nvim_get_current_win()
  end
  return vim.iter(api.nvim_tabpage_list_wins(0)):find(fits)
end

--- The first and last screen row of the cursor's line in a window.
---@return integer first
---@return integer last
local function cursor_rows(win)
  local line = api.nvim_win_get_cursor(win)[1]
  local top = api.nvim_win_get_position(win)[1]
  local bottom = top + api.nvim_win_get_height(win) - 1
  -- The window has not been drawn since the cursor moved. These two calls update which lines it shows.
  vim.fn.line("w0", win)
  vim.fn.line("w$", win)
  local length = #api.nvim_buf_get_lines(api.nvim_win_get_buf(win), line - 1, line, false)[1]
  local first = vim.fn.screenpos(win, line, 1).row
  local last = vim.fn.screenpos(win, line, math.max(length, 1)).row
  return first > 0 and first - 1 or top, last > 0 and last - 1 or bottom
end

--- How many cells with text a rectangle at the right of a window covers.
---@param win integer
---@param row integer the first row on the screen, from 0
---@param width integer
---@param height integer
---@return integer
local function covered(win, row, width, height)
  if not blank.is_known(win) then
    return 1
  end
  local info = vim.fn.getwininfo(win)[1]
  local first, count = row - (info.winrow - 1) - info.winbar, 0
  for at = first, first + height - 1 do
    count = count + width - blank.cells(win, at, width)
  end
  return count
end

--- The position of the lines in a corner of a window; nil if there is no room.
---@param win integer
---@param lines string[]
---@param border boolean
---@param is_blank boolean whether it must cover no text
---@return vim.api.keyset.win_config?
local function place(win, lines, border, is_blank)
  local frame = border and 2 or 0
  local width = 0
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  local height = #lines + frame
  local position = api.nvim_win_get_position(win)
  local bar = vim.wo[win].winbar ~= "" and 1 or 0
  local room = { width = api.nvim_win_get_width(win), height = api.nvim_win_get_height(win) }
  -- A line that is covered completely would look as if it were missing, and one that is half covered cannot be read.
  if 2 * (width + frame) > room.width or height + 2 > room.height then
    return nil
  end
  local first, last = cursor_rows(win)
  local upper = position[1] + bar
  local lower = position[1] + room.height - height
  local row, least = nil, is_blank and 1 or math.huge
  for _, corner in ipairs({ lower, upper }) do
    local hides_cursor = corner <= last and first < corner + height
    local count = hides_cursor and math.huge or covered(win, corner, width + frame, height)
    if count < least then
      row, least = corner, count
    end
  end
  if not row then
    return nil
  end
  return {
    relative = "editor",
    row = row,
    col = position[2] + room.width - width - frame,
    width = width,
    height = #lines,
    focusable = false,
    style = "minimal",
    border = border and require("flemma.looks").border() or "none",
    zindex = 45,
  }
end

--- All lines with a border, all lines without one, or only the last line: the first of them that covers no text, or else that fits.
---@return vim.api.keyset.win_config? config
---@return string[] lines
local function arrange(win, lines)
  local short = { lines[#lines] }
  -- So that what is on the screen is what the window shows now.
  vim.cmd.redraw()
  for _, is_blank in ipairs({ true, false }) do
    for _, try in ipairs({ { lines, true }, { lines, false }, { short, false } }) do
      local config = place(win, try[1], try[2], is_blank)
      if config then
        return config, try[1]
      end
    end
  end
  return nil, lines
end

--- Where a window is, and how large.
---@param win integer
---@return string
local function place_of(win)
  local position = api.nvim_win_get_position(win)
  return table.concat({ position[1], position[2], api.nvim_win_get_width(win), api.nvim_win_get_height(win) }, " ")
end

--- Closes the float.
function M.close()
  vim.on_key(nil, namespace)
  pcall(api.nvim_del_augroup_by_name, "flemma.usage")
  if timer then
    timer:stop()
  end
  local old = float
  float = nil
  if old and api.nvim_win_is_valid(old.win) then
    pcall(api.nvim_win_close, old.win, true)
  end
end

--- Updates the position after the cursor or the windows have changed.
local function follow()
  if not float then
    return
  end
  local target = float.target
  local here = api.nvim_win_is_valid(target)
    and api.nvim_win_get_tabpage(target) == api.nvim_get_current_tabpage()
    and api.nvim_win_get_buf(target) == float.buf
  local config, lines = nil, nil
  if here and api.nvim_win_is_valid(float.win) then
    local own, first, last = api.nvim_win_get_config(float.win), cursor_rows(target)
    if place_of(target) == float.place and (own.row > last or first >= own.row + api.nvim_win_get_height(float.win) + 2) then
      return
    end
    -- What is below it is read from the screen.
    api.nvim_win_set_config(float.win, { hide = true })
    config, lines = arrange(target, float.lines)
    float.place = place_of(target)
  end
  if not config then
    M.close()
    return
  end
  api.nvim_buf_set_lines(api.nvim_win_get_buf(float.win), 0, -1, false, lines)
  config.hide = false
  api.nvim_win_set_config(float.win, config)
end

---@param buf integer
---@param lines string[]
---@param seconds number
local function open(buf, lines, seconds)
  M.close()
  local target = api.nvim_buf_is_valid(buf) and window_of(buf)
  local config, shown = nil, nil
  if target then
    config, shown = arrange(target, lines)
  end
  if not target or not config then
    return
  end
  -- Another window may change the place of this one: the last one gets a status line.
  local place = place_of(target)
  local scratch = require("flemma.scratch").create()
  vim.bo[scratch].bufhidden = "wipe"
  api.nvim_buf_set_lines(scratch, 0, -1, false, shown)
  config.noautocmd = true
  -- For example, the command-line window does not allow other windows.
  local ok, win = pcall(api.nvim_open_win, scratch, false, config)
  if not ok then
    api.nvim_buf_delete(scratch, { force = true })
    return
  end
  vim.wo[win].winhighlight = "NormalFloat:FlemmaUsage"
  vim.wo[win].wrap = false
  float = { win = win, target = target, buf = buf, lines = lines, place = place }
  vim.on_key(function(_, typed)
    if typed ~= "" then
      vim.schedule(M.close)
    end
  end, namespace)
  api.nvim_create_autocmd({
    "BufWinEnter",
    "CursorMoved",
    "CursorMovedI",
    "TabEnter",
    "VimResized",
    "WinClosed",
    "WinResized",
    "WinScrolled",
  }, {
    group = api.nvim_create_augroup("flemma.usage", { clear = true }),
    desc = "Flemma: keep the summary of a reply out of the way",
    callback = vim.schedule_wrap(follow),
  })
  timer = timer or assert(vim.uv.new_timer())
  timer:start(math.ceil(seconds * 1000), 0, vim.schedule_wrap(M.close))
end

--- Shows what a reply has used, after the reply and the cursor have reached their final positions.
---@param buf integer
---@param lines string[]
---@param seconds number how long to show it
function M.show(buf, lines, seconds)
  vim.schedule(function()
    open(buf, vim.tbl_map(function(line)
      return " " .. line .. " "
    end, lines), seconds)
  end)
end

--- `:Flemma usage`: what has been used, by model and in total.
function M.open()
  local status = require("flemma.status")
  status.show(require("flemma.native").call("usage_lines", api.nvim_get_current_buf(), status.room()) or {})
end

--- `:Flemma usage:estimate`: what the conversation would use if it were sent now. A long conversation is read in slices, so
--- that the user can type in between.
function M.estimate()
  local buf = require("flemma.buffer").resolve()
  local function go_on()
    if buf and require("flemma.buffer").is_attached(buf) and require("flemma.native").call("usage_estimate", buf) then
      vim.schedule(go_on)
    end
  end
  go_on()
end

---@param lines string[]
---@param warning? string
function M.show_estimate(lines, warning)
  local notify = require("flemma.notify")
  if api.nvim_get_mode().mode == "n" then
    require("flemma.status").show(lines)
  else
    -- The user has started to type in the meantime: a float would interrupt that.
    local words = vim.tbl_filter(function(line)
      return vim.trim(line) ~= ""
    end, lines)
    notify.say(vim.log.levels.INFO, table.concat(words, "; "))
  end
  if warning then
    notify.say(vim.log.levels.WARN, warning)
  end
end

return M
