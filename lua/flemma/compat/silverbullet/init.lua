--- Tools that were written for SilverBullet: `ai.tools`, and the tables that their handlers use.
---
--- A tool that is assigned to `ai.tools` becomes a tool of Flemma (`definition.lua`). Each of its calls runs the handler in a
--- coroutine (`run.lua`): what a handler reads, asks or proposes suspends it, so that nothing waits on the main thread.
local M = {}

local config = require("flemma.compat.silverbullet.config")
local environment = require("flemma.compat.silverbullet.environment")
local text = require("flemma.compat.silverbullet.text")
local tools = require("flemma.compat.silverbullet.tools")

M.ai = require("flemma.compat.silverbullet.ai")
M.space = require("flemma.compat.silverbullet.space")
M.editor = require("flemma.compat.silverbullet.editor")
M.index = require("flemma.compat.silverbullet.index")
M.system = require("flemma.compat.silverbullet.system")
M.spacelua = require("flemma.compat.silverbullet.spacelua")
M.config = config.module
M.js = text.js
M.each = text.each

environment.provide({
  ai = M.ai,
  space = M.space,
  editor = M.editor,
  index = M.index,
  system = M.system,
  spacelua = M.spacelua,
  config = M.config,
  js = M.js,
  each = M.each,
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
