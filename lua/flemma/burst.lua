--- Changes of many single lines by one command: `:global`, a macro, and undo of them.
---
--- Neovim reports each line by itself. To look at each of them at once would take several times as long as the command
--- does. So when one command has changed enough lines, those that follow are only written down, and looked at together:
--- before the library does anything else (|M.settle|, which `native.call` runs first), and at the latest when Neovim is
--- ready for the next key.
---
--- What counts is what a line was after its change. So only changes are written down that leave the lines of all others
--- alone: each changes one line, and the lines follow each other in one direction. Any other change is reported together
--- with those that were written down, as one change of all lines from the first to the last of them. Then less counts as
--- the user's own, and never more.
local M = {}

local api = vim.api

--- So many lines are looked at at once first. Who types or repeats a command by hand is below that.
local FEW = 32

---@class flemma.Followed
---@field step fun(): integer? the step of undo that a change of one line belongs to now; nil if it is not to be written down
---@field drawn fun(first: integer, last: integer?) the library has looked at these lines; nil if that failed

---@type table<integer, flemma.Followed>
local followed = {}

--- The latest changes of single lines: their buffer, how many, the last line, and whether lines go up or down.
local run = { buf = 0, count = 0, line = 0, direction = 0 }

---@class flemma.Outstanding
---@field buf integer
---@field step integer
---@field runs integer[] pairs: the first line and one past the last
---@field first integer
---@field last integer one past the last line
---@field count integer how many lines

---@type flemma.Outstanding?
local outstanding

--- Begins to follow a buffer.
---@param buf integer
---@param how flemma.Followed
function M.follow(buf, how)
  followed[buf] = how
end

--- Stops following a buffer.
---@param buf integer
function M.forget(buf)
  followed[buf] = nil
end

--- Tells the library what was written down.
function M.settle()
  local was = outstanding
  if not was then
    return
  end
  outstanding = nil
  local native = require("flemma.native")
  native.outstanding = nil
  if was.count < FEW then
    -- The library is asked in between, by whatever runs now: then it saves nothing to write changes down.
    run.count = 0
  end
  local how = followed[was.buf]
  if how and api.nvim_buf_is_loaded(was.buf) then
    how.drawn(was.first, native.call("changed_lines", was.buf, was.runs, was.step))
  end
end

--- Whether the change follows the ones before it: of one line, further in the same direction.
local function goes_on(buf, line)
  local direction = line > run.line and 1 or -1
  if run.buf ~= buf or run.count == 0 or line == run.line or run.direction == -direction then
    run.buf, run.count, run.line, run.direction = buf, 1, line, 0
    return false
  end
  run.count, run.line, run.direction = run.count + 1, line, direction
  return true
end

--- Writes a change down if it can wait.
---@param buf integer
---@param first integer
---@param old_last integer
---@param new_last integer
---@return boolean whether it did
function M.takes(buf, first, old_last, new_last)
  if old_last ~= new_last or old_last - first ~= 1 then
    run.count = 0
    return false
  end
  if not goes_on(buf, first) or run.count <= FEW then
    return false
  end
  local was = outstanding
  if was then
    local step = buf == api.nvim_get_current_buf() and vim.fn.changenr() or 0
    if was.buf ~= buf or was.step ~= step then
      -- The other lines are what they were: they can still be looked at.
      M.settle()
      return false
    end
  else
    local step = followed[buf].step()
    if not step then
      return false
    end
    was = { buf = buf, step = step, runs = {}, first = first, last = old_last, count = 0 }
    outstanding = was
    require("flemma.native").outstanding = M.settle
    vim.schedule(M.settle)
  end
  local runs, count = was.runs, #was.runs
  if runs[count] == first then
    runs[count] = old_last
  elseif runs[count - 1] == old_last then
    runs[count - 1] = first
  else
    runs[count + 1], runs[count + 2] = first, old_last
  end
  was.count = was.count + 1
  was.first, was.last = math.min(was.first, first), math.max(was.last, old_last)
  return true
end

--- Adds what was written down to a change that cannot wait.
---@param buf integer
---@param first integer
---@param old_last integer
---@param new_last integer
---@param step? integer
---@return integer first
---@return integer old_last
---@return integer new_last
---@return integer? step
function M.join(buf, first, old_last, new_last, step)
  local was = outstanding
  if not was or was.buf ~= buf then
    return first, old_last, new_last, step
  end
  outstanding = nil
  local native = require("flemma.native")
  native.outstanding = nil
  local from, to = math.max(first, was.first), math.min(old_last, was.last)
  if from < to then
    native.call("missed", buf, from, to)
  end
  local last = math.max(old_last, was.last)
  return math.min(first, was.first), last, last + new_last - old_last, step
end

return M
