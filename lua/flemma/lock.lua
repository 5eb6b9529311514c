--- Locking the buffer of a conversation: with 'modifiable' while a request or a tool is running in it, and while another editor
--- holds its file. Only `flemma.writing` changes a locked buffer.
local M = {}

local api = vim.api

---@class flemma.Lock
---@field is_busy boolean whether a request or a tool is running, which locks the buffer
---@field is_observer boolean whether another editor holds the file, which locks the buffer as well
---@field unlocked_modifiable? boolean what 'modifiable' was before the lock; nil while unlocked
---@field unlocked_readonly? boolean what 'readonly' was before another editor was found to hold the file
---@field own_modifiable? boolean the user's own 'modifiable' since the last lock; nil before the first lock, and after
---the user has set it themselves
---@field is_borrowed? boolean whether another plugin has set 'modifiable' since then and may still restore the lock
---@field wrote_half? boolean whether the user wrote the file during this lock, so that it may contain an incomplete reply
---@field is_setting? boolean whether we are setting 'modifiable' now
---@type table<integer, flemma.Lock>
local locks = {}

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
  require("flemma.refusals").watch(buf, false)
  pcall(api.nvim_del_augroup_by_name, "flemma.lock." .. buf)
  return function()
    for option, value in pairs({ modifiable = state.unlocked_modifiable, readonly = state.unlocked_readonly }) do
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

--- The user has written the file of a buffer.
---@param buf integer
function M.note_write(buf)
  if M.is_locked(buf) then
    locks[buf].wrote_half = true
  end
end

--- Whether the file of a locked buffer may contain an incomplete reply, because the user wrote it during the lock.
---@param buf integer
---@return boolean
function M.wrote_half(buf)
  return M.is_locked(buf) and locks[buf].wrote_half == true
end

--- Sets 'modifiable' without counting it as a change by another plugin.
---@param buf integer
---@param value boolean
function M.set_modifiable(buf, value)
  local state = locks[buf] or {}
  state.is_setting = true
  vim.bo[buf].modifiable = value
  state.is_setting = false
end

--- Restores the user's own 'modifiable' in a buffer that is not locked, if another plugin has restored our lock: it saved
--- the value during the lock, and restored it afterwards.
---@param buf integer
function M.give_back(buf)
  local state = locks[buf]
  if state and state.own_modifiable and state.unlocked_modifiable == nil and not vim.bo[buf].modifiable then
    M.set_modifiable(buf, true)
  end
end

--- Whether the current `OptionSet` comes from a command by the user (typed, or in a mapping), and not from code.
---@return boolean
local function is_set_by_the_user()
  -- A function, a script or another autocommand would precede this event.
  if not vim.startswith(vim.fn.expand("<stack>"), "OptionSet ") then
    return false
  end
  -- Levels 1 and 2 are this function and the callback. Code that set the option follows them; `:lua` may be typed.
  local level = 3
  while true do
    local frame = debug.getinfo(level, "S")
    if not frame then
      return true
    end
    if frame.what ~= "C" and frame.source ~= ":lua" then
      return false
    end
    level = level + 1
  end
end

--- Watches for such a restore. It may happen at any time, and more than once, so the watch ends with the next lock.
local function watch_for_restore(buf, state)
  api.nvim_create_autocmd("OptionSet", {
    group = api.nvim_create_augroup("flemma.lock." .. buf, { clear = true }),
    pattern = "modifiable",
    desc = "Flemma: do not let a plugin restore the lock",
    callback = function(args)
      if locks[buf] ~= state or state.own_modifiable == nil then
        return true
      end
      if state.is_setting or (args.buf ~= buf and api.nvim_get_current_buf() ~= buf) then
        return
      end
      if is_set_by_the_user() then
        state.own_modifiable = nil
      elseif vim.bo[buf].modifiable then
        -- A plugin that sets a value that is already set needs it for a while. A toggle does not.
        state.is_borrowed = state.is_borrowed or vim.v.option_oldlocal == true
      elseif state.is_borrowed then
        -- Not while another plugin is changing it.
        vim.schedule(function()
          M.give_back(buf)
        end)
      end
    end,
  })
end

--- Turns 'modifiable' off, or gives the user's own value back, as the state says.
---@param buf integer
---@param state flemma.Lock
local function settle_lock(buf, state)
  local is_locked = state.is_busy or state.is_observer
  if is_locked and state.unlocked_modifiable == nil then
    M.give_back(buf)
    pcall(api.nvim_del_augroup_by_name, "flemma.lock." .. buf)
    state.unlocked_modifiable = vim.bo[buf].modifiable
    vim.bo[buf].modifiable = false
    if buf == api.nvim_get_current_buf() and api.nvim_get_mode().mode:sub(1, 1) == "i" then
      require("flemma.following").leave_insert(buf)
      if state.is_observer then
        -- Nobody waits in Insert mode until another editor ends.
        require("flemma.following").stop_typing(buf)
      end
    end
  elseif not is_locked and state.unlocked_modifiable ~= nil then
    local own = state.unlocked_modifiable
    state.unlocked_modifiable = nil
    -- Another plugin has removed the lock, and may restore it.
    state.is_borrowed = vim.bo[buf].modifiable
    vim.bo[buf].modifiable = own
    state.own_modifiable = own
    watch_for_restore(buf, state)
    require("flemma.following").type_on_later(buf)
  end
  require("flemma.queue.keys")[is_locked and "apply" or "remove"](buf)
  require("flemma.refusals").watch(buf, is_locked)
end

--- Locks or unlocks the buffer for the user: a request or a tool is running in it, or no longer is.
---@param buf integer
---@param locked boolean
function M.lock(buf, locked)
  local state = locks[buf]
  if state and locked ~= state.is_busy then
    if locked then
      state.wrote_half = false
    end
    state.is_busy = locked
    settle_lock(buf, state)
    require("flemma.queue.window").refresh(buf)
    if not locked then
      require("flemma.folds").rest(buf)
    end
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
    state.unlocked_readonly = vim.bo[buf].readonly
    -- `:write` would replace what the other editor has written.
    vim.bo[buf].readonly = true
  elseif not is_observer and state.is_observer then
    vim.bo[buf].readonly = state.unlocked_readonly
    state.unlocked_readonly = nil
  end
  state.is_observer = is_observer
  settle_lock(buf, state)
  return vim.bo[buf].modified
end

--- A session that was saved during a lock restores its 'modifiable' and 'readonly' although nothing is running.
---@param buf integer
local function undo_restored(buf)
  local state = locks[buf]
  if not state or state.is_busy or state.is_observer or vim.bo[buf].modifiable then
    return
  end
  M.set_modifiable(buf, true)
  vim.bo[buf].readonly = vim.fn.filewritable(api.nvim_buf_get_name(buf)) == 0 and vim.bo[buf].readonly
end

api.nvim_create_autocmd("SessionLoadPost", {
  group = api.nvim_create_augroup("flemma.lock", { clear = true }),
  desc = "Flemma: do not restore the lock of a conversation",
  callback = function(args)
    undo_restored(args.buf)
  end,
})

return M
