--- Questions to the user. Ctrl-C counts as giving no answer.
local M = {}

--- Draws what has been written. A prompt that waits keeps Neovim from doing so, and the one before it may have left its text.
local function draw()
  vim.cmd.redraw()
end

local function end_line()
  require("flemma.notify").end_line()
end

--- Like |vim.ui.select()|.
---@generic T
---@param items T[]
---@param opts table
---@param on_choice fun(item: T?, index: integer?)
function M.select(items, opts, on_choice)
  draw()
  local answered = false
  local ok, problem = pcall(vim.ui.select, items, opts, function(item, index)
    answered = true
    end_line()
    on_choice(item, index)
  end)
  if not ok and not answered and tostring(problem):find("Keyboard interrupt", 1, true) then
    on_choice(nil)
  elseif not ok then
    error(problem, 0)
  end
end

--- Like |vim.ui.input()|.
---@param opts table
---@param on_confirm fun(text: string?)
function M.input(opts, on_confirm)
  draw()
  if opts.default then
    -- Neovim's own prompt takes each character as a key: CTRL-R would insert the value of an expression, which may come from
    -- a model.
    opts = vim.tbl_extend("force", opts, { default = (opts.default:gsub("%c", " ")) })
  end
  local answered = false
  local ok, problem = pcall(vim.ui.input, opts, function(text)
    answered = true
    end_line()
    on_confirm(text)
  end)
  if not ok and not answered and tostring(problem):find("Keyboard interrupt", 1, true) then
    on_confirm(nil)
  elseif not ok then
    error(problem, 0)
  end
end

return M
