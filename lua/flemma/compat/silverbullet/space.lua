--- The table `space`: the pages of the notes. They are read and written off the main thread, under the rules for the tools for
--- notes.
local M = {}

local runs = require("flemma.compat.silverbullet.run")

--- The name of a page that was passed to a function.
---@param what string
---@param page any
---@return string
local function named(what, page)
  if type(page) ~= "string" then
    error(("%s: the name of the page must be a string, not a %s"):format(what, type(page)), 0)
  end
  return page
end

--- The content of a page.
---@param page string
---@return string
function M.readPage(page)
  return runs.request("space.readPage", { op = "read", page = named("space.readPage", page) })
end

--- Whether there is a page of this name.
---@param page string
---@return boolean
function M.pageExists(page)
  return runs.request("space.pageExists", { op = "exists", page = named("space.pageExists", page) })
end

--- What is known of a page.
---@param page string
---@return { name: string, size: integer, lastModified: string, tags: string[] }
function M.getPageMeta(page)
  return runs.request("space.getPageMeta", { op = "meta", page = named("space.getPageMeta", page) })
end

--- All pages.
---@return { name: string, size: integer, lastModified: string, tags: string[] }[]
function M.listPages()
  return runs.request("space.listPages", { op = "list" })
end

--- Writes a page. Where nobody has approved the call, because its tool does not ask for approval, the change is shown and asked
--- about, as by `ai.writePage`.
---@param page string
---@param content string
---@return table meta
function M.writePage(page, content)
  local what = "space.writePage"
  if type(content) ~= "string" then
    error(("%s: the content must be a string, not a %s"):format(what, type(content)), 0)
  end
  if not runs.current(what).entry.requiresApproval then
    require("flemma.compat.silverbullet.proposal").write(what, named(what, page), content)
    return M.getPageMeta(page)
  end
  return runs.request(what, { op = "write", page = named(what, page), content = content })
end

--- Deletes a page.
---@param page string
function M.deletePage(page)
  local what = "space.deletePage"
  if not runs.current(what).entry.requiresApproval then
    error(("%s: the tool has to declare `requiresApproval = true` to delete pages"):format(what), 0)
  end
  runs.request(what, { op = "delete", page = named(what, page) })
end

return M
