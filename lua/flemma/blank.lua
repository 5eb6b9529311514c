--- Which cells of a window are blank, so that a float there covers nothing.
local M = {}

local api = vim.api

--- Whether the cells of a window can be read from the screen. A float covers other cells, and some user interfaces draw each
--- window apart.
---@param win integer
---@return boolean
function M.is_known(win)
  return api.nvim_win_get_config(win).relative == ""
    and not vim.iter(api.nvim_list_uis()):any(function(ui)
      return ui.ext_multigrid
    end)
end

--- How many of the last cells of a row are blank, as it was last drawn. What floats over them counts as text.
---@param win integer
---@param row integer from 0, below the winbar
---@param width integer how many are looked at
---@param known? integer how many of them are known to be blank
---@return integer
function M.cells(win, row, width, known)
  local info = vim.fn.getwininfo(win)[1]
  local line, last = info.winrow + info.winbar + row, info.wincol + info.width - 1
  for count = known or 0, width - 1 do
    local cell = vim.fn.screenstring(line, last - count)
    if cell ~= " " and cell ~= "" then
      return count
    end
  end
  return width
end

return M
