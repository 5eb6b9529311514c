--- The stand-in for CodeCompanion's Tools object, which was called the agent: what functions of a tool get of their call.
local M = {}

--- The statuses, as tools compare them.
M.CONSTANTS = { STATUS_SUCCESS = "success", STATUS_ERROR = "error", STATUS_CANCELLED = "cancelled", STATUS_REJECTED = "rejected" }

--- A new object for a call.
---@param call flemma.codecompanion.Call
---@param tools_config table
---@return table
function M.new(call, tools_config)
  local chat = require("flemma.compat.codecompanion.chat")
  return {
    id = call.id,
    bufnr = call.bufnr,
    chat = chat.view(call),
    adapter = chat.adapter(),
    tool = call.tool,
    status = M.CONSTANTS.STATUS_SUCCESS,
    stdout = {},
    stderr = {},
    tools_config = tools_config,
    constants = M.CONSTANTS,
  }
end

return M
