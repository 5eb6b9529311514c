--- `:Flemma pending`: the calls that wait in all conversations, in the quickfix list.
local M = {}

local api = vim.api

--- The most rows that the window of the list takes.
local HEIGHT = 10

local TITLE = "Flemma: calls that wait"

--- The number of the latest list that was asked for. Only that one is shown.
local latest = 0

local function say(level, words)
  require("flemma.notify").say(vim.log.levels[level], words)
end

---@class flemma.WaitingList
---@field calls { buf?: integer, file?: string, line: integer, call: string, text: string }[]
---@field problems string[]
---@field is_cut_short boolean

--- Says what the list lacks.
---@param found flemma.WaitingList
---@param folder string
local function complain(found, folder)
  if found.is_cut_short then
    say("WARN", ("not all conversations below %s were read in time; `:Flemma pending DIR` reads fewer"):format(folder))
  end
  if #found.problems > 0 then
    local more = #found.problems > 1 and (" (and %d more)"):format(#found.problems - 1) or ""
    say("WARN", ("not all conversations could be read: %s%s"):format(found.problems[1], more))
  end
end

--- Fills the quickfix list: a list of its own, so that |:colder| leads back to what was there. A list of ours that is shown is
--- filled anew.
---@param found flemma.WaitingList
local function fill(found)
  local items = {}
  for _, call in ipairs(found.calls) do
    items[#items + 1] = {
      bufnr = call.buf,
      filename = call.file,
      lnum = call.line + 1,
      col = 1,
      text = call.text,
      user_data = { call = call.call },
    }
  end
  local what = { title = TITLE, items = items, context = { flemma = "pending" } }
  local shown = vim.fn.getqflist({ nr = 0, context = 1 })
  if type(shown.context) == "table" and shown.context.flemma == "pending" then
    vim.fn.setqflist({}, "r", vim.tbl_extend("error", what, { nr = 0 }))
  else
    -- After the last list: a new one after the current list would delete those that follow it.
    vim.fn.setqflist({}, " ", vim.tbl_extend("error", what, { nr = "$" }))
  end
end

--- Makes a float end above a window, until that is closed. A float at a place of the screen would cover it.
---@param float integer
---@param list integer the window
local function make_room(float, list)
  local before = api.nvim_win_get_config(float)
  if before.relative ~= "editor" or not before.focusable or before.hide then
    return
  end
  local frame = (before.border and before.border ~= "none") and 2 or 0
  local top, row = api.nvim_win_get_position(list)[1], math.max(api.nvim_win_get_position(float)[1], 0)
  if row + before.height + frame <= top then
    return
  end
  local height = math.max(1, math.min(before.height, top - frame))
  local after = { relative = "editor", col = before.col, row = math.max(0, math.min(row, top - frame - height)), height = height }
  if top - row - frame >= math.min(HEIGHT, before.height) then
    after.row, after.height = row, math.min(before.height, top - row - frame)
  end
  api.nvim_win_set_config(float, after)
  api.nvim_create_autocmd("WinClosed", {
    group = api.nvim_create_augroup("flemma.pending." .. float, { clear = true }),
    desc = "Flemma: give a float its place again when the list of calls is closed",
    callback = function(args)
      local closed = tonumber(args.match)
      if closed == list and api.nvim_win_is_valid(float) then
        local now = api.nvim_win_get_config(float)
        -- Whatever has moved it since knows better.
        if now.relative == "editor" and now.height == after.height then
          api.nvim_win_set_config(float, { relative = "editor", col = before.col, row = before.row, height = before.height })
        end
      end
      return closed == list or closed == float
    end,
  })
end

---@param found flemma.WaitingList
---@param folder string
---@param win integer the window in which the command was given
local function show(found, folder, win)
  complain(found, folder)
  if #found.calls == 0 then
    return say("INFO", "no call waits")
  end
  fill(found)
  local is_there = api.nvim_get_current_win() == win and api.nvim_get_mode().mode == "n"
  if is_there and vim.fn.getcmdwintype() == "" then
    vim.cmd.copen({ count = math.min(#found.calls, HEIGHT), mods = { split = "botright" } })
    local list = api.nvim_get_current_win()
    for _, float in ipairs(api.nvim_tabpage_list_wins(0)) do
      make_room(float, list)
    end
  else
    local count = #found.calls == 1 and "1 call waits" or ("%d calls wait"):format(#found.calls)
    say("INFO", count .. "; `:copen` shows the list")
  end
end

--- Lists the calls that wait in the open conversations and in those on the disk.
---@param folder? string only files below it are read; by default those below the working directory, and those whose calls
---this user's journal knows
function M.list(folder)
  if folder then
    local found, is_file, problem = require("flemma.native").call("found_file", vim.fs.abspath(folder))
    if not found or is_file then
      return say("ERROR", problem or ("there is no folder %s"):format(folder))
    end
  end
  latest = latest + 1
  local number, win = latest, api.nvim_get_current_win()
  local path = folder and vim.fn.fnamemodify(folder, ":p") or vim.fn.getcwd()
  require("flemma.native").call("list_waiting", path, folder == nil, function(found)
    if found and number == latest then
      show(found, vim.fn.fnamemodify(path, ":~"), win)
    end
  end)
end

return M
