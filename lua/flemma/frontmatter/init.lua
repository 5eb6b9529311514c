--- Runs the code of a file's frontmatter, once the user trusts it.
---
--- The code gets an environment of its own, with what it needs to set the options of its conversation, and a hook stops it when it
--- runs for too long. So a mistake costs no more than a message. This is no sandbox for hostile code.
local M = {}

--- How long the code may run, in nanoseconds, how much memory it may use, in KB, and after how many instructions both are checked.
local DEADLINE, MEMORY, STEP = 250e6, 64 * 1024, 4

--- What the code can use, by the table that it is in.
local ALLOWED = {
  _G = "assert error next select tonumber tostring type unpack",
  math = "abs ceil floor fmod huge max min modf pi pow random sqrt",
  string = "byte char find format gmatch gsub len lower match rep reverse sub upper",
  table = "concat insert maxn remove sort",
  os = "clock date difftime time",
  vim = "deepcopy endswith inspect list_contains list_extend list_slice split startswith tbl_contains tbl_count tbl_deep_extend "
    .. "tbl_extend tbl_filter tbl_isempty tbl_keys tbl_map tbl_values trim",
  ["vim.fn"] = "getcwd has hostname",
}

--- The limit that the running code has reached, as an error.
---@type string?
local reached

--- Adds the line of the code that is running, or that called what is running.
local function located(thrown)
  if type(thrown) ~= "string" or thrown:find("^frontmatter:%d+: ") then
    return thrown
  end
  local level, info = 2, debug.getinfo(2, "Sl")
  while info and info.source ~= "=frontmatter" do
    level = level + 1
    info = debug.getinfo(level, "Sl")
  end
  return info and ("frontmatter:%d: %s"):format(info.currentline, thrown) or thrown
end

--- Calls a function within the limits.
---@return boolean ok
---@return any ... the return values or the error
function M.guard(fn, ...)
  -- Both, so that a machine that is busy with other work does not stop the code.
  local stop, stop_cpu = vim.uv.hrtime() + DEADLINE, os.clock() + DEADLINE / 1e9
  local most = collectgarbage("count") + MEMORY
  reached = nil
  local function watch()
    local limit
    if vim.uv.hrtime() > stop and os.clock() > stop_cpu then
      limit = "ran for more than a quarter of a second"
    elseif collectgarbage("count") > most and collectgarbage() and collectgarbage("count") > most then
      limit = "used more than 64 MB of memory"
    end
    if limit then
      debug.sethook()
      reached = located(("the frontmatter %s and was stopped"):format(limit))
      error(reached, 0)
    end
  end
  local function finish(...)
    debug.sethook()
    return ...
  end
  -- The hook only runs where its error is caught.
  return xpcall(function(...)
    debug.sethook(watch, "", STEP)
    return finish(fn(...))
  end, function(thrown)
    debug.sethook()
    return located(thrown)
  end, ...)
end

--- Catches errors of the code, but not the limits.
local function caught(...)
  if reached then
    error(reached, 0)
  end
  return ...
end

--- A copy of what the code can use of a table.
---@param path string
local function allowed(path)
  local from, to = vim.tbl_get(_G, unpack(vim.split(path, ".", { plain = true }))), {}
  for name in ALLOWED[path]:gmatch("%S+") do
    local value = from[name]
    to[name] = type(value) == "table" and function(...)
      return value(...)
    end or value
  end
  return to
end

--- A new environment for the code.
---@param opt table
local function environment(opt)
  local env, iterator = allowed("_G"), require("flemma.frontmatter.opt").iterator
  for _, name in ipairs({ "math", "string", "table", "os", "vim" }) do
    env[name] = allowed(name)
  end
  env.vim.fn = allowed("vim.fn")
  env.ipairs, env.pairs = iterator(ipairs), iterator(pairs)
  env.pcall = function(...)
    return caught(pcall(...))
  end
  env.flemma, env._G = { opt = opt }, env
  return env
end

--- Runs the code. Bytecode is not accepted.
---@param code string with one line before it, so that its line numbers match the file
---@param session flemma.opt.Session
---@return boolean ok
---@return string? problem
---@return integer? line from 1
function M.run(code, session)
  local chunk, problem = load(code, "=frontmatter", "t", environment(require("flemma.frontmatter.opt").new(session)))
  local ok = chunk ~= nil
  if chunk then
    -- Code that is compiled to machine code never calls the hook.
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
