--- Stand-ins for modules of CodeCompanion that tools load, while that plugin is absent.
local M = {}

---@type table<string, fun(): table>
local makers = {}

---@type table<string, table>
local made = {}

--- Adds a stand-in.
---@param name string
---@param make fun(): table
function M.provide(name, make)
  makers[name] = make
end

--- Finds a stand-in. It is asked last, so that a module of that plugin itself is found before.
---@param name string
local function search(name)
  if not makers[name] then
    return nil
  end
  return function()
    made[name] = made[name] or makers[name]()
    -- The plugin may be loaded later, and then its own module counts.
    vim.schedule(function()
      if package.loaded[name] == made[name] then
        package.loaded[name] = nil
      end
    end)
    return made[name]
  end
end

local is_installed = false

--- Lets `require` find the stand-ins.
function M.install()
  if not is_installed then
    is_installed = true
    table.insert(package.loaders, search)
  end
end

return M
