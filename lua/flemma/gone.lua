--- A page of ours that is closed: a session brings back its name and its window, and there is nothing to show in it.
local M = {}

local PAGE = { "This page of Flemma is closed." }

local REVIEW = {
  "This review is closed. Nothing can be decided here.",
  "gK in the conversation shows the change again, if its call still waits.",
}

--- A buffer got a name of ours, or is read again. Fills it if its page is closed.
---@param event string
---@param buf integer
function M.came(event, buf)
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
  bo.swapfile = false
  bo.undofile = false
  bo.modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, is_review and REVIEW or PAGE)
  bo.modifiable = false
  bo.modified = false
  bo.buflisted = false
  bo.buftype = "nofile"
  bo.bufhidden = "wipe"
end

return M
