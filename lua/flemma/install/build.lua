--- Installs the native library: `:Flemma build`, and `build.lua` for lazy.nvim.
---
--- `scripts/install` downloads or builds it in a process of its own. This module reads its progress and reports the outcome. It does
--- not depend on other modules while it runs, because a plugin manager runs it before the plugin is on 'runtimepath'.
local M = {}

local root = vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p:h:h:h:h"))

--- The maximum number of cargo's lines that a message about a failure quotes.
local QUOTED = 3

---@class flemma.Build
---@field text string the current step, in one line
---@field began integer when it started, in milliseconds of the loop's clock
---@field ok? boolean whether it succeeded; nil while it is running
---@field problem? string why it failed

--- The build that is running, or the last one.
---@type flemma.Build?
local current

--- The file that gets the full output.
---@return string
local function log_path()
  return vim.fs.joinpath(vim.fn.stdpath("log") --[[@as string]], "flemma-build.log")
end

--- A line of cargo's output without decoration. `12 | code` and bare gutters are removed, and so is a note that only
--- repeats the command line of the linker.
---@param line string
---@return string? words nil when nothing is left
local function plain(line)
  local words = vim.trim(line):gsub("^|?%s*=%s+", "")
  local is_drawing = words == "" or words:find("^%d*%s*|") or words:find("^note:%s+\"") or words:find("^note: some arguments")
  return not is_drawing and words or nil
end

--- The part of cargo's output that tells the user why it failed.
---@param output string
---@return string
local function reason(output)
  local lines = {}
  for line in output:gsub("\27%[[%d;]*%a", ""):gmatch("[^\r\n]+") do
    local is_error = line:match("^error") or line:match("^build: ") or line:match("rror: ")
    if #lines < QUOTED and (is_error or #lines > 0) then
      lines[#lines + 1] = plain(line)
    end
  end
  local words = #lines > 0 and table.concat(lines, "; "):gsub(":; ", ": ") or "it reported no error"
  if output:find("resolve host", 1, true) or output:find("download", 1, true) and output:find("failed", 1, true) then
    words = "cargo could not download the crates; check the network. " .. words
  end
  return words
end

--- Starts a build, or returns the one that is running.
---@param done? fun(problem?: string)
---@return flemma.Build build
function M.start(done)
  if current and current.ok == nil then
    return current
  end
  local build = { text = "starting", began = vim.uv.now() }
  current = build
  local function finish(problem)
    build.ok, build.problem = problem == nil, problem
    build.text = problem and "failed" or "done"
    if done then
      done(problem)
    end
  end
  if vim.fn.executable("bash") == 0 then
    finish("bash is not installed, and scripts/install requires it")
    return build
  end
  local output = {}
  local function heard(_, data)
    if not data then
      return
    end
    output[#output + 1] = data
    for line in data:gmatch("[^\r\n]+") do
      local nth, all = line:match("Building.-(%d+)/(%d+)")
      local verb, crate = line:match("^%s*(%u%l+)%s+(%S+)")
      local is_step = verb == "Compiling" or verb == "Downloading" or verb == "Updating"
      build.text = line:match("^flemma: (.*)")
        or nth and ("crate %s of %s"):format(nth, all)
        or is_step and ("%s %s"):format(verb:lower(), crate)
        or build.text
    end
  end
  local started, why = pcall(vim.system, { "bash", vim.fs.joinpath(root, "scripts", "install") }, {
    cwd = root,
    env = {
      FLEMMA_RELEASES = vim.g.flemma_releases or vim.env.FLEMMA_RELEASES,
      FLEMMA_NVIM = vim.env.FLEMMA_NVIM or vim.v.progpath,
      FLEMMA_DATA = vim.fs.joinpath(vim.fn.stdpath("data"), "flemma"),
    },
    stdout = heard,
    stderr = heard,
  }, function(result)
    local text = table.concat(output)
    vim.schedule(function()
      local file = io.open(log_path(), "w")
      if file then
        file:write(text)
        file:close()
      end
      if result.code == 0 then
        finish()
      else
        finish(("%s (the full output is in %s)"):format(reason(text), log_path()))
      end
    end)
  end)
  if not started then
    finish(tostring(why))
  end
  return build
end

--- Builds, and returns when the build is done. In a coroutine such as lazy.nvim's, each line of progress is yielded.
---@param yield? fun(line: string)
function M.wait(yield)
  local build = M.start()
  local told
  local function tell()
    local seconds = math.floor((vim.uv.now() - build.began) / 1000)
    local line = ("Flemma: installing the native library, %s, %d s"):format(build.text, seconds)
    if yield and line ~= told then
      told = line
      yield(line)
    elseif yield then
      coroutine.yield()
    end
    return build.ok ~= nil
  end
  if yield then
    while not tell() do
    end
  else
    vim.wait(60 * 60 * 1000, function()
      return build.ok ~= nil
    end, 100)
  end
  if not build.ok then
    error("Flemma: the native library was not installed: " .. (build.problem or "it took longer than an hour"), 0)
  end
end

--- `:Flemma build`: builds in the background, and loads the library when it is done.
function M.run()
  local notify = require("flemma.notify")
  if current and current.ok == nil then
    return notify.say(vim.log.levels.INFO, "the native library is already being installed: " .. current.text)
  end
  local native = require("flemma.native")
  if native.given() then
    local words = "nothing was built: $FLEMMA_NATIVE is set to %s, so a library built here would not be used. "
      .. "Correct it, or run `:unlet $FLEMMA_NATIVE` and build again"
    return notify.say(vim.log.levels.ERROR, words:format(native.given()))
  end
  local was_loaded = native.is_loaded()
  notify.say(vim.log.levels.INFO, "installing the native library; `:Flemma build` says how far it is")
  M.start(function(problem)
    if problem then
      notify.say(vim.log.levels.ERROR, "the native library was not installed: " .. problem)
    elseif was_loaded then
      notify.say(vim.log.levels.INFO, "the native library is installed; restart Neovim to use it")
    elseif not native.is_loaded() then
      require("flemma.install.missing").take()
    end
  end)
end

return M
