--- Tools that were written for SilverBullet: `ai.tools`, and the tables that their handlers use.
---
--- A tool that is assigned to `ai.tools` becomes a tool of Flemma (`definition.lua`). Each of its calls runs the handler in a
--- coroutine (`run.lua`): what a handler reads, asks or proposes suspends it, so that nothing waits on the main thread.
local config = require("flemma.compat.silverbullet.config")
local environment = require("flemma.compat.silverbullet.environment")
local text = require("flemma.compat.silverbullet.text")
local tools = require("flemma.compat.silverbullet.tools")

local M = {
  ai = require("flemma.compat.silverbullet.ai"),
  space = require("flemma.compat.silverbullet.space"),
  editor = require("flemma.compat.silverbullet.editor"),
  index = require("flemma.compat.silverbullet.index"),
  system = require("flemma.compat.silverbullet.system"),
  spacelua = require("flemma.compat.silverbullet.spacelua"),
  config = config.module,
  js = text.js,
  each = text.each,
}

environment.provide(M)
for _, name in ipairs({ "command", "event", "query", "schema", "slashCommand", "tag", "template", "virtualPage", "widget", "widgets" }) do
  environment.provide({ [name] = environment.absent(name) })
end
environment.provide({
  -- What a tool says is wrong is for the model, which knows no line of its code.
  error = function(thrown)
    error(thrown, 0)
  end,
})
text.install()
tools.install()

--- Runs code that defines tools: a Lua file, the `space-lua` blocks of a Markdown page, or all of these below a folder. It can do
--- what your own configuration can.
---@param path string
---@return boolean ok whether all of it ran, and all tools were accepted
function M.load(path)
  return require("flemma.compat.silverbullet.load").load(path)
end

--- How many tools there are, for `:checkhealth`.
---@return string
function M.about()
  return ("%d tools made for SilverBullet"):format(#tools.names())
end

return M
