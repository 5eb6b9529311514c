--- `:Flemma pending`: the calls that wait in all conversations, in the quickfix list.
local M = {}

local api = vim.api

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

---@param found flemma.WaitingList
---@param folder string
---@param win integer the window in which the command was given
local function show(found, folder, win)
  complain(found, folder)
  require("flemma.conversations.quickfix").show({
    name = "pending",
    title = "Flemma: calls that wait",
    none = "no call waits",
    count = #found.calls == 1 and "1 call waits" or ("%d calls wait"):format(#found.calls),
    items = found.calls,
    win = win,
  })
end

--- Lists the calls that wait in the open conversations and in those on the disk.
---@param folder? string only files below it are read; by default those below the working directory, and those whose calls
---this user's journal knows
function M.list(folder)
  -- Nothing here looks at the disk, which may take its time.
  local path = vim.fs.normalize(vim.fs.abspath(folder and vim.fn.expandcmd(folder) or "."))
  latest = latest + 1
  local number, win = latest, api.nvim_get_current_win()
  require("flemma.native").call("list", "waiting", { folder = path, is_all = folder == nil }, function(found)
    if found and number == latest then
      show(found, vim.fn.fnamemodify(path, ":~"), win)
    end
  end)
end

return M
