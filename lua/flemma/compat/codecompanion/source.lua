--- Where definitions and extensions come from: a module, a file, a function that returns one, or the table itself.
local M = {}

local value = require("flemma.compat.codecompanion.value")

--- The folders of CodeCompanion's own tools.
local OWN_TOOLS = { "^codecompanion%.", "^strategies%.chat%.", "^interactions%.chat%.", "^helpers%." }

--- The first line of what was thrown.
---@param thrown any
---@return string
function M.first_line(thrown)
  return (value.thrown(thrown):match("[^\n]*"):gsub(":$", ""))
end

--- Loads a module. Whether it is missing itself is the second value; the third is what was thrown.
---@param name string
---@return any found
---@return boolean is_missing
---@return any thrown
function M.require(name)
  local ok, found = pcall(require, name)
  if ok then
    return found, false
  end
  -- Lua leaves a mark, and would name no cause the next time.
  package.loaded[name] = nil
  return nil, type(found) == "string" and found:find(("module '%s' not found"):format(name), 1, true) ~= nil, found
end

--- Loads a module, which may be named as in CodeCompanion's own folder.
---@param name string
---@param field string
---@return any found
---@return string? problem
local function load_module(name, field)
  local found, is_missing, thrown = M.require(name)
  if is_missing then
    local within, is_missing_too, thrown_too = M.require("codecompanion." .. name)
    if not is_missing_too then
      found, is_missing, thrown = within, false, thrown_too
    end
  end
  if not thrown then
    return found
  end
  for _, pattern in ipairs(is_missing and not name:find("_extensions.", 1, true) and OWN_TOOLS or {}) do
    if name:find(pattern) then
      local why = "which is a tool of CodeCompanion itself and not there without it; leave the entry out"
      return nil, ('`%s` is "%s", %s'):format(field, name, why)
    end
  end
  return nil, ('`%s` is "%s", which cannot be loaded: %s'):format(field, name, M.first_line(thrown))
end

--- Loads a file.
---@param name string
---@param field string
---@return any found
---@return string? problem
local function load_file(name, field)
  local path = vim.fs.normalize(name)
  if not vim.uv.fs_stat(path) then
    return nil, ('`%s` is "%s", but there is no such file'):format(field, name)
  end
  local chunk, problem = loadfile(path)
  if not chunk then
    return nil, ("`%s`: %s"):format(field, problem)
  end
  local ok, found = pcall(chunk)
  if not ok then
    return nil, ("`%s`: %s cannot be loaded: %s"):format(field, name, M.first_line(found))
  end
  return found
end

--- What a field of an entry leads to.
---@param source any
---@param field string
---@return any found
---@return string? problem what follows the name of the tool or extension
function M.follow(source, field)
  local problem
  if type(source) == "string" then
    local is_path = source:find("[/\\]") or vim.endswith(source, ".lua")
    source, problem = (is_path and load_file or load_module)(source, field)
    if problem then
      return nil, problem
    end
  end
  if type(source) == "function" then
    local ok, found = pcall(source)
    if not ok then
      return nil, ("`%s` failed: %s"):format(field, M.first_line(found))
    end
    return found
  end
  return source
end

return M
