--- Values of tools: copies of them, and what a model reads of them.
local M = {}

--- How deep a table is shown that is neither text nor JSON.
local DEEPEST = 4

--- How deep text and JSON may be.
local MOST_LEVELS = 100

--- A deep copy. Functions stay the same, metatables are kept, and what is shared or circular stays so.
---@generic T
---@param value T
---@param copies? table<table, table>
---@return T
function M.copy(value, copies)
  if type(value) ~= "table" then
    return value
  end
  copies = copies or {}
  if not copies[value] then
    local copy = {}
    copies[value] = copy
    for key, child in next, value do
      rawset(copy, M.copy(key, copies), M.copy(child, copies))
    end
    setmetatable(copy, debug.getmetatable(value))
  end
  return copies[value]
end

--- Puts `over` over `base`: tables of named fields are merged, everything else is replaced. Changes neither.
---@param base any
---@param over any
---@return any
function M.merge(base, over)
  local function has_names(value)
    return type(value) == "table" and not (vim.islist(value) and #value > 0)
  end
  if over == nil then
    return M.copy(base)
  elseif not (has_names(base) and has_names(over)) then
    return M.copy(over)
  end
  local merged = M.copy(base)
  for key, value in next, over do
    rawset(merged, key, M.merge(rawget(merged, key), value))
  end
  return merged
end

--- The lines of a list that holds nothing but text and numbers, in lists or not.
---@param value any
---@param lines string[]
---@param depth integer
---@return boolean is_text
local function collect(value, lines, depth)
  if type(value) == "string" or type(value) == "number" then
    lines[#lines + 1] = tostring(value)
    return true
  elseif depth > MOST_LEVELS or type(value) ~= "table" or not vim.islist(value) or #value == 0 then
    return false
  end
  for _, item in ipairs(value) do
    if not collect(item, lines, depth + 1) then
      return false
    end
  end
  return true
end

--- JSON with its keys in order. Throws where something is not JSON.
---@param value any
---@param depth integer
---@return string
local function json(value, depth)
  if depth > MOST_LEVELS then
    error("too deep")
  elseif type(value) ~= "table" or next(value) == nil then
    return vim.json.encode(value)
  elseif getmetatable(value) ~= nil and getmetatable(value).__index ~= nil then
    error("an object")
  end
  local parts = {}
  if vim.islist(value) then
    for _, item in ipairs(value) do
      parts[#parts + 1] = json(item, depth + 1)
    end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  local keys = vim.tbl_keys(value)
  table.sort(keys, function(a, b)
    return tostring(a) < tostring(b)
  end)
  for _, key in ipairs(keys) do
    parts[#parts + 1] = vim.json.encode(tostring(key)) .. ":" .. json(value[key], depth + 1)
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

--- A value as JSON, with its keys in order. Throws where something is not JSON.
---@param value any
---@return string
function M.json(value)
  return json(value, 1)
end

--- What a model reads of a value: text as it is, lists of text as lines, other tables as JSON, objects as Lua shows them.
---@param value any
---@param otherwise? fun(value: any): string shows a table that is not JSON
---@return string text empty for nil
function M.text(value, otherwise)
  if value == nil or value == vim.NIL then
    return ""
  elseif type(value) ~= "table" then
    return tostring(value)
  end
  local lines = {}
  if collect(value, lines, 1) then
    return table.concat(lines, "\n")
  end
  local meta = debug.getmetatable(value)
  local ok, text
  if type(meta) == "table" and meta.__tostring then
    ok, text = pcall(tostring, value)
  else
    ok, text = pcall(json, value, 1)
  end
  if otherwise and (not ok or type(text) ~= "string") then
    ok, text = pcall(otherwise, value)
  end
  if not ok or type(text) ~= "string" then
    ok, text = pcall(vim.inspect, value, { depth = DEEPEST, process = function(item, path)
      return path[#path] ~= vim.inspect.METATABLE and item or nil
    end })
  end
  return ok and text or ("a %s"):format(type(value))
end

--- What was thrown, without a traceback, and without the places in which a module was not found.
---@param thrown any
---@return string
function M.thrown(thrown)
  local text = type(thrown) == "string" and thrown or M.text(thrown)
  return vim.trim((text:gsub("\nstack traceback:.*", ""):gsub("(module '[^'\n]*' not found):\n.*", "%1")))
end

return M
