--- Extensions that were written for CodeCompanion: loading them, and what they export.
local M = {}

local source = require("flemma.compat.codecompanion.source")
local value = require("flemma.compat.codecompanion.value")

--- What an extension's entry in that plugin's configuration has. Any other table is passed to `setup` as it is.
local FIELDS = { "callback", "enabled", "offer", "opts", "shape" }

--- What extensions export.
---@type table<string, any>
M.exports = {}

---@class flemma.codecompanion.Extension
---@field setup fun(opts: table)
---@field exports? any

--- Loads the module of an extension from the runtime path.
---@param name string
---@return any found
---@return string? problem
local function load(name)
  local module = "codecompanion._extensions." .. name
  local found, is_missing, thrown = source.require(module)
  if not thrown then
    return found
  elseif is_missing then
    return nil,
      ("there is no module `%s` on 'runtimepath'. Install and load the plugin that has it, or give `callback`"):format(module)
  end
  return nil, ("the module `%s` cannot be loaded: %s"):format(module, source.first_line(thrown))
end

--- The parts of an entry.
---@param given? table
---@return table entry
local function entry_of(given)
  for _, field in ipairs(FIELDS) do
    if given and given[field] ~= nil then
      return given
    end
  end
  return { opts = given }
end

--- What is wrong with an entry.
---@param entry table
---@return string?
local function fault_of(entry)
  local kind = type(entry.callback)
  if entry.opts ~= nil and type(entry.opts) ~= "table" then
    return ("`opts` must be a table, not a %s"):format(type(entry.opts))
  elseif entry.callback ~= nil and kind ~= "string" and kind ~= "table" and kind ~= "function" then
    return ("`callback` must be a module, a path, a function or a table, not a %s"):format(kind)
  end
end

---@param enabled any
---@return boolean
local function is_enabled(enabled)
  if vim.is_callable(enabled) then
    local ok, answer = pcall(enabled)
    return ok and answer and true or false
  end
  return enabled ~= false
end

--- Loads an extension and sets it up.
---@param name any
---@param given? any an entry of the configuration, or what its `setup` gets
---@return boolean ok
---@return string? problem
function M.load(name, given)
  if type(name) ~= "string" or name == "" then
    return false, ("extension: the name must be a non-empty string, not %s"):format(vim.inspect(name))
  end
  local function refuse(problem)
    return false, ("extension `%s`: %s"):format(name, problem)
  end
  if given ~= nil and type(given) ~= "table" then
    return refuse(("the options must be a table, not a %s"):format(type(given)))
  end
  local entry = entry_of(given)
  local fault = fault_of(entry)
  if fault then
    return refuse(fault)
  elseif not is_enabled(entry.enabled) then
    return true
  end
  local found, problem
  if entry.callback ~= nil then
    found, problem = source.follow(entry.callback, "callback")
  else
    found, problem = load(name)
  end
  if problem then
    return refuse(problem)
  end
  local place = entry.callback ~= nil and "`callback`" or ("the module `codecompanion._extensions.%s`"):format(name)
  if type(found) ~= "table" then
    return refuse(("%s leads to a %s; it must lead to a table with a function `setup`"):format(place, type(found)))
  elseif found.setup ~= nil and not vim.is_callable(found.setup) then
    return refuse(("`setup` must be a function, not a %s"):format(type(found.setup)))
  elseif found.setup == nil and found.exports == nil then
    return refuse(("%s has no function `setup`"):format(place))
  end
  if found.setup then
    local ok, thrown = pcall(found.setup, value.copy(entry.opts or {}))
    if not ok then
      return refuse(("`setup` failed: %s"):format(source.first_line(thrown)))
    end
  end
  M.exports[name] = found.exports ~= nil and found.exports or {}
  return true
end

return M
