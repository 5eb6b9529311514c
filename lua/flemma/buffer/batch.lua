--- Changes of many single lines by one command: `:global`, a macro, and undoing them.
---
--- Neovim reports each line separately. Processing each of them at once would take several times as long as the command
--- itself. So after one command has changed a certain number of lines, the following changes are only recorded, and
--- processed together: before the library does anything else (|M.settle|, which `native.call` runs first), and at the latest
--- when Neovim is ready for the next key.
---
--- The text of a line after its own change is what matters. So a change is only recorded if it does not affect the lines of
--- the others: each changes a single line, and the lines follow each other in one direction. Any other change is reported
--- together with the recorded ones, as one change of all lines from the first to the last. Fewer lines then count as the
--- user's own, and never more.
local M = {}

local api = vim.api

--- The number of lines that are processed at once first. Typing or repeating a command by hand stays below it.
local FEW = 32

---@class flemma.Followed
---@field step fun(): integer? the undo step that a change of one line belongs to now; nil if it must not be recorded
---@field begun fun() changes are recorded from now on
---@field drawn fun(first: integer?, last: integer?, heads: integer[]) the library has processed them, and these
---lines may look different now; nil if that failed

--- The buffers that are followed.
---@type table<integer, flemma.Followed>
M.followed = {}

--- The latest changes of single lines: their buffer, their number, the last line, and the direction.
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

--- Reports the recorded changes to the library.
function M.settle()
  local was = outstanding
  if not was then
    return
  end
  outstanding = nil
  local native = require("flemma.native")
  native.outstanding = nil
  if was.count < FEW then
    -- Something calls the library between the changes, so recording them would save nothing.
    run.count = 0
  end
  local how = M.followed[was.buf]
  if how and api.nvim_buf_is_loaded(was.buf) then
    how.drawn(native.call("changed_lines", was.buf, was.runs, was.step))
  end
end

--- Whether the change continues the previous ones: a single line, further in the same direction.
local function goes_on(buf, line)
  local direction = line > run.line and 1 or -1
  if run.buf ~= buf or run.count == 0 or line == run.line or run.direction == -direction then
    run.buf, run.count, run.line, run.direction = buf, 1, line, 0
    return false
  end
  run.count, run.line, run.direction = run.count + 1, line, direction
  return true
end

--- Records a change if it can wait.
---@param buf integer
---@param first integer
---@param old_last integer
---@param new_last integer
---@return boolean recorded
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
      -- The other lines have not changed since, so they can still be processed.
      M.settle()
      return false
    end
  else
    local step = M.followed[buf].step()
    if not step then
      return false
    end
    was = { buf = buf, step = step, runs = {}, first = first, last = old_last, count = 0 }
    outstanding = was
    require("flemma.native").outstanding = M.settle
    vim.schedule(M.settle)
    M.followed[buf].begun()
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

--- Adds the recorded changes to a change that cannot wait.
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
    native.call("event", buf, "missed", { first = from, last = to })
  end
  local last = math.max(old_last, was.last)
  return math.min(first, was.first), last, last + new_last - old_last, step
end

return M
