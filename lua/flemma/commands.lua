--- `:Flemma`.
local M = {}

local commands = {
  send = function()
    require("flemma.core").send_or_execute()
  end,
  cancel = function()
    require("flemma.core").cancel()
  end,
  status = function()
    require("flemma.status").open()
  end,
  ["tool:execute"] = function()
    require("flemma.core").execute_at_cursor()
  end,
  ["tool:cancel"] = function()
    require("flemma.core").cancel_tool()
  end,
  ["tool:cancel-all"] = function()
    require("flemma.core").cancel_all_tools()
  end,
  ["tool:list"] = function()
    require("flemma.status").open_tools()
  end,
}

local function names()
  local list = vim.tbl_keys(commands)
  table.sort(list)
  return list
end

---@param args table what `nvim_create_user_command` passes
function M.run(args)
  local name = args.fargs[1] or "status"
  local command = commands[name]
  if not command then
    local near = require("flemma.native").call("nearest", name, names())
    local hint = near and ("; did you mean `%s`?"):format(near)
      or (". There are: %s."):format(table.concat(names(), ", "))
    require("flemma.notify").say(vim.log.levels.ERROR, ("there is no `:Flemma %s`%s"):format(name, hint))
  elseif args.fargs[2] then
    require("flemma.notify").say(
      vim.log.levels.ERROR,
      ("`:Flemma %s` takes no argument, but was given `%s`"):format(name, args.fargs[2])
    )
  else
    command()
  end
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  if line:match("^%S+%s+%S+%s") then
    return {}
  end
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, names())
end

return M
