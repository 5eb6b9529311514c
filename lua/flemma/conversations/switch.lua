--- Options that are set at run time: `:Flemma switch`, `:Flemma autopilot:…`, `:Flemma logging:…`.
local M = {}

local api = vim.api

local ask = require("flemma.ask")

local native = require("flemma.native").call

---@param level "INFO"|"ERROR"
---@param message string
local function say(level, message)
  require("flemma.notify").say(vim.log.levels[level], message)
end

--- The delay, in milliseconds, before a message says that we are waiting for a server.
local PATIENCE = 300

--- The entry for a model that is not in the list.
local ANOTHER = "another…"

--- The options. The defaults are applied now if no options are set yet. Later, they would overwrite the switch.
---@return flemma.Options? options nil, after a message, when the library is missing
local function options()
  local taken = require("flemma.options").get()
  if not taken then
    say("ERROR", (select(2, require("flemma.native").load())))
  end
  return taken
end

--- Applies the new options and reports them, or reports what is wrong.
---@param now? flemma.Options nil when something is wrong
---@param message? string nil when it was already reported
local function take(now, message)
  if now then
    require("flemma.options").set(now)
  end
  if message then
    say(now and "INFO" or "ERROR", message)
  end
end

---@param words string[]
local function switch(words)
  local now, message, provider = native("dispatch", nil, "switch", { words = words })
  if provider then
    M.pick_model(provider, vim.list_slice(words, 2))
  else
    take(now, message)
  end
end

---@param provider string
---@param models string[]
---@param parameters string[]
local function choose(provider, models, parameters)
  local function use(model)
    switch(vim.list_extend({ provider, model }, parameters))
  end
  -- A server may list anything. Names that would break the list are left out.
  local items = vim.tbl_filter(function(model)
    return not model:find("%c")
  end, models)
  items[#items + 1] = ANOTHER
  ask.select(items, { prompt = ("Model of %s"):format(provider), kind = "flemma_model" }, function(model)
    if model == ANOTHER then
      ask.input({ prompt = ("Model of %s: "):format(provider) }, function(name)
        name = vim.trim(name or "")
        if name ~= "" then
          use(name)
        end
      end)
    elseif model then
      use(model)
    end
  end)
end

--- The request to a provider's server for its models. The answer to an older one is ignored.
---@type { provider: string }?
local asked

--- Cancels a request to a server.
---@return string? provider whose server was asked
function M.take_back()
  local provider = asked and asked.provider
  asked = nil
  return provider
end

--- Where the user is, and the state of the text. A picker must not interrupt something that they have started since.
local function place()
  local buf = api.nvim_get_current_buf()
  return { api.nvim_get_mode().mode, buf, api.nvim_get_current_win(), api.nvim_buf_get_changedtick(buf) }
end

--- Lets the user pick one of a provider's models. The user's own server is asked for its models first.
---@param provider string
---@param parameters? string[] words that follow the model
function M.pick_model(provider, parameters)
  parameters = parameters or {}
  local request, from = { provider = provider }, place()
  asked = request
  native("list", "models", { provider = provider }, function(found, problem)
    if asked ~= request then
      return
    end
    asked = nil
    if not found then
      say("ERROR", ("cannot list the models of %s: %s"):format(provider, problem))
    elseif vim.deep_equal(from, place()) then
      choose(provider, found, parameters)
    else
      say("INFO", ("the models of %s have arrived; `:Flemma switch %s` shows them"):format(provider, provider))
    end
  end)
  vim.defer_fn(function()
    if asked == request then
      say("INFO", ("asking the server for its models (%s)…"):format(provider))
    end
  end, PATIENCE)
end

--- Lets the user pick a provider and then one of its models, or a preset.
local function pick()
  ask.select(native("options", "recipients") or {}, {
    prompt = "Switch to",
    kind = "flemma_provider",
    format_item = function(item)
      return item.label
    end,
  }, function(item)
    if item and vim.startswith(item.words, "$") then
      switch({ item.words })
    elseif item then
      M.pick_model(item.words)
    end
  end)
end

--- `:Flemma switch`: for all conversations, from the next request on.
---@param words? string provider, model and parameters, or a preset; none for pickers
function M.run(words)
  if not options() then
    return
  end
  M.take_back()
  if words then
    switch(vim.split(words, "%s+", { trimempty = true }))
  else
    pick()
  end
end

---@param words string[] those before the cursor
---@param lead string
---@return string[]
function M.complete(words, lead)
  return options() and native("options", "words", { words = words, lead = lead }) or {}
end

--- Turns an option on or off.
---@param option "tools.autopilot.enabled"|"logging.enabled"
---@param enabled boolean
function M.set(option, enabled)
  if options() then
    take(native("dispatch", nil, "set", { option = option, enabled = enabled }))
  end
end

--- Reports whether autopilot is on in the current conversation.
function M.say_autopilot()
  local buf = require("flemma.buffer.target").resolve()
  local words = buf and native("state", buf, "autopilot")
  if words then
    say("INFO", words)
  end
end

--- Opens the log.
function M.open_log()
  local taken = options()
  local path = taken and native("path", "log")
  if path and vim.uv.fs_stat(path) then
    vim.cmd.split(vim.fn.fnameescape(path))
  elseif taken and path then
    local hint = taken.logging.enabled and "nothing has been logged yet" or "`:Flemma logging:enable` starts one"
    say("INFO", ("there is no log at %s; %s"):format(path, hint))
  end
end

return M
