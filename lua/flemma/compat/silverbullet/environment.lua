--- The global names of code that is loaded.
local M = {}

--- What code writes into global names stays here, and all code that is loaded shares it.
---@type table<string, any>
M.globals = setmetatable({}, { __index = _G })

--- Adds names.
---@param names table<string, any>
function M.provide(names)
  for name, value in pairs(names) do
    rawset(M.globals, name, value)
  end
  rawset(M.globals, "_G", M.globals)
end

return M
