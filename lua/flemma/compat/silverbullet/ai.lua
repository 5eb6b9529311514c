--- The table `ai`.
local M = {}

local runs = require("flemma.compat.silverbullet.run")
local tools = require("flemma.compat.silverbullet.tools")
local value = require("flemma.compat.codecompanion.value")

local functions = {}

--- Proposes the content of a page: it is shown as a diff, and written if the user approves it. Throws if they reject it.
---@param page string
---@param content string
function functions.writePage(page, content)
  require("flemma.compat.silverbullet.proposal").write("ai.writePage", page, content)
end

--- Runs another tool of `ai.tools`, as a part of the call that runs.
---@param name string
---@param args? table
---@return { success: boolean, result?: string, summary?: string, error?: string }
function functions.callTool(name, args)
  local run = runs.current("ai.callTool")
  local entry = type(name) == "string" and tools.get(name) or nil
  if not entry then
    return { success = false, error = ("there is no tool `%s` in ai.tools"):format(tostring(name)) }
  elseif entry.requiresApproval and not run.entry.requiresApproval then
    return {
      success = false,
      error = ("`%s` needs approval, and `%s` does not ask for it: declare `requiresApproval = true`"):format(name, run.name),
    }
  end
  local ok, returned = runs.nested(run, entry, args or {})
  if not ok then
    return { success = false, error = returned }
  elseif type(returned) == "table" and (returned.result ~= nil or returned.summary ~= nil) then
    return { success = true, result = value.text(returned.result), summary = returned.summary }
  end
  local text = value.text(returned)
  if type(returned) == "string" and text:find("^%s*Error:") then
    return { success = false, error = text }
  end
  return { success = true, result = text }
end

--- The tools of `ai.tools`.
---@return { name: string, description: string, parameters: table, source: string, requiresApproval: boolean, readOnly: boolean }[]
function functions.listTools()
  tools.sync()
  return vim.tbl_map(function(name)
    local entry = tools.get(name) or {}
    return {
      name = name,
      description = entry.description,
      parameters = vim.deepcopy(entry.parameters or {}),
      source = "lua",
      requiresApproval = entry.requiresApproval == true,
      readOnly = entry.readOnly == true,
    }
  end, tools.names())
end

return setmetatable(M, {
  __index = function(_, key)
    if key == "tools" then
      return tools.reach()
    end
    return functions[key]
  end,
  __newindex = function(self, key, given)
    if key == "tools" and type(given) == "table" then
      -- Pages begin with `ai.tools = {}`: what others have registered stays.
      return tools.add(given)
    elseif key == "tools" then
      error(("ai.tools must be a table, not a %s"):format(type(given)), 2)
    end
    rawset(self, key, given)
  end,
})
