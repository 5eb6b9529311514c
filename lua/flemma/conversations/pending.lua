--- `:Flemma pending`: the calls that wait in all conversations, in the quickfix list.
local M = {}

local api = vim.api

--- The most rows that the window of the list takes.
local HEIGHT = 10

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

--- The lines of the list (`:help quickfix-window-function`): what waits, and then where.
---@param info { id: integer, start_idx: integer, end_idx: integer }
---@return string[]
local function lines_of(info)
  local lines = {}
  local items = vim.fn.getqflist({ id = info.id, items = 1 }).items
  for _, item in ipairs(vim.list_slice(items, info.start_idx, info.end_idx)) do
    local name = api.nvim_buf_get_name(item.bufnr)
    lines[#lines + 1] = ("%s  | %s:%d"):format(item.text, vim.fn.fnamemodify(name, ":~:."), item.lnum)
  end
  return lines
end

--- Fills the quickfix list: a list of its own, so that |:colder| leads back to what was there. A list of ours that is shown is
--- filled again.
---@param found flemma.WaitingList
local function fill(found)
  local items = vim.tbl_map(function(call)
    return { bufnr = call.buf, filename = call.file, lnum = call.line + 1, col = 1, text = call.text }
  end, found.calls)
  local shown = vim.fn.getqflist({ nr = 0, context = 1 })
  local is_ours = type(shown.context) == "table" and shown.context.flemma == "pending"
  vim.fn.setqflist({}, is_ours and "r" or " ", {
    title = "Flemma: calls that wait",
    items = items,
    context = { flemma = "pending" },
    quickfixtextfunc = lines_of,
    -- After the last list: a new one after the current list would delete those that follow it.
    nr = is_ours and 0 or "$",
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
  local is_there = api.nvim_get_current_win() == win and api.nvim_get_mode().mode == "n" and vim.fn.getcmdwintype() == ""
  -- A float would cover the list.
  if is_there and api.nvim_win_get_config(win).relative == "" then
    vim.cmd.copen({ count = math.min(#found.calls, HEIGHT), mods = { split = "botright" } })
  else
    local count = #found.calls == 1 and "1 call waits" or ("%d calls wait"):format(#found.calls)
    say("INFO", count .. "; `:copen` shows the list")
  end
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
