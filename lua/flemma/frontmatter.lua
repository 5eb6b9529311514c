--- Runs the code of a file's frontmatter.
---
--- The code sees what it needs to say what it wants of its own conversation and nothing else: no files, no processes, no
--- modules, no editor. It is no prison for code that is out to break it, which is why a file's code runs only once the user
--- trusts it; it keeps a slip from costing more than a message. Instructions are counted, and a function that works for
--- long inside (a pattern, a repetition) is measured before it begins.
local M = {}

--- How long a file's code may run, in nanoseconds.
local DEADLINE = 250e6
--- How many instructions pass between two looks at the clock.
local STEP = 1000
--- The longest string that a function makes, and the most steps that a pattern may take.
local LONGEST, STEPS = 1e6, 1e8
local TIMEOUT = "it ran for a quarter of a second without an end and was stopped"

--- When the code that runs now has to be done, and whether it was not.
local stop, expired = 0, false

local function check()
  if vim.uv.hrtime() > stop then
    expired = true
    error(TIMEOUT, 0)
  end
end

--- The string functions of a file's code, also those that a string has as methods. In here strings have no other methods
--- while it runs, so nothing below calls one.
local text = {}

for name in ("byte char format len lower reverse sub upper"):gmatch("%S+") do
  text[name] = function(...)
    check()
    return string[name](...)
  end
end

function text.rep(s, n)
  check()
  if type(s) == "string" and type(n) == "number" and #s * n > LONGEST then
    error(string.format("string.rep would make %d MB", #s * n / 1e6), 2)
  end
  return string.rep(s, n)
end

--- A pattern with several repetitions may try every combination of places.
local function measure(s, pattern)
  check()
  if type(s) == "string" and type(pattern) == "string" then
    local repetitions = select(2, string.gsub(pattern, "[%*%+%-]", ""))
    if (#s + 1) ^ (repetitions + 1) > STEPS then
      error(string.format("the pattern is too much work for a text of %d letters", #s), 3)
    end
  end
end

function text.find(s, pattern, init, plain)
  if not plain then
    measure(s, pattern)
  end
  return string.find(s, pattern, init, plain)
end

for name in ("match gmatch"):gmatch("%S+") do
  text[name] = function(s, pattern, init)
    measure(s, pattern)
    return string[name](s, pattern, init)
  end
end

function text.gsub(s, pattern, replacement, n)
  measure(s, pattern)
  if type(s) == "string" and type(replacement) == "string" and (#s + 1) * #replacement > LONGEST then
    error("string.gsub would make more than 1 MB", 2)
  end
  return string.gsub(s, pattern, replacement, n)
end

local function concat(list, separator, ...)
  check()
  if type(list) == "table" and type(separator) == "string" and #list * #separator > LONGEST then
    error("table.concat would make more than 1 MB", 2)
  end
  return table.concat(list, separator, ...)
end

--- Where the code was when something that it called threw.
local function locate(thrown)
  if type(thrown) ~= "string" or string.match(thrown, "^frontmatter:%d+:") or thrown == TIMEOUT then
    return thrown
  end
  for level = 2, 50 do
    local info = debug.getinfo(level, "Sl")
    if not info then
      break
    elseif info.source == "=frontmatter" then
      return string.format("frontmatter:%d: %s", info.currentline, thrown)
    end
  end
  return thrown
end

--- Calls a function within the limits.
---@return boolean ok
---@return any ... what it returned or threw
function M.guard(fn, ...)
  local hook, mask, count = debug.gethook()
  local strings = getmetatable("")
  local methods = strings.__index
  stop, expired = vim.uv.hrtime() + DEADLINE, false
  strings.__index = text
  debug.sethook(check, "", STEP)
  local arguments = vim.F.pack_len(...)
  local result = vim.F.pack_len(xpcall(function()
    return fn(unpack(arguments, 1, arguments.n))
  end, locate))
  debug.sethook(hook, mask or "", count or 0)
  strings.__index = methods
  if expired then
    return false, TIMEOUT
  end
  return unpack(result, 1, result.n)
end

local function copy(from, names)
  local to = {}
  for name in names:gmatch("%S+") do
    -- Functions and numbers cannot be changed from inside; a table could, for everybody.
    assert(type(from[name]) ~= "table", name)
    to[name] = from[name]
  end
  return to
end

--- A fresh set of what the code may use: what it changes there, it changes for itself.
---@param opt table
local function environment(opt)
  local env = copy(_G, "assert error next select tonumber tostring type unpack")
  env.ipairs, env.pairs = require("flemma.opt").iterator(ipairs), require("flemma.opt").iterator(pairs)
  --- Catches what the code throws, and not the end of its time.
  env.pcall = function(...)
    local result = vim.F.pack_len(pcall(...))
    if expired then
      error(TIMEOUT, 0)
    end
    return unpack(result, 1, result.n)
  end
  env.math = copy(math, "abs ceil floor fmod huge max min modf pi pow random sqrt")
  env.string = copy(text, "byte char find format gmatch gsub len lower match rep reverse sub upper")
  env.table = copy(table, "insert maxn remove sort")
  env.table.concat = concat
  env.os = copy(os, "clock date difftime time")
  env.vim = copy(
    vim,
    "deepcopy endswith list_contains list_extend list_slice split startswith tbl_contains tbl_count "
      .. "tbl_deep_extend tbl_extend tbl_filter tbl_isempty tbl_keys tbl_map tbl_values trim"
  )
  env.vim.inspect = function(value)
    return vim.inspect(value)
  end
  env.vim.fn = {}
  for name in ("getcwd has hostname"):gmatch("%S+") do
    env.vim.fn[name] = function(...)
      return vim.fn[name](...)
    end
  end
  env.flemma = { opt = opt }
  env._G = env
  return env
end

--- Runs the code. It may not be byte code.
---@param code string one line above it, so that its lines are numbered as they are in the file
---@param session flemma.opt.Session
---@return boolean ok
---@return string? problem
---@return integer? line from 1
function M.run(code, session)
  local chunk, problem = load(code, "=frontmatter", "t", environment(require("flemma.opt").new(session)))
  local ok = chunk ~= nil
  if chunk then
    -- Compiled code never looks at the clock.
    jit.off(chunk, true)
    ok, problem = M.guard(chunk)
  end
  if ok then
    return true
  end
  problem = type(problem) == "string" and problem or vim.inspect(problem)
  local line, words = problem:match("^frontmatter:(%d+): (.*)$")
  return false, words or problem, tonumber(line)
end

return M
