--- Questions to the user. Ctrl-C counts as giving no answer.
local M = {}

--- Asks with one of the functions of |vim.ui|. What has been written is drawn first: a prompt that waits keeps Neovim from doing so.
---@param question fun(answer: fun(...))
---@param answered fun(...) nil for no answer
local function ask(question, answered)
  vim.cmd.redraw()
  local is_answered = false
  local ok, problem = pcall(question, function(...)
    is_answered = true
    require("flemma.notify").end_line()
    answered(...)
  end)
  if not ok and not is_answered and tostring(problem):find("Keyboard interrupt", 1, true) then
    answered(nil)
  elseif not ok then
    error(problem, 0)
  end
end

--- Like |vim.ui.select()|.
---@generic T
---@param items T[]
---@param opts table
---@param on_choice fun(item: T?, index: integer?)
function M.select(items, opts, on_choice)
  ask(function(answer)
    vim.ui.select(items, opts, answer)
  end, on_choice)
end

--- Like |vim.ui.input()|.
---@param opts table
---@param on_confirm fun(text: string?)
function M.input(opts, on_confirm)
  if opts.default then
    -- Neovim's own prompt takes each character as a key: CTRL-R would insert the value of an expression, which may come from
    -- a model.
    opts = vim.tbl_extend("force", opts, { default = (opts.default:gsub("%c", " ")) })
  end
  ask(function(answer)
    vim.ui.input(opts, function(text)
      -- Neovim's own prompt stays on the command line.
      vim.api.nvim_echo({ { "" } }, false, {})
      answer(text)
    end)
  end, on_confirm)
end

return M
