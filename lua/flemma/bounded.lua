--- The functions that the code of a file may call, with limits on their cost.
---
--- The hook in `flemma.frontmatter` checks the clock and the memory between instructions. A function that works for long
--- inside a single instruction would escape it, so such functions are replaced here: patterns are matched by a matcher that
--- counts its steps, functions that create strings check the size first, and functions that walk tables count the entries
--- first.

-- JIT-compiled code never calls the hook, so nothing here is compiled.
jit.off(true, true)

--- The longest string that a function creates.
local LONGEST = 1e6
--- The maximum number of entries of a table, including nested tables, and the maximum depth, for the functions in `vim`.
local ENTRIES, DEPTH = 20000, 100

--- The matcher, loaded when it is first needed.
---@type fun(text: string, pattern: string, from: integer, anchors: boolean): ...
local matcher

local M = require("flemma.bounded_library")(function(text, pattern, from, anchors)
  matcher = matcher or require("flemma.native").load().match_pattern
  return matcher(text, pattern, from, anchors)
end, LONGEST)

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
