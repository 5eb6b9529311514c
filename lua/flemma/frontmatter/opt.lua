--- `flemma.opt` for the code in a file: tables that forward every read and write to the library.
---
--- A mistake is an error, to which `flemma.frontmatter` adds the line of the file. Lists support the operations of `vim.opt`.
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
lists.__metatable = false

---@param session flemma.opt.Session
---@param path? string nil for a list that has not been assigned yet
---@param value? any the library's list, for one that has not been assigned
local function list(session, path, value)
  local object = newproxy(prototype)
  behind[object] = { session = session, path = path, value = value }
  return object
end

--- The library's list for an object. If the object has a path, this is always the current value at that path.
local function current(object)
  local state = behind[object] or error("call it with a colon: `:get()`", 0)
  if not state.path then
    return state.value
  end
  local _, value, problem = state.session.node(state.path)
  return value or error(problem, 0)
end

---@param value any
---@return string[]
local function names(value)
  if behind[value] then
    return current(value):items()
  end
  local given = type(value) == "string" and { value } or value
  local is_list = type(given) == "table"
  for key, name in pairs(is_list and given or {}) do
    is_list = is_list and type(key) == "number" and type(name) == "string"
  end
  return is_list and given or error(("give a name, or a list of names, not a %s"):format(type(value)), 0)
end

---@param problem? string
local function check(problem)
  return problem and error(problem, 0)
end

local methods = {}

for _, operation in ipairs({ "append", "prepend", "remove", "set" }) do
  methods[operation] = function(self, value)
    local given, state = names(value), behind[self]
    if not state then
      error(("call it with a colon: `:%s(name)`"):format(operation), 0)
    elseif state.path then
      check(state.session.change(state.path, operation, given))
    else
      state.value = state.value:changed(operation, given)
    end
    return self
  end
end

--- The names, as a plain list.
function methods.get(self)
  return current(self):items()
end

local function combine(operation)
  return function(left, right)
    local self, other = left, right
    if not behind[left] then
      self, other = right, left
    end
    return list(behind[self].session, nil, current(self):changed(operation, names(other)))
  end
end

lists.__add, lists.__sub, lists.__pow = combine("append"), combine("remove"), combine("prepend")

lists.__len = function(self)
  return #methods.get(self)
end
lists.__tostring = function(self)
  return table.concat(methods.get(self), ", ")
end

---@param session flemma.opt.Session
---@param path string
local function read(session, path)
  local kind, value = session.node(path)
  if kind == "list" then
    return list(session, path)
  elseif kind == "table" then
    return M.new(session, path)
  end
  check(not kind and value or nil)
  return value
end

---@param session flemma.opt.Session
---@param path string
---@param value any
local function write(session, path, value)
  check(session.set(path, behind[value] and current(value) or value))
end

function lists.__index(self, key)
  local state = behind[self]
  if methods[key] then
    return methods[key]
  elseif state.path and type(key) == "string" then
    return read(state.session, state.path .. "." .. key)
  elseif type(key) == "number" then
    return methods.get(self)[key]
  end
  error(("a list has no `%s`"):format(tostring(key)), 0)
end

function lists.__newindex(self, key, value)
  local state = behind[self]
  if not state.path or type(key) ~= "string" then
    error("assign a whole list, or use :append, :prepend, :remove", 0)
  end
  write(state.session, state.path .. "." .. key, value)
end

--- Wraps an iterator function so that it also accepts lists.
---@param iterate function `ipairs` or `pairs`
function M.iterator(iterate)
  return function(value, ...)
    return iterate(behind[value] and methods.get(value) or value, ...)
  end
end

--- The options under a path.
---@param session flemma.opt.Session
---@param path? string nil for all
function M.new(session, path)
  local function at(key)
    if type(key) ~= "string" then
      error(("the name of an option must be a string, not a %s"):format(type(key)), 0)
    end
    return path and path .. "." .. key or key
  end
  return setmetatable({}, {
    __index = function(_, key)
      return read(session, at(key))
    end,
    __newindex = function(_, key, value)
      write(session, at(key), value)
    end,
    __metatable = false,
  })
end

return M
