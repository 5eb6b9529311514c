--- `navigate`: shows the user a page of their notes, in a window that is not the conversation's.
local paths = require("flemma.tools.paths")

local api = vim.api

---@param input { page: string, section?: string, line?: integer, column?: integer }
---@param ctx flemma.ExecutionContext
---@return table
return function(input, ctx)
  local path, problem = require("flemma.native").call("path", "page", { buffer = ctx.bufnr, page = input.page })
  if not path then
    return paths.failure(problem or "The conversation is gone.")
  end
  if not vim.uv.fs_stat(path) then
    return paths.failure(("There is no page `%s`. List the pages with list_pages."):format(input.page))
  end
  ---@param buf integer
  ---@return integer? line
  ---@return string? problem
  local function find(buf)
    local text = table.concat(api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
    return require("flemma.native").call("text", "section", { text = text, heading = input.section })
  end
  local has_section = input.section and input.section ~= ""
  return require("flemma.tools.location").open({ path = path, line = input.line, column = input.column }, ctx, has_section and find or nil)
end
