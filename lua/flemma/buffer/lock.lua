--- Locking the buffer of a conversation: 'nomodifiable' while a request or a tool is running in it, and while another editor
--- holds its file. Only `flemma.buffer.writing` changes a locked buffer.
local M = {}

local api = vim.api

---@class flemma.Lock
---@field is_busy boolean whether a request or a tool is running
---@field is_observer boolean whether another editor holds the file
---@field own? boolean the user's own 'modifiable'; nil while unlocked
---@field own_readonly? boolean what 'readonly' was before another editor was found to hold the file
---@field wrote_half? boolean whether the file was written during this lock, so that it may contain an incomplete reply
---@type table<integer, flemma.Lock>
local locks = {}

--- Called when the user cannot change a buffer any more, or can again.
---@type fun(buf: integer, is_locked: boolean)
M.on_change = function() end

--- Prepares the lock of a buffer that is a conversation from now on. Nothing else here affects another buffer.
---@param buf integer
function M.attach(buf)
  locks[buf] = { is_busy = false, is_observer = false }
end

--- Removes the lock of a buffer that is no longer a conversation.
---@param buf integer
---@return fun() give_back gives the buffer the options that it had before the lock
function M.forget(buf)
  local state = locks[buf] or {}
  locks[buf] = nil
  return function()
    for option, value in pairs({ modifiable = state.own, readonly = state.own_readonly }) do
      pcall(api.nvim_set_option_value, option, value, { buf = buf })
    end
  end
end

--- Whether a request or a tool is running in a buffer, so that the user cannot change it.
---@param buf integer
---@return boolean
function M.is_locked(buf)
  return locks[buf] ~= nil and locks[buf].is_busy
end

--- Whether another editor holds the file of a buffer, so that the conversation is only shown here.
---@param buf integer
---@return boolean
function M.is_observer(buf)
  return locks[buf] ~= nil and locks[buf].is_observer
end

--- The file of a buffer was written.
---@param buf integer
function M.note_write(buf)
  if M.is_locked(buf) then
    locks[buf].wrote_half = true
  end
end

--- Whether the file of a locked buffer may contain an incomplete reply, because it was written during the lock.
---@param buf integer
---@return boolean
function M.wrote_half(buf)
  return M.is_locked(buf) and locks[buf].wrote_half == true
end

--- Turns 'modifiable' off, or gives the user's own value back, as the state says.
---@param buf integer
---@param state flemma.Lock
local function settle(buf, state)
  local is_locked = state.is_busy or state.is_observer
  if is_locked and state.own == nil then
    state.own = vim.bo[buf].modifiable
    vim.bo[buf].modifiable = false
  elseif not is_locked and state.own ~= nil then
    vim.bo[buf].modifiable = state.own
    state.own = nil
  else
    return
  end
  M.on_change(buf, is_locked)
end

--- Locks or unlocks the buffer for the user: a request or a tool is running in it, or no longer is.
---@param buf integer
---@param locked boolean
function M.lock(buf, locked)
  local state = locks[buf]
  if state and locked ~= state.is_busy then
    state.is_busy, state.wrote_half = locked, nil
    settle(buf, state)
  end
end

--- Makes the buffer read-only because another editor holds its file, or lets the user change it again.
---@param buf integer
---@param is_observer boolean
---@return boolean has_changes whether the buffer has changes that are not in its file
function M.observe(buf, is_observer)
  local state = locks[buf]
  if not state then
    return false
  end
  if is_observer and not state.is_observer then
    state.own_readonly = vim.bo[buf].readonly
    -- `:write` would replace what the other editor has written.
    vim.bo[buf].readonly = true
  elseif not is_observer and state.is_observer then
    vim.bo[buf].readonly = state.own_readonly
    state.own_readonly = nil
  end
  state.is_observer = is_observer
  settle(buf, state)
  return vim.bo[buf].modified
end

api.nvim_create_autocmd("SessionLoadPost", {
  group = api.nvim_create_augroup("flemma.lock", { clear = true }),
  desc = "Flemma: a session that was saved during a lock does not restore it",
  callback = function(args)
    local state = locks[args.buf]
    if state and not state.is_busy and not state.is_observer and not vim.bo[args.buf].modifiable then
      vim.bo[args.buf].modifiable, vim.bo[args.buf].readonly = true, false
    end
  end,
})

return M
