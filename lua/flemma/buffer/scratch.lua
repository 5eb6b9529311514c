--- Buffers of our own, which we fill ourselves: floats, pages to look at, the input window.
local M = {}

--- Makes a buffer that can be filled. A new buffer has the global values of options, with which it may be locked.
---@param opts? { is_named: boolean } whether it has a name and a 'buftype' of its own
---@return integer
function M.create(opts)
  local buf = vim.api.nvim_create_buf(false, not (opts and opts.is_named))
  vim.bo[buf].modifiable = true
  vim.bo[buf].readonly = false
  return buf
end

return M
