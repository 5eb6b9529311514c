--- Everything that is drawn over a conversation: role lines, previews of pending calls, spinners, a tool's latest output.
---
--- Nothing here changes text. Role lines are drawn while Neovim draws, for the lines on the screen only. Previews are
--- extmarks that are set again when a status block changes. Spinners are redrawn by a single timer, which only runs while a
--- request or a tool is running.
local M = {}

local api = vim.api

local marks = api.nvim_create_namespace("flemma.marks")
local live = api.nvim_create_namespace("flemma.live")
M.live = live
M.diagnostics = api.nvim_create_namespace("flemma")

--- Whether signs move no text in the windows of a buffer.
---@param buf integer
---@return boolean
local function has_sign_column(buf)
  return vim.iter(vim.fn.win_findbuf(buf)):all(function(win)
    local wo = vim.wo[win]
    return wo.signcolumn:find("^yes") ~= nil
      or (wo.signcolumn == "number" and (wo.number or wo.relativenumber))
  end)
end

--- What the user has chosen for all diagnostics.
---@param option "signs"|"virtual_text"
---@param buf integer
local function chosen(option, buf)
  local value = vim.diagnostic.config()[option]
  if type(value) == "function" then
    return value(M.diagnostics, buf)
  end
  return value
end

-- A sign would open the column of signs, and all text would move: there the words stand behind the line instead.
vim.diagnostic.config({
  signs = function(_, buf)
    return has_sign_column(buf) and chosen("signs", buf)
  end,
  virtual_text = function(_, buf)
    local own = chosen("virtual_text", buf)
    return own or not (has_sign_column(buf) or vim.diagnostic.config().virtual_lines)
  end,
}, M.diagnostics)

--- A reply counts as paused after one or two periods of so many milliseconds without a new chunk.
local REST = 120

local frames = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏" }

---@type table<integer, true> the buffers in which a request or a tool is running
local busy = {}
---@type uv.uv_timer_t?
local timer
--- The duration of a spinner's frame, in milliseconds.
local FRAME = 100
--- How much earlier a frame may be drawn if the screen is drawn anyway.
local SLACK = 20
--- When the spinner of each buffer was last drawn.
---@type table<integer, integer>
local drawn = {}

local function native(...)
  return require("flemma.native").call(...)
end

--- A language has become available, so the screen may look different.
local function redraw_all()
  for _, win in ipairs(api.nvim_list_wins()) do
    local buf = api.nvim_win_get_buf(win)
    if require("flemma.buffer").is_attached(buf) then
      api.nvim__redraw({ win = win, valid = false, flush = false })
    end
  end
end

--- Sets up the highlighting of Markdown. Without a parser, Vim's syntax file is used, which knows nothing about messages.
---@param buf integer
function M.highlight(buf)
  if require("flemma.markdown").available() then
    require("flemma.markdown.grammars").on_known = redraw_all
    -- Other plugins look it up under this filetype.
    require("vim.treesitter.language").register("markdown", "chat")
  else
    -- The syntax file would conceal the signs of Markdown as well.
    local conceals = vim.g.markdown_syntax_conceal
    if vim.go.conceallevel == 0 then
      vim.g.markdown_syntax_conceal = 0
    end
    vim.bo[buf].syntax = "markdown"
    vim.g.markdown_syntax_conceal = conceals
  end
end

--- The width, in cells, of the narrowest text area that shows the buffer.
function M.text_width(buf)
  local width = vim.o.columns
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local info = vim.fn.getwininfo(win)[1]
    width = math.min(width, info.width - info.textoff)
  end
  return math.max(width, 1)
end

local scheduled = {}

--- Combines several changes into one refresh.
---@param buf integer
function M.schedule_refresh(buf)
  if not scheduled[buf] then
    scheduled[buf] = true
    vim.schedule(function()
      scheduled[buf] = nil
      native("noticed", buf)
      require("flemma.previews").draw(buf)
      require("flemma.queue.view").draw(buf)
      require("flemma.review").check(buf)
      -- The line of a call says how it ended.
      api.nvim__redraw({ buf = buf, valid = false, flush = false })
    end)
  end
end

--- The mark with the current activity, below the last line of each buffer.
---@type table<integer, { id: integer, line: integer, virt_lines: table }>
local ends = {}

--- Draws the current activity below the last line.
---@param buf integer
---@param id? integer the mark, if it already exists
---@param virt_lines table
local function draw_at_end(buf, id, virt_lines)
  local last = api.nvim_buf_line_count(buf) - 1
  -- At the very end of the line, so that text that is appended to it moves the mark.
  local column = #api.nvim_buf_get_lines(buf, last, last + 1, false)[1]
  id = api.nvim_buf_set_extmark(buf, live, last, column, { id = id, virt_lines = virt_lines })
  ends[buf] = { id = id, line = last, virt_lines = virt_lines }
end

local function draw(buf)
  drawn[buf] = vim.uv.now()
  api.nvim_buf_clear_namespace(buf, live, 0, -1)
  ends[buf] = nil
  local spinner = frames[math.floor(vim.uv.now() / FRAME) % #frames + 1]
  local now = native("live", buf, M.text_width(buf))
  if not now then
    return
  end
  if now.text then
    draw_at_end(buf, nil, { { { spinner .. " " .. now.text, "FlemmaSpinner" } } })
  end
  for _, tool in ipairs(now.running) do
    local lines = {}
    for _, line in ipairs(tool.latest) do
      local chunks = {}
      for _, piece in ipairs(line) do
        local colour = piece.style ~= "" and require("flemma.looks.ansi").group(piece.style) or nil
        chunks[#chunks + 1] = { piece.text, colour and { "FlemmaToolProgress", colour } or "FlemmaToolProgress" }
      end
      lines[#lines + 1] = #chunks > 0 and chunks or { { "" } }
    end
    api.nvim_buf_set_extmark(buf, live, tool.line, 0, {
      virt_text = { { ("%s %s  %ds"):format(spinner, tool.name, tool.seconds), "FlemmaSpinner" } },
      virt_text_pos = "eol",
      virt_lines = #lines > 0 and lines or nil,
    })
  end
end

--- Draws the next frame of every spinner that is due.
local function tick()
  for buf in pairs(busy) do
    if not api.nvim_buf_is_loaded(buf) then
      busy[buf] = nil
    elseif vim.uv.now() - (drawn[buf] or 0) >= FRAME - SLACK then
      draw(buf)
    end
  end
  if not next(busy) and timer then
    timer:stop()
  end
end

--- Text was written: keeps the current activity below the last line. If a frame is due, it is drawn together with the text
--- and the timer is restarted, so that the screen is drawn once for both.
---@param buf integer
function M.keep_at_end(buf)
  require("flemma.queue.view").keep_at_end(buf)
  if busy[buf] and timer and vim.uv.now() - (drawn[buf] or 0) >= FRAME - SLACK then
    timer:start(FRAME, FRAME, vim.schedule_wrap(tick))
    tick()
  end
  local mark = ends[buf]
  if mark and busy[buf] and mark.line ~= api.nvim_buf_line_count(buf) - 1 then
    draw_at_end(buf, mark.id, mark.virt_lines)
  end
end

--- A request or a tool is running in the buffer, or no longer is.
---@param buf integer
---@param is_busy boolean
function M.show(buf, is_busy)
  if not is_busy then
    ends[buf], drawn[buf] = nil, nil
    if busy[buf] then
      busy[buf] = nil
      if api.nvim_buf_is_loaded(buf) then
        api.nvim_buf_clear_namespace(buf, live, 0, -1)
      end
    end
    return
  end
  local options = require("flemma.options").get()
  if busy[buf] or not options or not options.tools.show_spinner then
    return
  end
  busy[buf] = true
  timer = timer or assert(vim.uv.new_timer())
  if not timer:is_active() then
    timer:start(0, FRAME, vim.schedule_wrap(tick))
  end
end

--- Forgets a buffer and takes its spinners away. Previews and diagnostics stay.
---@param buf integer
function M.forget(buf)
  M.show(buf, false)
  require("flemma.markdown").settle(buf)
  require("flemma.looks").forget(buf)
  pcall(api.nvim_del_augroup_by_name, "flemma.ui." .. buf)
end

--- Takes everything that is drawn away from a buffer that was forgotten.
---@param buf integer
function M.release(buf)
  for _, namespace in ipairs({ require("flemma.previews").namespace, live, M.diagnostics }) do
    api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  end
  vim.diagnostic.reset(M.diagnostics, buf)
end

---@param buf integer
function M.attach(buf)
  require("flemma.looks").attach(buf)
  api.nvim_create_autocmd({ "InsertLeave", "TextChanged" }, {
    group = api.nvim_create_augroup("flemma.ui." .. buf, { clear = true }),
    buffer = buf,
    desc = "Flemma: remove diagnostics when their cause is gone",
    callback = function()
      native("diagnose_again", buf)
    end,
  })
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

--- The lines of each buffer that are drawn again in the next redraw.
---@type table<integer, { first: integer, last: integer }>
local due = {}

--- Redraws the lines `first..last` and the rest of the paragraphs in which they begin and end. Neovim itself only draws the
--- lines that changed.
---@param buf integer
---@param first integer
---@param last integer
---@param is_code boolean whether they may be code
---@param heads? integer[] other lines that may look different
function M.redraw(buf, first, last, is_code, heads)
  require("flemma.looks.hiding").update(buf, first, last)
  -- Vim's syntax highlighting updates its own lines.
  if require("flemma.markdown").available() then
    first, last = require("flemma.markdown.chunks").around(buf, first, last, is_code)
  end
  local lines = due[buf]
  due[buf] = lines and { first = math.min(first, lines.first), last = math.max(last, lines.last) } or { first = first, last = last }
  api.nvim__redraw({ buf = buf, range = { first, last }, flush = false })
  for _, head in ipairs(heads or {}) do
    if head < first then
      api.nvim__redraw({ buf = buf, range = { head, head + 1 }, flush = false })
    end
  end
end

--- Redraws a buffer whose text may have changed anywhere.
---@param buf integer
function M.redraw_all(buf)
  require("flemma.looks.hiding").update_all(buf)
  api.nvim__redraw({ buf = buf, range = { 0, api.nvim_buf_line_count(buf) }, flush = false })
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

api.nvim_set_decoration_provider(marks, {
  on_start = function()
    require("flemma.markdown").start()
  end,
  on_win = function(_, win, buf, _, last)
    if not require("flemma.buffer").is_attached(buf) then
      return false
    end
    local growing = require("flemma.lock").is_locked(buf)
    local canvas = { win = win, buf = buf, namespace = marks, first = 0, last = 0, growing = growing }
    screen = { canvas = canvas, last = last + 1, step = 1 }
  end,
  on_line = function(_, _, _, line)
    local ok, problem = pcall(reach, line)
    if not ok then
      -- Neovim would show each error, and disable the provider after a few.
      require("flemma.notify").once(vim.log.levels.ERROR, "the conversation cannot be coloured: " .. tostring(problem))
    end
  end,
  on_end = function()
    due = {}
  end,
})

local group = api.nvim_create_augroup("flemma.ui", { clear = true })

api.nvim_create_autocmd({ "WinResized", "BufWinEnter" }, {
  group = group,
  callback = function(args)
    if args.event == "BufWinEnter" then
      if require("flemma.buffer").is_attached(args.buf) then
        M.schedule_refresh(args.buf)
      end
      return
    end
    for _, win in ipairs(vim.v.event.windows or {}) do
      if api.nvim_win_is_valid(win) then
        local buf = api.nvim_win_get_buf(win)
        if require("flemma.buffer").is_attached(buf) then
          M.schedule_refresh(buf)
        end
      end
    end
  end,
})

api.nvim_create_autocmd({ "FocusGained", "BufEnter", "BufWritePost" }, {
  group = group,
  desc = "Flemma: find out again what calls that wait would write",
  callback = function(args)
    if args.event ~= "BufEnter" or require("flemma.buffer").is_attached(args.buf) then
      native("check_proposals")
    end
  end,
})

return M
