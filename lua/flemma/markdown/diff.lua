--- The colours of a diff where there is no parser for diffs, line by line.
local M = {}

local api = vim.api

--- How many lines before the screen are read to find out whether a line is in a hunk.
local MARGIN = 500

---@param line string
---@param in_hunk boolean
---@return string? group
---@return boolean in_hunk
local function look(line, in_hunk)
  local sign = line:sub(1, 1)
  if line:find("^@@") then
    return "FlemmaDiffHunk", true
  elseif line:find("^diff ") or line:find("^index ") then
    return "FlemmaMeta", false
  elseif not in_hunk and (line:find("^%-%-%- ") or line:find("^%+%+%+ ")) then
    return "FlemmaMeta", false
  elseif sign == "+" then
    return "FlemmaDiffAdd", in_hunk
  elseif sign == "-" then
    return "FlemmaDiffDelete", in_hunk
  elseif sign == "\\" then
    return "FlemmaMeta", in_hunk
  end
  return nil, in_hunk
end

--- Draws the lines `first..last` of a diff that begins at `top`.
---@param canvas flemma.Canvas
---@param first integer
---@param last integer
---@param top integer
function M.draw(canvas, first, last, top)
  local from = math.max(top, first - MARGIN)
  -- A long hunk began before what is read.
  local in_hunk = from > top
  for index, line in ipairs(api.nvim_buf_get_lines(canvas.buf, from, last, false)) do
    local group
    group, in_hunk = look(line, in_hunk)
    local row = from + index - 1
    if group and row >= first then
      api.nvim_buf_set_extmark(canvas.buf, canvas.namespace, row, 0, {
        ephemeral = true,
        end_col = #line,
        hl_group = group,
        priority = vim.hl.priorities.treesitter,
        strict = false,
      })
    end
  end
end

return M
