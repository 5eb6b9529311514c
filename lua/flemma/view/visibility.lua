--- Whether the user sees a conversation.
local M = {}

local api = vim.api

--- Whether the terminal or the window of Neovim has the focus. One that does not report it always counts as having it.
local is_focused = true

api.nvim_create_autocmd({ "FocusGained", "FocusLost" }, {
  group = api.nvim_create_augroup("flemma.visibility", { clear = true }),
  desc = "Flemma: know whether the user looks at Neovim",
  callback = function(args)
    is_focused = args.event == "FocusGained"
  end,
})

--- Whether a window of the current tab page shows a buffer or a review of one of its calls, and the editor has the focus. Without a user interface there is
--- nobody to tell anything, so everything counts as seen.
---@param buf integer
---@return boolean
function M.is_visible(buf)
  if #api.nvim_list_uis() == 0 then
    return true
  elseif not is_focused then
    return false
  elseif vim.fn.bufwinid(buf) ~= -1 then
    return true
  end
  local review = package.loaded["flemma.review"]
  return review ~= nil and review.is_shown(buf)
end

return M
