--- The hunks between the content of a file and a proposal for it, each of which is taken or left.
local M = {}

local content = require("flemma.review.content")

---@class flemma.Hunk
---@field old_first integer the first piece that goes, from 1; the one before the hunk if none goes
---@field old_count integer
---@field new_first integer
---@field new_count integer
---@field taken boolean

---@class flemma.Hunks
---@field old string[] with their line breaks
---@field new string[]
---@field list flemma.Hunk[]

--- All of them, taken.
---@param old string
---@param new string
---@return flemma.Hunks
function M.between(old, new)
  ---@diagnostic disable-next-line: deprecated
  local diff = vim.text.diff or vim.diff
  local list = {}
  for _, found in ipairs(diff(old, new, { result_type = "indices", algorithm = "histogram" })) do
    list[#list + 1] = {
      old_first = found[1],
      old_count = found[2],
      new_first = found[3],
      new_count = found[4],
      taken = true,
    }
  end
  return { old = content.pieces(old), new = content.pieces(new), list = list }
end

--- What goes and comes in a hunk.
---@param hunks flemma.Hunks
---@param hunk flemma.Hunk
---@return string
local function key(hunks, hunk)
  local gone = hunk.old_count > 0 and table.concat(hunks.old, "", hunk.old_first, hunk.old_first + hunk.old_count - 1) or ""
  local come = hunk.new_count > 0 and table.concat(hunks.new, "", hunk.new_first, hunk.new_first + hunk.new_count - 1) or ""
  return #gone .. ":" .. gone .. come
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
  local pieces, at = {}, 1
  for _, hunk in ipairs(hunks.list) do
    local before = hunk.old_count == 0 and hunk.old_first or hunk.old_first - 1
    vim.list_extend(pieces, hunks.old, at, before)
    if hunk.taken then
      vim.list_extend(pieces, hunks.new, hunk.new_first, hunk.new_first + hunk.new_count - 1)
    else
      vim.list_extend(pieces, hunks.old, before + 1, before + hunk.old_count)
    end
    at = before + hunk.old_count + 1
  end
  vim.list_extend(pieces, hunks.old, at)
  return table.concat(pieces)
end

--- The line of the buffer, from 1, that a hunk is found by.
---@param hunk flemma.Hunk
---@return integer
function M.line_of(hunk)
  return math.max(hunk.old_first, 1)
end

--- A line without its line break.
---@param piece string
---@return string
function M.text_of(piece)
  return (piece:gsub("\r?\n$", ""))
end

return M
