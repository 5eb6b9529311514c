--- A component for a status line: the model of a conversation, its current activity, and its cost.
local M = {}

---@type table<integer, string> the last text that was shown for a conversation
local shown = {}

---@param buf integer
---@return string? text nil if the buffer is not a conversation
local function text(buf)
  if not require("flemma.buffer").is_attached(buf) then
    return nil
  end
  local line = require("flemma.native").call("status_line", buf) or ""
  return (line:gsub("%%", "%%%%"))
end

--- The component for the window whose status line is drawn; empty if the buffer is not a conversation.
---@return string
function M.component()
  local win = vim.g.statusline_winid
  local valid = win and vim.api.nvim_win_is_valid(win)
  local buf = vim.api.nvim_win_get_buf(valid and win or 0)
  shown[buf] = text(buf)
  return shown[buf] or ""
end

--- Something may have changed: redraws the status lines that show it. A buffer that is no longer a
--- conversation is forgotten.
require("flemma.host").on_show = function(buf)
  local before = shown[buf]
  if not before then
    return
  end
  shown[buf] = text(buf)
  if not shown[buf] then
    -- Nothing is drawn while a buffer is being unloaded.
    vim.schedule(function()
      vim.cmd.redrawstatus({ bang = true })
    end)
  elseif shown[buf] ~= before then
    vim.cmd.redrawstatus({ bang = true })
  end
end

return M
