--- Motions between messages.
local M = {}

--- The line (from 1) of the message that is `v:count1` messages away, or of the last message in that direction.
---@param forward boolean
---@return integer? line nil when there is no message in that direction
local function target(forward)
  local buf = require("flemma.buffer").resolve()
  local line
  for _ = 1, buf and vim.v.count1 or 0 do
    local from = line or vim.api.nvim_win_get_cursor(0)[1] - 1
    local found = require("flemma.native").call("message_from", buf, from, forward)
    if not found then
      break
    end
    line = found
  end
  return line and line + 1
end

--- Moves the cursor. In Visual mode, this extends the selection.
---@param forward boolean
function M.go(forward)
  local line = target(forward)
  if line then
    if vim.api.nvim_get_mode().mode == "n" then
      vim.cmd("normal! m'")
    end
    vim.api.nvim_win_set_cursor(0, { line, 0 })
  end
end

--- The keys after an operator, for a mapping with `expr`. If there is no message, Escape cancels the operator.
---@param forward boolean
---@return string keys
function M.keys(forward)
  local line = target(forward)
  return line and ("<Cmd>call cursor(%d, 1)<CR>"):format(line) or "<Esc>"
end

return M
