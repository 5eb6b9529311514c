--- One call of a tool: its copy of the definition, `env` and `handlers.setup`, what the tool says of it, and its end without a run.
local M = {}

local events = require("flemma.compat.codecompanion.events")
local notify = require("flemma.notify")
local shapes = require("flemma.compat.codecompanion.shape")
local value = require("flemma.compat.codecompanion.value")

---@class flemma.codecompanion.Call
---@field name string
---@field bufnr integer
---@field id string
---@field input table
---@field shape flemma.codecompanion.Shape
---@field tool table the copy of the definition
---@field tools table the Tools object
---@field args any the arguments, of the first action if there are several
---@field actions any[] the arguments of each action
---@field approved any the arguments, of the first action if there are several, as the model gave them
---@field values table<string, any> what `env` gave
---@field said { text: string, by: string }[] what was said to the chat
---@field context table[] the buffers and files that it has put into the chat's context
---@field attachments (string|{ data: string })[] the images that are shown with the result
---@field is_ready boolean whether `env` and `handlers.setup` have run
---@field has_setup boolean whether `handlers.setup` has run without an error
---@field problem? string why the call cannot run
---@field is_mute? boolean whether nothing that it says counts
---@field is_running? boolean whether its functions have begun
---@field is_over? boolean
---@field late? string
---@field is_late_told? boolean

--- Calls a function of the tool's author.
---@return boolean ok
---@return any result or what was thrown, as text
function M.try(callback, ...)
  local result = vim.F.pack_len(xpcall(callback, value.thrown, ...))
  return result[1], result[2]
end

--- A part of the definition, if it is a function.
---@param call flemma.codecompanion.Call
---@param table_name "handlers"|"output"
---@param name string
---@return function?
function M.part(call, table_name, name)
  local parts = call.tool[table_name]
  local found = type(parts) == "table" and parts[name] or nil
  return vim.is_callable(found) and found or nil
end

--- What `env` gets: the request, in which the fields of the action are found as well.
---@param call flemma.codecompanion.Call
---@return table
local function parsed(call)
  local request, args = call.tool.request or call.args, call.args
  return setmetatable(value.copy(request), {
    __index = function(_, key)
      return type(args) == "table" and args[key] or nil
    end,
  })
end

--- A new call. Nothing of the tool has run.
---@param entry flemma.codecompanion.Entry
---@param bufnr integer
---@param id string
---@param input table
---@param tools_config table
---@return flemma.codecompanion.Call
function M.new(entry, bufnr, id, input, tools_config)
  local tool = value.copy(entry.definition)
  tool.name = entry.name
  tool.opts = value.copy(entry.opts)
  input = value.copy(input)
  local actions = { value.copy(input) }
  if entry.shape == "a" then
    local request = value.copy(input)
    request._attr = type(request._attr) == "table" and request._attr or {}
    request._attr.name = entry.name
    tool.request = request
    local action = request.action == nil and request or request.action
    actions = type(action) == "table" and vim.islist(action) and #action > 0 and action or { action }
    for i, item in ipairs(actions) do
      actions[i] = type(item) == "table" and item or {}
    end
  end
  tool.args = actions[1]
  local ok, arguments = pcall(vim.json.encode, input)
  tool.function_call = {
    id = id,
    type = "function",
    ["function"] = { name = entry.name, arguments = ok and arguments or "{}" },
  }
  ---@type flemma.codecompanion.Call
  local call = {
    name = entry.name,
    bufnr = bufnr,
    id = id,
    input = input,
    shape = entry.shape,
    tool = tool,
    tools = {},
    args = actions[1],
    actions = actions,
    approved = value.copy(actions[1]),
    values = {},
    said = {},
    context = {},
    attachments = {},
    is_ready = false,
    has_setup = false,
  }
  call.tools = require("flemma.compat.codecompanion.tools").new(call, tools_config)
  return call
end

--- Runs `env` and `handlers.setup`, once.
---@param call flemma.codecompanion.Call
function M.prepare(call)
  if call.is_ready then
    return
  end
  call.is_ready = true
  events.added(call)
  if vim.is_callable(call.tool.env) then
    local ok, values = M.try(call.tool.env, parsed(call))
    if not ok then
      call.problem = ("`env` of the tool `%s` failed: %s"):format(call.name, values)
      return
    end
    call.values = type(values) == "table" and values or {}
  end
  local setup = M.part(call, "handlers", "setup")
  if setup then
    local ok, thrown = M.try(shapes.handle, call.shape, setup, call.tools)
    if not ok then
      call.problem = ("`handlers.setup` of the tool `%s` failed: %s"):format(call.name, thrown)
      return
    end
  end
  call.has_setup = true
  if call.tool.cmds == nil and vim.is_callable(call.tool.build_cmd) then
    local ok, command = M.try(call.tool.build_cmd, call.args)
    call.tool.cmds = ok and { command } or nil
    call.problem = not ok and ("`build_cmd` of the tool `%s` failed: %s"):format(call.name, command) or nil
  end
end

--- What the tool says of the call before it runs.
---@param call flemma.codecompanion.Call
---@return string? text
local function prompt_of(call)
  for _, name in ipairs({ "prompt", "cmd_string" }) do
    local prompt = M.part(call, "output", name)
    if prompt then
      call.is_mute = true
      local ok, text = M.try(shapes.prompt, call.shape, prompt, call.tools)
      call.is_mute = false
      if ok and type(text) == "string" and vim.trim(text) ~= "" then
        return text
      end
    end
  end
  local command = call.tool.build_cmd and call.tool.cmds and call.tool.cmds[1]
  return type(command) == "string" and command or nil
end

--- The same, with the arguments if they are not those that the model gave any more.
---@param call flemma.codecompanion.Call
---@return string? text
function M.prompt(call)
  local text = prompt_of(call)
  if vim.deep_equal(call.tool.args, call.approved) then
    return text
  end
  return ("%sThe tool changes its input to: %s"):format(text and text .. "\n" or "", value.text(call.tool.args))
end

--- The first of `cmds`, as functions that hear of a call that did not run get it.
---@param call flemma.codecompanion.Call
---@return any
local function first_command(call)
  local command = type(call.tool.cmds) == "table" and call.tool.cmds[1] or nil
  return vim.is_callable(command) and call.args or command
end

--- Runs `handlers.on_exit`, if the call came as far as `handlers.setup`.
---@param call flemma.codecompanion.Call
function M.leave(call)
  local on_exit = call.has_setup and M.part(call, "handlers", "on_exit")
  call.has_setup = false
  if on_exit then
    local ok, thrown = M.try(shapes.handle, call.shape, on_exit, call.tools)
    if not ok then
      notify.say(vim.log.levels.WARN, ("tool `%s`: `handlers.on_exit` failed: %s"):format(call.name, thrown))
    end
  end
end

--- The text of what was said from a place on.
---@param call flemma.codecompanion.Call
---@param from integer
---@return string
function M.said(call, from)
  local texts = {}
  for i = from, #call.said do
    texts[#texts + 1] = call.said[i].text
  end
  return table.concat(texts, "\n\n")
end

--- The user has rejected the call.
---@param call flemma.codecompanion.Call
---@param reason? string
---@return string? text for the model; nil for our own
function M.reject(call, reason)
  local rejected = M.part(call, "output", "rejected")
  local problem
  if rejected then
    call.tools.status = "rejected"
    local ok, thrown = M.try(shapes.refused, call.shape, rejected, call.tools, first_command(call), { reason = reason })
    problem = not ok and ("`output.rejected` failed: %s"):format(thrown) or nil
  end
  local text = M.said(call, 1)
  call.is_over = true
  -- Nothing may change the buffer while this is asked.
  vim.schedule(function()
    M.leave(call)
  end)
  if problem then
    error(problem, 0)
  end
  return text ~= "" and text or nil
end

--- Tells the tool that the user has cancelled the call.
---@param call flemma.codecompanion.Call
function M.refuse(call)
  call.is_mute = true
  local cancelled = M.part(call, "output", "cancelled")
  call.tools.status = call.tools.constants.STATUS_CANCELLED
  if cancelled then
    local ok, thrown = M.try(shapes.refused, call.shape, cancelled, call.tools, first_command(call))
    if not ok then
      notify.say(vim.log.levels.WARN, ("tool `%s`: `output.cancelled` failed: %s"):format(call.name, thrown))
    end
  end
  M.leave(call)
  call.is_mute = false
end

--- The user has cancelled the call before it ran. If the tool has been set up for it, the tool hears of the end.
---@param call flemma.codecompanion.Call
function M.abandon(call)
  if call.is_over then
    return
  end
  call.is_over = true
  if call.has_setup then
    M.refuse(call)
  end
end

return M
