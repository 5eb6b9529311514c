--- XML for tools that describe their calls by an example. It stands in for the module `xml2lua`, which `system_prompt` is given.
local M = {}

--- A table as XML: an element for each key, in alphabetical order, its attributes under `_attr`. A list repeats its element.
---@param value any
---@param name? string an element around it
---@return string
function M.toXml(value, name)
  local xml, problem = require("flemma.native").call("xml", "text", value, { name = name })
  if not xml then
    error(("toXml: %s"):format(problem or "the native library is missing"), 2)
  end
  return xml
end

--- The JSON Schema of a tool, from an example of a call or a list of examples.
---@param example table
---@return table? schema
---@return string? problem
function M.schema(example)
  return require("flemma.native").call("xml", "schema", example)
end

return M
