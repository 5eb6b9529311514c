--- The table `system`: the functions that tools of this kind invoke by name.
local M = {}

local ai = require("flemma.compat.silverbullet.ai")
local runs = require("flemma.compat.silverbullet.run")
local value = require("flemma.compat.codecompanion.value")

---@type table<string, fun(...): any>
local invoked = {}

--- Renames a page, and changes the links to it.
invoked["index.renamePageCommand"] = function(about, new)
  local what = "index.renamePageCommand"
  local old = about
  if type(about) == "table" then
    old, new = about.oldPage or about.from, about.page or about.newPage or about.to
  end
  if type(old) ~= "string" or type(new) ~= "string" then
    error(("%s: give { oldPage = …, page = … }"):format(what), 0)
  elseif not runs.current(what).entry.requiresApproval then
    error(("%s: the tool has to declare `requiresApproval = true` to rename pages"):format(what), 0)
  end
  runs.request(what, { op = "rename", page = old, new_page = new })
  return true
end

--- Proposes the content of a page, and says whether the user has approved it. It does not call `ai.writePage`: pages define that as a
--- call of this.
---@return { success: boolean, error?: string }
invoked["silverbullet-ai.requestWriteApproval"] = function(page, content)
  if type(page) == "table" then
    page, content = page.page or page.name, page.newContent or page.content
  end
  local what = "silverbullet-ai.requestWriteApproval"
  local ok, problem = pcall(require("flemma.compat.silverbullet.proposal").write, what, page, content)
  return { success = ok, error = not ok and value.thrown(problem) or nil }
end

invoked["silverbullet-ai.callTool"] = ai.callTool
invoked["silverbullet-ai.listTools"] = ai.listTools
invoked["editor.flashNotification"] = require("flemma.compat.silverbullet.editor").flashNotification

--- Invokes one of five functions.
---@param name string
---@param ... any
---@return any
function M.invokeFunction(name, ...)
  local callback = invoked[name]
  if not callback then
    local names = vim.tbl_keys(invoked)
    table.sort(names)
    error(("system.invokeFunction: there is no function `%s` here; there are %s"):format(tostring(name), table.concat(names, ", ")), 0)
  end
  return callback(...)
end

return M
