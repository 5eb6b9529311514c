--- One conversation's buffer: taking it in hand, writing to it, locking it.
---
--- The library follows the text through `on_lines` and writes through `write`; nobody else changes a buffer
--- while it is locked.
local M = {}

local api = vim.api

---@class flemma.Attached
---@field unlocked_modifiable? boolean what 'modifiable' was before the lock; nil while unlocked
---@type table<integer, flemma.Attached>
local attached = {}

---@param buf integer
---@return boolean
function M.is_attached(buf)
  return attached[buf] ~= nil
end

--- The buffer a command means, and whether it is a conversation.
---@param buf? integer 0 or nil for the current one
---@return integer? buf nil, after a message, when it is no conversation
function M.resolve(buf)
  buf = (buf == nil or buf == 0) and api.nvim_get_current_buf() or buf
  if attached[buf] then
    return buf
  end
  local _, why = require("flemma.native").load()
  local notify = require("flemma.notify")
  notify.say(vim.log.levels.ERROR, why or "this buffer is no conversation: its filetype is not `chat`")
end

--- An empty file gets the marker that a first message stands under. It is no change of the user's: it is not
--- undone, and the buffer can be left as if nothing had happened.
local function greet(buf)
  local empty = api.nvim_buf_line_count(buf) == 1 and api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ""
  if not empty or vim.bo[buf].modified or not vim.bo[buf].modifiable then
    return
  end
  local undolevels = vim.bo[buf].undolevels
  vim.bo[buf].undolevels = -1
  api.nvim_buf_set_lines(buf, 0, -1, false, { "@You:", "" })
  vim.bo[buf].undolevels = undolevels
  vim.bo[buf].modified = false
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    api.nvim_win_set_cursor(win, { 2, 0 })
  end
end

--- Takes a buffer in hand. Harmless when that was done before.
---@param buf integer
function M.attach(buf)
  if buf == 0 then
    buf = api.nvim_get_current_buf()
  end
  if attached[buf] or not api.nvim_buf_is_loaded(buf) then
    return
  end
  local native = require("flemma.native")
  local options = require("flemma").options()
  require("flemma.ui").highlight(buf)
  local library, why = native.load()
  if not library or not options then
    require("flemma.notify").once(vim.log.levels.ERROR, why or "no options")
    return
  end
  local state = {}
  attached[buf] = state
  greet(buf)
  local function parse_on(more)
    -- A long file is read in slices, between which the user can type.
    if more and attached[buf] == state then
      vim.schedule(function()
        parse_on(native.call("parse_on", buf))
      end)
    end
  end
  parse_on(native.call("attach", buf))
  api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, _, first, old_last, new_last)
      if attached[buf] ~= state then
        return true
      end
      native.call("changed", buf, first, old_last, new_last)
    end,
    on_reload = function()
      native.call("reloaded", buf)
    end,
    on_detach = function()
      if attached[buf] == state then
        attached[buf] = nil
        native.call("detach", buf)
      end
    end,
  })
  require("flemma.keymaps").apply(buf, options.keymaps)
  require("flemma.ui").attach(buf)
end

--- Writes to a buffer: the only way in which the library changes text. A window whose cursor is on the last
--- line follows what is added; every other window stays where it is.
---@param buf integer
---@param first integer first line, from 0
---@param first_col integer byte
---@param last integer last line
---@param last_col integer byte, exclusive
---@param lines string[]
---@param join boolean whether the edit belongs to the step of undo before it
function M.write(buf, first, first_col, last, last_col, lines, join)
  local bo = vim.bo[buf]
  local modifiable = bo.modifiable
  bo.modifiable = true
  local count = api.nvim_buf_line_count(buf)
  local followers = {}
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if api.nvim_win_get_cursor(win)[1] == count then
      followers[#followers + 1] = win
    end
  end
  if join then
    -- Fails right after an undo: then the edit is a step of its own.
    api.nvim_buf_call(buf, function()
      pcall(vim.cmd.undojoin)
    end)
  end
  local ok, problem = pcall(api.nvim_buf_set_text, buf, first, first_col, last, last_col, lines)
  bo.modifiable = modifiable
  if not ok then
    error(problem, 0)
  end
  count = api.nvim_buf_line_count(buf)
  for _, win in ipairs(followers) do
    api.nvim_win_set_cursor(win, { count, #api.nvim_buf_get_lines(buf, count - 1, count, false)[1] })
  end
end

--- Keeps the user from changing the buffer, or lets them again.
---@param buf integer
---@param locked boolean
function M.lock(buf, locked)
  local state = attached[buf]
  if not state then
    return
  end
  if locked and state.unlocked_modifiable == nil then
    state.unlocked_modifiable = vim.bo[buf].modifiable
    vim.bo[buf].modifiable = false
    if buf == api.nvim_get_current_buf() and api.nvim_get_mode().mode:sub(1, 1) == "i" then
      vim.cmd.stopinsert()
    end
  elseif not locked and state.unlocked_modifiable ~= nil then
    vim.bo[buf].modifiable = state.unlocked_modifiable
    state.unlocked_modifiable = nil
  end
end

--- Moves the cursor in the windows in which the user follows the conversation: those whose cursor is in its
--- last messages, from `from` on. Whoever reads further up is left alone.
---@param buf integer
---@param line integer from 0
---@param reason "pending"|"result"|"prompt"
---@param from integer the line, from 0, at which following begins
function M.cursor(buf, line, reason, from)
  local options = require("flemma").options()
  local wanted = options and options.tools.cursor_after_result
  if reason == "result" and wanted == "stay" then
    return
  end
  local count = api.nvim_buf_line_count(buf)
  line = math.min(line, count - 1)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if api.nvim_win_get_cursor(win)[1] - 1 >= from then
      api.nvim_win_set_cursor(win, { line + 1, 0 })
    end
  end
end

--- Puts the cursor at the end in every window whose cursor is at or below `from`: who is in the message that is
--- being answered sees the answer come.
---@param buf integer
---@param from integer the line, from 0
function M.follow(buf, from)
  local options = require("flemma").options()
  if options and options.tools.cursor_after_result == "stay" then
    return
  end
  local count = api.nvim_buf_line_count(buf)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if api.nvim_win_get_cursor(win)[1] > from then
      api.nvim_win_set_cursor(win, { count, 0 })
    end
  end
end

--- Saves the buffer after a turn, where the user wants that.
---@param buf integer
function M.auto_write(buf)
  if vim.bo[buf].modified and vim.bo[buf].buftype == "" and api.nvim_buf_get_name(buf) ~= "" then
    api.nvim_buf_call(buf, function()
      vim.cmd("silent! update")
    end)
  end
end

return M
