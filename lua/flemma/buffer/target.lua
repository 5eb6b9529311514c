--- The conversations that are attached, and the one that a key or a command is about.
local M = {}

local api = vim.api

---@type table<integer, true>
local attached = {}

--- A buffer is a conversation now, or is one no longer.
---@param buf integer
---@param is_attached boolean
function M.set_attached(buf, is_attached)
  attached[buf] = is_attached or nil
end

---@param buf integer
---@return boolean
function M.is_attached(buf)
  return attached[buf] == true
end

--- The conversation that a command is about, while one runs that was given outside of a conversation.
---@type flemma.Target?
M.chosen = nil

--- The conversation in the current buffer, or the one that the input window or the preview of an undo belongs to.
---@return integer? buf
function M.here()
  local buf = vim.b.flemma_conversation or api.nvim_get_current_buf()
  return attached[buf] and buf or nil
end

--- The buffer that a command applies to, if it is a conversation.
---@param buf? integer 0 or nil for the current one
---@return integer? buf nil, after a message, if it is not a conversation
function M.resolve(buf)
  if buf == nil or buf == 0 then
    buf = M.chosen and M.chosen.buf or api.nvim_get_current_buf()
  end
  -- The input window and the preview of an undo belong to a conversation.
  buf = api.nvim_buf_is_valid(buf) and vim.b[buf].flemma_conversation or buf
  if attached[buf] then
    return buf
  end
  local _, why = require("flemma.native").load()
  if attached[buf] then
    -- The library was missing until now.
    return buf
  end
  require("flemma.notify").say(vim.log.levels.ERROR, why or "this buffer is not a conversation, whose filetype is `chat`")
end

--- The window in which a command about the conversation looks at the cursor; 0 for the current one. For the input window and the
--- preview of an undo it is one with their conversation.
---@return integer
function M.window()
  if M.chosen then
    return M.chosen.win
  end
  local buf = vim.b.flemma_conversation
  local win = buf and vim.fn.bufwinid(buf) or 0
  return win < 0 and vim.fn.win_findbuf(buf)[1] or math.max(win, 0)
end

return M
