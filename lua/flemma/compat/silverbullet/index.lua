--- The table `index`.
local M = {}

--- Changes keys of the frontmatter in the content of a page. Its text, the other keys, their order and the comments stay.
---@param content string
---@param patches { op: "set-key"|"delete-key", path: string, value?: any }[]
---@return string content
function M.patchFrontmatter(content, patches)
  local what = "index.patchFrontmatter"
  if type(content) ~= "string" or type(patches) ~= "table" then
    error(("%s: give the content of a page and a list of patches"):format(what), 0)
  end
  for _, patch in ipairs(patches) do
    if type(patch) ~= "table" or type(patch.path) ~= "string" then
      error(("%s: a patch is a table with `op` and `path`"):format(what), 0)
    elseif patch.op ~= "set-key" and patch.op ~= "delete-key" then
      error(('%s: `op` must be "set-key" or "delete-key", not %s'):format(what, vim.inspect(patch.op)), 0)
    end
  end
  local patched, problem = require("flemma.native").call("patch_frontmatter", content, patches)
  if not patched then
    error(("%s: %s"):format(what, problem or "it failed"), 0)
  end
  return patched
end

return M
