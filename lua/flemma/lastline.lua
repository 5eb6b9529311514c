--- A line at the bottom of the screen, where messages are expected.
---
--- It is echoed if the echo would remain visible: in Normal mode, on a command line that has room for it. Otherwise Neovim
--- would write `-- INSERT --` over it, or show a hit-enter prompt. In that case the line is a float over the last row. In Normal
--- mode, what does not fit in one row takes the rows between it and the cursor as well, until the next key.
local M = {}

local api = vim.api

local namespace = api.nvim_create_namespace("flemma.lastline")

--- The number of cells that is enough for the beginning of a message.
local ENOUGH = 20

---@class flemma.LastLine
---@field text string the whole message
---@field more integer the number of other messages that came with it
---@field highlight? string

--- The last message; nil when it is no longer needed.
---@type flemma.LastLine?
local latest

---@type integer?
local float

--- Whether Neovim shows the name of the mode on the command line: Insert, Replace, Visual, Select and Terminal mode.
---@param mode string
local function names_itself(mode)
  return mode:find("^[iRvV\22sS\19t]") ~= nil
end

--- The line, shortened to fit.
---@param line flemma.LastLine
---@param room integer
local function fit(line, room)
  local width = vim.fn.strdisplaywidth
  if line.more == 0 and width(line.text) <= room then
    return line.text
  end
  local hint = line.more == 0 and " … :messages" or (" … and %d more in :messages"):format(line.more)
  if width(hint) + ENOUGH / 2 > room then
    hint = "…"
  end
  local low, high = 0, vim.fn.strcharlen(line.text)
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if width(vim.fn.strcharpart(line.text, 0, middle)) + width(hint) <= room then
      low = middle
    else
      high = middle - 1
    end
  end
  return vim.fn.strcharpart(line.text, 0, low) .. hint
end

local function close()
  vim.on_key(nil, namespace)
  pcall(api.nvim_del_augroup_by_name, "flemma.lastline")
  local old = float
  float = nil
  if old and api.nvim_win_is_valid(old) then
    pcall(api.nvim_win_close, old, true)
  end
end

--- The cells of a message on the command line.
local function echo_room()
  if vim.o.ruler and api.nvim_win_get_config(0).relative ~= "" then
    -- A float has no status line for it.
    return math.min(vim.v.echospace, vim.o.columns - 19)
  end
  return vim.v.echospace
end

---@param line flemma.LastLine
local function echo(line)
  api.nvim_echo({ { fit(line, echo_room()), line.highlight } }, false, {})
end

--- Opens a float as wide as the screen.
---@param lines string[]
---@param row integer from 0
---@param zindex integer
---@param highlight? string
---@return integer? win nil if there cannot be one now: the command-line window does not allow other windows
local function open(lines, row, zindex, highlight)
  local buf = require("flemma.scratch").create()
  vim.bo[buf].bufhidden = "wipe"
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  local opened, win = pcall(api.nvim_open_win, buf, false, {
    relative = "editor",
    row = row,
    col = 0,
    width = vim.o.columns,
    height = #lines,
    focusable = false,
    style = "minimal",
    border = "none",
    zindex = zindex,
    noautocmd = true,
  })
  if not opened then
    api.nvim_buf_delete(buf, { force = true })
    return nil
  end
  vim.wo[win].wrap = false
  vim.wo[win].winhighlight = "NormalFloat:" .. (highlight or "MsgArea")
  return win
end

--- Shows the message again if the size of the screen changes while it is in a float.
---@param line flemma.LastLine
---@param win integer
---@return integer group
local function follow_size(line, win)
  local group = api.nvim_create_augroup("flemma.lastline", { clear = true })
  api.nvim_create_autocmd("VimResized", {
    group = group,
    desc = "Flemma: keep a message on the last row",
    callback = vim.schedule_wrap(function()
      if float == win then
        M.show(line)
      end
    end),
  })
  return group
end

--- The most rows of a message.
local MOST = 5

--- The rows of a message that does not fit in one.
---@param line flemma.LastLine
---@return string[]
---@param width integer
---@param room integer
local function rows(line, width, room)
  local hint = line.more == 0 and "" or (" … and %d more in :messages"):format(line.more)
  local found = require("flemma.notify").wrap(line.text .. hint, width)
  if #found > room then
    local rest = vim.iter(found):skip(room - 1):map(vim.trim):join(" ")
    found = vim.list_slice(found, 1, room - 1)
    found[room] = fit({ text = (room > 1 and "  " or "") .. rest, more = line.more }, width)
  end
  return found
end

--- What the command line shows.
---@return string
local function shown()
  local row, cells = vim.o.lines - vim.o.cmdheight + 1, {}
  for column = 1, vim.o.columns do
    cells[column] = vim.fn.screenstring(row, column)
  end
  return vim.trim(table.concat(cells))
end

--- Shows a message that does not fit on the command line in the rows above it as well, until the next key. Questions that Neovim
--- asks cover these rows.
---@param line flemma.LastLine
---@param is_narrow boolean whether the command line has no room for a row of it
---@return boolean done
local function spread(line, is_narrow)
  -- The line of the cursor is not covered.
  local cursor = vim.fn.screenpos(0, vim.fn.line("."), vim.fn.col(".")).row
  local room = vim.o.lines - vim.o.cmdheight - cursor
  local width = is_narrow and vim.o.columns or echo_room()
  if room < 1 or line.more == 0 and vim.fn.strdisplaywidth(line.text) <= width then
    return false
  end
  local lines = rows(line, width, math.min(MOST, is_narrow and room or room + 1))
  local last = not is_narrow and table.remove(lines) or ""
  local win = open(lines, vim.o.lines - vim.o.cmdheight - #lines, 150, line.highlight)
  if not win then
    return false
  end
  float = win
  if not is_narrow or vim.o.cmdheight > 0 then
    api.nvim_echo({ { last, line.highlight } }, false, {})
  end
  follow_size(line, win)
  vim.on_key(function(_, typed)
    if typed == "" then
      return
    end
    -- At once: if the key leads to a question, closing a window would wipe its words off the screen.
    close()
    vim.schedule(function()
      if float then
        return
      end
      -- What the key has brought there stays.
      if last ~= "" and api.nvim_get_mode().mode == "n" and vim.startswith(shown(), vim.trim(last)) then
        echo(line)
      end
    end)
  end, namespace)
  return true
end

--- Shows the line over the last row. In a mode whose name is shown, it remains until that mode ends, and is echoed then. In
--- Normal mode, it remains until the next key.
---@param line flemma.LastLine
local function cover(line)
  close()
  -- Only a float above Neovim's own messages (200) may cover the command line.
  local win = open({ fit(line, vim.o.columns) }, vim.o.lines - 1, 201, line.highlight)
  if not win then
    return
  end
  float = win
  local group = follow_size(line, win)
  if names_itself(api.nvim_get_mode().mode) then
    api.nvim_create_autocmd("ModeChanged", {
      group = group,
      desc = "Flemma: echo a message that was shown over the name of the mode",
      callback = function()
        local mode = vim.v.event.new_mode
        if not names_itself(mode) then
          vim.schedule(function()
            close()
            if mode:find("^n") then
              M.show(line)
            end
          end)
        end
      end,
    })
  else
    vim.on_key(function(_, typed)
      if typed ~= "" then
        vim.schedule(close)
      end
    end, namespace)
  end
end

--- Shows a line. It never causes a hit-enter prompt.
---@param line flemma.LastLine
function M.show(line)
  latest = line
  local is_narrow = vim.o.cmdheight == 0 or vim.v.echospace < ENOUGH
  close()
  if names_itself(api.nvim_get_mode().mode) then
    cover(line)
  elseif not spread(line, is_narrow) then
    if is_narrow then
      cover(line)
    else
      echo(line)
    end
  end
end

--- Takes the last line away if it no longer holds.
---@param is_over fun(text: string): boolean whether the whole message no longer holds
function M.clear(is_over)
  if latest and latest.more == 0 and is_over(latest.text) then
    latest = nil
    close()
    if not names_itself(api.nvim_get_mode().mode) then
      api.nvim_echo({ { "" } }, false, {})
    end
  end
end

--- Forgets the last message, so that it is not shown again.
function M.forget()
  latest = nil
end

--- Insert mode is about to be restored without a key by the user: keeps the last message on the screen.
function M.keep()
  api.nvim_create_autocmd("InsertEnter", {
    group = api.nvim_create_augroup("flemma.lastline.keep", { clear = true }),
    desc = "Flemma: keep a message when Insert mode is restored",
    callback = vim.schedule_wrap(function()
      if latest then
        M.show(latest)
      end
    end),
    once = true,
  })
end

return M
