--- Swap files of files that are opened without a question.
local M = {}

local api = vim.api

---@class flemma.SwapFile
---@field name string
---@field process integer the Neovim that has the file open; 0 if it is not running

--- Decides about a swap file without asking. What a Neovim that has ended left behind is not touched, and the file is not
--- opened. The file has to be opened by an Ex command: functions do not ask autocommands about swap files, and print them all.
---@param choice "o"|"e" what is done with a file that another Neovim is editing: open it read-only, or edit it
---@param run fun()
---@return flemma.SwapFile? found
function M.decide(choice, run)
  local found
  local group = api.nvim_create_augroup("flemma.swap", { clear = true })
  api.nvim_create_autocmd("SwapExists", {
    group = group,
    desc = "Flemma: decide about a swap file",
    callback = function()
      local info = vim.fn.swapinfo(vim.v.swapname)
      found = { name = vim.fn.fnamemodify(vim.v.swapname, ":~"), process = info.pid or 0 }
      vim.v.swapchoice = found.process > 0 and choice or "q"
    end,
  })
  local ok, thrown = pcall(run)
  api.nvim_del_augroup_by_id(group)
  if not ok then
    error(thrown, 0)
  end
  return found
end

return M
