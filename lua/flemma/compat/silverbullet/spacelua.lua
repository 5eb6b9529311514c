--- The table `spacelua`: expressions in a text. They often come from a model, so they are evaluated as `eval_lua` does, in a sandbox
--- off the main thread, and not with the rights of the user's own configuration.
local M = {}

--- The longest expression, in bytes.
local LONGEST = 100000

--- Reads an expression. Nothing of it runs.
---@param text string
---@return { expression: string }
function M.parseExpression(text)
  local what = "spacelua.parseExpression"
  if type(text) ~= "string" then
    error(("%s: the expression must be a string, not a %s"):format(what, type(text)), 0)
  elseif #text > LONGEST then
    error(("%s: the expression is too long: it may have %d bytes"):format(what, LONGEST), 0)
  end
  local chunk, problem = load("return " .. text, "=expression", "t", {})
  if chunk then
    -- One expression, and not several or none.
    chunk, problem = load("return (" .. text .. "\n)", "=expression", "t", {})
  end
  if not chunk then
    error(("%s: %s"):format(what, problem), 0)
  end
  return { expression = text }
end

--- Evaluates an expression. The handler is suspended meanwhile.
---@param expression string|{ expression: string } a text, or what `parseExpression` returned
---@param names? table<string, any> the values of more names in it, as far as they are JSON
---@return any value
function M.evalExpression(expression, names)
  local what = "spacelua.evalExpression"
  if type(expression) == "table" then
    expression = expression.expression
  end
  if type(expression) ~= "string" then
    error(("%s: give an expression, or what spacelua.parseExpression returned"):format(what), 0)
  elseif names ~= nil and type(names) ~= "table" then
    error(("%s: the names must be a table, not a %s"):format(what, type(names)), 0)
  end
  M.parseExpression(expression)
  local request = { op = "evaluate", expression = expression, names = names and next(names) ~= nil and names or nil }
  return require("flemma.compat.silverbullet.run").request(what, request)
end

return M
