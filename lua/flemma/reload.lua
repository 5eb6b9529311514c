--- Reading the file of a buffer again, without a question. Undo goes back over it, and every window keeps its view.
local M = {}

local api = vim.api

--- What every window shows of a buffer.
---@param buf integer
---@return fun() restore
function M.keep_views(buf)
  local views = {}
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    views[win] = api.nvim_win_call(win, vim.fn.winsaveview)
  end
  return function()
    for win, view in pairs(views) do
      if api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == buf then
        api.nvim_win_call(win, function()
          vim.fn.winrestview(view)
        end)
      end
    end
  end
end

--- Whether a buffer is empty because there was no file when it was opened. `:checktime` asks about such a file (W13).
---@param buf integer
local function was_new(buf)
  if require("flemma.buffer").is_new(buf) then
    return true
  end
  local is_empty = api.nvim_buf_line_count(buf) == 1 and api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ""
  return is_empty and vim.fn.getfsize(api.nvim_buf_get_name(buf)) ~= 0
end

---@class flemma.Reload
---@field whole_undo? boolean undo goes back however long the file is (|'undoreload'|)
---@field no_filetype? boolean file type plugins are not run again

--- Whether the file of a buffer with unsaved changes has been changed since it was read.
---@param buf integer
---@return boolean
function M.is_in_conflict(buf)
  if was_new(buf) then
    return vim.uv.fs_stat(api.nvim_buf_get_name(buf)) ~= nil
  end
  local is_changed = false
  local id = api.nvim_create_autocmd("FileChangedShell", {
    buffer = buf,
    desc = "Flemma: notice that the file has changed",
    callback = function()
      vim.v.fcs_choice = ""
      is_changed = vim.v.fcs_reason == "conflict" or vim.v.fcs_reason == "changed"
    end,
  })
  pcall(vim.cmd, ("silent! %dchecktime"):format(buf))
  pcall(api.nvim_del_autocmd, id)
  return is_changed
end

--- Reads the file of a buffer again if it has changed. A buffer with unsaved changes keeps them, and a file that was deleted stays on
--- the screen.
---@param buf integer
---@param how flemma.Reload
function M.run(buf, how)
  if vim.bo[buf].modified then
    return
  end
  local restore_views = M.keep_views(buf)
  local undoreload, ignored = vim.o.undoreload, vim.o.eventignore
  if how.whole_undo then
    vim.o.undoreload = -1
  end
  if was_new(buf) then
    if vim.uv.fs_stat(api.nvim_buf_get_name(buf)) then
      api.nvim_buf_call(buf, function()
        pcall(vim.cmd, "silent! edit!")
      end)
    end
  else
    local id = api.nvim_create_autocmd("FileChangedShell", {
      buffer = buf,
      desc = "Flemma: read the file again without asking",
      callback = function()
        vim.v.fcs_choice = vim.v.fcs_reason == "deleted" and "" or "reload"
      end,
    })
    if how.no_filetype then
      vim.opt.eventignore:append("FileType")
    end
    pcall(vim.cmd, ("silent! %dchecktime"):format(buf))
    pcall(api.nvim_del_autocmd, id)
  end
  vim.o.eventignore = ignored
  vim.o.undoreload = undoreload
  restore_views()
end

--- Reads files again that were changed, where they are open.
---@param paths table<string, any> their real paths
function M.files(paths)
  if not next(paths) then
    return
  end
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == "" and not vim.bo[buf].modified then
      local name = api.nvim_buf_get_name(buf)
      local real = name ~= "" and vim.uv.fs_realpath(name)
      if real and paths[real] then
        M.run(buf, { whole_undo = true })
      end
    end
  end
end

return M
