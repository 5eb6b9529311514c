--- The era of a definition, and how its functions are called in it.
---
--- CodeCompanion changed the parameters of its tools' functions twice. Here the eras are `"a"` (an XML-style schema), `"b"` and
--- `"c"` (a function's JSON schema, with the parameters one by one, or in a table). A definition may fit both `"b"` and `"c"`
--- (`"either"`), or be written for both. So the Tools object that its functions get serves as the table as well, unless it is
--- clearly of the third era.
local M = {}

---@alias flemma.codecompanion.Shape "a"|"b"|"c"|"either"

M.NAMES = { a = true, b = true, c = true }

--- The number of a function's parameters; nil if that says nothing.
---@param callback any
---@return integer?
local function parameters(callback)
  if type(callback) ~= "function" then
    return nil
  end
  local info = debug.getinfo(callback, "u")
  return not info.isvararg and info.nparams or nil
end

--- The name of a parameter of a function.
---@param callback function
---@param position integer
---@return string?
local function name_of(callback, position)
  local ok, name = pcall(debug.getlocal, callback, position)
  return ok and name or nil
end

--- Whether the schema of a definition is the JSON schema of a function, and not an example in XML.
---@param definition table
---@return boolean
function M.has_function_schema(definition)
  local schema = definition.schema
  return type(schema) == "table"
    and (type(schema["function"]) == "table" or schema.type == "function" or definition.build_cmd ~= nil)
end

--- The era of a definition.
---@param definition table
---@return flemma.codecompanion.Shape
function M.of(definition)
  if not M.has_function_schema(definition) then
    return "a"
  end
  local output = type(definition.output) == "table" and definition.output or {}
  local handlers = type(definition.handlers) == "table" and definition.handlers or {}
  local is_b, is_c = false, false
  for _, name in ipairs({ "success", "error" }) do
    local count = parameters(output[name]) or 0
    local second = name_of(output[name], 2)
    local has_tools = second == "tools" or second == "agent"
    is_c = is_c or count == 3 and not has_tools
    is_b = is_b or count > 3 or has_tools
  end
  is_b = is_b or (parameters(output.rejected) or 0) >= 4 or (parameters(handlers.prompt_condition) or 0) >= 3
  for _, command in ipairs(type(definition.cmds) == "table" and definition.cmds or {}) do
    is_b = is_b or (parameters(command) or 0) >= 4
  end
  return is_b and "b" or is_c and "c" or "either"
end

--- An object that serves as the Tools object, and as a table of arguments. What is written to it is written to the Tools
--- object.
---@param tools table
---@param fields table
---@param list? table the elements of the object, if it serves as a list as well; otherwise it holds the fields themselves
---@return table
local function serve_as_all(tools, fields, list)
  local held = list and vim.list_extend({}, list) or vim.tbl_extend("force", { tools = tools }, fields)
  return setmetatable(held, {
    __index = function(_, key)
      if key == "tools" then
        return tools
      elseif fields[key] ~= nil then
        return fields[key]
      end
      return tools[key]
    end,
    __newindex = function(_, key, value)
      tools[key] = value
    end,
  })
end

--- An object that serves as the result of the function before, and as a table of arguments.
---@param previous any
---@param fields table
---@return table
local function serve_as_input(previous, fields)
  return setmetatable({}, {
    __index = function(_, key)
      if fields[key] ~= nil then
        return fields[key]
      end
      return type(previous) == "table" and previous[key] or nil
    end,
  })
end

--- Calls a function of `cmds`.
---@param shape flemma.codecompanion.Shape
---@param run function
---@param tools table
---@param args any
---@param previous any the result of the function before
---@param answer fun(result: any)
---@param register_job fun(job: any)
---@return any
function M.run(shape, run, tools, args, previous, answer, register_job)
  if shape == "a" or shape == "b" or shape == "either" and name_of(run, 3) == "input" then
    return run(tools, args, previous, answer)
  end
  local fields = { input = previous, output_cb = answer, register_job = register_job }
  if shape == "c" then
    return run(tools, args, fields)
  end
  return run(tools, args, serve_as_input(previous, fields), answer)
end

--- Calls a function of `handlers` or `output`: with the values one by one, or in a table.
---@param shape flemma.codecompanion.Shape
---@param callback function
---@param tools table
---@param fields table what the table has besides the Tools object
---@param list? table what a function gets before the table
---@param ... any the values one by one
---@return any
local function call(shape, callback, tools, fields, list, ...)
  if shape == "a" then
    return callback(tools, ...)
  elseif shape ~= "c" then
    return callback(tools.tool, serve_as_all(tools, fields, list), ...)
  end
  local meta = vim.tbl_extend("force", { tools = tools }, fields)
  if list then
    return callback(tools.tool, list, meta)
  end
  return callback(tools.tool, meta)
end

--- Calls `handlers.setup` or `handlers.on_exit`.
---@param shape flemma.codecompanion.Shape
---@param callback function
---@param tools table
---@return any
function M.handle(shape, callback, tools)
  return call(shape, callback, tools, {})
end

--- Calls `handlers.prompt_condition`, which the first era had not.
---@param shape flemma.codecompanion.Shape
---@param callback function
---@param tools table
---@return any
function M.condition(shape, callback, tools)
  local fields = { tools_config = tools.tools_config }
  return call(shape == "a" and "b" or shape, callback, tools, fields, nil, tools.tools_config)
end

--- Calls `output.prompt` or `output.cmd_string`.
---@param shape flemma.codecompanion.Shape
---@param callback function
---@param tools table
---@return any
function M.prompt(shape, callback, tools)
  return call(shape, callback, tools, {}, nil, shape == "a" and tools.tool or nil)
end

--- Calls `output.success`.
---@param shape flemma.codecompanion.Shape
---@param callback function
---@param tools table
---@param command any
---@return any
function M.success(shape, callback, tools, command)
  return call(shape, callback, tools, { cmd = command }, tools.stdout, command, tools.stdout)
end

--- Calls `output.error`.
---@param shape flemma.codecompanion.Shape
---@param callback function
---@param tools table
---@param command any
---@return any
function M.error(shape, callback, tools, command)
  return call(shape, callback, tools, { cmd = command }, tools.stderr, command, tools.stderr, tools.stdout)
end

--- Calls `output.rejected` or `output.cancelled`.
---@param shape flemma.codecompanion.Shape
---@param callback function
---@param tools table
---@param command any
---@param opts? { reason?: string }
---@return any
function M.refused(shape, callback, tools, command, opts)
  return call(shape, callback, tools, { cmd = command, opts = opts }, nil, command, opts)
end

return M
