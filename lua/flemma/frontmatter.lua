--- Runs the code of a file's frontmatter.
---
--- The code sees what it needs to say what it wants of its own conversation and nothing else: no files, no processes, no
--- modules, no editor. It is no prison for code that is out to break it, which is why a file's code runs only once the user
--- trusts it; it keeps a slip from costing more than a message. Between two instructions a hook looks at the clock and at
--- the memory; what works for long inside one instruction is bounded by itself, in `flemma.bounded`.
local M = {}

local bounded = require("flemma.bounded")

--- How long a file's code may run, in nanoseconds.
local DEADLINE = 250e6
--- How many instructions pass between two looks at the memory, and how many such looks between two at the clock. In so
--- few instructions `..` makes a string about eight times as long, and no more: each string that it joins costs one.
local STEP, LOOKS = 8, 8
--- How much memory it may take in all, and between two looks, in KB. The second is what a string of 1 MB costs while it is
--- made.
local IN_ALL, AT_ONCE = 64 * 1024, 4 * 1024

--- What a limit says when it is reached.
local TOO_LONG = "it ran for more than a quarter of a second and was stopped"
local TOO_BIG = "it used more than 64 MB of memory and was stopped"
local TOO_BIG_AT_ONCE = "it made more than 4 MB at once and was stopped"

--- When the code that runs now has to be done, on the clock and in the processor's time, the memory that was in use before it began and at the last look, how many
--- looks there were, and which limit it has reached.
local stop, stop_cpu, floor, before, looks = 0, 0, 0, 0, 0
---@type string?
local reached

local function give_up(limit)
  reached = limit
  -- It must not throw again while the error is handled.
  debug.sethook()
  error(limit, 0)
end

local function watch()
  local now = collectgarbage("count")
  if now - before > AT_ONCE then
    give_up(TOO_BIG_AT_ONCE)
  elseif now - floor > IN_ALL then
    -- Much of it may be garbage.
    collectgarbage()
    now = collectgarbage("count")
    if now - floor > IN_ALL / 2 then
      give_up(TOO_BIG)
    end
  end
  before = now
  looks = looks + 1
  -- Both, so that a machine that is busy with something else does not stop it.
  if looks % LOOKS == 0 and vim.uv.hrtime() > stop and os.clock() > stop_cpu then
    give_up(TOO_LONG)
  end
end

--- Where the code was when something that it called threw.
local function locate(thrown)
  debug.sethook()
  if type(thrown) ~= "string" or string.match(thrown, "^frontmatter:%d+:") or thrown == reached then
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
  stop, reached, looks = vim.uv.hrtime() + DEADLINE, nil, 0
  stop_cpu = os.clock() + DEADLINE / 1e9
  strings.__index = bounded.string
  floor = collectgarbage("count")
  before = floor
  local arguments = vim.F.pack_len(...)
  local _, result = xpcall(function()
    debug.sethook(watch, "", STEP)
    local result = vim.F.pack_len(true, fn(unpack(arguments, 1, arguments.n)))
    debug.sethook()
    return result
  end, function(thrown)
    return { false, locate(thrown), n = 2 }
  end)
  debug.sethook(hook, mask or "", count or 0)
  strings.__index = methods
  if reached then
    return false, reached
  end
  if type(result) ~= "table" then
    return false, tostring(result)
  end
  return unpack(result, 1, result.n)
end

--- A copy of a table of functions and of tables of functions: what the code changes there, it changes for itself.
local function copy(from)
  local to = {}
  for name, value in pairs(from) do
    to[name] = type(value) == "table" and copy(value) or value
  end
  return to
end

--- A fresh set of what the code may use.
---@param opt table
local function environment(opt)
  local env = {}
  for name in ("assert error ipairs next pairs select tonumber tostring type unpack"):gmatch("%S+") do
    env[name] = _G[name]
  end
  env.ipairs, env.pairs = require("flemma.opt").iterator(ipairs), require("flemma.opt").iterator(pairs)
  --- Catches what the code throws, and not the end of its time.
  env.pcall = function(...)
    local result = vim.F.pack_len(pcall(...))
    if reached then
      error(reached, 0)
    end
    return unpack(result, 1, result.n)
  end
  env.math = {}
  for name in ("abs ceil floor fmod huge max min modf pi pow random sqrt"):gmatch("%S+") do
    env.math[name] = math[name]
  end
  env.string, env.table, env.os, env.vim =
    copy(bounded.string), copy(bounded.table), copy(bounded.os), copy(bounded.vim)
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
    -- Compiled code never calls the hook.
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
