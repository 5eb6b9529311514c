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

--- The field `approval` of a tool's definition. `handlers.setup` may say something else of a call than the definition does.
---@param entry flemma.codecompanion.Entry
---@param call_of fun(bufnr: integer, id: string, input: table): flemma.codecompanion.Call
---@return nil|"auto"|"requires_approval"|fun(input: table, ctx: { bufnr: integer, call_id: string }): string?
function M.of(entry, call_of)
  local handlers = type(entry.definition.handlers) == "table" and entry.definition.handlers or {}
  local function decide(opts, call)
    local word = declared(opts)
    if vim.is_callable(word) then
      word = word(call.tool, call.tools)
    elseif type(word) ~= "boolean" and vim.is_callable(handlers.prompt_condition) then
      word = require("flemma.compat.codecompanion.shape").condition(entry.shape, handlers.prompt_condition, call.tools)
    end
    return word == false and "auto" or word and "requires_approval" or nil
  end
  if handlers.setup == nil and handlers.prompt_condition == nil and not vim.is_callable(declared(entry.opts)) then
    return decide(entry.opts)
  end
  return function(input, ctx)
    local call = call_of(ctx.bufnr, ctx.call_id, input)
    return decide(type(call.tool.opts) == "table" and call.tool.opts or {}, call)
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
