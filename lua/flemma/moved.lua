--- Buffers of files that a tool has moved: they follow to the new name, with their undo history and their marks.
local M = {}

local api = vim.api

--- A path with its links resolved, even if there is nothing there.
---@param path string
---@return string
local function real(path)
  local found = vim.uv.fs_realpath(path)
  local folder = vim.fs.dirname(path)
  if found or folder == path then
    return found or path
  end
  return vim.fs.joinpath(real(folder), vim.fs.basename(path))
end

---@param path string
---@return integer[] the buffers of a file
local function buffers_of(path)
  return vim.tbl_filter(function(buf)
    local name = api.nvim_buf_get_name(buf)
    return name ~= "" and vim.bo[buf].buftype == "" and real(name) == path
  end, api.nvim_list_bufs())
end

--- Gives a buffer another name, which no other buffer has, and reads its file under that name. Without that, `:write` would refuse
--- to overwrite it (E13).
---@param buf integer
---@param path string
local function rename(buf, path)
  local old = api.nvim_buf_get_name(buf)
  local restore_views = require("flemma.reload").keep_views(buf)
  local undoreload = vim.o.undoreload
  vim.o.undoreload = -1
  local ok, problem = pcall(api.nvim_buf_call, buf, function()
    vim.cmd("silent keepalt file " .. vim.fn.fnameescape(path))
    vim.cmd("silent keepalt edit!")
  end)
  vim.o.undoreload = undoreload
  restore_views()
  -- Neovim keeps the old name in a buffer of its own.
  for _, other in ipairs(api.nvim_list_bufs()) do
    if other ~= buf and api.nvim_buf_get_name(other) == old and not api.nvim_buf_is_loaded(other) then
      pcall(api.nvim_buf_delete, other, { force = true })
    end
  end
  return ok, problem
end

--- Whether a buffer of the new name is in the way. One that is not loaded has nothing to lose.
---@param path string
---@return boolean
local function is_taken(path)
  for _, buf in ipairs(buffers_of(path)) do
    if api.nvim_buf_is_loaded(buf) then
      return true
    end
    pcall(api.nvim_buf_delete, buf, { force = true })
  end
  return false
end

--- Lets buffers follow their files. A buffer with unsaved changes stays as it is, and so does one whose new name is that of another
--- buffer; the user is told.
---@param moved string[][] the old and the new path of each file, with links resolved
---@return table<integer, true> told the buffers that stayed
function M.follow(moved)
  local told = {}
  for _, pair in ipairs(moved) do
    local from, to = unpack(pair)
    local function stays(buf, why)
      told[buf] = true
      local old, new = vim.fn.fnamemodify(from, ":~:."), vim.fn.fnamemodify(to, ":~:.")
      local message = ("%s is %s now. Its buffer keeps the old name: %s."):format(old, new, why)
      local advice = ("`:edit %s` opens the file."):format(vim.fn.fnameescape(new))
      require("flemma.notify").say(vim.log.levels.WARN, require("flemma.notify").with_advice(message, advice))
    end
    for _, buf in ipairs(buffers_of(from)) do
      if vim.uv.fs_stat(api.nvim_buf_get_name(buf)) then
        -- There is a file of this name again.
      elseif not api.nvim_buf_is_loaded(buf) then
        -- Nothing of it would be kept.
      elseif vim.bo[buf].modified then
        stays(buf, "it has unsaved changes")
      elseif is_taken(to) then
        stays(buf, "another buffer has the new one")
      else
        local ok, problem = rename(buf, to)
        if not ok then
          stays(buf, tostring(problem):match("[^\n]*"))
        end
      end
    end
  end
  return told
end

return M
