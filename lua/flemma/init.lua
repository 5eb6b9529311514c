--- Flemma: an agent workspace in which a conversation is a plain `.chat` file.
local M = {}

--- Sets the options. Everything has a default; calling it is only needed to change one.
---@param opts? flemma.Options see `:help flemma-configuration`
---@return boolean ok false when an option is invalid: a message names it, and the previous options remain in effect
function M.setup(opts)
  local notify = require("flemma.notify")
  -- A copy of the tables: the library takes a function out of it.
  opts = vim.deepcopy(opts or {})
  local native = require("flemma.native")
  if not native.load() then
    require("flemma.arrival").postpone(opts)
  end
  require("flemma.switch").take_back()
  local options, problems = native.call("setup", next(opts) and opts or vim.empty_dict(), vim.fn.stdpath("log"))
  local is_taken = options ~= nil and problems == nil
  if is_taken then
    require("flemma.options").set(options)
    problems = require("flemma.highlights").apply(options.highlights)
  elseif options and not require("flemma.options").taken() then
    -- The library's options for this case, in which nothing is approved.
    require("flemma.options").set(options)
  end
  for _, problem in ipairs(problems or {}) do
    notify.say(is_taken and vim.log.levels.WARN or vim.log.levels.ERROR, problem)
  end
  return is_taken
end

--- Builds the native library in the background, like `:Flemma build`. For plugin managers that call a function.
function M.build()
  require("flemma.build").run()
end

--- The options in effect, including the defaults, as a copy.
---@return flemma.Options? options nil when the native library is missing
function M.options()
  return vim.deepcopy(require("flemma.options").get())
end

return M
