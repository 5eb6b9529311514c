--- The era of a definition, and how its functions are called in it.
---
--- CodeCompanion changed the parameters of its tools' functions twice. Here the eras are `"a"` (an XML-style schema), `"b"` and
--- `"c"` (a function's JSON schema, with the parameters one by one, or in a table). Where a definition fits both `"b"` and
--- `"c"`, it is `"either"`, and its functions get objects that serve as both.
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

--- Whether a parameter of a function is called like the Tools object.
---@param callback function
---@param position integer
---@return boolean
local function is_tools(callback, position)
  local ok, name = pcall(debug.getlocal, callback, position)
  return ok and (name == "tools" or name == "agent")
end

--- Whether the schema of a definition is the JSON schema of a function, and not an example in XML.
---@param definition table
---@return boolean
function M.has_function_schema(definition)
  local schema = definition.schema
  return type(schema) == "table" and (type(schema["function"]) == "table" or schema.type == "function")
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
    local count = parameters(output[name])
    if count == 3 and not is_tools(output[name], 2) then
      is_c = true
    elseif count and count >= 3 then
      is_b = true
    end
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
---@param list? table the elements of the object, if it serves as a list as well
---@return table
local function serve_as_all(tools, fields, list)
  local elements = {}
  for i, item in ipairs(list or {}) do
    elements[i] = item
  end
  return setmetatable(elements, {
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
  if shape == "a" or shape == "b" then
    return run(tools, args, previous, answer)
  end
  local fields = { input = previous, output_cb = answer, register_job = register_job }
  if shape == "c" then
    return run(tools, args, fields)
  end
  return run(tools, args, serve_as_input(previous, fields), answer)
end

--- Calls `handlers.setup` or `handlers.on_exit`.
---@param shape flemma.codecompanion.Shape
---@param callback function
---@param tools table
---@return any
function M.handle(shape, callback, tools)
  if shape == "a" then
    return callback(tools)
  elseif shape == "b" then
    return callback(tools.tool, tools)
  elseif shape == "c" then
    return callback(tools.tool, { tools = tools })
  end
  return callback(tools.tool, serve_as_all(tools, {}))
end

--- Calls `handlers.prompt_condition`.
---@param shape flemma.codecompanion.Shape
---@param callback function
---@param tools table
---@return any
function M.condition(shape, callback, tools)
  if shape == "c" then
    return callback(tools.tool, { tools = tools, tools_config = tools.tools_config })
  elseif shape == "either" then
    return callback(tools.tool, serve_as_all(tools, {}), tools.tools_config)
  end
  return callback(tools.tool, tools, tools.tools_config)
end

--- Calls `output.prompt` or `output.cmd_string`.
---@param shape flemma.codecompanion.Shape
---@param callback function
---@param tools table
---@return any
function M.prompt(shape, callback, tools)
  if shape == "a" then
    return callback(tools, tools.tool)
  end
  return M.handle(shape, callback, tools)
end

--- Calls `output.success`.
---@param shape flemma.codecompanion.Shape
---@param callback function
---@param tools table
---@param command any
---@return any
function M.success(shape, callback, tools, command)
  if shape == "a" then
    return callback(tools, command, tools.stdout)
  elseif shape == "b" then
    return callback(tools.tool, tools, command, tools.stdout)
  elseif shape == "c" then
    return callback(tools.tool, tools.stdout, { tools = tools, cmd = command })
  end
  local fields = { cmd = command }
  return callback(tools.tool, serve_as_all(tools, fields, tools.stdout), command, tools.stdout)
end

--- Calls `output.error`.
---@param shape flemma.codecompanion.Shape
---@param callback function
---@param tools table
---@param command any
---@return any
function M.error(shape, callback, tools, command)
  if shape == "a" then
    return callback(tools, command, tools.stderr, tools.stdout)
  elseif shape == "b" then
    return callback(tools.tool, tools, command, tools.stderr, tools.stdout)
  elseif shape == "c" then
    return callback(tools.tool, tools.stderr, { tools = tools, cmd = command })
  end
  local fields = { cmd = command }
  return callback(tools.tool, serve_as_all(tools, fields, tools.stderr), command, tools.stderr, tools.stdout)
end

--- Calls `output.rejected` or `output.cancelled`.
---@param shape flemma.codecompanion.Shape
---@param callback function
---@param tools table
---@param command any
---@param opts? { reason?: string }
---@return any
function M.refused(shape, callback, tools, command, opts)
  if shape == "a" then
    return callback(tools, command)
  elseif shape == "b" then
    return callback(tools.tool, tools, command, opts)
  elseif shape == "c" then
    return callback(tools.tool, { tools = tools, cmd = command, opts = opts })
  end
  return callback(tools.tool, serve_as_all(tools, { cmd = command, opts = opts }), command, opts)
end

return M
