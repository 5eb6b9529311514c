--- The commands in `cmds`: what runs for an entry, and what its end means.
local M = {}

local process = require("flemma.compat.codecompanion.process")
local value = require("flemma.compat.codecompanion.value")

---@class flemma.codecompanion.Ended
---@field is_success boolean
---@field data any what the author's functions find in `stdout` or `stderr`
---@field label any what they get as the command

--- The command of an entry, and the flag that tells the chat whether it succeeded.
---@param entry any
---@return string|string[]|nil command
---@return string? flag
local function parts(entry)
  if type(entry) ~= "table" then
    return entry, nil
  elseif entry.cmd ~= nil then
    return entry.cmd, entry.flag
  elseif type(entry[1]) == "table" then
    return entry[1], entry[2]
  end
  return entry, entry.flag
end

--- What the author's functions get as the command: the arguments, and the entry, which CodeCompanion gave them up to 17.11.
---@param call flemma.codecompanion.Call
---@param entry any
---@param command string|string[]
---@return table
local function label_of(call, entry, command)
  local _, flag = parts(entry)
  local label = value.copy(type(call.args) == "table" and call.args or {})
  if call.shape ~= "c" then
    vim.list_extend(label, type(command) == "table" and command or { command })
  end
  local function text(item)
    return type(item) == "table" and table.concat(item, " ") or tostring(item)
  end
  return setmetatable(label, {
    __index = { cmd = command, flag = flag },
    __tostring = text,
    __concat = function(left, right)
      return text(left) .. text(right)
    end,
  })
end

--- What runs for an entry.
---@param call flemma.codecompanion.Call
---@param entry any
---@return table? command for `process.run`
---@return table? label
---@return string? problem
local function plan(call, entry)
  local command = parts(entry)
  local words = {}
  for i, word in ipairs(type(command) == "table" and command or { command }) do
    if type(word) ~= "string" and (type(word) ~= "number" or type(command) ~= "table") then
      return nil, nil, ("An entry of `cmds` has a %s for its word %d."):format(type(word), i)
    end
    words[i] = tostring(word)
  end
  if #words == 0 then
    return nil, nil, "An entry of `cmds` is empty."
  end
  if call.shape == "a" and type(command) ~= "table" then
    words = vim.split(vim.trim(words[1]), "%s+")
  end
  -- Later eras pass the words to a shell.
  local template = call.shape == "a" and words or table.concat(words, " ")
  local filled, env = process.fill(template, call.values)
  if not filled then
    return nil, nil, tostring(env)
  elseif call.shape == "a" then
    return { argv = filled, env = env }, label_of(call, entry, filled)
  end
  return { shell = filled, env = env }, label_of(call, entry, command)
end

--- Starts the command of an entry.
---@param call flemma.codecompanion.Call
---@param entry any
---@param on_end fun(ended: flemma.codecompanion.Ended)
---@return fun()? stop
function M.start(call, entry, on_end)
  local command, label, problem = plan(call, entry)
  if not command then
    on_end({ is_success = false, data = problem, label = entry })
    return nil
  end
  return process.run(command, function(result)
    local is_success = result.code == 0 and not result.problem
    local lines = result.stdout
    if not is_success then
      lines = vim.list_extend(vim.list_extend({}, result.stderr), result.stdout)
      if result.problem then
        table.insert(lines, 1, result.problem)
      elseif result.signal then
        lines[#lines + 1] = ("[ended by signal %d]"):format(result.signal)
      else
        lines[#lines + 1] = ("[exit code %d]"):format(result.code)
      end
    end
    on_end({ is_success = is_success, data = lines, label = label })
  end)
end

--- Tells the chat whether the command of an entry succeeded, if the entry has a flag.
---@param call flemma.codecompanion.Call
---@param entry any
---@param is_success boolean
function M.set_flag(call, entry, is_success)
  local _, flag = parts(entry)
  if flag ~= nil then
    call.tools.chat.tool_registry.flags[flag] = is_success
  end
end

return M
