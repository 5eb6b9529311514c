--- The chain of resolvers, which decides whether a tool call runs.
local M = {}

local notify = require("flemma.notify")

local DEFAULT_PRIORITY = 50

local native = require("flemma.native").call

---@alias flemma.Decision "approve"|"require_approval"|"deny"

---@class flemma.ApprovalContext
---@field bufnr integer the conversation's buffer
---@field tool_id string the call's id

---@class flemma.Resolver
---@field resolve fun(tool_name: string, input: table, context: flemma.ApprovalContext): flemma.Decision?
---@field priority? integer higher is asked earlier; 50 by default
---@field description? string
---@field name? string only in the results of `get` and `get_all`

---@param problem string
---@return false
local function refuse(problem)
  notify.say(vim.log.levels.ERROR, "approval.register: " .. problem)
  return false
end

local fields = { resolve = true, priority = true, description = true, name = true }

--- Adds a resolver to the chain. A resolver with the same name is replaced.
---@param name string
---@param resolver flemma.Resolver
---@return boolean ok
function M.register(name, resolver)
  if type(name) ~= "string" or name == "" then
    return refuse(("the name must be a non-empty string, not %s"):format(vim.inspect(name)))
  elseif type(resolver) ~= "table" then
    return refuse(("`%s` must be a table with `resolve`, not a %s"):format(name, type(resolver)))
  elseif type(resolver.resolve) ~= "function" then
    return refuse(("`%s`: `resolve` must be a function, not a %s"):format(name, type(resolver.resolve)))
  end
  local priority = resolver.priority == nil and DEFAULT_PRIORITY or resolver.priority
  if type(priority) ~= "number" or priority ~= math.floor(priority) or math.abs(priority) > 2 ^ 31 then
    return refuse(("`%s`: `priority` must be a whole number, not %s"):format(name, vim.inspect(priority)))
  elseif resolver.description ~= nil and type(resolver.description) ~= "string" then
    return refuse(("`%s`: `description` must be a string, not a %s"):format(name, type(resolver.description)))
  end
  for field in pairs(resolver) do
    if not fields[field] then
      local near = native("text", "nearest", { word = tostring(field), words = vim.tbl_keys(fields) })
      return refuse(("`%s`: there is no field `%s`%s"):format(name, tostring(field), near and ("; did you mean `%s`?"):format(near) or ""))
    end
  end
  local ours = { resolve = resolver.resolve, priority = priority, description = resolver.description }
  native("register", "resolver", name, ours)
  return true
end

--- Removes a resolver from the chain.
---@param name string
---@return boolean found
function M.unregister(name)
  return native("unregister", "resolver", tostring(name)) or false
end

--- Copies of all resolvers, in the order in which they are asked. `resolve` asks only that resolver.
---@return flemma.Resolver[]
function M.get_all()
  local entries = native("registered", "resolvers") or {}
  for _, entry in ipairs(entries) do
    entry.resolve = function(tool_name, input, context)
      return (native("approval_resolve", entry.name, tool_name, input, context))
    end
  end
  return entries
end

--- A copy of the resolver with this name.
---@param name string
---@return flemma.Resolver?
function M.get(name)
  return vim.iter(M.get_all()):find(function(entry)
    return entry.name == name
  end)
end

--- The number of resolvers.
---@return integer
function M.count()
  return #(native("registered", "resolvers") or {})
end

--- What would happen to a call, and which resolver decides it. Nothing runs.
---@param tool_name string
---@param input? table
---@param context? flemma.ApprovalContext `bufnr` is the current buffer by default
---@return flemma.Decision decision
---@return string? resolver nil if no resolver decides, so that the user is asked
function M.resolve(tool_name, input, context)
  return native("approval_resolve", nil, tool_name, input, context)
end

return M
