--- What is drawn over a conversation while it works: spinners and a tool's latest output; and when the other things that are
--- drawn, such as the previews of pending calls, are brought up to date.
---
--- Nothing here changes text. Spinners are redrawn by a single timer, which only runs while a request or a tool is running.
local M = {}

local api = vim.api

local live = api.nvim_create_namespace("flemma.live")
M.live = live
M.diagnostics = api.nvim_create_namespace("flemma")

-- A sign would open the column of signs, and all text would move.
vim.diagnostic.config({ signs = false, virtual_text = true }, M.diagnostics)

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

--- Sets up the highlighting of Markdown. Without a parser, Vim's syntax file is used, which knows nothing about messages.
---@param buf integer
function M.highlight(buf)
  if require("flemma.markdown").available() then
    -- Other plugins look it up under this filetype.
    require("vim.treesitter.language").register("markdown", "chat")
    require("flemma.markdown").start(buf, require("flemma.looks").conceals_markdown)
  else
    vim.bo[buf].syntax = "markdown"
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

---@type table<string, true>
local scheduled = {}

--- Does something once for several changes.
---@param what string
---@param buf integer
---@param run fun()
local function soon(what, buf, run)
  local key = what .. buf
  if not scheduled[key] then
    scheduled[key] = true
    vim.schedule(function()
      scheduled[key] = nil
      run()
    end)
  end
end

--- Combines several changes into one refresh.
---@param buf integer
function M.schedule_refresh(buf)
  soon("refresh", buf, function()
    native("event", buf, "edited")
    require("flemma.following").keep_shown(buf, function()
      require("flemma.previews").draw(buf)
    end)
    require("flemma.queue.view").draw(buf)
    require("flemma.review").check(buf)
    -- The line of a call says how it ended.
    require("flemma.drawing").refresh(buf)
  end)
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
  local now = native("state", buf, "live", { width = M.text_width(buf) })
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
      virt_text = { { (" %s "):format(spinner), "FlemmaSpinner" } },
      virt_text_pos = "overlay",
      priority = 200,
      virt_lines = #lines > 0 and lines or nil,
    })
  end
  if #now.running > 0 then
    require("flemma.following").show_cursor(buf)
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
---@param is_other? boolean whether it does something else now, which is shown at once
function M.show(buf, is_busy, is_other)
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
  if busy[buf] and is_other and timer and drawn[buf] and api.nvim_buf_is_loaded(buf) then
    timer:start(FRAME, FRAME, vim.schedule_wrap(tick))
    draw(buf)
  end
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
  require("flemma.previews").forget(buf)
  require("flemma.looks.cards").forget(buf)
  require("flemma.markdown").forget(buf)
  pcall(api.nvim_del_augroup_by_name, "flemma.ui." .. buf)
end

--- Takes everything that is drawn away from a buffer that was forgotten.
---@param buf integer
function M.release(buf)
  for _, namespace in ipairs({ live, M.diagnostics }) do
    api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  end
  vim.diagnostic.reset(M.diagnostics, buf)
  require("flemma.looks").release(buf)
  require("flemma.markdown").release(buf)
end

---@param buf integer
function M.attach(buf)
  -- Once it is loaded, Neovim asks it what to draw.
  require("flemma.drawing")
  require("flemma.looks").attach(buf)
  api.nvim_create_autocmd({ "InsertLeave", "TextChanged" }, {
    group = api.nvim_create_augroup("flemma.ui." .. buf, { clear = true }),
    buffer = buf,
    desc = "Flemma: remove diagnostics when their cause is gone",
    callback = function()
      -- A command changes many lines, and leaves Insert mode in each.
      soon("diagnose", buf, function()
        native("event", buf, "diagnosed")
      end)
    end,
  })
end

local group = api.nvim_create_augroup("flemma.ui", { clear = true })

api.nvim_create_autocmd({ "WinResized", "BufWinEnter" }, {
  group = group,
  desc = "Flemma: fit what is drawn to the windows",
  callback = function(args)
    local wins = args.event == "BufWinEnter" and vim.fn.win_findbuf(args.buf) or vim.v.event.windows or {}
    for _, win in ipairs(wins) do
      local buf = api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win)
      if buf and require("flemma.buffer").is_attached(buf) then
        M.schedule_refresh(buf)
      end
    end
  end,
})

api.nvim_create_autocmd({ "FocusGained", "BufEnter", "BufWritePost", "CursorHold" }, {
  group = group,
  desc = "Flemma: find out again what calls that wait would write",
  callback = function(args)
    if args.event == "BufEnter" and not require("flemma.buffer").is_attached(args.buf) then
      return
    elseif args.event ~= "CursorHold" or require("flemma.previews").is_watching() then
      native("editor_event", "files_changed")
    end
  end,
})

return M
