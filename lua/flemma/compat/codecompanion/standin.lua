--- The stand-ins: which modules of CodeCompanion there are while that plugin is absent, and which have nothing behind them.
local M = {}

local config = require("flemma.compat.codecompanion.config")
local modules = require("flemma.compat.codecompanion.modules")

--- Our modules that stand in for modules of that plugin as they are.
local OURS = {
  [""] = "plugin",
  [".utils.log"] = "log",
  [".utils.xml.xml2lua"] = "xml",
  [".interactions.chat.helpers"] = "helpers",
  [".interactions.chat.tools.builtin.helpers"] = "helpers",
}

--- A tool has no chats of its own.
local NO_CHATS = "a tool has no chats of its own, because conversations cannot start conversations yet"

local OUT_OF_REACH = {
  acp = "Flemma talks to providers itself",
  adapters = "Flemma talks to providers itself, and has none of CodeCompanion's adapters",
  http = "Flemma sends requests itself",
  mcp = "Flemma has none of CodeCompanion's MCP servers",
  ["interactions.chat.tools.approvals"] = "approvals are the user's, in the approval chain",
  providers = "Flemma has none of CodeCompanion's pickers",
  schema = "it is the schema of CodeCompanion's adapters, which Flemma has not",
  utils = "Flemma has none of CodeCompanion's utilities but the log, `notify`, `fire` and a few of `ui`",
}

--- Modules of which a few functions are here, and others are out of reach.
---@type table<string, fun(): table>
local PARTS = {
  [".interactions.chat"] = function()
    local chat = require("flemma.compat.codecompanion.chat")
    local new = modules.absent("codecompanion.interactions.chat.new", NO_CHATS)
    return { buf_get_chat = chat.find, last_chat = chat.last, new = new }
  end,
  [".interactions.chat.tools.builtin.cmd_tool"] = function()
    -- A definition with `build_cmd` needs nothing else here.
    return function(definition)
      return definition
    end
  end,
  [".utils.ui"] = function()
    return modules.absent("codecompanion.utils.ui", OUT_OF_REACH.utils, {
      buf_get_win = function(buf)
        local win = vim.fn.bufwinid(buf)
        return win > 0 and win or nil
      end,
      buf_is_empty = function(buf)
        return vim.api.nvim_buf_line_count(buf) == 1 and vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ""
      end,
    })
  end,
  [".utils"] = function()
    return modules.absent("codecompanion.utils", OUT_OF_REACH.utils, {
      notify = function(text, level)
        vim.notify(text, level or vim.log.levels.INFO)
      end,
      fire = require("flemma.compat.codecompanion.events").fire,
    })
  end,
}

--- Provides the stand-ins, and watches what is written into the configuration.
function M.install()
  modules.provide("codecompanion.config", function()
    return config.module
  end, function()
    vim.schedule(config.sync)
  end)
  for name, ours in pairs(OURS) do
    modules.provide("codecompanion" .. name, function()
      local module = require("flemma.compat.codecompanion." .. ours)
      -- Extensions look at the plugin itself to know what there is.
      return name == "" and module or modules.absent("codecompanion" .. name, "Flemma has nothing like it", module)
    end)
  end
  for name, make in pairs(PARTS) do
    modules.provide("codecompanion" .. name, make)
  end
  for name, reason in pairs(OUT_OF_REACH) do
    modules.withhold("codecompanion." .. name, reason)
  end
  local plugin = require("flemma.compat.codecompanion.plugin")
  for _, name in ipairs({ "chat", "close_last_chat", "prompt", "restore", "toggle" }) do
    plugin[name] = modules.absent("codecompanion." .. name, NO_CHATS)
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
  if not ok or type(real) ~= "table" then
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
