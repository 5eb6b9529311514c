--- Runs commands off the main thread.
local M = {}

---@class flemma.compat.Command
---@field argv? string[] the program and its arguments
---@field shell? string in place of `argv`: a text for `sh -c`
---@field cwd? string the working directory; the editor's if there is none
---@field env? table<string, string> variables that are added to the environment

---@class flemma.compat.CommandResult
---@field code integer the exit code; 128 and its number for a signal; not 0 where there is a `problem`
---@field signal? integer the signal that ended it
---@field stdout string[] the lines of its output: the last ones if it is long, and a note that says so
---@field stderr string[] the same of its errors
---@field stopped boolean whether it was stopped before its end
---@field problem? string why it could not be started

--- Runs a command. `on_end` is called once, on the main loop, and never before this has returned.
---@param command flemma.compat.Command
---@param on_end fun(result: flemma.compat.CommandResult)
---@return fun() stop ends the command with everything that it has started
function M.run(command, on_end)
  return require("flemma.native").call("run_command", command, on_end)
end

--- Fills `${name}` in a command. A text is a script for a shell, which reads no value as code: it refers to variables, which
--- come as the second value. In a list, the arguments of a program, only what a shell among them runs is filled like that.
---@param command string|string[]
---@param values table<string, any> strings, numbers and truth values by name; a name that is not in it stays as it is
---@return string|string[]|nil filled nil where a shell could read a value as code
---@return table<string, string>|string env the variables for `env` of `run`; or why it was not filled
function M.fill(command, values)
  return require("flemma.native").call("fill_template", command, values)
end

return M
