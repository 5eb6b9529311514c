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
  }
end

--- The value of `ctx.sandbox`. There is no sandbox for commands yet. Only open conversations are protected from tools.
local function sandbox(context)
  return {
    ---@param name string
    ---@return boolean
    is_path_writable = function(name)
      return require("flemma.native").call("is_writable", context.path.resolve(name)) or false
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
---@param about { call_id: string, resolved_by: table }
---@return flemma.ExecutionContext
function M.new(buf, tool, timeout, progress, about)
  local file = vim.api.nvim_buf_get_name(buf)
  local options = require("flemma.options").get()
  local own = options and options.tools[tool]
  local cwd = type(own) == "table" and type(own.cwd) == "string" and vim.fn.fnamemodify(own.cwd, ":p"):gsub("(.)/$", "%1")
    or vim.fn.getcwd()
  return setmetatable({
    bufnr = buf,
    cwd = cwd,
    timeout = timeout,
    call_id = about.call_id,
    resolved_by = about.resolved_by,
    __filename = file ~= "" and file or nil,
    __dirname = file ~= "" and vim.fs.dirname(file) or nil,
    __tool = tool,
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
end

return M

---@class flemma.ExecutionContext
---@field bufnr integer the conversation's buffer
---@field cwd string absolute working directory
---@field timeout number seconds the call may take
---@field call_id string the id of the call; the same when an `idempotent` tool runs it again
---@field resolved_by flemma.ResolvedBy who let the call run
---@field __filename? string full path of the `.chat` file; nil for one that was never saved
---@field __dirname? string its folder
---@field path { resolve: fun(path: string): string }
---@field sandbox { is_path_writable: (fun(path: string): boolean), wrap_command: fun(command: string[]): string[]?, string? }
---@field truncate table
---@field progress fun(text: string) shows the latest lines under the running block; tools with `streaming = true`
---@field get_config fun(self: flemma.ExecutionContext): table?
