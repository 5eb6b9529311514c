--- An operator that waits for a motion or a text object.
local M = {}

--- Lets folds count for nothing until the operator on a selection is done. What is closed stays closed, and nothing moves on the
--- screen.
local function ignore_folds()
  local win, top = vim.api.nvim_get_current_win(), vim.fn.line("w0")
  vim.cmd("noautocmd setlocal nofoldenable")
  vim.api.nvim_create_autocmd("ModeChanged", {
    group = vim.api.nvim_create_augroup("flemma.operator", { clear = true }),
    pattern = "[vV\22]*:n",
    desc = "Flemma: folds count again after an operator",
    once = true,
    callback = function()
      if vim.api.nvim_win_is_valid(win) then
        vim.api.nvim_win_call(win, function()
          vim.cmd("noautocmd setlocal foldenable")
          vim.fn.winrestview({ topline = top })
        end)
      end
    end,
  })
end

--- Whether an operator waits that only copies.
---@return boolean
local function is_copying()
  return vim.startswith(vim.api.nvim_get_mode().mode, "no") and vim.v.operator == "y"
end

--- Opens the closed folds that lines are in which are about to be changed or selected. Neovim would take these folds as a whole.
---@param first integer from 1
---@param last integer
function M.open_folds(first, last)
  if not is_copying() then
    require("flemma.view.folds").open_lines(first, last)
  end
end

--- The same for lines that are about to be selected, maybe by an operator that only copies: then the folds stay closed.
---@param first integer from 1
---@param last integer
function M.select_in_folds(first, last)
  M.open_folds(first, last)
  if is_copying() and (vim.fn.foldclosed(first) ~= -1 or vim.fn.foldclosed(last) ~= -1) then
    ignore_folds()
  end
end

--- Cancels the operator for which this is called, in a command that its mapping has made. An error does that, and only an error: a
--- command that moves nothing would let |c| begin to insert. So the user is told why.
---@param words string
function M.cancel(words)
  vim.api.nvim_echo({ { "flemma: " .. words } }, true, { err = true })
end

return M
