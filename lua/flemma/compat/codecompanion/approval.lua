--- What a tool declares about its approval, and the preparation of its calls before anybody decides about them.
local M = {}

local value = require("flemma.compat.codecompanion.value")

--- The names of the option, the current one first.
local OPTIONS = { "require_approval_before", "requires_approval", "require_approval" }

--- Asked before every other resolver.
local FIRST = 2 ^ 31

M.RESOLVER = "urn:flemma:approval:codecompanion"

--- What a tool says about its approval.
---@param opts table
---@return any
local function declared(opts)
  for _, name in ipairs(OPTIONS) do
    if opts[name] ~= nil then
      return opts[name]
    end
  end
end

--- The field `approval` of a tool's definition.
---@param entry flemma.codecompanion.Entry
---@param call_of fun(bufnr: integer, id: string, input: table): flemma.codecompanion.Call
---@return nil|"auto"|"requires_approval"|fun(input: table, ctx: { bufnr: integer, call_id: string }): string?
function M.of(entry, call_of)
  local word = declared(entry.opts)
  local condition = type(entry.definition.handlers) == "table" and entry.definition.handlers.prompt_condition or nil
  local ask
  if vim.is_callable(word) then
    ask = word
  elseif word and word ~= true and vim.is_callable(condition) then
    ask = function(_, tools)
      return require("flemma.compat.codecompanion.shape").condition(entry.shape, condition, tools)
    end
  elseif word == nil then
    return nil
  else
    return word and "requires_approval" or "auto"
  end
  return function(input, ctx)
    local call = call_of(ctx.bufnr, ctx.call_id, input)
    local decision = ask(call.tool, call.tools)
    return decision == false and "auto" or decision and "requires_approval" or nil
  end
end

--- Has calls prepared before anybody decides about them.
---@param prepare fun(name: string, input: table, bufnr: integer, id: string)
function M.watch(prepare)
  require("flemma.tools.approval").register(M.RESOLVER, {
    priority = FIRST,
    description = "prepares calls of tools made for CodeCompanion; decides nothing",
    resolve = function(name, input, context)
      -- A question about a call that does not exist has no id.
      if context and type(context.tool_id) == "string" and context.tool_id ~= "" then
        prepare(name, value.copy(input), context.bufnr, context.tool_id)
      end
      return nil
    end,
  })
end

return M
