--- The context that is passed to a tool written in Lua. Expensive fields are created when they are first accessed.
local M = {}

--- The value of `ctx.path`.
local function path(context)
  return {
    --- Relative paths start at the conversation's folder, or at the working directory if it has none.
    ---@param name string
    ---@return string
    resolve = function(name)
      if type(name) ~= "string" then
        error(("ctx.path.resolve: the path must be a string, not a %s"):format(type(name)), 2)
      end
      if name == "~" or vim.startswith(name, "~/") then
        name = vim.uv.os_homedir() .. name:sub(2)
      end
      if vim.startswith(name, "/") then
        return name
      end
      -- A dollar in a name is literal: many frameworks have such files.
      return vim.fs.normalize(vim.fs.joinpath(context.__dirname or context.cwd, name), { expand_env = false })
    end,
    --- Why the tool may not use a file: the user denies it, an agent does not allow it, or it must not be written.
    ---@param name string
    ---@param access? "read"|"write"
    ---@return string? problem nil if it may
    problem = function(name, access)
      if access ~= nil and access ~= "read" and access ~= "write" then
        error(('ctx.path.problem: the access must be "read" or "write", not %s'):format(vim.inspect(access)), 2)
      end
      local path = context.path.resolve(name)
      return require("flemma.native").call("access", context.bufnr, "call", { call = context.call_id, access = access or "read", path = path })
    end,
  }
end

--- The value of `ctx.sandbox`. There is no sandbox for commands yet. Only open conversations are protected from tools.
local function sandbox(context)
  return {
    ---@param name string
    ---@return boolean
    is_path_writable = function(name)
      return context.path.problem(name, "write") == nil
    end,
    ---@param command string[]
    ---@return string[]? wrapped
    ---@return string? err
    wrap_command = function(command)
      if type(command) ~= "table" or #command == 0 then
        return nil, "wrap_command: give the command as a list of at least one string"
      end
      return vim.deepcopy(command)
    end,
  }
end

local lazy = {
  path = path,
  sandbox = sandbox,
  truncate = function()
    return vim.deepcopy(require("flemma.tools.truncate"))
  end,
}

--- Proposes what files are to contain. The call waits for the user's decision, in which the proposal is shown as a diff, and
--- Flemma writes what they approve.
---@param context flemma.ExecutionContext
---@param changes flemma.ProposedChange[]
---@param callback fun(problem?: string, outcome?: flemma.WriteOutcome)
---@return boolean is_asked whether somebody may have to decide
local function propose_write(context, changes, callback)
  if type(changes) ~= "table" or not vim.islist(changes) or #changes == 0 then
    error("ctx.propose_write: give a list of changes, each with a `path` and a `content`", 3)
  elseif not vim.is_callable(callback) then
    error(("ctx.propose_write: the callback must be a function, not a %s"):format(type(callback)), 3)
  end
  local list = {}
  for at, change in ipairs(changes) do
    local name = type(change) == "table" and (change.path or change.page)
    if type(name) ~= "string" or name == "" then
      error(("ctx.propose_write: change %d has no `path`"):format(at), 3)
    elseif type(change.content) ~= "string" then
      error(("ctx.propose_write: the `content` of %s must be a string, not a %s"):format(name, type(change.content)), 3)
    end
    list[at] = { name = name, is_page = change.path == nil, content = change.content }
  end
  local run = { call = context.call_id, number = context.__run }
  return require("flemma.native").call("propose_write", context.bufnr, run, list, function(outcome, problem)
    callback(problem, outcome)
  end)
end

local methods = {}

--- A copy of the user's options for this tool, `tools.<name>`; nil if there are none.
---@return table?
function methods:get_config()
  local options = require("flemma.options").get()
  local own = options and options.tools[rawget(self, "__tool")]
  return type(own) == "table" and vim.deepcopy(own) or nil
end

local class = {
  __index = function(context, key)
    if lazy[key] then
      local value = lazy[key](context)
      rawset(context, key, value)
      return value
    end
    return methods[key]
  end,
}

---@param buf integer
---@param tool string
---@param timeout number seconds
---@param progress? fun(text: string)
---@param about { call_id: string, resolved_by: table, run: integer }
---@return flemma.ExecutionContext
function M.new(buf, tool, timeout, progress, about)
  local file = vim.api.nvim_buf_get_name(buf)
  local project = require("flemma.conversations").project(buf)
  local context
  context = setmetatable({
    bufnr = buf,
    cwd = require("flemma.native").call("path", "working_directory", { buffer = buf, tool = tool }),
    timeout = timeout,
    call_id = about.call_id,
    resolved_by = about.resolved_by,
    __filename = file ~= "" and file or nil,
    __dirname = project or file ~= "" and vim.fs.dirname(file) or nil,
    __tool = tool,
    __run = about.run,
    propose_write = function(...)
      -- With a colon or with a dot.
      local changes, callback = select(select("#", ...) > 2 and 2 or 1, ...)
      return propose_write(context, changes, callback)
    end,
    -- A tool that is not `streaming` may also call it, but nothing is shown.
    progress = function(...)
      -- With a colon or with a dot: the text is the last argument.
      local text = select(select("#", ...), ...)
      if type(text) ~= "string" then
        error(("ctx.progress: the text must be a string, not a %s"):format(type(text)), 2)
      end
      if progress then
        progress(text)
      end
    end,
  }, class)
  return context
end

return M

---@class flemma.ExecutionContext
---@field bufnr integer the conversation's buffer
---@field cwd string absolute working directory
---@field timeout number seconds the call may take
---@field call_id string the id of the call; the same when an `idempotent` tool runs it again
---@field resolved_by flemma.ResolvedBy who let the call run
---@field __filename? string full path of the `.chat` file; nil for one that was never saved
---@field __dirname? string its folder, or the root of the project whose conversation it is
---@field path { resolve: (fun(path: string): string), problem: fun(path: string, access?: "read"|"write"): string? }
---@field sandbox { is_path_writable: (fun(path: string): boolean), wrap_command: fun(command: string[]): string[]?, string? }
---@field truncate table
---@field progress fun(text: string) shows the latest lines under the running block; tools with `streaming = true`
---@field propose_write fun(changes: flemma.ProposedChange[], callback: fun(problem?: string, outcome?: flemma.WriteOutcome): boolean) proposes what files are to contain; the call waits for the user's decision
---@field get_config fun(self: flemma.ExecutionContext): table?

--- What a file is to contain.
---@class flemma.ProposedChange
---@field path? string the file; relative paths start where `ctx.path.resolve` starts
---@field page? string in place of `path`, a page of the notes
---@field content string

--- What became of a proposal that the user approved.
---@class flemma.WriteOutcome
---@field files { path: string, written: boolean }[] `written` is false for a file that the user left as it is
---@field note? string what the model should be told: what the user has left out or changed
