--- Flemma: an agent workspace in which a conversation is a plain `.chat` file.
local M = {}

--- Sets the options. Everything has a default; calling it is only needed to change one.
---@param opts? flemma.Options see `:help flemma-configuration`
---@return boolean ok false when an option is invalid: a message names it, and the previous options remain in effect
function M.setup(opts)
  require("flemma.conversations.switch").take_back()
  -- A copy of the tables: the library takes a function out of it.
  return require("flemma.options").apply(vim.deepcopy(opts or {}))
end

--- Builds the native library in the background, like `:Flemma build`. For plugin managers that call a function.
function M.build()
  require("flemma.install.build").run()
end

--- The options in effect, including the defaults, as a copy.
---@return flemma.Options? options nil when the native library is missing
function M.options()
  return vim.deepcopy(require("flemma.options").get())
end

return M
