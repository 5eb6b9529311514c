--- The stand-in for the module `codecompanion`.
local M = {}

--- What tools and extensions ask for.
local FEATURES = { "chat", "extensions", "function-calling" }

M.extensions = require("flemma.compat.codecompanion.extension").exports

--- The version whose tools these stand-ins suit best: extensions for several versions ask for it.
---@return string
function M.version()
  return "19.0.0"
end

local chat = require("flemma.compat.codecompanion.chat")
M.buf_get_chat, M.last_chat = chat.find, chat.last

--- Whether there is a feature; without a name, the features that there are.
---@param feature? string|string[]
---@return boolean|string[]
function M.has(feature)
  if feature == nil then
    return vim.deepcopy(FEATURES)
  end
  for _, name in ipairs(type(feature) == "table" and feature or { feature }) do
    if not vim.tbl_contains(FEATURES, name) then
      return false
    end
  end
  return true
end

--- Loads an extension.
---@param name string
---@param extension table an entry of the configuration, or the extension itself
---@return boolean ok
function M.register_extension(name, extension)
  local is_itself = type(extension) == "table" and extension.callback == nil and vim.is_callable(extension.setup)
  return require("flemma.compat.codecompanion").extension(name, is_itself and { callback = extension } or extension)
end

--- Registers the tools and the extensions of a configuration. The rest of it is for that plugin.
---@param config? table
function M.setup(config)
  if type(config) == "table" and (config.strategies or config.interactions or config.extensions) then
    require("flemma.compat.codecompanion").setup(config)
  end
end

return M
