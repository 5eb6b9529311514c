--- The User autocommands of CodeCompanion that tools and configurations listen to.
local M = {}

local api = vim.api

--- Triggers an event. Neovim reports an error in somebody's autocommand, and the call goes on.
---@param event string without the prefix
---@param data table
function M.fire(event, data)
  api.nvim_exec_autocmds("User", { pattern = "CodeCompanion" .. event, data = data, modeline = false })
end

---@type table<integer, integer> the number of the round that is open, by buffer
local rounds = {}
local last = 0

--- The tools that are known in a conversation.
---@type table<integer, table<string, boolean>>
local known = {}

--- A tool is called in a conversation, where it may not have been called before.
---@param call flemma.codecompanion.Call
function M.added(call)
  known[call.bufnr] = known[call.bufnr] or {}
  if not known[call.bufnr][call.name] then
    known[call.bufnr][call.name] = true
    M.fire("ToolAdded", { bufnr = call.bufnr, id = call.id, tool = call.name })
  end
end

--- A call waits for the user's approval.
---@param call flemma.codecompanion.Call
function M.asked(call)
  M.fire("ToolApprovalRequested", { bufnr = call.bufnr, id = call.id, tool = call.name, args = call.args, name = call.name })
end

--- A call starts. If it is the first of its round, the round starts.
---@param call flemma.codecompanion.Call
function M.started(call)
  if not rounds[call.bufnr] then
    last = last + 1
    rounds[call.bufnr] = last
    local data = { bufnr = call.bufnr, id = last }
    M.fire("AgentStarted", data)
    M.fire("ToolsStarted", data)
  end
  M.fire("ToolStarted", { bufnr = call.bufnr, id = call.id, tool = call.name, name = call.name, args = call.args })
end

--- A call is over.
---@param call flemma.codecompanion.Call
---@param status "success"|"error"|"cancelled"
function M.finished(call, status)
  M.fire("ToolFinished", { bufnr = call.bufnr, id = call.id, tool = call.name, name = call.name, args = call.args, status = status })
end

--- A round is over, if there is one.
---@param buf integer
function M.end_round(buf)
  local id = rounds[buf]
  if id then
    rounds[buf] = nil
    local data = { bufnr = buf, id = id }
    M.fire("AgentFinished", data)
    M.fire("ToolsFinished", data)
  end
end

--- A buffer is gone.
---@param buf integer
function M.forget(buf)
  rounds[buf], known[buf] = nil, nil
end

return M
