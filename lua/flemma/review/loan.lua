--- Options of a user's window that a review changes for a while.
---
--- Neovim remembers with which options a buffer was last shown in a window, also when the window shows something else or is closed,
--- and uses them again when the buffer comes back. So an option is given back where that is remembered, whatever the window has
--- become in the meantime.
local M = {}

local api = vim.api

--- Does something while a window shows a buffer again, without leaving a trace of that.
---@param win integer
---@param buf integer
---@param run fun()
local function while_shown(win, buf, run)
  local other = api.nvim_win_get_buf(win)
  local ignored, hidden, fixed = vim.o.eventignore, vim.bo[other].bufhidden, vim.wo[win].winfixbuf
  vim.o.eventignore = "all"
  vim.bo[other].bufhidden = "hide"
  vim.wo[win].winfixbuf = false
  api.nvim_win_call(win, function()
    local view = vim.fn.winsaveview()
    pcall(vim.cmd, ("keepalt keepjumps hide buffer %d"):format(buf))
    run()
    pcall(vim.cmd, ("keepalt keepjumps hide buffer %d"):format(other))
    vim.fn.winrestview(view)
  end)
  vim.wo[win].winfixbuf = fixed
  vim.bo[other].bufhidden = hidden
  vim.o.eventignore = ignored
end

--- Sets an option of a window for the buffer in it.
---@param win integer
---@param name string
---@param value any
---@return fun() give_back
function M.take(win, name, value)
  local buf, before = api.nvim_win_get_buf(win), vim.wo[win][name]
  if before == value then
    return function() end
  end
  vim.wo[win][0][name] = value
  local group = api.nvim_create_augroup(("flemma.review.loan.%d.%s"):format(win, name), { clear = true })
  local function give_back()
    if not group then
      return
    end
    api.nvim_del_augroup_by_id(group)
    group = nil
    -- What the user has set stays.
    local function put(at)
      if vim.wo[at][name] == value then
        vim.wo[at][0][name] = before
      end
    end
    if not api.nvim_buf_is_valid(buf) then
      return
    elseif api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == buf then
      put(win)
    elseif api.nvim_win_is_valid(win) and api.nvim_buf_is_loaded(buf) then
      while_shown(win, buf, function()
        put(win)
      end)
    else
      -- The buffer was unloaded, so no window shows it.
      api.nvim_create_autocmd("BufWinEnter", {
        buffer = buf,
        once = true,
        desc = ("Flemma: give back '%s' after a review"):format(name),
        callback = function()
          put(api.nvim_get_current_win())
        end,
      })
    end
  end
  -- At this moment the window still shows the buffer, and its options are not remembered yet.
  api.nvim_create_autocmd("WinClosed", {
    group = group,
    pattern = tostring(win),
    desc = ("Flemma: give back '%s' of a window that is closed"):format(name),
    callback = give_back,
  })
  return give_back
end

return M
