--- Says so when typing breaks the block of a call: the cursor rests on its first line where the call waits.
local M = {}

local api = vim.api

local FENCE = "^ ? ? ?[`~][`~][`~]+%s*flemma:tool"

local MESSAGE = "this breaks the block of the call: Esc and `u` take it back, `:Flemma queue` writes a message"

--- Watches what is typed on the lines of status blocks.
---@param buf integer
---@param group integer of the buffer's autocommands
function M.follow(buf, group)
  ---@type integer? the line of a status block, from 1, in which Insert mode began
  local line
  api.nvim_create_autocmd("InsertEnter", {
    group = group,
    buffer = buf,
    desc = "Flemma: notice whether a status block is edited",
    callback = function()
      line = api.nvim_get_current_line():find(FENCE) and api.nvim_win_get_cursor(0)[1] or nil
    end,
  })
  api.nvim_create_autocmd("TextChangedI", {
    group = group,
    buffer = buf,
    desc = "Flemma: say that a status block is no longer one",
    callback = function()
      if line and line == api.nvim_win_get_cursor(0)[1] and not api.nvim_get_current_line():find(FENCE) then
        line = nil
        require("flemma.notify").say(vim.log.levels.WARN, MESSAGE)
      end
    end,
  })
end

return M
