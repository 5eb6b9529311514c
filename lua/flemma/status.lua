--- `:Flemma status`: the options of this conversation and its current state.
local M = {}

--- The number of cells for a float's border and the margin around it.
local FRAME = 4

--- The maximum width of a line in the float, in cells, before it is wrapped.
---@return integer
function M.room()
  return math.max(1, vim.o.columns - FRAME)
end

---@param buf integer
---@param width? integer the maximum width of a line in cells; unlimited by default
---@return string[]
function M.lines(buf, width)
  return require("flemma.native").call("status", buf, width) or {}
end

--- Shows the status in a float that is closed by q, Escape or Enter.
function M.open()
  local buf = require("flemma.buffer").resolve()
  if buf then
    M.show(M.lines(buf, M.room()))
  end
end

--- `:Flemma tool:list`: the running and pending calls, and all tools.
function M.open_tools()
  local buf = require("flemma.buffer").resolve()
  if buf then
    M.show(require("flemma.native").call("tool_list", buf) or {})
  end
end

---@param lines string[]
function M.show(lines)
  if #lines == 0 then
    return
  end
  -- Text from a file or a model is shown on one line each, without characters that a line cannot contain.
  lines = vim.tbl_map(function(line)
    return (line:gsub("[\r\n]+", "⤶"):gsub("%c", "�"):sub(1, 500))
  end, lines)
  local width = 20
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  local float = require("flemma.scratch").create()
  vim.api.nvim_buf_set_lines(float, 0, -1, false, lines)
  vim.bo[float].modifiable = false
  vim.bo[float].bufhidden = "wipe"
  width = math.max(1, math.min(width + 1, vim.o.columns - FRAME))
  local rows = 0
  for _, line in ipairs(lines) do
    rows = rows + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  local height = math.max(1, math.min(rows, vim.o.lines - 4))
  local win = vim.api.nvim_open_win(float, true, {
    relative = "editor",
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
    col = math.max(0, math.floor((vim.o.columns - width) / 2)),
    width = width,
    height = height,
    style = "minimal",
    border = require("flemma.looks").border(),
    title = " Flemma ",
  })
  vim.wo[win].wrap = true
  vim.wo[win].linebreak = true
  for _, key in ipairs({ "q", "<Esc>", "<CR>" }) do
    vim.keymap.set("n", key, function()
      pcall(vim.api.nvim_win_close, win, true)
    end, { buffer = float, nowait = true })
  end
end

return M
