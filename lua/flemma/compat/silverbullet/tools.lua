--- The table `ai.tools`: what is assigned is registered, and what is set to nil is not any more.
---
--- A new key is registered at once. LuaJIT tells nobody of a key that is replaced or removed, and `pairs` has to work. So the table
--- is compared with what was seen of it: in the tick after somebody has reached for it, before Lua looks at the tools of Flemma, and
--- before each request.
local M = {}

local definition = require("flemma.compat.silverbullet.definition")
local notify = require("flemma.notify")
local value = require("flemma.compat.codecompanion.value")

--- The entries, as they were given.
---@type table<string, table>
local entries = {}

--- What is registered: the entry, and its fields when it was.
---@type table<string, { entry: any, fields: table }>
local seen = {}

local is_due, is_syncing = false, false

--- Registers an entry. One that cannot be used is reported once.
---@param name any
---@return boolean ok
local function take(name)
  local was_registered = seen[name] ~= nil
  seen[name] = value.look(entries[name])
  local ok, problem = definition.register(name, entries[name])
  if not ok then
    notify.say(vim.log.levels.ERROR, problem or "the tool was not registered")
    -- What was there under this name before is replaced all the same.
    seen[name] = nil
    rawset(entries, name, nil)
    if was_registered then
      require("flemma.tools").unregister(name)
    end
  end
  return ok
end

--- Registers and removes what has changed.
---@return boolean ok whether all that is new was accepted
function M.sync()
  is_due = false
  if is_syncing then
    return true
  end
  is_syncing = true
  local all_ok = true
  for _, name in ipairs(vim.tbl_keys(seen)) do
    if rawget(entries, name) == nil then
      seen[name] = nil
      require("flemma.tools").unregister(name)
    end
  end
  for _, name in ipairs(M.names()) do
    if not value.is_same(seen[name], entries[name]) then
      all_ok = take(name) and all_ok
    end
  end
  is_syncing = false
  return all_ok
end

--- All tools have to be registered again.
function M.refresh()
  seen = {}
  return M.sync()
end

--- The names, in order.
---@return string[]
function M.names()
  local names = vim.tbl_keys(entries)
  table.sort(names, function(a, b)
    return tostring(a) < tostring(b)
  end)
  return names
end

--- The entry of a tool as it is now.
---@param name string
---@return table?
function M.get(name)
  return rawget(entries, name)
end

--- The table, for somebody who may change it.
---@return table<string, table>
function M.reach()
  if not is_due then
    is_due = true
    vim.schedule(M.sync)
  end
  return entries
end

--- Adds entries.
---@param given table<string, table>
function M.add(given)
  for name, entry in pairs(given) do
    rawset(entries, name, entry)
  end
  M.sync()
end

--- Watches the table.
function M.install()
  setmetatable(entries, {
    __newindex = function(_, name, entry)
      rawset(entries, name, entry)
      if entry ~= nil then
        take(name)
      end
    end,
  })
  require("flemma.tools.sync").on_sync(M.sync)
  require("flemma.compat.silverbullet.config").on_switch = M.refresh
  vim.api.nvim_create_autocmd("User", {
    group = vim.api.nvim_create_augroup("flemma.silverbullet", { clear = true }),
    pattern = "FlemmaRequestSending",
    desc = "Flemma: register tools that were written into ai.tools",
    callback = function()
      M.sync()
    end,
  })
end

return M
