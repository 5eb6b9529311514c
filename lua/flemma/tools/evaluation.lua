--- Evaluates Lua that a model has written, in a Neovim of its own: `nvim -l` runs this file, and `crates/tools/src/lua_sandbox.rs` ends it.
---
--- It speaks JSON, a line each: it reads the program, asks for what the program wants to know of the notes, and writes what became of it.
--- What the program can reach is the table `env` below.

--- The most memory, in KB, and the number of instructions after which it is looked at.
local MEMORY, STEP = 64 * 1024, 1000
--- The most text of a result, in bytes, what each value counts for, and the deepest tables; the most text that is printed.
local TEXT, VALUE, DEPTH, PRINTED = 1e6, 50, 50, 100000

--- What JSON has.
local KINDS = { ["nil"] = true, boolean = true, number = true, string = true, table = true }

--- Writes values as JSON. A `strict` writer throws where a value cannot be written whole; another one writes a text in its place,
--- such as `<function>`, or `…` where there is too much.
---@param strict boolean
local function writer(strict)
  local self, room, open = { is_cut = false }, TEXT, {}

  function self.write(value, depth)
    local kind, left, problem, text = type(value), math.max(room, 0), nil, nil
    room = room - VALUE - (kind == "string" and #value or 0)
    if room < 0 then
      self.is_cut = true
      problem, text = "the value is too large", (kind == "string" and value:sub(1, left) or "") .. "…"
    elseif not KINDS[kind] then
      problem, text = "a " .. kind .. " has no JSON", "<" .. kind .. ">"
    elseif open[value] then
      problem, text = "the table contains itself", "<itself>"
    elseif depth > DEPTH then
      problem, text = "the tables are nested too deeply", "…"
    end
    if problem and strict then
      error(problem, 0)
    elseif kind == "number" and not text then
      local short = ("%.14g"):format(value)
      text = (value ~= value or math.abs(value) == math.huge) and (strict and vim.NIL or tostring(value)) or nil
      return text and vim.json.encode(text) or tonumber(short) == value and short or ("%.17g"):format(value)
    elseif problem or kind ~= "table" then
      return vim.json.encode(text or value)
    end
    open[value] = true
    local keys, parts, is_list = {}, {}, true
    for key in next, value do
      keys[#keys + 1] = key
      is_list = is_list and rawget(value, #keys) ~= nil
    end
    is_list = is_list and #keys > 0
    table.sort(keys, not is_list and function(a, b)
      return tostring(a) < tostring(b)
    end or nil)
    for _, key in next, keys do
      local name = type(key) == "table" and "<table>" or tostring(key)
      parts[#parts + 1] = (is_list and "" or self.write(name, depth) .. ":") .. self.write(rawget(value, key), depth + 1)
      if room < 0 then
        break
      end
    end
    open[value] = nil
    return (is_list and "[%s]" or "{%s}"):format(table.concat(parts, ","))
  end
  return self
end

local printed, printed_size, is_printed_cut = {}, 0, false

--- Says something to the library.
local function say(said)
  io.write(vim.json.encode(said), "\n")
  io.stdout:flush()
end

--- Says what became of the program, and ends.
local function finish(answer)
  answer.printed, answer.is_printed_cut = table.concat(printed), is_printed_cut
  say({ ["end"] = answer })
  os.exit(0)
end

local env = {}
for path, names in pairs({
  [""] = "assert error getmetatable ipairs next pairs pcall rawequal rawget rawset select setmetatable tonumber tostring type unpack xpcall",
  string = "byte char find format gmatch gsub len lower match rep reverse sub upper",
  table = "concat insert maxn remove sort",
  os = "clock date difftime time",
  coroutine = "create resume running status wrap yield",
  math = "abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max min modf pi pow rad random "
    .. "randomseed sin sinh sqrt tan tanh",
}) do
  local from, to = path == "" and _G or _G[path], path == "" and env or {}
  for name in names:gmatch("%S+") do
    to[name] = from[name]
  end
  env[path] = path ~= "" and to or nil
end
env.table.unpack, env.table.pack = unpack, vim.F.pack_len

function env.print(...)
  local parts, room = {}, math.max(PRINTED - printed_size, 0)
  for i = 1, select("#", ...) do
    local value = (select(i, ...))
    local is_plain = type(value) == "table" and getmetatable(value) == nil
    parts[i] = is_plain and writer(false).write(value, 1) or tostring(value)
  end
  local text = table.concat(parts, "\t")
  if not is_printed_cut then
    is_printed_cut = #text > room
    -- No character is divided.
    printed[#printed + 1] = is_printed_cut and text:sub(1, room):gsub("[\192-\255][\128-\191]*$", "") .. "…" or text .. "\n"
    printed_size = printed_size + #text + 1
  end
end

env.string.startsWith, env.string.endsWith = vim.startswith, vim.endswith
for name, pattern in pairs({ trim = "^%s*(.-)%s*$", trimStart = "^%s*(.*)$", trimEnd = "^(.-)%s*$" }) do
  env.string[name] = function(text)
    return string.match(text, pattern)
  end
end

--- Splits at each separator, which is plain text.
function env.string.split(text, separator)
  return vim.split(text, separator, { plain = true })
end

--- Iterates over the values of a list.
function env.each(list)
  local at = 0
  return function()
    at = at + 1
    return list[at]
  end
end

env.js = {
  stringify = function(value)
    return writer(true).write(value, 1)
  end,
}

env.space = {}
for what in ("readPage pageExists getPageMeta listPages"):gmatch("%S+") do
  env.space[what] = function(page)
    if what ~= "listPages" and type(page) ~= "string" then
      error(("space.%s: the name of a page must be a string, not a %s"):format(what, type(page)), 2)
    end
    say({ ask = what, page = what == "listPages" and "" or page })
    local answer = vim.json.decode(io.read("*l"), { luanil = { object = true, array = true } })
    return answer.problem and error(("space.%s: %s"):format(what, answer.problem), 2) or answer.value
  end
end
for what in ("writePage deletePage"):gmatch("%S+") do
  env.space[what] = function()
    error(("space.%s: evaluated Lua cannot change notes. Use the tools that change them."):format(what), 2)
  end
end

-- The methods of strings. The program sees `false` in place of their metatable.
local methods = getmetatable("")
methods.__index, methods.__metatable = vim.deepcopy(env.string), false

local request = vim.json.decode(io.read("*l"))
env = vim.tbl_extend("force", env, request.names)
env._G, env._VERSION = env, _VERSION

--- What was thrown as a text, with the line of the program as people write it.
local function words(thrown)
  local text = type(thrown) == "string" and thrown or "error object: " .. writer(false).write(thrown, 1)
  text = text:gsub("^[^\n]-%.lua:%d+: ", ""):gsub("%f[%w]line:(%d+): ", "line %1: ")
  local level, info = 2, debug.getinfo(2, "Sl")
  while info and info.source ~= "=line" do
    level = level + 1
    info = debug.getinfo(level, "Sl")
  end
  return info and not text:find("^line %d") and ("line %d: %s"):format(info.currentline, text) or text
end

-- An expression, or else a chunk. With the `nil`, the expression is not called in place of this code, and its errors have their line.
local source, first = request.source, 2
local chunk, mistake = load("return nil, " .. source, "=line", "t", env)
if not chunk and not request.strict then
  local other
  chunk, other = load(source, "=line", "t", env)
  first = 1
  -- What looks like an expression has the error of an expression.
  mistake = (source:find("\n", 1, true) or source:find("return", 1, true) or source:find("=", 1, true)) and other or mistake
end
if not chunk then
  finish({ problem = words(mistake) })
end
-- Code that is compiled to machine code never calls the hook.
jit.off()
debug.sethook(function()
  if collectgarbage("count") > MEMORY and collectgarbage() and collectgarbage("count") > MEMORY then
    debug.sethook()
    finish({ memory = MEMORY / 1024 })
  end
end, "", STEP)

local output = writer(request.strict)

--- Writes what the program returned, which may be too much.
local function write(ok, ...)
  local parts = {}
  for i = first, ok and math.min(select("#", ...), 250) or 0 do
    parts[#parts + 1] = output.write((select(i, ...)), 1)
  end
  return ok and "[" .. table.concat(parts, ",") .. "]" or nil, not ok and (...) or nil
end

local ok, values, why = pcall(write, xpcall(chunk, words))
local problem = ok and why or not ok and words(values) or nil
local is_full = problem and (problem:find("not enough memory", 1, true) or problem:find("string length overflow", 1, true))
finish({ values = ok and values or nil, problem = problem, is_cut = output.is_cut, memory = is_full and MEMORY / 1024 or nil })
