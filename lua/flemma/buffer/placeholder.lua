--- A page of ours that is closed: a session brings back its name and its window, and there is nothing to show in it.
local M = {}

--- A buffer got a name of ours, or is read again. Fills it if its page is closed.
---@param event string
---@param buf integer
function M.fill(event, buf)
  local is_review = vim.api.nvim_buf_get_name(buf):find("^flemma://review/") ~= nil
  local is_restored = vim.g.SessionLoad ~= nil
  if not is_restored and (event ~= "BufReadCmd" or not is_review) or vim.b[buf].flemma_review then
    return
  end
  if is_restored then
    -- `:file`, by which a session names the buffer, says so. The session gives the option its value back.
    vim.opt.shortmess:append("F")
  end
  local bo = vim.bo[buf]
  bo.modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, { is_review and "This review is closed." or "This page of Flemma is closed." })
  bo.modifiable, bo.modified, bo.buflisted, bo.buftype, bo.bufhidden = false, false, false, "nofile", "wipe"
end

return M
