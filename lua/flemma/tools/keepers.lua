--- What brings tools up to date that are kept in a table which tells nobody of its changes.
local M = {}

---@type (fun())[]
local keepers = {}

--- Adds a function that is called before Lua looks at the tools.
---@param keeper fun()
function M.add(keeper)
  keepers[#keepers + 1] = keeper
end

function M.catch_up()
  for _, keeper in ipairs(keepers) do
    keeper()
  end
end

return M
