--- Usage since Neovim was started.
local M = {}

local native = require("flemma.native").call

--- The totals of all conversations, or of one of them.
---@param buf? integer the buffer of one conversation; 0 is the current one
---@return flemma.Totals? totals nil when the native library is missing
function M.get(buf)
  return native("usage", "totals", { buffer = buf == 0 and vim.api.nvim_get_current_buf() or buf })
end

--- The requests that a provider has counted, oldest first.
---@return flemma.Usage[]
function M.requests()
  return native("usage", "requests") or {}
end

--- Resets the counts.
function M.reset()
  native("dispatch", nil, "reset_usage")
end

return M
