--- Draws the lines of conversations while Neovim draws, and has lines drawn again that look different.
---
--- Neovim only draws the lines that may have changed. So the library is only asked about these.
local M = {}

local api = vim.api

local marks = api.nvim_create_namespace("flemma.marks")

local function native(...)
  return require("flemma.native").call(...)
end

--- Dims what stands behind the status of a call, so that the word which the user may change is seen first.
---@param buf integer
---@param line integer from 0
local function dim_attributes(buf, line)
  local text = api.nvim_buf_get_lines(buf, line, line + 1, false)[1] or ""
  local _, last = text:find("status=%S+")
  if last and last < #text then
    api.nvim_buf_set_extmark(buf, marks, line, last, {
      ephemeral = true,
      end_col = #text,
      hl_group = "FlemmaMeta",
      priority = 151,
    })
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
  local covered = require("flemma.looks").draw(canvas)
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
      if mark.group == "FlemmaToolStatus" then
        dim_attributes(buf, mark.line)
      end
    end
  end
end

--- The lines of each buffer that are drawn again in the next redraw.
---@type table<integer, { first: integer, last: integer }>
local due = {}

--- Redraws the lines `first..last`. Neovim itself only draws the lines that changed.
---@param buf integer
---@param first integer
---@param last integer
---@param heads? integer[] other lines that may look different
function M.redraw(buf, first, last, heads)
  require("flemma.looks.hiding").update(buf, first, last)
  local lines = due[buf] or { first = first, last = last }
  due[buf] = { first = math.min(first, lines.first), last = math.max(last, lines.last) }
  api.nvim__redraw({ buf = buf, range = { first, last }, flush = false })
  for _, head in ipairs(heads or {}) do
    if head < first then
      api.nvim__redraw({ buf = buf, range = { head, head + 1 }, flush = false })
    end
  end
end

--- The number of lines has changed: those below the change are others now.
---@param buf integer
---@param old_last integer the line after the last one that changed, as it was before
---@param delta integer how many lines there are more
function M.shift(buf, old_last, delta)
  require("flemma.looks.hiding").shift(buf, old_last, delta)
  local lines = due[buf]
  if lines and delta ~= 0 then
    lines.first = lines.first >= old_last and lines.first + delta or lines.first
    lines.last = lines.last >= old_last and lines.last + delta or lines.last
  end
end

--- Redraws a buffer whose text is the same, but not what is drawn over it. Does nothing if it is no longer loaded.
---@param buf integer
function M.refresh(buf)
  if api.nvim_buf_is_loaded(buf) then
    require("flemma.folds.text").forget(buf)
    api.nvim__redraw({ buf = buf, range = { 0, api.nvim_buf_line_count(buf) }, flush = false })
  end
end

--- Redraws a buffer whose text may have changed anywhere.
---@param buf integer
function M.redraw_all(buf)
  require("flemma.looks.hiding").update_all(buf)
  M.refresh(buf)
end

--- The window that is being drawn. Neovim only draws the lines that may have changed. So the lines are drawn as it comes to
--- them: those of a change at once, others one, then two, then four.
---@type { canvas: flemma.Canvas, last: integer, step: integer }
local screen

--- Neovim comes to a line.
---@param line integer from 0
local function reach(line)
  local canvas = screen.canvas
  if line >= canvas.first and line < canvas.last or require("flemma.looks").is_folded(canvas.win, line) then
    return
  end
  local lines = due[canvas.buf]
  local last = lines and line >= lines.first and lines.last or line + screen.step
  canvas.first, canvas.last = line, math.max(line + 1, math.min(last, screen.last))
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
  on_win = function(_, win, buf, _, last)
    if not require("flemma.buffer").is_attached(buf) then
      require("flemma.seen").draw(win, false)
      return false
    end
    require("flemma.seen").draw(win, buf)
    require("flemma.folds.text").begin()
    local canvas = { win = win, buf = buf, namespace = marks, first = 0, last = 0 }
    screen = { canvas = canvas, last = last + 1, step = 1 }
  end,
  on_line = function(_, _, _, line)
    guard(reach, line)
  end,
  on_end = function()
    due = {}
    guard(require("flemma.seen").note)
  end,
})

return M
