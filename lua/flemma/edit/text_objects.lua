--- Text objects: a message, and a tool card.
local M = {}

local api, fn = vim.api, vim.fn

---@alias flemma.Object "inner_message"|"around_message"|"inner_tool"|"around_tool"

--- The lines of an object from the cursor or the selection on.
---@param object flemma.Object
---@return integer? first from 1
---@return integer last
---@return integer? column the byte of the first line from which on it counts, from 0
local function find(object)
  local mode = api.nvim_get_mode().mode
  local first, last = fn.line("."), fn.line(".")
  local is_visual = mode:find("^[vV\22]") ~= nil
  if is_visual then
    first, last = math.min(fn.line("v"), first), math.max(fn.line("v"), last)
    if fn.foldclosed(first) == first and fn.foldclosedend(first) == last then
      -- Neovim has extended the selection to the closed fold with the cursor.
      last = first
    end
  end
  local buf = require("flemma.buffer.target").resolve()
  if not buf then
    return nil, 0
  end
  local from, to, column = require("flemma.native").call("find", buf, "object", {
    is_message = vim.endswith(object, "message"),
    first = first - 1,
    last = last,
    is_selected = is_visual and (first < last or mode:sub(1, 1) == "V"),
    is_inner = vim.startswith(object, "inner"),
    count = vim.v.count1,
  })
  return from and from + 1, to or 0, column
end

--- Selects an object. In Visual mode, the selection grows.
---@param object flemma.Object
function M.select(object)
  local first, last, column = find(object)
  if not first then
    if vim.startswith(api.nvim_get_mode().mode, "no") then
      require("flemma.edit.operator").cancel(vim.endswith(object, "message") and "there is no message here" or "there is no call here")
    end
    return
  end
  if api.nvim_get_mode().mode:find("^[vV\22]") then
    vim.cmd("normal! \27")
  end
  require("flemma.edit.operator").open_folds(first, last)
  fn.cursor(first, (column or 0) + 1)
  vim.cmd("normal! " .. (column and "v" or "V"))
  local width = #fn.getline(last)
  fn.cursor(last, column and math.max(1, width + (vim.o.selection == "exclusive" and 1 or 0)) or 1)
end

--- The keys after an operator, for a mapping with `expr`: a command, so that |.| looks for the object again. If there is no
--- object here, Escape cancels the operator.
---@param object flemma.Object
---@return string keys
function M.keys(object)
  if not find(object) then
    return "<Esc>"
  end
  return ("<Cmd>lua require('flemma.edit.text_objects').select('%s')<CR>"):format(object)
end

return M
