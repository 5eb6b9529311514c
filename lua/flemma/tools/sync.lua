--- What brings tools up to date that are kept in a table which tells nobody of its changes.
local M = {}

---@type (fun())[]
local callbacks = {}

--- Adds a function that is called before Lua looks at the tools.
---@param callback fun()
function M.on_sync(callback)
  callbacks[#callbacks + 1] = callback
end

function M.run()
  for _, callback in ipairs(callbacks) do
    callback()
  end
end

return M
