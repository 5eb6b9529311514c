--- `:Flemma status`: what this conversation would do, and what it is doing.
local M = {}

--- The cells that a float's border and a margin around it take.
local FRAME = 4

--- The cells that a line may take in the float without being broken.
---@return integer
function M.room()
  return math.max(1, vim.o.columns - FRAME)
end

---@param buf integer
---@param width? integer cells that a line may take; as many as it wants if not said
---@return string[]
function M.lines(buf, width)
  return require("flemma.native").call("status", buf, width) or {}
end

--- Shows it in a float that any of q, Escape and Enter closes.
function M.open()
  local buf = require("flemma.buffer").resolve()
  if buf then
    M.show(M.lines(buf, M.room()))
  end
end

--- `:Flemma tool:list`: what runs and waits here, and the tools there are.
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
  -- What a file or a model wrote is shown in one line each, without what a line cannot hold.
  lines = vim.tbl_map(function(line)
    return (line:gsub("[\r\n]+", "⤶"):gsub("%c", "�"):sub(1, 500))
  end, lines)
  local width = 20
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  local float = vim.api.nvim_create_buf(false, true)
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
    border = "rounded",
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
