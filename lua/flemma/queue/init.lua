--- Messages that the user writes while a conversation is at work: queued, taken back, and sent in their turn.
---
--- The library keeps them and decides when they go out (`crates/workspace/src/outbox.rs`). Here are the commands, and the keys that
--- begin an edit: while a conversation is locked, they open the input window.
local M = {}

local api = vim.api

local native = require("flemma.native").call
local resolve = require("flemma.buffer.target").resolve

--- Queues words for when the turn has ended, or to go with the results of the tools that run.
---@param words string
---@param steers boolean
local function add(words, steers)
  local buf = resolve()
  if buf then
    require("flemma.view.cursor").watch(buf)
    native("dispatch", buf, "queue", { text = words, steers = steers })
  end
end

--- Queues words for when the turn has ended. Without words, it opens the input window.
---@param words? string
function M.queue(words)
  if words and words ~= "" then
    return add(words, false)
  end
  local buf = resolve()
  if buf then
    require("flemma.queue.window").open(buf)
    vim.cmd.startinsert({ bang = true })
  end
end

--- Sends words with the results of the tools that run, before the next request. Without words, everything that is queued.
---@param words? string
function M.steer(words)
  if words and words ~= "" then
    return add(words, true)
  end
  local buf = resolve()
  if buf then
    native("dispatch", buf, "steer")
  end
end

--- Takes a queued message back into the input window.
---@param place? string the number of the message; the last one by default
function M.unqueue(place)
  local buf, number = resolve(), tonumber(place)
  if place and not (number and number >= 1 and number % 1 == 0) then
    local message = ("`:Flemma unqueue` takes the number of a queued message, but was given `%s`"):format(place)
    return require("flemma.notify").say(vim.log.levels.ERROR, message)
  end
  local text = buf and native("dispatch", buf, "unqueue", { place = number })
  if text then
    require("flemma.queue.window").open(buf, text, true)
  end
end

--- Maps the keys in a buffer that was just locked, unless the user has mapped them, or removes the mappings.
---@param buf integer
---@param is_locked boolean
function M.map_keys(buf, is_locked)
  local options = require("flemma.options").get()
  if not is_locked then
    for _, map in ipairs(api.nvim_buf_is_valid(buf) and api.nvim_buf_get_keymap(buf, "n") or {}) do
      if map.callback == M.queue then
        vim.keymap.del("n", map.lhs, { buffer = buf })
      end
    end
  elseif options and options.keymaps.enabled and options.keymaps.queue then
    for _, key in ipairs({ "i", "a", "o" }) do
      if api.nvim_buf_call(buf, function()
        return vim.fn.maparg(key, "n") == ""
      end) then
        vim.keymap.set("n", key, M.queue, { buffer = buf, desc = "Flemma: write a message for later" })
      end
    end
  end
end

--- The buffer is no longer a conversation.
---@param buf integer
function M.forget(buf)
  M.map_keys(buf, false)
  require("flemma.queue.view").forget(buf)
  require("flemma.queue.window").forget(buf)
end

return M
