--- Motions between messages, and between calls that wait.
local M = {}

---@alias flemma.Motion "next_message"|"prev_message"|"next_waiting"|"prev_waiting"

local native = require("flemma.native").call

--- The line (from 1) of the message that is `v:count1` messages away, or of the last message in that direction.
---@param buf integer
---@param forward boolean
---@return integer? line nil when there is no message in that direction
local function message(buf, forward)
  local line
  for _ = 1, vim.v.count1 do
    local from = line or vim.api.nvim_win_get_cursor(0)[1] - 1
    local found = native("find", buf, "message", { line = from, forward = forward })
    if not found then
      break
    end
    line = found
  end
  return line and line + 1
end

--- The same for calls that wait. If there is none, a message says so.
---@param buf integer
---@param forward boolean
---@return integer?
local function waiting(buf, forward)
  local from = vim.api.nvim_win_get_cursor(0)[1] - 1
  local line = native("find", buf, "waiting_call", { line = from, forward = forward, count = vim.v.count1 })
  if not line then
    local elsewhere = native("find", buf, "waiting_call", { line = from, forward = not forward, count = 1 })
    local here = require("flemma.view.cursor").waits_at(buf, from)
    local where = (elsewhere or here) and (forward and " below" or " above") or " in this conversation"
    -- This may be called for a mapping with `expr`, in which nothing can be shown.
    vim.schedule(function()
      require("flemma.notify").say(vim.log.levels.INFO, "no call is waiting" .. where)
    end)
  end
  return line and line + 1
end

---@param motion flemma.Motion
---@return integer?
local function target(motion)
  local buf = require("flemma.buffer.target").resolve()
  if buf then
    local find = vim.endswith(motion, "waiting") and waiting or message
    return find(buf, vim.startswith(motion, "next"))
  end
end

--- Moves the cursor. In Visual mode, this extends the selection.
---@param motion flemma.Motion
function M.go(motion)
  local line = target(motion)
  if line then
    if vim.api.nvim_get_mode().mode == "n" then
      vim.cmd("normal! m'")
    end
    vim.api.nvim_win_set_cursor(0, { line, 0 })
    if vim.endswith(motion, "waiting") then
      -- What waits is to be seen.
      vim.cmd("normal! zv")
      require("flemma.view.cursor").show_below(0)
    end
  end
end

--- Moves the cursor to where an operator ends.
---@param motion flemma.Motion
function M.to_end(motion)
  local line = target(motion)
  if line then
    local from = vim.fn.line(".")
    local operator = require("flemma.edit.operator")
    operator.open_folds(from, from)
    operator.open_folds(line, line)
    vim.fn.cursor(line, 1)
  else
    local what = vim.endswith(motion, "waiting") and "no call waits" or "there is no message"
    require("flemma.edit.operator").cancel(what .. " in this direction")
  end
end

--- The keys after an operator, for a mapping with `expr`: a command, so that |.| looks for the line again. If there is no line to go
--- to, Escape cancels the operator.
---@param motion flemma.Motion
---@return string keys
function M.keys(motion)
  return target(motion) and ("<Cmd>lua require('flemma.edit.motion').to_end('%s')<CR>"):format(motion) or "<Esc>"
end

return M
