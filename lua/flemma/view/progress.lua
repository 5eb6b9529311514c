--- Progress messages of Neovim 0.12 (`:help progress-message`), for status lines, user interfaces and terminals that show them.
---
--- The command line belongs to the user, so the messages are not shown there. Another plugin may ask for a stop: it sends the
--- message with the status "cancel".
local M = {}

local api = vim.api

local is_available = vim.fn.has("nvim-0.12") == 1

--- The time between two messages about a conversation, in milliseconds.
local PERIOD = 1000

---@class flemma.Progress
---@field id? integer|string the id of the message, once it was sent
---@field text? string what was said last

---@type table<integer, flemma.Progress> the conversations that are at work
local active = {}
---@type uv.uv_timer_t?
local timer
local is_sending = false

--- The status that a conversation ends with, by why it rests.
local statuses = { failed = "failed", cancelled = "cancel" }

--- Sends a message without showing it on the command line.
---@param entry flemma.Progress
---@param title string
---@param status "running"|"success"|"failed"|"cancel"
---@param text string
local function send(entry, title, status, text)
  local shown, ignored = vim.o.messagesopt, vim.o.eventignore
  vim.o.eventignore = ignored == "" and "OptionSet" or ignored .. ",OptionSet"
  vim.opt.messagesopt:remove("progress:c")
  vim.o.eventignore = ignored
  is_sending = true
  local options = { id = entry.id, kind = "progress", source = "flemma", title = title, status = status }
  local ok, id = pcall(api.nvim_echo, { { text } }, false, options)
  is_sending = false
  vim.o.eventignore = ignored == "" and "OptionSet" or ignored .. ",OptionSet"
  vim.o.messagesopt = shown
  vim.o.eventignore = ignored
  if ok and id ~= -1 then
    entry.id, entry.text = id, text
  end
end

---@param buf integer
local function title_of(buf)
  local name = api.nvim_buf_is_valid(buf) and api.nvim_buf_get_name(buf) or ""
  return name == "" and "Flemma" or vim.fs.basename(name)
end

--- A conversation has come to rest, or its buffer is gone.
---@param buf integer
---@param entry flemma.Progress
local function finish(buf, entry)
  active[buf] = nil
  if not entry.id then
    return
  end
  if not require("flemma.buffer.current").is_attached(buf) then
    return send(entry, title_of(buf), "cancel", "closed")
  end
  local state, words = require("flemma.native").call("state", buf, "activity")
  send(entry, title_of(buf), statuses[state] or "success", words or "waits for the editor")
end

--- Says what goes on, where that has changed.
local function tick()
  for buf, entry in pairs(active) do
    local is_attached = require("flemma.buffer.current").is_attached(buf)
    local state, text = require("flemma.native").call("state", buf, "activity")
    if not is_attached then
      finish(buf, entry)
    elseif state == "working" and text and text ~= entry.text then
      send(entry, title_of(buf), "running", text)
    end
  end
  if not next(active) and timer then
    timer:stop()
  end
end

--- A request or a tool is running in a conversation, or no longer is.
---@param buf integer
---@param is_busy boolean
function M.show(buf, is_busy)
  local entry = active[buf]
  if not is_available or is_busy == (entry ~= nil) then
    return
  elseif entry then
    -- The next turn may begin at once.
    vim.schedule(function()
      if active[buf] == entry and not (require("flemma.buffer.current").is_attached(buf) and require("flemma.buffer.lock").is_locked(buf)) then
        finish(buf, entry)
      end
    end)
    return
  end
  local options = require("flemma.options").get()
  if options and options.notify.progress then
    active[buf] = {}
    timer = timer or assert(vim.uv.new_timer())
    if not timer:is_active() then
      timer:start(0, PERIOD, vim.schedule_wrap(tick))
    end
  end
end

if is_available then
  api.nvim_create_autocmd("Progress", {
    group = api.nvim_create_augroup("flemma.progress", { clear = true }),
    pattern = "flemma",
    desc = "Flemma: stop a conversation that another plugin cancels",
    callback = function(args)
      if is_sending or args.data.status ~= "cancel" then
        return
      end
      for buf, entry in pairs(active) do
        if entry.id == args.data.id then
          require("flemma.native").call("dispatch", buf, "cancel")
        end
      end
    end,
  })
end

return M
