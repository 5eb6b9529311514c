--- The keys that begin an edit, while a conversation is locked: they open the input window.
---
--- The mappings are there only while a request or a tool is running, so that these keys are Neovim's own at all other times. Where a
--- call has just begun to wait, the first of them stay for a moment: a user who is about to write a message for later does not
--- expect to be in the call's block.
--- A key that the user has mapped is left alone. In a macro the keys do what Neovim does with them in a locked buffer, because
--- what follows was recorded for the text.
local M = {}

local api = vim.api

--- What each key does.
---@type table<string, "edit"|"new"|"paste"|"take_back">
local actions = {
  i = "edit",
  a = "edit",
  I = "edit",
  A = "edit",
  s = "edit",
  S = "edit",
  C = "edit",
  R = "edit",
  gi = "edit",
  o = "new",
  O = "new",
  p = "paste",
  P = "paste",
  u = "take_back",
}

--- The keys that still open the input window for a moment. The others are for what the user makes of the call.
local BEGIN = { i = true, a = true, I = true, A = true, gi = true }

--- This moment, in milliseconds.
local GRACE = 1000

---@type table<integer, table<string, function>> by buffer: the keys that are mapped
local set = {}

--- The buffers that have been unlocked a moment ago.
---@type table<integer, true>
local ending = {}

---@param buf integer
---@return boolean
local function is_at_call(buf)
  local line = api.nvim_win_get_cursor(0)[1] - 1
  return api.nvim_get_current_buf() == buf and require("flemma.native").call("waits_at", buf, line) == true
end

--- The keys that take the place of a key in a locked conversation.
---@param buf integer
---@param key string
---@return string
local function keys(buf, key)
  local lock = require("flemma.lock")
  if lock.is_observer(buf) and actions[key] ~= "take_back" then
    return ("<Cmd>lua require('flemma.queue').refuse(%d)<CR>"):format(buf)
  end
  local is_working = lock.is_locked(buf) or ending[buf] and BEGIN[key] and is_at_call(buf)
  if not is_working or vim.fn.reg_executing() ~= "" then
    return key
  end
  local action = actions[key]
  if action == "take_back" then
    if #(require("flemma.native").call("queued", buf) or {}) == 0 then
      return key
    end
    return "<Cmd>lua require('flemma.queue').unqueue()<CR>"
  end
  local register = action == "paste" and vim.v.register or ""
  return ("<Cmd>lua require('flemma.queue').open(%d, %q, %q)<CR>"):format(buf, action, register)
end

--- Maps the keys in a buffer that was just locked.
---@param buf integer
function M.apply(buf)
  ending[buf] = nil
  local options = require("flemma.options").get()
  if set[buf] or not options or not options.keymaps.enabled or not options.keymaps.queue then
    return
  end
  set[buf] = {}
  api.nvim_buf_call(buf, function()
    for key in pairs(actions) do
      if next(vim.fn.maparg(key, "n", false, true)) == nil then
        local function run()
          return keys(buf, key)
        end
        vim.keymap.set("n", key, run, {
          buffer = buf,
          expr = true,
          desc = "Flemma: write a message for later",
        })
        set[buf][key] = run
      end
    end
  end)
end

--- Removes the mappings. One that the user has replaced stays.
---@param buf integer
local function remove(buf)
  local ours = set[buf]
  set[buf] = nil
  if not ours or not api.nvim_buf_is_valid(buf) then
    return
  end
  for _, map in ipairs(api.nvim_buf_get_keymap(buf, "n")) do
    if ours[map.lhs] and map.callback == ours[map.lhs] then
      pcall(vim.keymap.del, "n", map.lhs, { buffer = buf })
    end
  end
end

--- Removes the mappings of a buffer that was just unlocked: at once, or in a moment if the cursor is at a call that waits now.
---@param buf integer
function M.remove(buf)
  if not set[buf] or ending[buf] then
    return
  end
  ending[buf] = true
  local function settle()
    if ending[buf] then
      ending[buf] = nil
      remove(buf)
    end
  end
  -- The cursor is about to be led there.
  vim.schedule(function()
    if api.nvim_buf_is_valid(buf) and is_at_call(buf) then
      vim.defer_fn(settle, GRACE)
    else
      settle()
    end
  end)
end

--- Whether `i` opens the input window now.
---@param buf integer
---@return boolean
function M.opens_with_i(buf)
  return set[buf] ~= nil and set[buf].i ~= nil and not ending[buf]
end

--- How the user changes what is queued, for the note above it, and how they go on with a draft.
---@param buf integer
---@return string queued
---@return string draft
function M.hint(buf)
  local ours = not ending[buf] and set[buf]
  if ours and ours.i and ours.u then
    return "(i: change, o: another, u: take back)", "(i: go on)"
  end
  return "(:Flemma queue, :Flemma unqueue)", "(:Flemma queue)"
end

return M
