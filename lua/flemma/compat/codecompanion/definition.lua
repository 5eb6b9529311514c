--- Definitions of tools: from what stands in CodeCompanion's tools table to a definition of ours.
local M = {}

local shapes = require("flemma.compat.codecompanion.shape")
local sources = require("flemma.compat.codecompanion.source")
local tools = require("flemma.compat.codecompanion.config").tools
local value = require("flemma.compat.codecompanion.value")

--- The longest time limit of a definition, in seconds: CodeCompanion has none.
local LONGEST = 24 * 60 * 60

--- What an entry of the tools table says beside the definition.
local ABOUT = {
  callback = true,
  description = true,
  enabled = true,
  extends = true,
  opts = true,
  path = true,
  shape = true,
  visible = true,
}

--- CodeCompanion's base for tools that only build a command (`build_cmd`), which any tool may do here.
local BUILDS = "cmd_tool"

---@class flemma.codecompanion.Resolved
---@field definition table
---@field opts table
---@field description? string
---@field enabled? any

--- The parts of an entry that belong to the definition itself.
---@param entry table
---@return table
local function own_parts(entry)
  local own = {}
  for key, part in next, entry do
    if not ABOUT[key] then
      own[key] = part
    end
  end
  return own
end

--- The definition that an entry is based on.
---@param spec table
---@param seen table<string, boolean>
---@return flemma.codecompanion.Resolved? base
---@return string? problem
local function base_of(spec, seen)
  local field = spec.callback ~= nil and "callback" or spec.path ~= nil and "path" or nil
  if field then
    local found, problem = sources.follow(spec[field], field)
    if problem then
      return nil, problem
    elseif type(found) ~= "table" then
      return nil, ("`%s` leads to a %s; it must lead to a table with `cmds` and `schema`"):format(field, type(found))
    elseif found.extends ~= nil then
      return M.resolve(found, seen)
    end
    return { definition = found, opts = type(found.opts) == "table" and found.opts or {}, enabled = found.enabled }
  end
  local name = spec.extends
  if name == nil and spec.cmds == nil and spec.schema == nil then
    return nil,
      "the entry has no `callback`, and no `cmds` and `schema`"
  elseif name == nil or name == BUILDS and not tools[name] then
    return { definition = setmetatable({}, getmetatable(spec)), opts = {} }
  elseif type(name) ~= "string" then
    return nil, ("`extends` is a %s, and there is no such tool; register it first"):format(type(name))
  end
  local other = not seen[name] and tools[name]
  if not other then
    local problem = seen[name] and "which extends itself" or "and there is no such tool; register it first"
    return nil, ('`extends` is "%s", %s'):format(name, problem)
  end
  seen[name] = true
  local base, problem = M.resolve(other, seen)
  return base, problem and ('`extends` is "%s": %s'):format(name, problem)
end

--- Whether an entry only changes a tool that is there already, and is none itself.
---@param spec any
---@return boolean
function M.only_changes(spec)
  return type(spec) == "table" and vim.iter(pairs(spec)):all(function(key)
    return key == "opts" or key == "enabled" or key == "description" or key == "visible"
  end)
end

--- Finds the definition of an entry, and what the entry changes about it.
---@param spec any the entry, or a definition
---@param seen? table<string, boolean>
---@return flemma.codecompanion.Resolved? resolved
---@return string? problem what follows the tool's name
function M.resolve(spec, seen)
  if type(spec) == "function" or type(spec) == "string" then
    spec = { callback = spec }
  elseif type(spec) ~= "table" then
    return nil, ("the entry must be a table, not a %s"):format(type(spec))
  end
  if spec.opts ~= nil and type(spec.opts) ~= "table" then
    return nil, ("`opts` must be a table, not a %s"):format(type(spec.opts))
  end
  local base, problem = base_of(spec, seen or {})
  if not base then
    return nil, problem
  end
  local description = spec.description
  if description ~= nil and type(description) ~= "string" then
    return nil, ("`description` must be a string, not a %s"):format(type(description))
  end
  return {
    definition = value.merge(base.definition, own_parts(spec)),
    opts = value.merge(base.opts, spec.opts or {}),
    description = description or base.description or base.definition.description,
    enabled = spec.enabled == nil and base.enabled or spec.enabled,
  }
end

--- A copy of a JSON Schema that says what it says in Lua: an empty table under a keyword that wants a list is a list. Its authors
--- may expect properties that they have not declared: CodeCompanion refuses none.
---@param schema any
---@return any
local function clean(schema)
  if type(schema) ~= "table" then
    return schema
  end
  local copy = {}
  for key, part in next, schema do
    local wants_list = key == "required" or key == "enum" or key == "anyOf" or key == "oneOf" or key == "allOf"
    local is_empty = wants_list and type(part) == "table" and next(part) == nil
    if not is_empty and not (key == "additionalProperties" and part == false) then
      copy[key] = clean(part)
    end
  end
  return copy
end

--- The part of a definition that the model sees, for a definition with the schema of a function.
---@param resolved flemma.codecompanion.Resolved
---@return table? parts `description`, `input_schema`
---@return string? problem
local function from_function(resolved)
  local schema = resolved.definition.schema
  local about = type(schema["function"]) == "table" and schema["function"] or schema
  local parameters = about.parameters
  if parameters == nil and resolved.definition.build_cmd ~= nil then
    about, parameters = resolved.definition, schema
  end
  if parameters ~= nil and type(parameters) ~= "table" then
    return nil, ("`schema.function.parameters` must be a table, not a %s"):format(type(parameters))
  end
  parameters = clean(parameters or {})
  parameters.strict = nil
  if parameters.type == nil then
    parameters.type = "object"
  end
  if type(parameters.properties) ~= "table" then
    parameters.properties = vim.empty_dict()
  end
  return {
    description = type(about.description) == "string" and vim.trim(about.description) ~= "" and about.description or nil,
    input_schema = parameters,
  }
end

--- The same for a definition with an XML-style example.
---@param name string
---@param definition table
---@return table? parts
---@return string? problem
local function from_example(name, definition)
  local schema, problem = require("flemma.compat.codecompanion.xml").schema(definition.schema)
  if not schema then
    return nil, ("`schema` of `%s`: %s"):format(name, problem or "it cannot be read as an example of a call")
  end
  return { input_schema = schema }
end

--- What the definition says about itself to the model: `system_prompt`.
---@param definition table
---@param name string
---@return string? prompt
---@return string? problem
local function guidance(definition, name)
  local prompt = definition.system_prompt
  if type(prompt) == "function" then
    local schema = value.copy(definition.schema)
    local ok, text = pcall(prompt, schema, require("flemma.compat.codecompanion.xml"))
    if not ok then
      return nil, ("`system_prompt` failed: %s. It is asked again before each request"):format(value.thrown(text))
    end
    prompt = text
  end
  if prompt ~= nil and type(prompt) ~= "string" then
    return nil, ("`system_prompt` of `%s` must be a string or a function that returns one, not a %s"):format(name, type(prompt))
  end
  return prompt and vim.trim(prompt) ~= "" and prompt or nil
end

--- The definition of ours that stands for a tool, without its functions.
---@param name string
---@param resolved flemma.codecompanion.Resolved
---@param shape flemma.codecompanion.Shape
---@return table? definition
---@return string? problem what follows the tool's name
function M.describe(name, resolved, shape)
  local definition = resolved.definition
  if definition.schema == nil then
    return nil, "`schema` is missing: it says what the model passes to the tool"
  elseif type(definition.schema) ~= "table" then
    return nil, ("`schema` must be a table, not a %s"):format(type(definition.schema))
  end
  for _, field in ipairs({ "handlers", "output" }) do
    if definition[field] ~= nil and type(definition[field]) ~= "table" then
      return nil, ("`%s` must be a table, not a %s"):format(field, type(definition[field]))
    end
  end
  local ours, problem
  if not shapes.has_function_schema(definition) then
    ours, problem = from_example(name, definition)
  else
    ours, problem = from_function(resolved)
  end
  if not ours then
    return nil, problem
  end
  local prompt
  prompt, problem = guidance(definition, name)
  if problem then
    return nil, problem
  end
  ours.name = name
  ours.async = true
  ours.timeout = LONGEST
  ours.description = ours.description or resolved.description or ("The tool `%s`."):format(name)
  if shape == "a" then
    ours.system_prompt = prompt
  elseif prompt then
    -- There is no other place for it where models call tools natively.
    ours.description = ours.description .. "\n\n" .. prompt
  end
  return ours
end

return M
