--- The sizes of conversations' windows when the screen gets another one.
---
--- Neovim takes what the screen has lost from the last window, down to a single column or line, and gives it all that the screen
--- has gained. So the window of a conversation has the same part of the screen afterwards that it had before.
local M = {}

local api = vim.api

---@class flemma.Sides
---@field whole fun(): integer the cells of the screen in this direction
---@field get fun(win: integer): integer
---@field set fun(win: integer, size: integer)

---@type table<"columns"|"lines", flemma.Sides>
local sides = {
  columns = {
    whole = function()
      return vim.o.columns
    end,
    get = api.nvim_win_get_width,
    set = api.nvim_win_set_width,
  },
  lines = {
    whole = function()
      return vim.o.lines - vim.o.cmdheight
    end,
    get = api.nvim_win_get_height,
    set = api.nvim_win_set_height,
  },
}

--- Calls a function when the screen has another size, as long as the window is open.
---@param win integer
---@param resized fun()
---@return integer group for further autocommands of the window
function M.follow(win, resized)
  local group = api.nvim_create_augroup("flemma.conversations." .. win, { clear = true })
  api.nvim_create_autocmd("VimResized", {
    group = group,
    desc = "Flemma: fit the conversation's window to the screen",
    callback = function()
      if api.nvim_win_is_valid(win) then
        resized()
      end
    end,
  })
  api.nvim_create_autocmd("WinClosed", {
    group = group,
    pattern = tostring(win),
    desc = "Flemma: forget the conversation's window",
    callback = function()
      vim.schedule(function()
        pcall(api.nvim_del_augroup_by_id, group)
      end)
    end,
  })
  return group
end

--- Keeps a window at its part of the screen, which is what the user last made of it.
---@param win integer
---@param direction "columns"|"lines"
function M.keep(win, direction)
  local side = sides[direction]
  local whole, size, part

  local function remember()
    whole, size = side.whole(), side.get(win)
    part = size / whole
  end

  --- The screen has another size, so the window's own size says nothing.
  local function restore()
    if side.whole() == whole then
      return
    elseif api.nvim_win_get_tabpage(win) ~= api.nvim_get_current_tabpage() then
      -- Neovim resizes its windows when the tab page is entered.
      return
    elseif api.nvim_win_get_config(win).relative == "" then
      side.set(win, math.max(1, math.floor(part * side.whole() + 0.5)))
    end
    whole, size = side.whole(), side.get(win)
  end

  remember()
  local group = M.follow(win, restore)
  api.nvim_create_autocmd("TabEnter", {
    group = group,
    desc = "Flemma: fit the conversation's window to the screen",
    callback = function()
      if api.nvim_win_is_valid(win) then
        restore()
      end
    end,
  })
  api.nvim_create_autocmd("WinResized", {
    group = group,
    desc = "Flemma: remember the size of the conversation's window",
    callback = function()
      if api.nvim_win_is_valid(win) and side.whole() == whole and side.get(win) ~= size then
        remember()
      end
    end,
  })
end

return M
