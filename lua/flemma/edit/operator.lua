--- An operator that waits for a motion or a text object.
local M = {}

--- Opens the closed folds that lines are in which an operator or a selection is about to take. Neovim would take the folds as a whole.
---@param first integer from 1
---@param last integer
function M.open_folds(first, last)
  vim.cmd(("silent! %d,%dfoldopen!"):format(first, last))
end

--- Cancels the operator for which this is called, in a command that its mapping has made. An error does that, and only an error: a
--- command that moves nothing would let |c| begin to insert. So the user is told why.
---@param words string
function M.cancel(words)
  vim.api.nvim_echo({ { "flemma: " .. words } }, true, { err = true })
end

return M
