--- Evaluates Lua that a model has written: for the tool `eval_lua`, and for expressions in tools that are written in Lua.
---
--- This runs in a state of its own (`src/nvim/sandbox`), on a thread of its own, without the editor and without its modules. The
--- library itself watches the clock and the memory. What the code can reach is the table `env` below, and what it can change is
--- gone with the state: nothing of it lasts, and no other code sees it.

---@type fun(text: string, pattern: string, from: integer, anchors: boolean?): ...
---@type fun(what: string, about?: string): any, string?
---@type fun() throws if the program has to stop
---@type fun(match: function, longest: integer): table
local match, ask, check, bounded = ...

--- The longest string that a function creates, in bytes.
local LONGEST = 16e6
--- The most values, the most text in bytes, and the deepest tables of a result; the most text that is printed.
local VALUES, TEXT, DEPTH, PRINTED = 20000, 1e6, 50, 100000
--- The most coroutines that run inside each other.
local NESTED = 20

local library = bounded(match, LONGEST)
local debug, getmetatable, next, rawget, select, tostring, type = debug, getmetatable, next, rawget, select, tostring, type
local error, loadstring, setfenv, xpcall, unpack = error, loadstring, setfenv, xpcall, unpack
local string, table, math = string, table, math

--- The text of a number in JSON, or nil if there is none.
local function number(value)
  if value ~= value or value == math.huge or value == -math.huge then
    return nil
  elseif value == math.floor(value) and math.abs(value) < 2 ^ 53 then
    return string.format("%d", value)
  end
  local short = string.format("%.14g", value)
  return tonumber(short) == value and short or string.format("%.17g", value)
end

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r" }

local function quoted(text)
  return '"' .. string.gsub(text, '[%c"\\\127]', function(char)
    return ESCAPES[char] or string.format("\\u%04x", string.byte(char))
  end) .. '"'
end

--- Whether the keys of a table are 1 to n, and n.
local function length(value)
  local count = 0
  for _ in next, value do
    count = count + 1
  end
  for i = 1, count do
    if rawget(value, i) == nil then
      return nil
    end
  end
  return count > 0 and count or nil
end

local function before(a, b)
  local kind, other = type(a), type(b)
  if kind ~= other then
    return kind < other
  elseif kind == "number" or kind == "string" then
    return a < b
  end
  return false
end

--- Writes values as JSON. A `strict` writer throws where a value cannot be written whole; another one writes a text in its place,
--- such as `<function>`, or `…` where there is too much.
---@param strict boolean
local function writer(strict)
  local self = { values = 0, text = 0, is_cut = false }
  local open = {}

  local function instead(text, problem)
    if strict then
      error(problem, 0)
    end
    return quoted(text)
  end

  local function too_much()
    self.is_cut = true
    return instead("…", "the value is too large")
  end

  local function string_of(value)
    local room = TEXT - self.text
    self.text = self.text + #value
    if #value > room then
      self.is_cut = true
      if strict then
        too_much()
      end
      return quoted(string.sub(value, 1, room) .. "…")
    end
    return quoted(value)
  end

  local function write(value, depth)
    local kind = type(value)
    if kind == "nil" or kind == "boolean" then
      return tostring(value == nil and "null" or value)
    elseif kind == "number" then
      return number(value) or (strict and "null" or quoted(tostring(value)))
    elseif kind == "string" then
      return string_of(value)
    elseif kind ~= "table" then
      return instead("<" .. kind .. ">", "a " .. kind .. " has no JSON")
    elseif open[value] then
      return instead("<itself>", "the table contains itself")
    elseif depth > DEPTH then
      return instead("…", "the tables are nested too deeply")
    end
    open[value] = true
    local parts, size = {}, length(value)
    local function add(prefix, child)
      self.values = self.values + 1
      if self.values > VALUES or self.text >= TEXT then
        parts[#parts + 1] = prefix .. too_much()
        return false
      end
      parts[#parts + 1] = prefix .. write(child, depth + 1)
      return true
    end
    if size then
      for i = 1, size do
        if not add("", rawget(value, i)) then
          break
        end
      end
    else
      local keys = {}
      for key in next, value do
        keys[#keys + 1] = key
        if #keys > VALUES then
          break
        end
      end
      table.sort(keys, before)
      for _, key in next, keys do
        local name = type(key) == "string" and string_of(key) or quoted(type(key) == "table" and "<table>" or tostring(key))
        if not add(name .. ":", rawget(value, key)) then
          break
        end
      end
    end
    open[value] = nil
    local list = table.concat(parts, ",")
    return size and "[" .. list .. "]" or "{" .. list .. "}"
  end

  self.write = function(value)
    return write(value, 1)
  end
  return self
end

local printed, printed_size, is_printed_cut = {}, 0, false

local function text_of(value)
  return type(value) == "table" and (getmetatable(value) == nil and writer(false).write(value)) or tostring(value)
end

local env = {}
for name in string.gmatch("assert error getmetatable ipairs next pairs rawequal rawget rawset select setmetatable tonumber tostring type unpack", "%S+") do
  env[name] = _G[name]
end
env._G, env._VERSION = env, _VERSION

--- The builtin goes to `__tostring` without an instruction in between. As its own `__tostring` it would go on for ever, and the hook that
--- stops a program would never be called.
function env.tostring(...)
  local words = tostring(...)
  return words
end

--- The code of the program, and ours.
local PROGRAM, OURS = "^eval:(%d+): ", { "^evaluation:%d+: ", "^bounded:%d+: " }

--- What was thrown, with the line of the program as people write it, and without a line of our own code; and whether it had that.
---@return any thrown
---@return boolean is_ours
local function reworded(thrown)
  if type(thrown) ~= "string" then
    return thrown, false
  end
  for _, ours in next, OURS do
    local _, last = string.find(thrown, ours)
    if last then
      return string.sub(thrown, last + 1), true
    end
  end
  return (string.gsub(thrown, PROGRAM, "line %1: ", 1)), false
end

--- What `pcall` returned. Where the stack is almost full, Lua throws instead of calling the hook. So whatever catches an error looks at
--- the clock.
local function caught(ok, ...)
  if not ok then
    check()
    return ok, (reworded((...)))
  end
  return ok, ...
end

local protect = pcall

function env.pcall(fn, ...)
  return caught(protect(fn, ...))
end

--- Handles the error when the stack is unwound: a handler of Lua's own `xpcall` would run without the hook after an error of the hook.
function env.xpcall(fn, handler, ...)
  if type(handler) ~= "function" then
    error(string.format("bad argument #2 to 'xpcall' (function expected, got %s)", type(handler)), 0)
  end
  local function finish(ok, ...)
    if ok then
      return true, ...
    end
    check()
    return false, handler((reworded((...))))
  end
  return finish(protect(fn, ...))
end

local function copy(from)
  local to = {}
  for name, value in next, from do
    to[name] = value
  end
  return to
end

env.math, env.os, env.table = copy(math), copy(library.os), copy(library.table)
env.table.unpack = unpack
function env.table.pack(...)
  return { n = select("#", ...), ... }
end

--- How many coroutines run inside each other now. Each takes a part of the thread's stack, and LuaJIT does not count them.
local running = 0

local resume, create, raise = coroutine.resume, coroutine.create, error

env.coroutine = { create = create, running = coroutine.running, status = coroutine.status, yield = coroutine.yield }

local function resume_nested(thread, ...)
  if running >= NESTED then
    return false, string.format("more than %d coroutines run inside each other", NESTED)
  end
  running = running + 1
  local function finish(...)
    running = running - 1
    return caught(...)
  end
  return finish(resume(thread, ...))
end

env.coroutine.resume = resume_nested

function env.coroutine.wrap(fn)
  local thread = create(fn)
  local function finish(ok, ...)
    if not ok then
      raise((...), 0)
    end
    return ...
  end
  return function(...)
    return finish(resume_nested(thread, ...))
  end
end

--- Collects what is printed.
function env.print(...)
  for i = 1, select("#", ...) do
    local text = (i > 1 and "\t" or "") .. text_of((select(i, ...)))
    local room = PRINTED - printed_size
    printed_size = printed_size + #text
    if #text > room and not is_printed_cut then
      is_printed_cut = true
      -- No character is divided.
      text = string.gsub(string.sub(text, 1, room), "[\192-\255][\128-\191]*$", "") .. "…"
      printed[#printed + 1] = text
    elseif not is_printed_cut then
      printed[#printed + 1] = text
    end
  end
  if not is_printed_cut then
    printed[#printed + 1] = "\n"
    printed_size = printed_size + 1
  end
end

local strings = copy(library.string)

local function text_argument(value, name, place)
  if type(value) ~= "string" and type(value) ~= "number" then
    error(string.format("bad argument #%d to '%s' (string expected, got %s)", place, name, type(value)), 0)
  end
  return tostring(value)
end

function strings.startsWith(text, prefix)
  text, prefix = text_argument(text, "startsWith", 1), text_argument(prefix, "startsWith", 2)
  return string.sub(text, 1, #prefix) == prefix
end

function strings.endsWith(text, suffix)
  text, suffix = text_argument(text, "endsWith", 1), text_argument(suffix, "endsWith", 2)
  return suffix == "" or string.sub(text, -#suffix) == suffix
end

function strings.trimStart(text)
  local first = string.find(text_argument(text, "trimStart", 1), "%S")
  return first and string.sub(text, first) or ""
end

function strings.trimEnd(text)
  local last = #text_argument(text, "trimEnd", 1)
  while last > 0 and string.find(string.sub(text, last, last), "%s") do
    last = last - 1
  end
  return string.sub(text, 1, last)
end

function strings.trim(text)
  return strings.trimEnd(strings.trimStart(text))
end

--- Splits at each separator, which is plain text.
function strings.split(text, separator)
  text, separator = text_argument(text, "split", 1), text_argument(separator, "split", 2)
  local parts, from = {}, 1
  if separator == "" then
    for i = 1, #text do
      parts[i] = string.sub(text, i, i)
    end
    return parts
  end
  while true do
    local first, last = string.find(text, separator, from, true)
    parts[#parts + 1] = string.sub(text, from, (first or 0) - 1)
    if not first then
      return parts
    end
    from = last + 1
  end
end

env.string = strings
-- The methods of strings. The code sees `false` in place of their metatable.
local metatable = getmetatable("")
metatable.__index, metatable.__metatable = copy(strings), false

--- Iterates over the values of a list.
function env.each(list)
  if type(list) ~= "table" then
    error("bad argument #1 to 'each' (table expected, got " .. type(list) .. ")", 0)
  end
  local at = 0
  return function()
    at = at + 1
    return list[at]
  end
end

env.js = {
  stringify = function(value)
    return writer(true).write(value)
  end,
}

--- Asks for something of the notes.
local function notes(what)
  return function(page)
    if type(page) ~= "string" and what ~= "listPages" then
      error(string.format("space.%s: the name of a page must be a string, not a %s", what, type(page)), 0)
    end
    local answer, problem = ask(what, page)
    if problem then
      error(string.format("space.%s: %s", what, problem), 0)
    end
    return answer
  end
end

env.space = {}
for what in string.gmatch("readPage pageExists getPageMeta listPages", "%S+") do
  env.space[what] = notes(what)
end
for what in string.gmatch("writePage deletePage", "%S+") do
  env.space[what] = function()
    error(string.format("space.%s: evaluated Lua cannot change notes. Use the tools that change them.", what), 0)
  end
end

local libraries = { env, env.string, env.table, env.math, env.os, env.coroutine }

--- The name of a function that programs can reach.
local function name_of(fn)
  for _, from in next, libraries do
    for name, value in next, from do
      if value == fn and type(name) == "string" then
        return name
      end
    end
  end
end

--- The line where a program says `return`, if it does so once.
local function line_of_return(source)
  local first = string.find(source, "%f[%w_]return%f[^%w_]")
  if first and not string.find(source, "%f[%w_]return%f[^%w_]", first + 1) then
    return select(2, string.gsub(string.sub(source, 1, first), "\n", "")) + 1
  end
end

--- Handles an error of a program: makes a text of what was thrown, and adds the line of the program that called the function that
--- threw it.
local function locate(source)
  return function(thrown)
    local message, is_ours = reworded(thrown)
    if type(message) ~= "string" then
      message = "error object: " .. writer(false).write(message)
    elseif string.find(message, "^line %d+: ") then
      return message
    end
    for level = 2, 50 do
      local info = debug.getinfo(level, "Sl")
      if not info then
        break
      elseif info.source == "=evaluation" or info.source == "=bounded" then
        -- What the program called there is what called this.
        is_ours = false
      elseif info.source == "=eval" and not is_ours then
        return string.format("line %d: %s", info.currentline, message)
      end
    end
    -- `return f()` leaves nothing behind of the program when `f` is not Lua, so that Lua knows neither the line nor the name.
    local thrower = debug.getinfo(2, "Sf")
    local name = thrower and thrower.what == "C" and name_of(thrower.func)
    if name then
      message = string.gsub(message, "to '%?'", function()
        return "to '" .. name .. "'"
      end)
    end
    local line = line_of_return(source)
    return line and string.format("line %d: %s", line, message) or message
  end
end

--- Compiles an expression, or else a chunk.
---@return function? chunk
---@return string? problem
---@return integer? first which of its values is the first one of the program
local function compile(source, is_expression)
  if string.byte(source, 1) == 27 then
    return nil, "this is bytecode, not the text of a program"
  end
  -- With the `nil`, the expression is not called in place of this code, and its errors have their line.
  local expression, problem = loadstring("return nil, " .. source, "=eval")
  if expression or is_expression then
    return expression, (reworded(problem)), 2
  end
  local chunk, other = loadstring(source, "=eval")
  -- What looks like an expression has the error of an expression.
  local is_chunk = string.find(source, "\n", 1, true) or string.find(source, "return", 1, true) or string.find(source, "=", 1, true)
  return chunk, (reworded(is_chunk and other or problem)), 1
end

--- Evaluates.
---@param source string
---@param strict boolean whether the source is an expression whose values must be JSON
---@return boolean ok
---@return string values a list, as JSON; or what went wrong
---@return string printed
---@return boolean is_printed_cut whether more was printed
---@return boolean is_cut whether the values are not whole
return function(source, strict)
  local chunk, problem, first = compile(source, strict)
  if not chunk then
    return false, problem, "", false, false
  end
  for name, value in next, (ask("names")) or {} do
    env[name] = value
  end
  setfenv(chunk, env)
  local output = writer(strict)
  local function write(...)
    local parts = {}
    for i = first, math.min(select("#", ...), 250) do
      parts[#parts + 1] = output.write((select(i, ...)))
    end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  local function finish(ok, ...)
    if not ok then
      return false, (...)
    end
    -- The values may be too much for JSON.
    return protect(write, ...)
  end
  local ok, written = finish(xpcall(chunk, locate(source)))
  if not ok then
    return false, tostring((reworded(written))), table.concat(printed), is_printed_cut, false
  end
  return true, written, table.concat(printed), is_printed_cut, output.is_cut
end
