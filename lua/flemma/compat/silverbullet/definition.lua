--- From an entry of `ai.tools` to a definition of ours.
local M = {}

--- The longest time limit of a definition, in seconds: these tools have none.
local LONGEST = 24 * 60 * 60

--- The fields of an entry, with their types.
local FIELDS = {
  description = "string",
  parameters = "table",
  handler = "function",
  requiresApproval = "boolean",
  readOnly = "boolean",
}

--- A parameter with a path, or several.
---@param given any
---@param field string
---@return string|string[]|nil
---@return string? problem
local function path_param(given, field)
  if given == nil or type(given) == "string" then
    return given
  end
  local is_list = type(given) == "table" and vim.islist(given)
  for _, name in ipairs(is_list and given or {}) do
    is_list = is_list and type(name) == "string"
  end
  if not is_list then
    return nil, ("`%s` must be the name of a parameter, or a list of names"):format(field)
  end
  -- One name is written as such.
  return #given > 1 and vim.deepcopy(given) or given[1]
end

--- What is wrong with an entry; nil if nothing is.
---@param name any
---@param entry any
---@return string?
local function problem_of(name, entry)
  if type(name) ~= "string" or name == "" then
    return ("ai.tools: the name of a tool must be a string, not %s"):format(vim.inspect(name))
  end
  local function at(words, ...)
    return ("ai.tools.%s: %s"):format(name, words:format(...))
  end
  if type(entry) ~= "table" then
    return at("a tool is a table with `description`, `parameters` and `handler`, not a %s", type(entry))
  end
  for field, kind in pairs(FIELDS) do
    local value = entry[field]
    if value ~= nil and type(value) ~= kind and not (kind == "function" and vim.is_callable(value)) then
      return at("`%s` must be a %s, not a %s", field, kind, type(value))
    end
  end
  if entry.handler == nil then
    return at("`handler` is missing: the function that runs a call")
  elseif entry.description == nil then
    return at("`description` is missing: say what the tool does and when to use it")
  elseif entry.readOnly and (entry.requiresApproval or entry.writePathParam ~= nil) then
    return at("`readOnly` does not go with `requiresApproval` or `writePathParam`")
  end
end

--- Registers a tool.
---@param name any
---@param entry any
---@return boolean ok
---@return string? problem
function M.register(name, entry)
  local problem = problem_of(name, entry)
  if problem then
    return false, problem
  end
  local schema = vim.deepcopy(entry.parameters or {})
  schema.type = schema.type or "object"
  if type(schema.properties) ~= "table" or next(schema.properties) == nil then
    schema.properties = vim.empty_dict()
  end
  if type(schema.required) == "table" and next(schema.required) == nil then
    schema.required = nil
  end
  local ours = {
    name = name,
    description = entry.description,
    input_schema = schema,
    async = true,
    timeout = LONGEST,
    path_kind = "page",
    -- One that does not say `requiresApproval` runs without a question, unless a list of the user's says otherwise. What it writes
    -- is asked about when it writes.
    approval = entry.requiresApproval and "requires_approval" or "auto",
    idempotent = entry.readOnly or nil,
    enabled = require("flemma.compat.silverbullet.config").are_tools_enabled(),
    execute = function(input, ctx, callback)
      return require("flemma.compat.silverbullet.run").start(name, input, ctx, callback)
    end,
  }
  for field, key in pairs({ readPathParam = "read_path_param", writePathParam = "write_path_param" }) do
    ours[key], problem = path_param(entry[field], field)
    if problem then
      return false, ("ai.tools.%s: %s"):format(name, problem)
    end
  end
  if not ours.read_path_param and not ours.write_path_param then
    -- It uses no path of its input by itself. What it does with pages is judged there.
    ours.read_path_param = vim.empty_dict()
  end
  local page = ("the page `%s`"):format(debug.getinfo(entry.handler, "S").short_src)
  local ok, message = require("flemma.native").call("register", "tool", name, ours, page)
  if not ok then
    message = message or ("tool `%s` was not registered: the native library is missing"):format(name)
    for ours_name, theirs in pairs({
      input_schema = "parameters",
      read_path_param = "readPathParam",
      write_path_param = "writePathParam",
    }) do
      message = message:gsub("`" .. ours_name .. "`", "`" .. theirs .. "`")
    end
    return false, message
  end
  return true
end

return M
