--- The calls that are known, from the question about their approval to their end.
local M = {}

local api = vim.api
local calls = require("flemma.compat.codecompanion.call")
local events = require("flemma.compat.codecompanion.events")

--- The most calls that are kept in one conversation. A call that was deleted is never asked for again.
local MOST = 200

---@type table<integer, { list: string[], by_id: table<string, flemma.codecompanion.Call> }>
local known = {}

--- The call with this id and this input. One with another input is another call. Without an id it is a question about a call
--- that nobody has made.
---@param entry flemma.codecompanion.Entry
---@param bufnr integer
---@param id string
---@param input table
---@param tools_config table
---@return flemma.codecompanion.Call
function M.get(entry, bufnr, id, input, tools_config)
  if id == "" then
    return calls.new(entry, bufnr, id, input, tools_config)
  end
  known[bufnr] = known[bufnr] or { list = {}, by_id = {} }
  local here = known[bufnr]
  local call = here.by_id[id]
  if call and call.name == entry.name and not call.is_over and vim.deep_equal(call.input, input) then
    return call
  end
  if not call then
    here.list[#here.list + 1] = id
    if #here.list > MOST then
      here.by_id[table.remove(here.list, 1)] = nil
    end
  end
  here.by_id[id] = calls.new(entry, bufnr, id, input, tools_config)
  return here.by_id[id]
end

--- Forgets a call.
---@param call flemma.codecompanion.Call
function M.drop(call)
  local here = known[call.bufnr]
  if here and here.by_id[call.id] == call then
    here.by_id[call.id] = nil
    for i, id in ipairs(here.list) do
      if id == call.id then
        table.remove(here.list, i)
        break
      end
    end
  end
end

--- Whether a call of ours is in the conversation that has no result yet.
---@param bufnr integer
---@return boolean
local function is_working(bufnr)
  local here = known[bufnr]
  for _, id in ipairs(here and here.list or {}) do
    if here.by_id[id] and here.by_id[id].is_ready then
      return true
    end
  end
  return false
end

--- Follows what becomes of calls.
function M.watch()
  local group = api.nvim_create_augroup("flemma.codecompanion", { clear = true })
  local function on(event, pattern, desc, callback)
    api.nvim_create_autocmd(event, { group = group, pattern = pattern, desc = desc, callback = callback })
  end
  on("User", "FlemmaToolPending", "Flemma: tell that a tool waits for approval, as CodeCompanion does", function(args)
    local here = known[args.data.buf]
    local call = here and here.by_id[args.data.id]
    if call and args.data.kind == "approval" then
      events.asked(call)
    end
  end)
  on("User", "FlemmaToolFinished", "Flemma: tell that tools have finished, as CodeCompanion does", function(args)
    local here = known[args.data.buf]
    local call = here and here.by_id[args.data.id]
    if call then
      M.drop(call)
      -- One that ends before its start has not run, and may have been set up.
      calls.abandon(call)
    end
    if not is_working(args.data.buf) then
      events.end_round(args.data.buf)
    end
  end)
  on("User", "FlemmaRequestSending", "Flemma: tell that tools have finished, as CodeCompanion does", function(args)
    events.end_round(args.data.buf)
  end)
  on("BufWipeout", "*", "Flemma: forget the calls of a conversation", function(args)
    known[args.buf] = nil
    events.forget(args.buf)
    require("flemma.compat.codecompanion.chat").forget(args.buf)
    require("flemma.compat.codecompanion.queue").forget(args.buf)
  end)
end

return M
