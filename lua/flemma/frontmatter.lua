--- Runs the code of a file's frontmatter.
---
--- The code sees what it needs to say what it wants of its own conversation and nothing else: no files, no processes, no
--- modules, no editor. It is no prison for code that is out to break it, which is why a file's code runs only once the user
--- trusts it; it keeps a slip from costing more than a message.
local M = {}

--- How long a file's code may run, in nanoseconds.
local DEADLINE = 250e6
--- How many instructions pass between two looks at the clock.
local STEP = 10000
local TIMEOUT = "it ran for a quarter of a second without an end and was stopped"

local expired = false

--- Calls a function within the deadline.
---@return boolean ok
---@return any ... what it returned or threw
function M.guard(fn, ...)
  local stop = vim.uv.hrtime() + DEADLINE
  local hook, mask, count = debug.gethook()
  expired = false
  debug.sethook(function()
    if vim.uv.hrtime() > stop then
      expired = true
      error(TIMEOUT, 0)
    end
  end, "", STEP)
  local result = vim.F.pack_len(pcall(fn, ...))
  debug.sethook(hook, mask or "", count or 0)
  if expired then
    return false, TIMEOUT
  end
  return unpack(result, 1, result.n)
end

local function copy(from, names)
  local to = {}
  for name in names:gmatch("%S+") do
    to[name] = from[name]
  end
  return to
end

--- A fresh set of what the code may use: what it changes there, it changes for itself.
---@param opt table
local function environment(opt)
  local env = copy(_G, "assert error ipairs next pairs select tonumber tostring type unpack")
  --- Catches what the code throws, and not the end of its time.
  env.pcall = function(...)
    local result = vim.F.pack_len(pcall(...))
    if expired then
      error(TIMEOUT, 0)
    end
    return unpack(result, 1, result.n)
  end
  env.math = copy(math, "abs ceil floor fmod huge max min modf pi pow random sqrt")
  env.string = copy(string, "byte char find format gmatch gsub len lower match rep reverse sub upper")
  env.table = copy(table, "concat insert maxn remove sort")
  env.os = copy(os, "clock date difftime time")
  env.vim = copy(
    vim,
    "deepcopy endswith inspect list_contains list_extend list_slice split startswith tbl_contains tbl_count "
      .. "tbl_deep_extend tbl_extend tbl_filter tbl_isempty tbl_keys tbl_map tbl_values trim"
  )
  env.vim.fn = copy(vim.fn, "getcwd has hostname")
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
