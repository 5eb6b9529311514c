--- The stand-ins: which modules of CodeCompanion there are while that plugin is absent, and which there cannot be.
local M = {}

local config = require("flemma.compat.codecompanion.config")
local modules = require("flemma.compat.codecompanion.modules")

--- The folders of the helpers, which have moved several times.
local HELPERS = {
  "codecompanion.interactions.chat.tools.builtin.helpers",
  "codecompanion.interactions.chat.tools.catalog.helpers",
  "codecompanion.strategies.chat.tools.builtin.helpers",
  "codecompanion.strategies.chat.tools.catalog.helpers",
}

local OUT_OF_REACH = {
  adapters = "Flemma talks to providers itself, and has none of CodeCompanion's adapters",
  http = "Flemma sends requests itself",
  schema = "it is the schema of CodeCompanion's adapters, which Flemma has not",
}

--- Provides the stand-ins, and watches what is written into the configuration.
function M.install()
  modules.provide("codecompanion.config", function()
    return config.module
  end, function()
    vim.schedule(config.sync)
  end)
  modules.provide("codecompanion", function()
    return require("flemma.compat.codecompanion.plugin")
  end)
  modules.provide("codecompanion.utils.log", function()
    return require("flemma.compat.codecompanion.log")
  end)
  for _, name in ipairs(HELPERS) do
    modules.provide(name, function()
      return require("flemma.compat.codecompanion.helpers")
    end)
  end
  for name, reason in pairs(OUT_OF_REACH) do
    modules.withhold("codecompanion." .. name, reason)
  end
  config.install()
  modules.install()
end

--- The tools table of the plugin itself, if it is there.
---@return table?
function M.tools_of_plugin()
  if not modules.path_of_plugin() then
    return nil
  end
  local ok, real = pcall(require, "codecompanion.config")
  if not ok or type(real) ~= "table" or modules.is_ours(real) then
    return nil
  end
  for _, key in ipairs({ "interactions", "strategies" }) do
    local found, tools = pcall(vim.tbl_get, real, key, "chat", "tools")
    if found and type(tools) == "table" then
      return tools
    end
  end
end

return M
