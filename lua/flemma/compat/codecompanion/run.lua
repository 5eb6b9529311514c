--- A call that runs: the functions and commands in their order, what is called after each, and the result.
local M = {}

local calls = require("flemma.compat.codecompanion.call")
local events = require("flemma.compat.codecompanion.events")
local shapes = require("flemma.compat.codecompanion.shape")
local value = require("flemma.compat.codecompanion.value")

--- What a function may say of itself.
local KNOWN = { success = true, error = true, cancelled = true, rejected = true }

--- What a function of `cmds` answered: the table that the next one gets.
---@param answer any
---@return { status: string, data: any }
local function understand(answer)
  if type(answer) == "table" and (answer.status ~= nil or answer.data ~= nil) then
    local status = answer.status == nil and "success" or tostring(answer.status):lower()
    if not KNOWN[status] then
      local words = 'The function answered with the status %s, and not with "success" or "error".'
      return { status = "error", data = words:format(vim.inspect(answer.status)) }
    end
    return { status = status == "success" and status or "error", data = answer.data }
  elseif not answer then
    return { status = "error", data = ("The function answered with %s, and not with a status and data."):format(tostring(answer)) }
  end
  return { status = "success", data = answer ~= true and answer or nil }
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
---@field unreadable? string the type of what was found last, if it is no text
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
  local found = is_error and self:findings() or ""
  if found ~= "" then
    own = own .. "\n\nBefore that, the tool found:\n\n" .. found
  end
  if calls.said(call, from) == "" then
    call.said[#call.said + 1] = { text = own, by = "" }
  end
  calls.leave(call)
  events.finished(call, is_error and "error" or "success")
  -- What the tool has scheduled until now still counts.
  vim.schedule(function()
    if call.is_over then
      return
    end
    call.is_over = true
    local text = calls.said(call, 1)
    text = text .. require("flemma.compat.codecompanion.context").text(call, text)
    if is_error then
      self.finish({ success = false, error = text })
    else
      self.finish({ success = true, output = text, attachments = call.attachments })
    end
  end)
end

--- What the functions and commands have found until now, for a tool that says nothing about it.
---@return string
function Run:findings()
  local found, cmds = {}, type(self.call.tool.cmds) == "table" and self.call.tool.cmds or {}
  for index = 1, #cmds do
    if vim.is_callable(cmds[index]) and self.found[index] then
      -- What the function before has found was its input. What a command has found was not.
      found = vim.is_callable(cmds[index - 1]) and {} or found
    end
    vim.list_extend(found, self.found[index] or {})
  end
  return table.concat(found, "\n\n")
end

--- All functions and commands have succeeded.
function Run:succeed()
  local call = self.call
  local cmds = call.tool.cmds
  local text = self:findings()
  if self.unreadable and #call.said == 0 then
    local words = "The tool `%s` found a %s, which no model can read, and says nothing about it."
    return self:close(true, words:format(call.name, self.unreadable), 1)
  elseif text == "" and #call.attachments == 0 then
    local is_silent = not vim.is_callable(cmds[#cmds])
    text = ("The tool `%s` has run. It %s."):format(call.name, is_silent and "printed nothing" or "says nothing about its result")
  end
  self:close(false, text, 1)
end

--- Adds to what the tool finds in `stdout` or `stderr`. In the first era they were the lines of the command that has just run.
---@param name "stdout"|"stderr"
---@param data any
function Run:put(name, data)
  local call = self.call
  local found = call.tools[name]
  if call.shape == "a" and type(data) == "table" and not vim.is_callable(call.tool.cmds[self.command]) then
    call.tools[name] = data
  else
    found[#found + 1] = data
  end
end

--- A function or a command has failed.
---@param data any
---@param label any what the author's functions get as the command
function Run:fail(data, label)
  local call = self.call
  local tools = call.tools
  tools.status = tools.constants.STATUS_ERROR
  if data ~= nil then
    self:put("stderr", data)
  end
  local from = #call.said + 1
  local text = value.text(data)
  local own = ("Error calling `%s`%s"):format(call.name, text ~= "" and ": " .. text or ". It says nothing about the cause.")
  local callback = calls.part(call, "output", "error")
  if callback then
    local ok, thrown = calls.try(shapes.error, call.shape, callback, tools, label)
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
    self:put("stdout", data)
    local found = self.found[self.command] or {}
    -- The empty list of a command is output without a line. That of a function is a value.
    local is_silent = type(data) == "table" and next(data) == nil and not vim.is_callable(call.tool.cmds[self.command])
    local kind = type(data)
    local is_unreadable = kind ~= "string" and kind ~= "number" and kind ~= "boolean" and kind ~= "table" and data ~= vim.NIL
    self.unreadable = is_unreadable and kind or nil
    found[#found + 1] = not is_silent and not is_unreadable and value.text(data) or nil
    self.found[self.command] = found
  end
  local callback = calls.part(call, "output", "success")
  if callback then
    local ok, thrown = calls.try(shapes.success, call.shape, callback, tools, label)
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
  local ok, thrown = calls.try(step)
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
    -- The next function gets what this one answered, which may be a bare value.
    self.previous = result
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
  local ok, returned = calls.try(shapes.run, self.call.shape, callback, tools, args, self.previous, output_handler, register_job)
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
  calls.refuse(call)
  events.finished(call, "cancelled")
end

--- Runs a call.
---@param call flemma.codecompanion.Call
---@param finish fun(result: table) called once, unless the call is cancelled
---@return fun() cancel
function M.start(call, finish)
  calls.prepare(call)
  call.is_running = true
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
