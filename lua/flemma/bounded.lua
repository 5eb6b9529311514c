--- The functions that the code of a file may call, with limits on their cost.
---
--- The hook in `flemma.frontmatter` checks the clock and the memory between instructions. A function that works for long
--- inside a single instruction would escape it, so such functions are replaced here: patterns are matched by a matcher that
--- counts its steps, functions that create strings check the size first, and functions that walk tables count the entries
--- first.
local M = {}

-- JIT-compiled code never calls the hook, so nothing here is compiled.
jit.off(true, true)

--- The longest string that a function creates.
local LONGEST = 1e6
--- The maximum number of entries of a table, including nested tables, and the maximum depth, for the functions in `vim`.
local ENTRIES, DEPTH = 20000, 100
--- The longest text of a number.
local NUMBER = 512

--- Whether `string.find("", "", 3)` finds nothing, as in Lua 5.2.
local PAST_THE_END_IS_NOTHING = string.find("", "", 3) == nil

--- The matcher, loaded when it is first needed.
---@type fun(text: string, pattern: string, from: integer, anchors: boolean): ...
local matcher

--- Finds a pattern.
---@return integer? first nil if it is not found
---@return integer? last
---@return ... captures
local function match(text, pattern, from, anchors)
  matcher = matcher or require("flemma.native").load().match_pattern
  return matcher(text, pattern, from, anchors)
end

---@param name string
---@param size number
local function measure(name, size)
  if size > LONGEST then
    error(string.format("%s would create %d MB; the limit is 1 MB", name, math.ceil(size / 1e6)), 0)
  end
end

--- Converts numbers to strings, like Lua.
local function text_of(value, name, place)
  if type(value) == "number" then
    return tostring(value)
  elseif type(value) ~= "string" then
    error(string.format("bad argument #%d to '%s' (string expected, got %s)", place, name, value == nil and "no value" or type(value)), 0)
  end
  return value
end

--- The functions for strings. While the code of a file runs, they are also the methods of strings.
M.string = {
  byte = string.byte,
  char = string.char,
  len = string.len,
  lower = string.lower,
  upper = string.upper,
  reverse = string.reverse,
  sub = string.sub,
}

function M.string.rep(s, n, separator)
  s = text_of(s, "rep", 1)
  local size = #s + (separator ~= nil and #text_of(separator, "rep", 3) or 0)
  measure("string.rep", type(n) == "number" and size * n or 0)
  return string.rep(s, n, separator)
end

function M.string.format(format, ...)
  local size = #text_of(format, "format", 1)
  for i = 1, select("#", ...) do
    local value = select(i, ...)
    -- `%q` may write four characters for one.
    size = size + (type(value) == "string" and #value * 4 or NUMBER)
  end
  measure("string.format", size)
  return string.format(format, ...)
end

--- The start position of a search, from 1; nil if it is past the end and nothing can be found there.
local function start_of(text, init)
  init = init or 1
  if type(init) ~= "number" then
    init = tonumber(init) or error("the start position must be a number", 0)
  end
  init = init < 0 and math.ceil(init) or math.floor(init)
  if init < 0 then
    init = math.max(#text + init + 1, 1)
  end
  if init > #text + 1 then
    return not PAST_THE_END_IS_NOTHING and #text + 1 or nil
  end
  return math.max(init, 1)
end

--- Returns what the matcher has found, or throws its error about the pattern.
local function found(first, ...)
  if first == false then
    error((...), 0)
  end
  return first, ...
end

function M.string.find(text, pattern, init, plain)
  text, pattern = text_of(text, "find", 1), text_of(pattern, "find", 2)
  local from = start_of(text, init)
  if not from then
    return nil
  end
  -- A pattern without special characters is plain text.
  if plain or not string.find(pattern, "[%^%$%*%+%?%.%(%[%%%-]") then
    return found(match(text, pattern, from, nil))
  end
  return found(match(text, pattern, from, true))
end

--- The results of a match: its captures, or the whole match.
local function results(text, first, last, ...)
  if not first then
    return nil
  elseif select("#", ...) == 0 then
    return string.sub(text, first, last)
  end
  return ...
end

function M.string.match(text, pattern, init)
  text, pattern = text_of(text, "match", 1), text_of(pattern, "match", 2)
  local from = start_of(text, init)
  if not from then
    return nil
  end
  return results(text, found(match(text, pattern, from, true)))
end

function M.string.gmatch(text, pattern)
  text, pattern = text_of(text, "gmatch", 1), text_of(pattern, "gmatch", 2)
  local from = 1
  local function step(first, last, ...)
    if not first then
      from = #text + 2
      return nil
    end
    -- An empty match is not found again.
    from = math.max(last, first) + 1
    return results(text, first, last, ...)
  end
  return function()
    if from > #text + 1 then
      return nil
    end
    return step(found(match(text, pattern, from, false)))
  end
end

--- The replacement of a match.
local function replaced(replacement, whole, ...)
  local captures = select("#", ...) > 0 and { ... } or { whole }
  local kind = type(replacement)
  local value
  if kind == "function" then
    value = replacement(unpack(captures))
  elseif kind == "table" then
    value = replacement[captures[1]]
  else
    local parts, at = {}, 1
    replacement = tostring(replacement)
    while true do
      local percent = string.find(replacement, "%", at, true)
      parts[#parts + 1] = string.sub(replacement, at, (percent or 0) - 1)
      if not percent then
        return table.concat(parts)
      end
      local letter = string.sub(replacement, percent + 1, percent + 1)
      local digit = tonumber(letter)
      if digit == nil then
        parts[#parts + 1] = letter
      elseif digit == 0 then
        parts[#parts + 1] = whole
      else
        parts[#parts + 1] = captures[digit] or error("invalid capture index", 0)
      end
      at = percent + 2
    end
  end
  if value == nil or value == false then
    return whole
  elseif type(value) ~= "string" and type(value) ~= "number" then
    error(string.format("invalid replacement value (a %s)", type(value)), 0)
  end
  return tostring(value)
end

function M.string.gsub(text, pattern, replacement, most)
  text, pattern = text_of(text, "gsub", 1), text_of(pattern, "gsub", 2)
  local kind = type(replacement)
  if kind ~= "string" and kind ~= "number" and kind ~= "table" and kind ~= "function" then
    error(string.format("bad argument #3 to 'gsub' (string/function/table expected, got %s)", kind), 0)
  end
  local is_anchored = string.sub(pattern, 1, 1) == "^"
  local parts, size, count, at = {}, 0, 0, 1
  local function add(part)
    size = size + #part
    measure("string.gsub", size)
    parts[#parts + 1] = part
  end
  local function step(first, last, ...)
    if not first then
      return false
    end
    count = count + 1
    add(string.sub(text, at, first - 1))
    add(replaced(replacement, string.sub(text, first, last), ...))
    if last >= first then
      at = last + 1
    else
      add(string.sub(text, first, first))
      at = first + 1
    end
    return true
  end
  while (most == nil or count < most) and at <= #text + 1 do
    if not step(found(match(text, pattern, at, true))) or is_anchored then
      break
    end
  end
  if at <= #text then
    add(string.sub(text, at))
  end
  return table.concat(parts), count
end

M.table = {
  maxn = table.maxn,
  remove = table.remove,
}

function M.table.insert(list, ...)
  if type(list) == "table" and select("#", ...) == 2 then
    local place = ...
    -- Lua itself would fill all positions in between.
    if type(place) == "number" and (place < 1 or place > #list + 1) then
      error(string.format("bad argument #2 to 'insert' (position %s is not in the list)", tostring(place)), 0)
    end
  end
  return table.insert(list, ...)
end

function M.table.concat(list, separator, first, last)
  if type(list) == "table" then
    local size = 0
    local each = separator ~= nil and #text_of(separator, "concat", 2) or 0
    for i = first or 1, last or #list do
      local value = list[i]
      if type(value) ~= "string" and type(value) ~= "number" then
        break
      end
      size = size + each + (type(value) == "string" and #value or NUMBER / 16)
      measure("table.concat", size)
    end
  end
  return table.concat(list, separator, first, last)
end

--- Compares with a Lua function, so that the clock is checked between comparisons.
function M.table.sort(list, is_before)
  return table.sort(list, is_before or function(a, b)
    return a < b
  end)
end

M.os = { clock = os.clock, difftime = os.difftime, time = os.time }

function M.os.date(format, time)
  if type(format) == "string" and #format > 1000 then
    error("os.date: the format is longer than 1000 characters", 0)
  end
  return os.date(format, time)
end

--- Counts the entries of a table, including nested tables.
local function count(value, entries, depth, name)
  if type(value) ~= "table" then
    return entries
  elseif depth > DEPTH then
    error(string.format("%s: the tables are nested more than %d levels deep, or contain themselves", name, DEPTH), 0)
  end
  for key, child in next, value do
    entries = entries + 1
    if entries > ENTRIES then
      error(string.format("%s: the tables have more than %d entries", name, ENTRIES), 0)
    end
    entries = count(child, count(key, entries, depth + 1, name), depth + 1, name)
  end
  return entries
end

--- Wraps a function in `vim` that walks its tables.
local function counted(name)
  return function(...)
    local entries = 0
    for i = 1, select("#", ...) do
      entries = count((select(i, ...)), entries, 1, "vim." .. name)
    end
    return vim[name](...)
  end
end

M.vim = { endswith = vim.endswith, split = vim.split, startswith = vim.startswith, trim = vim.trim }
local walks = "deepcopy inspect list_contains list_extend list_slice tbl_contains tbl_count tbl_deep_extend tbl_extend "
  .. "tbl_filter tbl_isempty tbl_keys tbl_map tbl_values"
for name in walks:gmatch("%S+") do
  M.vim[name] = counted(name)
end

--- Limits a range to the entries of a list.
local function clamp(list, first, last)
  if type(list) == "table" then
    first = type(first) == "number" and math.max(first, 1) or first
    last = type(last) == "number" and math.min(last, #list) or last
  end
  return first, last
end

local extend, slice = M.vim.list_extend, M.vim.list_slice

function M.vim.list_extend(to, from, first, last)
  first, last = clamp(from, first, last)
  return extend(to, from, first, last)
end

function M.vim.list_slice(list, first, last)
  first, last = clamp(list, first, last)
  return slice(list, first, last)
end

M.vim.fn = {}
for name in ("getcwd has hostname"):gmatch("%S+") do
  M.vim.fn[name] = function(...)
    return vim.fn[name](...)
  end
end

return M
