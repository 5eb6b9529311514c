--- Paths with their links resolved. The library looks at the disk in the background, and Neovim waits for it for a moment only.
local M = {}

--- The names of buffers that may be those of files, with their real paths. If the disk does not answer, they are taken as they are.
---@param bufs integer[]
---@param more? string[] absolute paths that are looked at as well
---@return table<string, string> real by path; nothing for a path where there is no file
function M.names(bufs, more)
  local paths, real = vim.list_extend({}, more or {}), {}
  for _, buf in ipairs(bufs) do
    local is_there = vim.api.nvim_buf_is_valid(buf)
    local name = is_there and vim.bo[buf].buftype == "" and vim.api.nvim_buf_get_name(buf) or ""
    if vim.startswith(name, "/") then
      paths[#paths + 1] = name
    end
  end
  local found = require("flemma.native").call("path", "files", { paths = paths }) or paths
  for place, path in ipairs(paths) do
    real[path] = found[place] or nil
  end
  return real
end

return M
