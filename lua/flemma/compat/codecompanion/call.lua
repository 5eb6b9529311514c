--- One call of a tool: its copy of the definition, `env` and `handlers.setup`, the functions and commands in their order, what
--- is called after each, and the result.
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
---@field values table<string, any> what `env` gave
---@field said { text: string, by: string }[] what was said to the chat
---@field attachments (string|{ data: string })[] the images that are shown with the result
---@field is_ready boolean whether `env` and `handlers.setup` have run
---@field has_setup boolean whether `handlers.setup` has run without an error
---@field problem? string why the call cannot run
---@field is_mute? boolean whether nothing that it says counts
---@field is_over? boolean
---@field late? string
---@field is_late_told? boolean

--- Calls a function of the tool's author.
---@return boolean ok
---@return any result or what was thrown, as text
local function try(callback, ...)
  local result = vim.F.pack_len(xpcall(callback, value.thrown, ...))
  return result[1], result[2]
end

--- A part of the definition, if it is a function.
---@param call flemma.codecompanion.Call
---@param table_name "handlers"|"output"
---@param name string
---@return function?
local function part(call, table_name, name)
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
  local actions = { input }
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
    values = {},
    said = {},
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
    local ok, values = try(call.tool.env, parsed(call))
    if not ok then
      call.problem = ("`env` of the tool `%s` failed: %s"):format(call.name, values)
      return
    end
    call.values = type(values) == "table" and values or {}
  end
  local setup = part(call, "handlers", "setup")
  if setup then
    local ok, thrown = try(shapes.handle, call.shape, setup, call.tools)
    if not ok then
      call.problem = ("`handlers.setup` of the tool `%s` failed: %s"):format(call.name, thrown)
      return
    end
  end
  call.has_setup = true
end

--- What the tool says of the call before it runs.
---@param call flemma.codecompanion.Call
---@return string? text
function M.prompt(call)
  for _, name in ipairs({ "prompt", "cmd_string" }) do
    local prompt = part(call, "output", name)
    if prompt then
      call.is_mute = true
      local ok, text = try(shapes.prompt, call.shape, prompt, call.tools)
      call.is_mute = false
      if ok and type(text) == "string" and vim.trim(text) ~= "" then
        return text
      end
    end
  end
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
local function leave(call)
  local on_exit = call.has_setup and part(call, "handlers", "on_exit")
  call.has_setup = false
  if on_exit then
    local ok, thrown = try(shapes.handle, call.shape, on_exit, call.tools)
    if not ok then
      notify.say(vim.log.levels.WARN, ("tool `%s`: `handlers.on_exit` failed: %s"):format(call.name, thrown))
    end
  end
end

--- The text of what was said from a place on.
---@param call flemma.codecompanion.Call
---@param from integer
---@return string
local function said(call, from)
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
  local rejected = part(call, "output", "rejected")
  local problem
  if rejected then
    call.tools.status = "rejected"
    local ok, thrown = try(shapes.refused, call.shape, rejected, call.tools, first_command(call), { reason = reason })
    problem = not ok and ("`output.rejected` failed: %s"):format(thrown) or nil
  end
  local text = said(call, 1)
  call.is_over = true
  -- Nothing may change the buffer while this is asked.
  vim.schedule(function()
    leave(call)
  end)
  if problem then
    error(problem, 0)
  end
  return text ~= "" and text or nil
end

--- What a function of `cmds` answered: the table that the next one gets.
---@param answer any
---@return { status: string, data: any }
local function understand(answer)
  if type(answer) == "table" then
    if answer.status ~= nil or answer.data ~= nil then
      return answer
    end
    return { status = "success", data = answer }
  elseif answer == nil or answer == false then
    return { status = "error", data = ("The function answered with %s, and not with a status and data."):format(tostring(answer)) }
  elseif answer == true then
    return { status = "success" }
  end
  return { status = "success", data = answer }
end

--- Ends a job that a function has registered.
---@param job any
local function end_job(job)
  if type(job) == "number" then
    pcall(vim.fn.jobstop, job)
    return
  end
  for _, method in ipairs({ "shutdown", "kill", "stop" }) do
    local ok, callback = pcall(function()
      return job[method]
    end)
    if ok and callback then
      pcall(callback, job, method == "kill" and 15 or nil)
      return
    end
  end
end

--- A call that runs.
---@class flemma.codecompanion.Run
---@field call flemma.codecompanion.Call
---@field command integer
---@field action integer
---@field previous? any
---@field found table<integer, string[]> what each of `cmds` found, as text
---@field jobs any[]
---@field stop_command? fun()
---@field has_ended? boolean
---@field finish fun(result: table)
local Run = {}
Run.__index = Run

---@param is_error boolean
---@param own string what the result says if the tool said nothing
---@param from integer what was said from here on is about the end
function Run:close(is_error, own, from)
  if self.has_ended then
    return
  end
  self.has_ended = true
  local call = self.call
  if said(call, from) == "" then
    call.said[#call.said + 1] = { text = own, by = "" }
  end
  leave(call)
  events.finished(call, is_error and "error" or "success")
  -- What the tool has scheduled until now still counts.
  vim.schedule(function()
    if call.is_over then
      return
    end
    call.is_over = true
    local text = said(call, 1)
    if is_error then
      self.finish({ success = false, error = text })
    else
      self.finish({ success = true, output = text, attachments = call.attachments })
    end
  end)
end

--- All functions and commands have succeeded.
function Run:succeed()
  local call = self.call
  local cmds = call.tool.cmds
  local found = {}
  for index = 1, #cmds do
    if vim.is_callable(cmds[index]) and self.found[index] then
      -- What the function before has found was its input. What a command has found was not.
      found = vim.is_callable(cmds[index - 1]) and {} or found
    end
    vim.list_extend(found, self.found[index] or {})
  end
  local text = table.concat(found, "\n\n")
  if text == "" and #call.attachments == 0 then
    local is_silent = not vim.is_callable(cmds[#cmds])
    text = ("The tool `%s` has run. It %s."):format(call.name, is_silent and "printed nothing" or "says nothing about its result")
  end
  self:close(false, text, 1)
end

--- A function or a command has failed.
---@param data any
---@param label any what the author's functions get as the command
function Run:fail(data, label)
  local call = self.call
  local tools = call.tools
  tools.status = tools.constants.STATUS_ERROR
  if data ~= nil then
    tools.stderr[#tools.stderr + 1] = data
  end
  local from = #call.said + 1
  local text = value.text(data)
  local own = ("Error calling `%s`%s"):format(call.name, text ~= "" and ": " .. text or ". It says nothing about the cause.")
  local callback = part(call, "output", "error")
  if callback then
    local ok, thrown = try(shapes.error, call.shape, callback, tools, label)
    if not ok then
      call.said[#call.said + 1] = { text = own .. ("\n\n`output.error` failed: %s"):format(thrown), by = "" }
    end
  end
  self:close(true, own, from)
end

--- A function or a command has succeeded.
---@param data any
---@param label any
---@return boolean goes_on
function Run:take(data, label)
  local call = self.call
  local tools = call.tools
  tools.status = tools.constants.STATUS_SUCCESS
  if data ~= nil then
    tools.stdout[#tools.stdout + 1] = data
    local found = self.found[self.command] or {}
    -- The empty list of a command is output without a line. That of a function is a value.
    local is_silent = type(data) == "table" and next(data) == nil and not vim.is_callable(call.tool.cmds[self.command])
    found[#found + 1] = not is_silent and value.text(data) or nil
    self.found[self.command] = found
  end
  local callback = part(call, "output", "success")
  if callback then
    local ok, thrown = try(shapes.success, call.shape, callback, tools, label)
    if not ok then
      local text = ("`output.success` of the tool `%s` failed: %s"):format(call.name, thrown)
      self:close(true, text, #call.said + 1)
      return false
    end
  end
  return not self.has_ended
end

--- Goes to the next action, or behind the last one to the next of `cmds`.
function Run:step()
  local is_function = vim.is_callable(self.call.tool.cmds[self.command])
  if is_function and self.action < #self.call.actions then
    self.action = self.action + 1
  else
    self.command, self.action = self.command + 1, 1
  end
end

--- Does something of the run. Whatever a tool answers, its call ends and the calls behind it go on.
---@param step fun()
function Run:safely(step)
  local ok, thrown = try(step)
  if not ok then
    local text = ("Error calling `%s`: what it answered cannot be used: %s"):format(self.call.name, thrown)
    self:close(true, text, #self.call.said + 1)
  end
end

--- Runs a function.
---@param callback function
---@return boolean goes_on whether it has answered and the next can run
function Run:call_function(callback)
  local args = self.call.actions[self.action]
  local has_answered, is_inside = false, true
  local answer
  local function receive(result)
    if self.has_ended then
      return false
    end
    local understood = understand(result)
    if understood.status == "error" then
      self:fail(understood.data, args)
      return false
    end
    self.previous = understood
    if not self:take(understood.data, args) then
      return false
    end
    self:step()
    return true
  end
  local function output_handler(result)
    if has_answered then
      return
    end
    has_answered, answer = true, result
    if not is_inside then
      -- It may come from a callback of libuv, in which almost nothing is allowed.
      vim.schedule(function()
        self:safely(function()
          if receive(result) then
            self:go_on()
          end
        end)
      end)
    end
  end
  local function register_job(job)
    self.jobs[#self.jobs + 1] = job
  end
  local tools = self.call.tools
  local ok, returned = try(shapes.run, self.call.shape, callback, tools, args, self.previous, output_handler, register_job)
  is_inside = false
  if not ok then
    has_answered = true
    if not self.has_ended then
      self:fail(returned, args)
    end
    return false
  elseif has_answered then
    return receive(answer)
  elseif returned ~= nil then
    has_answered = true
    return receive(returned)
  end
  return false
end

--- Runs a command.
---@param entry any
function Run:call_command(entry)
  local call = self.call
  local command = require("flemma.compat.codecompanion.command")
  local is_inside, result = true, nil
  local function receive()
    self.stop_command = nil
    if self.has_ended then
      return
    end
    command.set_flag(call, entry, result.is_success)
    if not result.is_success then
      return self:fail(result.data, result.label)
    elseif self:take(result.data, result.label) then
      self:step()
      self:go_on()
    end
  end
  self.stop_command = command.start(call, entry, function(ended)
    result = ended
    if not is_inside then
      self:safely(receive)
    end
  end)
  is_inside = false
  if result then
    receive()
  end
end

--- Runs what is next, as far as it answers at once.
function Run:go_on()
  while not self.has_ended do
    local cmds = self.call.tool.cmds
    local entry = cmds[self.command]
    if entry == nil then
      return self:succeed()
    elseif vim.is_callable(entry) then
      if not self:call_function(entry) then
        return
      end
    else
      return self:call_command(entry)
    end
  end
end

--- Tells the tool that the user has cancelled the call.
---@param call flemma.codecompanion.Call
local function refuse(call)
  call.is_mute = true
  local cancelled = part(call, "output", "cancelled")
  call.tools.status = call.tools.constants.STATUS_CANCELLED
  if cancelled then
    local ok, thrown = try(shapes.refused, call.shape, cancelled, call.tools, first_command(call))
    if not ok then
      notify.say(vim.log.levels.WARN, ("tool `%s`: `output.cancelled` failed: %s"):format(call.name, thrown))
    end
  end
  leave(call)
  call.is_mute = false
end

--- Ends the call for the user.
function Run:cancel()
  local call = self.call
  if call.is_over then
    return
  end
  local had_ended = self.has_ended
  self.has_ended, call.is_over = true, true
  if had_ended then
    return
  end
  if self.stop_command then
    self.stop_command()
  end
  for _, job in ipairs(self.jobs) do
    end_job(job)
  end
  refuse(call)
  events.finished(call, "cancelled")
end

--- The user has cancelled the call before it ran. If the tool has been set up for it, the tool hears of the end.
---@param call flemma.codecompanion.Call
function M.abandon(call)
  if call.is_over then
    return
  end
  call.is_over = true
  if call.has_setup then
    refuse(call)
  end
end

--- Runs a call.
---@param call flemma.codecompanion.Call
---@param finish fun(result: table) called once, unless the call is cancelled
---@return fun() cancel
function M.run(call, finish)
  M.prepare(call)
  events.started(call)
  ---@type flemma.codecompanion.Run
  local run = setmetatable({ call = call, command = 1, action = 1, found = {}, jobs = {}, finish = finish }, Run)
  local cmds = call.tool.cmds
  if vim.is_callable(cmds) then
    cmds = { cmds }
    call.tool.cmds = cmds
  end
  if call.problem then
    run:close(true, call.problem, #call.said + 1)
  elseif type(cmds) ~= "table" or cmds[1] == nil then
    run:close(true, ("The tool `%s` has no commands to run."):format(call.name), #call.said + 1)
  else
    run:safely(function()
      run:go_on()
    end)
  end
  return function()
    run:cancel()
  end
end

return M
