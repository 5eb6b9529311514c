--- Draws the lines of conversations while Neovim draws, and has lines drawn again that look different.
---
--- Neovim only draws the lines that may have changed. So the library is only asked about these.
local M = {}

local api = vim.api

local marks = api.nvim_create_namespace("flemma.marks")

--- A reply counts as paused after one or two periods of so many milliseconds without a new chunk.
local REST = 120

local function native(...)
  return require("flemma.native").call(...)
end

--- Redraws the windows of all conversations: a language has become available, so that they may look different.
function M.redraw_windows()
  for _, win in ipairs(api.nvim_list_wins()) do
    local buf = api.nvim_win_get_buf(win)
    if require("flemma.buffer").is_attached(buf) then
      api.nvim__redraw({ win = win, valid = false, flush = false })
    end
  end
end

--- The buffers in which a reply arrives faster than it is coloured, with the changedtick at that time.
---@type table<integer, integer>
local behind = {}
---@type uv.uv_timer_t?
local rest

--- Colours replies to their end if they have not grown since the last call.
local function catch_up()
  for buf, tick in pairs(behind) do
    local now = api.nvim_buf_is_loaded(buf) and api.nvim_buf_get_changedtick(buf)
    if now and now ~= tick then
      behind[buf] = now
    else
      behind[buf] = nil
      require("flemma.markdown").settle(buf)
      if now then
        local count = api.nvim_buf_line_count(buf)
        M.redraw(buf, count - 1, count, true)
      end
    end
  end
  if not next(behind) and rest then
    rest:stop()
  end
end

--- A part of a reply is not coloured for now.
local function fall_behind(buf)
  behind[buf] = behind[buf] or api.nvim_buf_get_changedtick(buf)
  rest = rest or assert(vim.uv.new_timer())
  if not rest:is_active() then
    rest:start(REST, REST, vim.schedule_wrap(catch_up))
  end
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

--- Draws the lines of a canvas.
---@param canvas flemma.Canvas
local function draw_lines(canvas)
  local buf, first, last = canvas.buf, canvas.first, canvas.last
  local markdown = require("flemma.markdown")
  if markdown.available() and markdown.draw(canvas, native("regions", buf, first, last) or {}) then
    fall_behind(buf)
  end
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

--- The lines of each buffer that are drawn again in the next redraw. Whether lines have been added to them whose paragraphs
--- are not looked up yet: a macro changes many lines before the next redraw.
---@type table<integer, { first: integer, last: integer, is_code: boolean, has_more: boolean }>
local due = {}

--- Has the rest of the paragraphs drawn again in which the lines of a buffer begin and end.
---@param buf integer
local function widen(buf)
  local lines = due[buf]
  local last = math.min(lines.last, api.nvim_buf_line_count(buf))
  local first = math.min(lines.first, last)
  first, last = require("flemma.markdown.chunks").around(buf, first, last, lines.is_code)
  lines.first, lines.last, lines.has_more = first, last, false
  api.nvim__redraw({ buf = buf, range = { first, last }, flush = false })
end

--- Redraws the lines `first..last` and the rest of the paragraphs in which they begin and end. Neovim itself only draws the
--- lines that changed.
---@param buf integer
---@param first integer
---@param last integer
---@param is_code boolean whether they may be code
---@param heads? integer[] other lines that may look different
function M.redraw(buf, first, last, is_code, heads)
  require("flemma.looks.hiding").update(buf, first, last)
  local lines = due[buf]
  if lines then
    lines.first, lines.last = math.min(first, lines.first), math.max(last, lines.last)
    lines.is_code, lines.has_more = lines.is_code or is_code, true
    api.nvim__redraw({ buf = buf, range = { first, last }, flush = false })
  else
    due[buf] = { first = first, last = last, is_code = is_code, has_more = true }
    -- Vim's syntax highlighting updates its own lines.
    if require("flemma.markdown").available() then
      widen(buf)
    else
      api.nvim__redraw({ buf = buf, range = { first, last }, flush = false })
    end
  end
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
  -- A change may be larger than any screen: the rest of it may be in a closed fold.
  local last = lines and line >= lines.first and math.min(lines.last, line + vim.o.lines) or line + screen.step
  canvas.first, canvas.last = line, math.max(line + 1, math.min(last, screen.last))
  screen.step = 2 * screen.step
  draw_lines(canvas)
end

--- Neovim is about to draw.
local function start()
  local markdown = require("flemma.markdown")
  markdown.start()
  for buf, lines in pairs(due) do
    if lines.has_more and markdown.available() and api.nvim_buf_is_loaded(buf) then
      widen(buf)
    end
  end
end

--- Runs something while Neovim draws. It would show each error, and disable the provider after a few.
local function guard(run, ...)
  local ok, problem = pcall(run, ...)
  if not ok then
    require("flemma.notify").once(vim.log.levels.ERROR, "the conversation cannot be coloured: " .. tostring(problem))
  end
end

api.nvim_set_decoration_provider(marks, {
  on_start = function()
    guard(start)
  end,
  on_win = function(_, win, buf, _, last)
    if not require("flemma.buffer").is_attached(buf) then
      require("flemma.seen").draw(win, false)
      return false
    end
    require("flemma.seen").draw(win, buf)
    require("flemma.folds.text").begin()
    local growing = require("flemma.lock").is_locked(buf)
    local canvas = { win = win, buf = buf, namespace = marks, first = 0, last = 0, growing = growing }
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
