--- The hunks between what a file is and the text that will be written.
local M = {}

---@class flemma.Hunk
---@field old_first integer the first line that goes, from 1; the one before the hunk if none goes
---@field old_count integer
---@field new_first integer
---@field new_count integer
---@field old_from integer the first byte that goes, from 0
---@field old_to integer the byte behind the last one
---@field new_from integer
---@field new_to integer
---@field is_left boolean whether the hunk is one of the proposal that will not be written

local NAMES = { "old_first", "old_count", "new_first", "new_count", "old_from", "old_to", "new_from", "new_to" }

--- Those that the library has found.
---@param numbers integer[] eight for each
---@param is_left boolean
---@return flemma.Hunk[]
local function parse(numbers, is_left)
  local list = {}
  for at = 1, #numbers, #NAMES do
    local hunk = { is_left = is_left }
    for place, name in ipairs(NAMES) do
      hunk[name] = numbers[at + place - 1]
    end
    list[#list + 1] = hunk
  end
  return list
end

--- Where the lines of a content begin and where the last one ends, in bytes from 0; from the first line on.
---@param text string
---@return fun(first: integer, count: integer): integer, integer range the bytes of lines; they have to be asked for in order
local function ranges(text)
  local line, at = 1, 0
  local function go_to(wanted)
    while line < wanted do
      local found = text:find("\n", at + 1, true)
      line, at = line + 1, found or #text
    end
    return at
  end
  return function(first, count)
    local from = go_to(count == 0 and first + 1 or first)
    return from, count == 0 and from or go_to(first + count)
  end
end

--- Those between two contents, as the library writes them.
---@param old string
---@param new string
---@return integer[]
local function between(old, new)
  ---@diagnostic disable-next-line: deprecated
  local diff = vim.text.diff or vim.diff
  local numbers, in_old, in_new = {}, ranges(old), ranges(new)
  for _, found in ipairs(diff(old, new, { result_type = "indices" }) --[[@as integer[][] ]]) do
    vim.list_extend(numbers, found)
    vim.list_extend(numbers, { in_old(found[1], found[2]) })
    vim.list_extend(numbers, { in_new(found[3], found[4]) })
  end
  return numbers
end

--- The hunks of a text, and those of the proposal that it leaves out, from the top.
---@param file flemma.ReviewedFile
---@param text string what will be written
---@return flemma.Hunk[] list
---@return integer[] numbers those of the text, as the library writes them
function M.of(file, text)
  local numbers = text == file.new and file.hunks or between(file.old, text)
  local list = parse(numbers, false)
  local count = #list
  for _, hunk in ipairs(text == file.new and {} or parse(file.hunks, true)) do
    local is_there = false
    for at = 1, count do
      is_there = is_there or list[at].old_from <= hunk.old_to and hunk.old_from <= list[at].old_to
    end
    list[#list + 1] = not is_there and hunk or nil
  end
  table.sort(list, function(one, other)
    return one.old_from < other.old_from
  end)
  return list, numbers
end

--- A text in which a hunk is left out, or one that is left out is taken.
---@param file flemma.ReviewedFile
---@param text string
---@param list flemma.Hunk[] those of the text
---@param hunk flemma.Hunk one of them
---@return string
function M.toggled(file, text, list, hunk)
  if not hunk.is_left then
    return text:sub(1, hunk.new_from) .. file.old:sub(hunk.old_from + 1, hunk.old_to) .. text:sub(hunk.new_to + 1)
  end
  local from = hunk.old_from
  for _, other in ipairs(list) do
    if not other.is_left and other.old_to <= hunk.old_from then
      from = from + (other.new_to - other.new_from) - (other.old_to - other.old_from)
    end
  end
  local comes = file.new:sub(hunk.new_from + 1, hunk.new_to)
  return text:sub(1, from) .. comes .. text:sub(from + hunk.old_to - hunk.old_from + 1)
end

return M
