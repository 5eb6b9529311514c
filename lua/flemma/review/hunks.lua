--- The hunks between the content of a file and a proposal for it, each of which is taken or left.
local content = require("flemma.review.content")

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
---@field taken boolean

---@class flemma.Hunks
---@field old string
---@field new string
---@field list flemma.Hunk[]
---@field numbers? integer[] the hunks as the library writes them; nil if they were found here

--- Those that the library has found, all taken.
---@param file flemma.ReviewedFile
---@return flemma.Hunks
function M.of_file(file)
  local list, numbers = {}, file.hunks or {}
  for at = 1, #numbers, 8 do
    list[#list + 1] = {
      old_first = numbers[at],
      old_count = numbers[at + 1],
      new_first = numbers[at + 2],
      new_count = numbers[at + 3],
      old_from = numbers[at + 4],
      old_to = numbers[at + 5],
      new_from = numbers[at + 6],
      new_to = numbers[at + 7],
      taken = true,
    }
  end
  return { old = file.old or "", new = file.new or "", list = list, numbers = numbers }
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

--- All between two contents, taken. They are found here and now.
---@param old string
---@param new string
---@return flemma.Hunks
function M.between(old, new)
  ---@diagnostic disable-next-line: deprecated
  local diff = vim.text.diff or vim.diff
  local list, in_old, in_new = {}, ranges(old), ranges(new)
  for _, found in ipairs(diff(old, new, { result_type = "indices" })) do
    local old_from, old_to = in_old(found[1], found[2])
    local new_from, new_to = in_new(found[3], found[4])
    list[#list + 1] = {
      old_first = found[1],
      old_count = found[2],
      new_first = found[3],
      new_count = found[4],
      old_from = old_from,
      old_to = old_to,
      new_from = new_from,
      new_to = new_to,
      taken = true,
    }
  end
  return { old = old, new = new, list = list }
end

--- What goes in a hunk.
---@param hunks flemma.Hunks
---@param hunk flemma.Hunk
local function gone(hunks, hunk)
  return hunks.old:sub(hunk.old_from + 1, hunk.old_to)
end

--- What comes in a hunk.
---@param hunks flemma.Hunks
---@param hunk flemma.Hunk
local function come(hunks, hunk)
  return hunks.new:sub(hunk.new_from + 1, hunk.new_to)
end

--- What goes and comes in a hunk.
---@param hunks flemma.Hunks
---@param hunk flemma.Hunk
---@return string
local function key(hunks, hunk)
  local text = gone(hunks, hunk)
  return #text .. ":" .. text .. come(hunks, hunk)
end

--- Leaves out what was left out before the proposal was made again. Where one of those hunks is not there any more, all are left
--- out: what the user did not want is not taken because it looks different now.
---@param before flemma.Hunks
---@param hunks flemma.Hunks
function M.leave_again(before, hunks)
  local left, found = {}, {}
  for _, hunk in ipairs(before.list) do
    if not hunk.taken then
      left[key(before, hunk)] = true
    end
  end
  for _, hunk in ipairs(hunks.list) do
    local name = key(hunks, hunk)
    hunk.taken = not left[name]
    found[name] = true
  end
  if vim.iter(pairs(left)):any(function(name)
    return not found[name]
  end) then
    for _, hunk in ipairs(hunks.list) do
      hunk.taken = false
    end
  end
end

--- The content with the hunks that are taken.
---@param hunks flemma.Hunks
---@return string
function M.merged(hunks)
  local parts, at = {}, 0
  for _, hunk in ipairs(hunks.list) do
    parts[#parts + 1] = hunks.old:sub(at + 1, hunk.old_from)
    parts[#parts + 1] = hunk.taken and come(hunks, hunk) or gone(hunks, hunk)
    at = hunk.old_to
  end
  parts[#parts + 1] = hunks.old:sub(at + 1)
  return table.concat(parts)
end

--- Takes and leaves hunks so that the content with them is a text.
---@param hunks flemma.Hunks
---@param text string
---@return boolean is_done whether the text can be had like that
function M.take_as(hunks, text)
  local function is_at(part, at)
    return text:sub(at, at + #part - 1) == part
  end
  local at, from = 1, 0
  for number, hunk in ipairs(hunks.list) do
    at = at + hunk.old_from - from
    from = hunk.old_to
    local next_hunk = hunks.list[number + 1]
    local same = hunks.old:sub(from + 1, next_hunk and next_hunk.old_from or -1)
    local come_here, gone_here = come(hunks, hunk), gone(hunks, hunk)
    hunk.taken = is_at(come_here .. same, at) or not is_at(gone_here .. same, at)
    at = at + #(hunk.taken and come_here or gone_here)
  end
  return M.merged(hunks) == text
end

--- The first place where the first lines of a hunk differ, in bytes from 0 of the line of a buffer.
---@param hunks flemma.Hunks
---@param hunk flemma.Hunk
---@param form flemma.Form of both sides
---@return integer
function M.first_difference(hunks, hunk, form)
  if hunk.old_count == 0 or hunk.new_count == 0 then
    return 0
  end
  local old = gone(hunks, hunk):match("^[^\n]*")
  local new = come(hunks, hunk):match("^[^\n]*")
  local low, high = 0, math.min(#old, #new)
  -- How much is the same at the beginning.
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if old:sub(1, middle) == new:sub(1, middle) then
      low = middle
    else
      high = middle - 1
    end
  end
  low = low + vim.str_utf_start(new .. " ", low + 1)
  -- A byte order mark is not in the text.
  return form.bom and hunk.old_from == 0 and math.max(low - #content.BOM, 0) or low
end

--- The line of the buffer, from 1, that a hunk is found by.
---@param hunk flemma.Hunk
---@return integer
function M.line_of(hunk)
  return math.max(hunk.old_first, 1)
end

return M
