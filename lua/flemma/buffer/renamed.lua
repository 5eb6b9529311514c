--- Buffers of files that a tool has moved: they follow to the new name, with their undo history and their marks.
local M = {}

local api = vim.api

--- A path with its links resolved, even if there is nothing there.
---@param path string
---@return string
local function real(path)
  local found, folder = vim.uv.fs_realpath(path), vim.fs.dirname(path)
  if found or folder == path then
    return found or path
  end
  return vim.fs.joinpath(real(folder), vim.fs.basename(path))
end

---@param path string
---@return integer[] the loaded buffers of a file
local function buffers_of(path)
  return vim.tbl_filter(function(buf)
    local name = api.nvim_buf_get_name(buf)
    return api.nvim_buf_is_loaded(buf) and name ~= "" and vim.bo[buf].buftype == "" and real(name) == path
  end, api.nvim_list_bufs())
end

--- Gives a buffer another name, and reads its file under that name. Without that, `:write` would refuse to overwrite it (E13).
---@param buf integer
---@param path string
---@return string? problem
local function rename(buf, path)
  local old, left = api.nvim_buf_get_name(buf), vim.fn.bufnr(path)
  if left >= 0 and not api.nvim_buf_is_loaded(left) then
    -- It has nothing to lose.
    api.nvim_buf_delete(left, { force = true })
  end
  local ok, problem = pcall(api.nvim_buf_call, buf, function()
    vim.cmd("silent keepalt file " .. vim.fn.fnameescape(path))
    vim.cmd("silent keepalt edit!")
  end)
  -- Neovim keeps the old name in a buffer of its own.
  left = vim.fn.bufnr("^" .. vim.fn.escape(old, "\\*?[{,") .. "$")
  if left >= 0 and left ~= buf and not api.nvim_buf_is_loaded(left) then
    pcall(api.nvim_buf_delete, left, { force = true })
  end
  return not ok and tostring(problem):match("[^\n]*") or nil
end

--- Lets buffers follow their files. A buffer with unsaved changes stays as it is, and so does one whose new name is that of another
--- buffer; the user is told.
---@param moved string[][] the old and the new path of each file, with links resolved
---@return table<integer, true> told the buffers that stayed
function M.follow(moved)
  local told = {}
  for _, pair in ipairs(moved) do
    local from, to = unpack(pair)
    for _, buf in ipairs(vim.uv.fs_stat(from) and {} or buffers_of(from)) do
      local why = vim.bo[buf].modified and "it has unsaved changes"
        or #buffers_of(to) > 0 and "another buffer has the new one"
        or rename(buf, to)
      if why then
        told[buf] = true
        local old, new = vim.fn.fnamemodify(from, ":~:."), vim.fn.fnamemodify(to, ":~:.")
        local message = ("%s is %s now. Its buffer keeps the old name: %s."):format(old, new, why)
        local advice = ("`:edit %s` opens the file."):format(vim.fn.fnameescape(new))
        require("flemma.notify").say(vim.log.levels.WARN, require("flemma.notify").with_advice(message, advice))
      end
    end
  end
  return told
end

return M
