--- Lists of places in conversations, in the quickfix list.
local M = {}

local api = vim.api

--- The most rows that the window of the list takes.
local HEIGHT = 10

--- The lines of the list (`:help quickfix-window-function`): what is there, and then where.
---@param info { id: integer, start_idx: integer, end_idx: integer }
---@return string[]
local function lines_of(info)
  local lines = {}
  local items = vim.fn.getqflist({ id = info.id, items = 1 }).items
  for _, item in ipairs(vim.list_slice(items, info.start_idx, info.end_idx)) do
    local name = api.nvim_buf_get_name(item.bufnr)
    lines[#lines + 1] = ("%s  | %s:%d"):format(item.text, vim.fn.fnamemodify(name, ":~:."), item.lnum)
  end
  return lines
end

--- Fills the quickfix list: a list of its own, so that |:colder| leads back to what was there. A list of ours that is shown is
--- filled again. Then its window is opened, where the user still is.
---@param list { name: string, title: string, none: string, count: string, items: table[], win: integer } `none` and `count` say in
---words how many there are; an item has `buf` or `file`, `line` (from 0) and `text`
function M.show(list)
  local say = require("flemma.notify").say
  if #list.items == 0 then
    return say(vim.log.levels.INFO, list.none)
  end
  local shown = vim.fn.getqflist({ nr = 0, context = 1 })
  local is_ours = type(shown.context) == "table" and shown.context.flemma == list.name
  vim.fn.setqflist({}, is_ours and "r" or " ", {
    title = list.title,
    items = vim.tbl_map(function(item)
      return { bufnr = item.buf, filename = item.file, lnum = item.line + 1, col = 1, text = item.text }
    end, list.items),
    context = { flemma = list.name },
    quickfixtextfunc = lines_of,
    -- After the last list: a new one after the current list would delete those that follow it.
    nr = is_ours and 0 or "$",
  })
  local is_there = api.nvim_get_current_win() == list.win and api.nvim_get_mode().mode == "n" and vim.fn.getcmdwintype() == ""
  -- A float would cover the list.
  if is_there and api.nvim_win_get_config(list.win).relative == "" then
    vim.cmd.copen({ count = math.min(#list.items, HEIGHT), mods = { split = "botright" } })
  else
    say(vim.log.levels.INFO, list.count .. "; `:copen` shows the list")
  end
end

return M
