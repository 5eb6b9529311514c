--- Messages that the user writes while a conversation is at work: queued, changed, taken back, and sent in their turn.
---
--- The library keeps them and decides when they go out (`src/workspace/outbox.rs`). Here are the commands.
local M = {}

local function native(...)
  return require("flemma.native").call(...)
end

---@param message string
local function say(message)
  require("flemma.notify").say(vim.log.levels.INFO, message)
end

--- Opens the input window.
---@param buf? integer the conversation; the current buffer by default
---@param action? "edit"|"new"|"paste"
---@param register? string what is pasted
function M.open(buf, action, register)
  buf = require("flemma.buffer").resolve(buf)
  if buf then
    require("flemma.queue.window").open(buf, action or "edit", register)
  end
end

--- Says who holds the conversation, where another editor does.
---@param buf integer
function M.refuse(buf)
  -- Nothing can be queued there, and the library says why.
  native("queue", buf, "", false)
end

--- Queues words.
---@param words string
---@param steers boolean whether they go out before the next request
local function queue(words, steers)
  local buf = require("flemma.buffer").resolve()
  if buf then
    require("flemma.following").watch(buf)
    if native("queue", buf, words, steers) and not steers then
      require("flemma.queue.view").confirm(buf)
    end
  end
end

--- Queues words for when the turn has ended. Without words, it opens the input window.
---@param words? string
function M.queue(words)
  if not words or words == "" then
    M.open()
  else
    queue(words, false)
  end
end

--- Sends words with the results of the tools that run, before the next request. Without words, everything that is queued.
---@param words? string
function M.steer(words)
  if words and words ~= "" then
    return queue(words, true)
  end
  local buf = require("flemma.buffer").resolve()
  if buf then
    native("steer", buf)
  end
end

--- Takes a queued message back. Its text becomes the draft of the input window.
---@param place? string the number of the message; the last one by default
function M.unqueue(place)
  local buf = require("flemma.buffer").resolve()
  if not buf then
    return
  end
  local number = place and place ~= "" and tonumber(place) or nil
  if place and place ~= "" and not (number and number >= 1 and number % 1 == 0) then
    local message = ("`:Flemma unqueue` takes the number of a queued message, but was given `%s`"):format(place)
    require("flemma.notify").say(vim.log.levels.ERROR, message)
    return
  end
  local text, id = native("unqueue", buf, number)
  if text then
    require("flemma.queue.window").taken_back(buf, text, id)
    say("taken back; `:Flemma queue` opens it")
  end
end

--- The buffer is no longer a conversation.
---@param buf integer
function M.forget(buf)
  require("flemma.queue.keys").remove(buf)
  require("flemma.queue.view").forget(buf)
  require("flemma.queue.window").forget(buf)
end

return M
