--- Messages that the user writes while a conversation is at work: queued, changed, taken back, and sent in their turn.
---
--- The library keeps them and decides when they go out (`src/workspace/outbox.rs`). Here are the commands, and the warning
--- before something that is queued is left behind.
local M = {}

local api = vim.api

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
  local text = native("unqueue", buf, number)
  if text then
    require("flemma.queue.window").keep(buf, text)
    say("taken back; `:Flemma queue` opens it")
  end
end

--- What would be left behind with a buffer.
---@param buf integer
---@return string?
local function left_behind(buf)
  local count = #(native("queued", buf) or {})
  if count > 0 then
    return count == 1 and "a queued message was not sent" or ("%d queued messages were not sent"):format(count)
  elseif require("flemma.queue.window").has_draft(buf) then
    return "a message in the input window was not queued"
  end
end

--- Neovim is asked to close a window, perhaps the last one. A conversation with something queued counts as changed for as long
--- as that takes, so that Neovim refuses as it does for unsaved text.
local function guard_quit()
  local marked, why = {}, nil
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local reason = require("flemma.buffer").is_attached(buf) and left_behind(buf)
    if reason then
      why = why or ("%s (%s); `:q!` leaves anyway"):format(reason, vim.fs.basename(api.nvim_buf_get_name(buf)))
      if not vim.bo[buf].modified then
        vim.bo[buf].modified = true
        marked[buf] = api.nvim_buf_get_changedtick(buf)
      end
    end
  end
  if not why then
    return
  end
  local windows = #api.nvim_list_wins()
  vim.schedule(function()
    for buf, tick in pairs(marked) do
      if api.nvim_buf_is_loaded(buf) and api.nvim_buf_get_changedtick(buf) == tick then
        vim.bo[buf].modified = false
      end
    end
    if #api.nvim_list_wins() == windows then
      require("flemma.notify").say(vim.log.levels.WARN, why)
    end
  end)
end

api.nvim_create_autocmd("QuitPre", {
  group = api.nvim_create_augroup("flemma.queue", { clear = true }),
  desc = "Flemma: warn before queued messages are left behind",
  callback = guard_quit,
})

--- The buffer is no longer a conversation.
---@param buf integer
function M.forget(buf)
  require("flemma.queue.keys").remove(buf)
  require("flemma.queue.view").forget(buf)
  require("flemma.queue.window").forget(buf)
end

return M
