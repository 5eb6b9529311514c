--- Paths with their links resolved. The library looks at the disk in the background, and Neovim waits for it for a moment only.
local M = {}

--- The real paths of files. If the disk does not answer, they are taken as they are.
---@param paths string[] absolute
---@return table<string, string> real by path; nothing for a path where there is no file
function M.paths(paths)
  local found = require("flemma.native").call("path", "files", { paths = paths })
  local real = {}
  for place, path in ipairs(paths) do
    if found then
      real[path] = found[place] or nil
    else
      real[path] = path
    end
  end
  return real
end

--- The names of buffers that may be those of files, with their real paths.
---@param bufs integer[]
---@param more? string[] paths that are looked at as well
---@return table<string, string>
function M.names(bufs, more)
  local paths = vim.list_extend({}, more or {})
  for _, buf in ipairs(bufs) do
    local is_there = vim.api.nvim_buf_is_valid(buf)
    local name = is_there and vim.bo[buf].buftype == "" and vim.api.nvim_buf_get_name(buf) or ""
    if vim.startswith(name, "/") then
      paths[#paths + 1] = name
    end
  end
  return M.paths(paths)
end

return M
