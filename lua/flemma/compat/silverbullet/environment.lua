--- The global names of code that is loaded.
local M = {}

--- What Flemma provides.
---@type table<string, any>
local provided = {}

--- What code writes into global names stays here, and all code that is loaded shares it. A table that it writes over one of ours, as
--- pages begin with `ai = {}`, only adds its fields, so that no page takes away what others use.
---@type table<string, any>
M.globals = setmetatable({}, {
  __index = function(_, name)
    local ours = provided[name]
    return ours == nil and _G[name] or ours
  end,
  __newindex = function(globals, name, value)
    if type(provided[name]) ~= "table" then
      rawset(globals, name, value)
      return
    end
    for key, field in pairs(type(value) == "table" and value or {}) do
      provided[name][key] = field
    end
  end,
})

--- Adds names.
---@param names table<string, any>
function M.provide(names)
  for name, value in pairs(names) do
    provided[name] = value
  end
  provided._G = M.globals
end

--- A name of things that Flemma has not. While code is loaded, what is done with it has no effect: a command is defined, a query finds
--- nothing. A call that needs it fails.
---@param name string
---@return table
function M.absent(name)
  return setmetatable({}, {
    __index = function(_, key)
      return M.absent(("%s.%s"):format(name, key))
    end,
    __call = function()
      if require("flemma.compat.silverbullet.run").is_running() then
        error(("%s: Flemma does not have this part of SilverBullet"):format(name), 0)
      end
      return setmetatable({}, { __call = function() end })
    end,
  })
end

return M
