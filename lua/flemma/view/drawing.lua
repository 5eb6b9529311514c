--- Draws the lines of conversations while Neovim draws, and has lines drawn again that look different.
---
--- Neovim only draws the lines that may have changed. So the library is only asked about these.
local M = {}

local api = vim.api

local marks = api.nvim_create_namespace("flemma.marks")

local native = require("flemma.native").call

local touched = api.nvim_create_namespace("flemma.touched")

--- Has Neovim draw lines again whose text is the same: for a moment, they have a mark that may colour them.
---@param buf integer
---@param first integer
---@param last integer
local function touch(buf, first, last)
  local mark = api.nvim_buf_set_extmark(buf, touched, first, 0, { end_row = last, hl_group = "FlemmaRaw", strict = false })
  api.nvim_buf_del_extmark(buf, touched, mark)
end

--- Redraws a buffer whose text is the same, but not what is drawn over it. Does nothing if it is no longer loaded.
---@param buf integer
function M.refresh(buf)
  if api.nvim_buf_is_loaded(buf) then
    touch(buf, 0, api.nvim_buf_line_count(buf))
  end
end

--- Where to draw: a buffer, a namespace and the lines on the screen, excluding `last`.
---@class flemma.Canvas
---@field win integer
---@field buf integer
---@field namespace integer
---@field first integer
---@field last integer
---@field style? flemma.LookStyle

--- Draws the lines of a canvas.
---@param canvas flemma.Canvas
local function draw_lines(canvas)
  local buf, first, last = canvas.buf, canvas.first, canvas.last
  local covered = require("flemma.view.overlays").draw(canvas)
  for _, mark in ipairs(native("decorations", buf, first, last) or {}) do
    if mark.hint then
      api.nvim_buf_set_extmark(buf, marks, mark.line, 0, {
        ephemeral = true,
        virt_text = { { " " .. mark.hint, "FlemmaMeta" } },
        virt_text_pos = "eol",
      })
    elseif mark.to or not (covered and covered[mark.line]) then
      api.nvim_buf_set_extmark(buf, marks, mark.line, mark.from or 0, {
        ephemeral = true,
        end_row = mark.to and mark.line or mark.line + 1,
        end_col = mark.to,
        hl_group = mark.group,
        hl_eol = not mark.to,
        priority = 150,
      })
    end
  end
end

--- Redraws the lines `first..last`. Neovim itself only draws the lines that changed.
---@param buf integer
---@param first integer
---@param last integer
---@param heads? integer[] other lines that may look different
function M.redraw(buf, first, last, heads)
  touch(buf, first, last)
  for _, head in ipairs(heads or {}) do
    if head < first then
      touch(buf, head, head + 1)
    end
  end
end

--- The window that is being drawn. Neovim only draws the lines that may have changed. So the lines are drawn as it comes to
--- them: one, then two, then four.
---@type { canvas: flemma.Canvas, last: integer, step: integer }
local screen

--- Neovim comes to a line.
---@param line integer from 0
local function reach(line)
  local canvas = screen.canvas
  if line >= canvas.first and line < canvas.last or require("flemma.view.overlays").is_folded(canvas.win, line) then
    return
  end
  canvas.first, canvas.last = line, math.max(line + 1, math.min(line + screen.step, screen.last))
  screen.step = 2 * screen.step
  draw_lines(canvas)
end

--- Runs something while Neovim draws. It would show each error, and disable the provider after a few.
local function guard(run, ...)
  local ok, problem = pcall(run, ...)
  if not ok then
    require("flemma.notify").once(vim.log.levels.ERROR, "the conversation cannot be coloured: " .. tostring(problem))
  end
end

api.nvim_set_decoration_provider(marks, {
  on_win = function(_, win, buf, first, last)
    if not require("flemma.buffer.target").is_attached(buf) then
      return false
    end
    require("flemma.view.folds").drawn(win, buf, first, last)
    require("flemma.view.markdown").drawn(buf)
    local canvas = { win = win, buf = buf, namespace = marks, first = 0, last = 0 }
    screen = { canvas = canvas, last = last + 1, step = 1 }
  end,
  on_line = function(_, _, _, line)
    guard(reach, line)
  end,
  on_end = function()
    guard(require("flemma.view.approval_delay").note)
  end,
})

return M
