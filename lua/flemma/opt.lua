--- `flemma.opt`, as the code of a file sees it: tables that pass every read and write on to the library.
---
--- A mistake is an error at the line of the file that makes it. Lists know the operations of `vim.opt`.
local M = {}

---@class flemma.opt.Session functions of the library, see `src/nvim/opt.rs`
---@field node fun(path: string): kind: "value"|"table"|"list"?, value: any
---@field set fun(path: string, value: any): problem: string?
---@field change fun(path: string, operation: string, names: string[]): problem: string?

--- What stands behind each table, out of the code's reach.
---@type table<table, { session: flemma.opt.Session, path: string?, value: any }>
local behind = setmetatable({}, { __mode = "k" })

local lists = {}

--- The level at which the file's own code stands, seen from a function that a metatable or a method calls.
local CALLER = 3

---@param value any
---@return string[]
local function names(value)
  if behind[value] then
    return behind[value].value:items()
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
---@param path? string nil for a list that stands nowhere yet
---@param value any the library's list
local function list(session, path, value)
  local object = setmetatable({}, lists)
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
      local _, value_now = state.session.node(state.path)
      state.value = value_now
    else
      state.value = state.value:changed(operation, given)
    end
    return self
  end
end

--- The names, as a plain list.
function methods:get()
  return behind[self].value and behind[self].value:items() or {}
end

local function combine(operation)
  return function(left, right)
    local self = behind[left] and left or right
    local other = self == left and right or left
    local state = behind[self]
    if not state.value then
      error(("`flemma.opt.%s` is decided by a function, so there is no list to change; assign one first"):format(state.path), 2)
    end
    return list(state.session, nil, state.value:changed(operation, names(other)))
  end
end

lists.__add = combine("append")
lists.__sub = combine("remove")
lists.__pow = combine("prepend")
lists.__metatable = false

function lists.__len(self)
  return #methods.get(self)
end

function lists.__tostring(self)
  return table.concat(methods.get(self), ", ")
end

---@param session flemma.opt.Session
---@param path string
---@param level integer
local function read(session, path, level)
  local kind, value = session.node(path)
  if not kind then
    error(value, level)
  elseif kind == "list" then
    return list(session, path, value)
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
    value = behind[value].value
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
    -- No tail call: it would hide how far away the file's code is.
    local value = read(state.session, state.path .. "." .. key, CALLER)
    return value
  elseif type(key) == "number" then
    return methods.get(self)[key]
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

--- The options below a path.
---@param session flemma.opt.Session
---@param path? string nil for all
function M.new(session, path)
  local function at(key)
    if type(key) ~= "string" then
      error(("options have names, not a %s"):format(type(key)), CALLER)
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
