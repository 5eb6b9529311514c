--- The options in effect, as read by the library. They are shared: copy them before you pass them on.
local M = {}

local notify = require("flemma.notify")

---@type flemma.Options?
local effective

--- The options of a `setup` call that found no library.
---@type flemma.Options?
M.postponed = nil

---@param options flemma.Options
function M.set(options)
  effective = options
  notify.level = vim.log.levels[options.notify.level:upper()]
end

--- Reads options, and keeps those in effect if one is invalid: a message names it.
---@param opts flemma.Options
---@return boolean ok
function M.apply(opts)
  local native = require("flemma.native")
  if not native.load() then
    M.postponed = opts
  end
  local options, problems = native.call("setup", next(opts) and opts or vim.empty_dict(), vim.fn.stdpath("log"))
  local is_taken = options ~= nil and problems == nil
  if is_taken then
    M.set(options)
    problems = require("flemma.view.highlights").apply(options.highlights)
  elseif options then
    -- Those that were in effect, or the library's for this case, in which nothing is approved.
    M.set(options)
  end
  if problems and problems[1] then
    local words = (is_taken and "" or "`setup` failed: ") .. table.concat(problems, "; ")
    notify.say(is_taken and vim.log.levels.WARN or vim.log.levels.ERROR, words)
  end
  return is_taken
end

--- The options; the defaults if `setup` was never called.
---@return flemma.Options? options nil when the library is missing
function M.get()
  if not effective and require("flemma.native").load() then
    M.apply({})
  end
  return effective
end

return M
