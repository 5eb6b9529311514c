--- `flemma.opt` for the code in a file: tables that forward every read and write to the library.
---
--- A mistake is an error at the line in the file that causes it. Lists support the operations of `vim.opt`.
local M = {}

---@class flemma.opt.Session functions of the library, see `src/nvim/opt.rs`
---@field node fun(path: string): kind: "value"|"table"|"list"?, value: any, problem: string?
---@field set fun(path: string, value: any): problem: string?
---@field change fun(path: string, operation: string, names: string[]): problem: string?

---@class flemma.opt.State
---@field session flemma.opt.Session
---@field path? string nil for a list that has not been assigned yet
---@field value? any the library's list, for one that has not been assigned

--- The state of each list, which the code cannot access.
---@type table<any, flemma.opt.State>
local behind = setmetatable({}, { __mode = "k" })

--- A list is a userdata, not a table. Functions that read tables would find nothing in an empty table with a metatable, so
--- a copy of a list would silently be empty. A userdata causes an error instead, or behaves as its metatable defines.
local prototype = newproxy(true)
local lists = getmetatable(prototype)

--- The stack level of the file's own code, seen from a function that a metatable or a method calls.
local CALLER = 3

--- The library's list for an object. If the object has a path, this is always the current value at that path.
---@param object any
---@param level integer the stack level of the file's code, seen from here
---@return any
local function current(object, level)
  local state = behind[object]
  if not state.path then
    return state.value
  end
  local _, value, problem = state.session.node(state.path)
  if not value then
    error(problem, level)
  end
  return value
end

---@param value any
---@return string[]
local function names(value)
  if behind[value] then
    return current(value, CALLER + 1):items()
  elseif type(value) == "string" then
    return { value }
  elseif type(value) == "table" then
    local list = {}
    for key, name in pairs(value) do
      if type(key) ~= "number" or type(name) ~= "string" then
        error("give a name, or a list of names", CALLER)
      end
    end
    for _, name in ipairs(value) do
      list[#list + 1] = name
    end
    return list
  end
  error(("give a name, or a list of names, not a %s"):format(type(value)), CALLER)
end

---@param session flemma.opt.Session
---@param path? string nil for a list that has not been assigned yet
---@param value? any the library's list, for one that has not been assigned
local function list(session, path, value)
  local object = newproxy(prototype)
  behind[object] = { session = session, path = path, value = value }
  return object
end

local methods = {}

for _, operation in ipairs({ "append", "prepend", "remove", "set" }) do
  methods[operation] = function(self, value)
    local state = behind[self]
    if not state then
      error(("call it with a colon: `:%s(name)`"):format(operation), 2)
    end
    local given = names(value)
    if state.path then
      local problem = state.session.change(state.path, operation, given)
      if problem then
        error(problem, 2)
      end
    else
      state.value = state.value:changed(operation, given)
    end
    return self
  end
end

--- The names, as a plain list.
function methods.get(self)
  if not behind[self] then
    error("call it with a colon: `:get()`", 2)
  end
  local items = current(self, CALLER):items()
  return items
end

local function combine(operation)
  return function(left, right)
    local self = behind[left] and left or right
    local other = self == left and right or left
    local value = current(self, CALLER)
    return list(behind[self].session, nil, value:changed(operation, names(other)))
  end
end

lists.__add = combine("append")
lists.__sub = combine("remove")
lists.__pow = combine("prepend")
lists.__metatable = false

function lists.__len(self)
  local items = current(self, CALLER):items()
  return #items
end

function lists.__tostring(self)
  local items = current(self, CALLER):items()
  return table.concat(items, ", ")
end

---@param session flemma.opt.Session
---@param path string
---@param level integer
local function read(session, path, level)
  local kind, value = session.node(path)
  if not kind then
    error(value, level)
  elseif kind == "list" then
    return list(session, path)
  elseif kind == "table" then
    return M.new(session, path)
  end
  return value
end

---@param session flemma.opt.Session
---@param path string
---@param value any
---@param level integer
local function write(session, path, value, level)
  if behind[value] then
    value = current(value, level + 1)
  end
  local problem = session.set(path, value)
  if problem then
    error(problem, level)
  end
end

function lists.__index(self, key)
  local state = behind[self]
  if methods[key] then
    return methods[key]
  elseif state.path and type(key) == "string" then
    -- Not a tail call, which would change the stack level of the file's code.
    local value = read(state.session, state.path .. "." .. key, CALLER)
    return value
  elseif type(key) == "number" then
    local items = current(self, CALLER):items()
    return items[key]
  end
  error(("a list has no `%s`"):format(tostring(key)), 2)
end

function lists.__newindex(self, key, value)
  local state = behind[self]
  if not state.path or type(key) ~= "string" then
    error("assign a whole list, or use :append, :prepend, :remove", 2)
  end
  write(state.session, state.path .. "." .. key, value, CALLER)
end

--- Wraps an iterator function so that it also accepts lists.
---@param iterate function `ipairs` or `pairs`
function M.iterator(iterate)
  return function(value, ...)
    if behind[value] then
      return iterate(current(value, CALLER):items())
    end
    return iterate(value, ...)
  end
end

--- The options under a path.
---@param session flemma.opt.Session
---@param path? string nil for all
function M.new(session, path)
  local function at(key)
    if type(key) ~= "string" then
      error(("the name of an option must be a string, not a %s"):format(type(key)), CALLER)
    end
    return path and path .. "." .. key or key
  end
  return setmetatable({}, {
    __index = function(_, key)
      local value = read(session, at(key), CALLER)
      return value
    end,
    __newindex = function(_, key, value)
      write(session, at(key), value, CALLER)
    end,
    __metatable = false,
  })
end

return M
