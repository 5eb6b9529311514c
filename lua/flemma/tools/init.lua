--- The tools: registering and listing them.
local M = {}

local sync = require("flemma.tools.sync")
local notify = require("flemma.notify")

--- The longest time limit, in seconds.
local DAY = 24 * 60 * 60

local native = require("flemma.native").call

---@param problem string
---@return false
local function refuse(problem)
  notify.say(vim.log.levels.ERROR, problem)
  return false
end

---@param name any
---@param what string the function that is given the name
---@return boolean
local function is_name(name, what)
  return type(name) == "string" or refuse(("%s: the name must be a string, not a %s"):format(what, type(name)))
end

---@param name? string
---@param definition table
---@return boolean ok
local function add(name, definition)
  if type(name) == "table" and definition == nil then
    name, definition = nil, name
  end
  if name ~= nil and not is_name(name, "register") then
    return false
  elseif type(definition) ~= "table" then
    return refuse(("tool `%s`: the definition must be a table, not a %s"):format(name or "?", type(definition)))
  end
  local ok, message = native("register", "tool", name, definition)
  if not ok then
    return refuse(message or "the tool was not registered: the native library is missing")
  end
  return true
end

---@param definitions table[]
---@return boolean ok whether all of them were accepted
local function add_all(definitions)
  local ok = true
  for _, definition in ipairs(definitions) do
    ok = add(nil, definition) and ok
  end
  return ok
end

--- Starts a source. It runs from the main loop, one source at a time, so that several of them never block the editor.
---@param label string the name in messages
---@param resolve fun(register: fun(name: string, definition: table), done: fun(err?: any))
---@param timeout? number seconds
---@return boolean ok
local function start(label, resolve, timeout)
  local id = native("begin_source", label)
  if not id then
    return false
  end
  local ended = false
  local function finish(fields)
    if not ended then
      ended, fields.source = true, id
      native("editor_event", "source_ended", fields)
    end
  end

  --- Safe to call again, and from a libuv callback.
  local function done(err)
    local fields = { why = err and (type(err) == "string" and err or vim.inspect(err)) or nil }
    local finish_now = vim.in_fast_event() and vim.schedule_wrap(finish) or finish
    finish_now(fields)
  end

  vim.schedule(function()
    local options = require("flemma.options").get()
    local seconds = timeout or (options and options.tools.default_timeout) or 30
    local ok, problem = pcall(resolve, add, done)
    if not ok then
      done(problem)
    else
      vim.defer_fn(function()
        finish({ seconds = seconds })
      end, math.floor(seconds * 1000))
    end
  end)
  return true
end

--- Registers the contents of a table: `.definitions`, `.resolve`, or a list of definitions.
---@param label string
---@param found any
---@param register_all fun(definitions: table[]): boolean
---@return boolean ok
local function take(label, found, register_all)
  if type(found) ~= "table" then
    return refuse(("%s must be a table with `definitions` or `resolve`, not a %s"):format(label, type(found)))
  end
  local ok = nil
  if type(found.definitions) == "table" then
    ok = register_all(found.definitions)
  end
  if type(found.resolve) == "function" then
    if found.timeout ~= nil and type(found.timeout) ~= "number" then
      return refuse(("%s: `timeout` must be a number of seconds, not a %s"):format(label, type(found.timeout)))
    elseif found.timeout and not (found.timeout > 0 and found.timeout <= DAY) then
      return refuse(("%s: `timeout` must be more than 0 and at most %d seconds, not %s"):format(label, DAY, found.timeout))
    end
    ok = start(label, found.resolve, found.timeout) and ok ~= false
  end
  if ok == nil then
    return refuse(("%s has neither `definitions` (a list of definitions) nor `resolve` (a function)"):format(label))
  end
  return ok
end

--- Loads a module. Its definitions are registered when this returns. A source starts like any other.
---@param name string
---@return boolean ok
local function load_module(name)
  local label = ("the module `%s`"):format(name)
  local library, missing = require("flemma.native").load()
  if not library then
    return refuse(("%s was not registered: %s"):format(label, missing))
  end
  local ok, found = pcall(require, name)
  if not ok then
    local why = type(found) == "string" and found:match("[^\n]*"):gsub(":$", "") or vim.inspect(found)
    return refuse(("%s was not registered, because it cannot be loaded: %s"):format(label, why))
  end
  return take(label, found, add_all)
end

--- Where a function is defined, for messages.
---@param resolve any
---@return string?
local function where(resolve)
  if type(resolve) == "function" then
    local info = debug.getinfo(resolve, "S")
    return ("%s:%d"):format(info.short_src, info.linedefined)
  end
end

--- Registers tools. The forms:
---  - `register(name, definition)`: one tool;
---  - `register(module)`: the name of a module with `.definitions`, or with `.resolve` and optionally `.timeout`. It is
---    loaded at once, and its definitions are registered when this returns;
---  - `register({ definition, … })`: several tools;
---  - `register(function(register, done) … end)`: a source that loads asynchronously;
---  - `register({ resolve = function(register, done) … end, timeout = seconds })`: the same with a time limit.
---
--- An invalid definition is rejected with a message. Registering a name again replaces its definition.
---@param what string|table|fun(register: function, done: function)
---@param definition? flemma.Definition
---@return boolean ok
function M.register(what, definition)
  local kind = type(what)
  if kind == "string" and definition ~= nil then
    return add(what, definition)
  elseif kind == "string" then
    return load_module(what)
  elseif kind == "function" then
    return start(where(what), what)
  elseif kind == "table" and (what.resolve ~= nil or what.definitions ~= nil) then
    return take(where(what.resolve) or "the source", what, add_all)
  elseif kind == "table" and (#what > 0 or what.name ~= nil) then
    return add_all(#what > 0 and what or { what })
  elseif kind == "table" then
    return refuse("register: the table contains no definition; give a list of definitions, or `resolve`")
  end
  local words = "register: give a name and a definition, a module's name, a list, or a function, not a %s"
  return refuse(words:format(kind))
end

--- Removes a tool. Calls that are running are not affected.
---@param name string
---@return boolean found
function M.unregister(name)
  return is_name(name, "unregister") and native("unregister", "tool", name) or false
end

--- A copy of a tool's definition. Changing it has no effect.
---@param name string
---@return table? definition nil if there is none with this name
function M.get(name)
  sync.run()
  return is_name(name, "get") and native("registered", "tool", { name = name }) or nil
end

--- Copies of all enabled definitions, sorted by name.
---@param opts? { include_disabled?: boolean }
---@return table[]
function M.get_all(opts)
  sync.run()
  return native("registered", "tools", { disabled_too = type(opts) == "table" and opts.include_disabled == true }) or {}
end

--- Registers a group: one name for several tools. Registering a name again replaces the group.
---@param name string
---@param group flemma.ToolGroup
---@return boolean ok
function M.register_group(name, group)
  if not is_name(name, "register_group") then
    return false
  elseif type(group) ~= "table" then
    return refuse(("group `%s`: the group must be a table, not a %s"):format(name, type(group)))
  end
  local ok, message = native("register", "group", name, group)
  if not ok then
    return refuse(message or ("group `%s` was not registered: the native library is missing"):format(name))
  end
  return true
end

--- Removes a group. Its tools stay.
---@param name string
---@return boolean found
function M.unregister_group(name)
  return is_name(name, "unregister_group") and native("unregister", "group", name) or false
end

--- Copies of all groups, sorted by name.
---@return flemma.ToolGroup[]
function M.get_groups()
  return native("registered", "groups") or {}
end

--- The number of tools, including disabled ones.
---@return integer
function M.count()
  return #M.get_all({ include_disabled = true })
end

--- How long `resolve` waits for a conversation to be read, and how often it looks, in milliseconds.
local PATIENCE, PAUSE = 5000, 5

--- The buffer of a conversation. A file that is not open is loaded without a window, until `leave` is called and what was
--- started is over.
---@param conversation integer|string
---@return integer? buf
---@return string? problem
---@return fun()? leave
local function buffer_of(conversation)
  local target = require("flemma.buffer.target")
  if type(conversation) == "number" then
    local buf = conversation == 0 and vim.api.nvim_get_current_buf() or conversation
    return target.is_attached(buf) and buf or nil, "stale"
  elseif type(conversation) ~= "string" then
    return nil, ("resolve: the conversation must be a buffer or a path, not a %s"):format(type(conversation))
  end
  local path = vim.fn.fnamemodify(conversation, ":p")
  local found = vim.uv.fs_stat(path)
  if not found or found.type == "directory" then
    return nil, ("there is no file %s"):format(conversation)
  end
  local kind = vim.filetype.match({ filename = path })
  if kind and kind ~= "chat" and vim.fn.bufloaded(path) == 0 then
    -- To open it would run what the user has for files of that kind.
    return nil, ("%s is not a conversation"):format(conversation)
  end
  local hidden = require("flemma.buffer.hidden")
  local buf = hidden.open(path)
  local function leave()
    hidden.close(buf)
  end
  if not target.is_attached(buf) then
    return nil, ("%s is not a conversation"):format(conversation), leave
  end
  return buf, nil, leave
end

--- Resolves a call in a buffer. Messages that say the same as the outcome are dropped if it is known at once.
---@param buf integer
---@param call string
---@param result any
---@param callback fun(ok?: true, problem?: string)
local function resolve_later(buf, call, result, callback)
  local is_late = false
  local ok, problem = notify.unless_returned(function()
    local outcome
    native("resolve_call", buf, call, result, "script", function(...)
      outcome = { ... }
      if is_late then
        callback(...)
      end
    end)
    is_late = outcome == nil
    return unpack(outcome or {}, 1, 2)
  end)
  if not is_late then
    callback(ok, problem)
  end
end

--- Resolves a call that waits. The forms of a result:
---  - `{ approved = true }`, `{ approved = false, message? = string }`: for a call that waits for approval;
---  - `{ approved = true, again = true }`: the same, also if the call was started before and interrupted;
---  - `{ answer = value }`, or any other value: the result of a call that waits for the user or the editor;
---  - `{ error = string }`: such a call has no result, for this reason.
---
--- The resolution is on the disk when this returns. With a callback it returns nothing, and waits for nothing.
---@param conversation integer|string a buffer, or the path of a file
---@param call string the id of the call
---@param result any
---@param callback? fun(ok?: true, problem?: string)
---@return true? ok
---@return string? problem "stale" if there is no such call, if it was resolved before, or if its time is over; anything
---  else is a sentence
function M.resolve(conversation, call, result, callback)
  local buf, leave
  local function done(...)
    if leave then
      leave()
    end
    if not callback then
      return ...
    end
    callback(...)
  end
  if type(call) ~= "string" then
    return done(nil, ("resolve: the id of the call must be a string, not a %s"):format(type(call)))
  end
  local ok, problem = notify.unless_returned(function()
    local ok, problem
    buf, problem, leave = buffer_of(conversation)
    if buf and not callback then
      vim.wait(PATIENCE, function()
        return not require("flemma.buffer.target").is_attached(buf) or native("state", buf, "settled")
      end, PAUSE)
      ok, problem = native("resolve_call", buf, call, result, "script")
    end
    return ok, problem
  end)
  if buf and callback then
    return resolve_later(buf, call, result, done)
  end
  return done(ok, problem)
end

--- The calls that wait.
---@param conversation? integer|string a buffer or the path of an open file; by default all conversations
---@return flemma.PendingCall[]
function M.pending(conversation)
  if type(conversation) == "string" then
    conversation = vim.fn.bufnr(vim.fn.fnamemodify(conversation, ":p"))
  elseif conversation == 0 then
    conversation = vim.api.nvim_get_current_buf()
  end
  return native("calls", conversation, "pending") or {}
end

--- Whether every source has loaded. Requests wait until then.
---@return boolean
function M.is_ready()
  return native("state", nil, "tools_ready") or false
end

return M
