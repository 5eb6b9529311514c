--- The tags of the help file. Plugin managers only generate them for plugins that they have installed.
local M = {}

--- The folder of the help file.
M.folder = vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p:h:h:h:h") .. "/doc")

--- Generates the tags if they are missing or older than the help. If the folder is not writable, `:checkhealth flemma` says so.
function M.ensure()
  local help, tags = vim.uv.fs_stat(M.folder .. "/flemma.txt"), vim.uv.fs_stat(M.folder .. "/tags")
  if help and (not tags or tags.mtime.sec < help.mtime.sec) then
    pcall(vim.cmd.helptags, M.folder)
  end
end

return M
