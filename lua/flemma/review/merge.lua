--- Brings what the user has made of a file onto what another program has made of it meanwhile.
local hunks = require("flemma.review.hunks")

local M = {}

---@class flemma.Range what a hunk replaces, in bytes from 0, the end not included
---@field from integer
---@field to integer
---@field new_from integer
---@field new_to integer

---@class flemma.Merge
---@field text string
---@field conflicts string[] for each place that both have changed, what the other program has made of it

---@param found flemma.Hunks
---@return flemma.Range[]
local function ranges(found)
  return vim
    .iter(found.list)
    :map(function(hunk)
      return { from = hunk.old_from, to = hunk.old_to, new_from = hunk.new_from, new_to = hunk.new_to }
    end)
    :totable()
end

--- What one side has in place of a stretch of the base.
---@param content string of that side
---@param list flemma.Range[] its hunks in the stretch; at least one
---@param from integer
---@param to integer
local function text_of(content, list, from, to)
  local first, last = list[1], list[#list]
  return content:sub(first.new_from - (first.from - from) + 1, last.new_to + (to - last.to))
end

--- The edits of the user on what the file is now. Where both have changed the same place, the user's text stays.
---@param base string what the file was
---@param mine string what the user has made of it
---@param theirs string what it is now
---@return flemma.Merge
function M.three_way(base, mine, theirs)
  local to_mine, to_theirs = hunks.between(base, mine), hunks.between(base, theirs)
  local left = { mine = ranges(to_mine), theirs = ranges(to_theirs) }
  local out, conflicts, at = {}, {}, 0
  while left.mine[1] or left.theirs[1] do
    local here = { mine = {}, theirs = {} }
    local from, to
    repeat
      local is_more = false
      for _, side in ipairs({ "mine", "theirs" }) do
        local range, other = left[side][1], left[side == "mine" and "theirs" or "mine"][1]
        local is_first = range and not from and (not other or range.from <= other.from)
        -- Places that touch count as one.
        if range and (is_first or from and range.from <= to) then
          from, to = from or range.from, math.max(to or 0, range.to)
          table.insert(here[side], table.remove(left[side], 1))
          is_more = true
        end
      end
    until not is_more
    out[#out + 1] = base:sub(at + 1, from)
    local text = here.mine[1] and text_of(mine, here.mine, from, to)
    local other = here.theirs[1] and text_of(theirs, here.theirs, from, to)
    if text and other and text ~= other then
      conflicts[#conflicts + 1] = other
    end
    out[#out + 1] = text or other
    at = to
  end
  out[#out + 1] = base:sub(at + 1)
  return { text = table.concat(out), conflicts = conflicts }
end

--- Which files the user has left out. That still counts when the proposal was made again; whether they take the others does not.
---@param marks table<string, boolean>
---@return table<string, boolean>
function M.left_out(marks)
  return vim.iter(pairs(marks)):fold({}, function(kept, path, is_taken)
    if not is_taken then
      kept[path] = false
    end
    return kept
  end)
end

--- The files of a change by their paths.
---@param files flemma.ReviewedFile[]
---@return table<string, flemma.ReviewedFile>
function M.by_path(files)
  local found = {}
  for _, file in ipairs(files) do
    found[file.path] = file
  end
  return found
end

--- The place of a file in a change that was made again; 1 if it is not there any more.
---@param files flemma.ReviewedFile[]
---@param path string
---@return integer
function M.place_of(files, path)
  for at, file in ipairs(files) do
    if file.path == path then
      return at
    end
  end
  return 1
end

--- What the user is told when the proposal was made again.
---@param call string
---@param before table<string, flemma.ReviewedFile> by path
---@param files flemma.ReviewedFile[]
---@return string
function M.made_again(call, before, files)
  local is_file = vim.iter(files):any(function(file)
    local known = before[file.path]
    return known and (known.old ~= file.old or file.note ~= nil)
  end)
  return ("%s: %s has changed, so the proposal was made again"):format(call, is_file and "the file" or "the call")
end

--- Brings what the user has edited onto what the file is now, and notes where both have changed the same place.
---@param review flemma.Review
---@param file flemma.ReviewedFile
---@param draft flemma.Draft
function M.rebase(review, file, draft)
  local now = file.old or ""
  if file.note or draft.base == now then
    return
  end
  local merged = M.three_way(draft.base, draft.text, now)
  draft.text, draft.base = merged.text, now
  review.conflicts[file.path] = merged.conflicts[1] and merged.conflicts or nil
end

--- Whether accepting a text would undo what another program has written.
---@param review flemma.Review
---@param path string
---@param text string
function M.undoes(review, path, text)
  return vim.iter(review.conflicts[path] or {}):any(function(theirs)
    return theirs == "" or not text:find(theirs, 1, true)
  end)
end

return M
