--- Values of tools: copies of them, and what a model reads of them.
local M = {}

--- How deep lists of text may be.
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

--- What can be seen of an entry: itself, and its fields and options, which are often changed in place.
---@param entry any
---@return { entry: any, fields: table }
function M.look(entry)
  local fields = {}
  if type(entry) == "table" then
    for key, field in next, entry do
      fields[key] = field
    end
    for key, option in next, type(entry.opts) == "table" and entry.opts or {} do
      fields["opts." .. tostring(key)] = option
    end
  end
  return { entry = entry, fields = fields }
end

--- Whether an entry is what was seen of it. A copy of it is: extensions put a copy of the whole table in its place.
---@param seen? { entry: any, fields: table }
---@param entry any
---@return boolean
function M.is_same(seen, entry)
  local is_like = seen and (rawequal(seen.entry, entry) or type(seen.entry) == "table" and type(entry) == "table")
  return is_like and vim.deep_equal(seen.fields, M.look(entry).fields) or false
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

--- What a model reads of a value: text as it is, lists of text as lines, other tables as JSON.
---@param value any
---@return string text empty for nil
function M.text(value)
  if value == nil or value == vim.NIL then
    return ""
  elseif type(value) ~= "table" then
    return tostring(value)
  end
  local lines, meta = {}, debug.getmetatable(value)
  if collect(value, lines, 1) then
    return table.concat(lines, "\n")
  end
  local ok, text = pcall(type(meta) == "table" and meta.__tostring and tostring or require("flemma.compat.json").encode, value)
  return ok and type(text) == "string" and text or "a table"
end

--- What was thrown, without a traceback, and without the places in which a module was not found.
---@param thrown any
---@return string
function M.thrown(thrown)
  local text = type(thrown) == "string" and thrown or M.text(thrown)
  return vim.trim((text:gsub("\nstack traceback:.*", ""):gsub("(module '[^'\n]*' not found):\n.*", "%1")))
end

return M
