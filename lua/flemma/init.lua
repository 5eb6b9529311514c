--- Flemma: an agent workspace in which a conversation is a plain `.chat` file.
local M = {}

---@type table? the effective options, as the library reads them
local effective

--- Sets the options. Everything has a default; calling it is only needed to change one.
---@param opts? flemma.Options see `:help flemma-configuration`
---@return boolean ok false when an option is wrong: the message names it, and the options before stay
function M.setup(opts)
  local native = require("flemma.native")
  local options, problems = native.call("setup", opts or vim.empty_dict(), vim.fn.stdpath("log"))
  if options then
    effective = options
    require("flemma.highlights").apply(options.highlights)
    for _, warning in ipairs(problems) do
      require("flemma.notify").say(vim.log.levels.WARN, warning)
    end
    return true
  end
  for _, problem in ipairs(problems or {}) do
    require("flemma.notify").say(vim.log.levels.ERROR, problem)
  end
  return false
end

--- The effective options; the defaults where `setup` was never called.
---@param opts? { load: boolean } `load = false`: only if they were read already
---@return table? options nil when the library is not there
function M.options(opts)
  if opts and not opts.load then
    return effective
  end
  if not effective and require("flemma.native").load() then
    M.setup()
  end
  return effective
end

return M
