--- Runs the code of a file's frontmatter.
---
--- The code can only access what it needs to set the options of its own conversation: no files, no processes, no modules, no
--- editor. This is not a sandbox for hostile code, which is why the code only runs once the user trusts it. It makes sure
--- that a mistake costs no more than a message. Between instructions, a hook checks the clock and the memory. Functions that
--- may work for long inside a single instruction have limits of their own, in `flemma.bounded`.
local M = {}

local bounded = require("flemma.bounded")

--- How long the code may run, in nanoseconds.
local DEADLINE = 250e6
--- The number of instructions between two checks of the memory, and the number of memory checks between two checks of the
--- clock. In so few instructions, `..` can only make a string about eight times as long: each operand costs one.
local STEP, LOOKS = 8, 8
--- How much memory it may use in total, and between two checks, in KB. The second is the cost of creating a string of
--- 1 MB.
local IN_ALL, AT_ONCE = 64 * 1024, 4 * 1024

--- The messages for the limits.
local TOO_LONG = "the frontmatter ran for more than a quarter of a second and was stopped"
local TOO_BIG = "the frontmatter used more than 64 MB of memory and was stopped"
local TOO_BIG_AT_ONCE = "the frontmatter made more than 4 MB at once and was stopped"

--- The deadlines of the running code in elapsed time and in processor time, the memory in use before it started and at the
--- last check, the number of checks, and the message about the limit that was reached.
local stop, stop_cpu, floor, before, looks = 0, 0, 0, 0, 0
---@type string?
local reached

--- Adds the line of the code that is running, or that called what is running.
---@param message string
---@return string
local function at_line(message)
  for level = 2, 200 do
    local info = debug.getinfo(level, "Sl")
    if not info then
      break
    elseif info.source == "=frontmatter" then
      return string.format("frontmatter:%d: %s", info.currentline, message)
    end
  end
  return message
end

local function give_up(limit)
  -- The hook must not throw again while the error is handled.
  debug.sethook()
  reached = at_line(limit)
  error(reached, 0)
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
  -- Both, so that a machine that is busy with other work does not stop the code.
  if looks % LOOKS == 0 and vim.uv.hrtime() > stop and os.clock() > stop_cpu then
    give_up(TOO_LONG)
  end
end

--- Adds the line of the code that called the function that threw.
local function locate(thrown)
  debug.sethook()
  if type(thrown) ~= "string" or string.match(thrown, "^frontmatter:%d+:") or thrown == reached then
    return thrown
  end
  return at_line(thrown)
end

--- Calls a function within the limits.
---@return boolean ok
---@return any ... the return values or the error
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

--- A deep copy of a table of functions, so that changes by the code only affect the code.
local function copy(from)
  local to = {}
  for name, value in pairs(from) do
    to[name] = type(value) == "table" and copy(value) or value
  end
  return to
end

--- A new environment for the code.
---@param opt table
local function environment(opt)
  local env = {}
  for name in ("assert error ipairs next pairs select tonumber tostring type unpack"):gmatch("%S+") do
    env[name] = _G[name]
  end
  env.ipairs, env.pairs = require("flemma.opt").iterator(ipairs), require("flemma.opt").iterator(pairs)
  --- Catches errors of the code, but not the limits.
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

--- Runs the code. Bytecode is not accepted.
---@param code string with one line before it, so that its line numbers match the file
---@param session flemma.opt.Session
---@return boolean ok
---@return string? problem
---@return integer? line from 1
function M.run(code, session)
  local chunk, problem = load(code, "=frontmatter", "t", environment(require("flemma.opt").new(session)))
  local ok = chunk ~= nil
  if chunk then
    -- JIT-compiled code never calls the hook.
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
