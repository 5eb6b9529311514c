--- A conversation that `flemma run` carries on in this Neovim, which has no user interface. What happens is told to the
--- command line with |rpcnotify()|: messages as they come, and how it ended.
local M = {}

local api = vim.api

---@class flemma.Headless
---@field channel integer where the command line listens
---@field buf? integer

---@type flemma.Headless?
local current

---@param event "begun"|"message"|"end"
local function tell(event, ...)
  if current then
    -- The command line may be gone. Then Neovim exits as well.
    pcall(vim.rpcnotify, current.channel, "flemma", event, ...)
  end
end

---@param reason string
local function fail(reason)
  tell("end", vim.json.encode({ state = "failed", error = reason, requests = 0 }))
end

--- What an error is about, without the place in the code.
local function words(problem)
  return (tostring(problem):gsub("\n.*", ""):gsub("^.-%.lua:%d+: ", ""))
end

--- Loads the conversation, as the user's configuration does it.
---@param path string
---@return integer? buf
---@return string? problem
local function open(path)
  local buf = vim.fn.bufadd(path)
  vim.bo[buf].buflisted = true
  -- An error in an autocommand of another plugin is not in the way, as long as the conversation is there.
  local ok, problem = pcall(api.nvim_set_current_buf, buf)
  if api.nvim_buf_is_loaded(buf) then
    if vim.bo[buf].filetype == "" then
      vim.bo[buf].filetype = "chat"
    end
    if vim.bo[buf].filetype == "chat" and not require("flemma.buffer.target").is_attached(buf) then
      -- 'eventignore' has kept the filetype plugin from doing it.
      require("flemma.buffer").attach(buf)
    end
  end
  if require("flemma.buffer.target").is_attached(buf) then
    return buf
  elseif not ok then
    return nil, words(problem)
  end
  return nil, ("Neovim opens it with the filetype `%s`, not `chat`"):format(vim.bo[buf].filetype)
end

local function start(path, options)
  local native = require("flemma.native")
  require("flemma.notify").listener = function(level, message)
    tell("message", level, message)
  end
  local shown = api.nvim_exec2("messages", { output = true }).output
  for line in shown:gmatch("Flemma: ([^\n]+)") do
    -- What `setup` said, to nobody.
    tell("message", vim.log.levels.WARN, line)
  end
  local library, why = native.load()
  local effective = require("flemma.options").get()
  if not library or not effective then
    return fail(why or "the options could not be read")
  end
  -- Nobody writes the file otherwise.
  effective.editing.auto_write = true
  local buf, problem = open(path)
  if not buf then
    return fail(problem or "it could not be opened")
  end
  current.buf = buf
  if not native.call("dispatch", buf, "drive", options) then
    -- A message says what is wrong.
    fail("it could not be carried on")
  end
end

--- Carries a conversation on. The end is told later.
---@param channel integer
---@param path string
---@param options string JSON: `trust`, and perhaps `max_turns`, `provider`, `model`
function M.run(channel, path, options)
  current = { channel = channel }
  tell("begun")
  local ok, problem = pcall(start, path, vim.json.decode(options, { luanil = { object = true } }))
  if not ok then
    fail(words(problem))
  end
end

--- Ends what is under way, as Ctrl-C does.
function M.stop()
  if not (current and current.buf and require("flemma.native").call("dispatch", current.buf, "stop_driving")) then
    fail("it was stopped")
  end
end

--- The conversation has come to its end.
---@param buf integer
function M.driven(buf)
  -- What is said from here on is for somebody who looks at the buffer.
  require("flemma.notify").listener = function() end
  -- What is decided from here on is for whoever opens it next.
  require("flemma.native").call("editor_event", "leaving")
  vim.schedule(function()
    local result = require("flemma.native").call("state", buf, "drive_result")
    if not result then
      return fail("something in Neovim has unloaded the conversation or read it again")
    end
    local decoded = vim.json.decode(result)
    -- A conversation that another process has taken over is written there.
    local problem = decoded.state ~= "held" and require("flemma.buffer.saving").write_now(buf) or nil
    if problem then
      result = vim.json.encode({ state = "failed", error = problem, requests = decoded.requests })
    end
    tell("end", result)
  end)
end

return M
