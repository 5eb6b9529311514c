--- The keys that begin an edit, while a conversation is locked: they open the input window.
---
--- The mappings are there only while a request or a tool is running, so that these keys are Neovim's own at all other times.
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

---@type table<integer, table<string, function>> by buffer: the keys that are mapped
local set = {}

--- The keys that take the place of a key in a locked conversation.
---@param buf integer
---@param key string
---@return string
local function keys(buf, key)
  local lock = require("flemma.lock")
  if lock.is_observer(buf) and actions[key] ~= "take_back" then
    return ("<Cmd>lua require('flemma.queue').refuse(%d)<CR>"):format(buf)
  end
  if not lock.is_locked(buf) or vim.fn.reg_executing() ~= "" then
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
function M.remove(buf)
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

--- Whether `i` opens the input window now.
---@param buf integer
---@return boolean
function M.opens_with_i(buf)
  return set[buf] ~= nil and set[buf].i ~= nil
end

--- How the user changes what is queued, for the note above it, and how they go on with a draft.
---@param buf integer
---@return string queued
---@return string draft
function M.hint(buf)
  local ours = set[buf]
  if ours and ours.i and ours.u then
    return "(i: change, o: another, u: take back)", "(i: go on)"
  end
  return "(:Flemma queue, :Flemma unqueue)", "(:Flemma queue)"
end

return M
