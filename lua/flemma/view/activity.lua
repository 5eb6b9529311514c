--- What is shown while a conversation works: spinners, a tool's latest output, and the progress in other places.
---
--- Nothing here changes text. Spinners are redrawn by a single timer, which only runs while a request or a tool is running.
local M = {}

local api = vim.api

local live = api.nvim_create_namespace("flemma.live")
local below = require("flemma.view.last_line").new(live)

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

local native = require("flemma.native").call

--- The width, in cells, of the narrowest text area that shows the buffer.
function M.text_width(buf)
  local width = vim.o.columns
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local info = vim.fn.getwininfo(win)[1]
    width = math.min(width, info.width - info.textoff)
  end
  return math.max(width, 1)
end

local function draw(buf)
  drawn[buf] = vim.uv.now()
  below.clear(buf)
  local spinner = frames[math.floor(vim.uv.now() / FRAME) % #frames + 1]
  local now = native("state", buf, "live", { width = M.text_width(buf) })
  if not now then
    return
  end
  if now.text then
    below.place(buf, { { { spinner .. " " .. now.text, "FlemmaSpinner" } } })
  end
  local options, first, last = require("flemma.options").get(), require("flemma.view.cards").raw(buf)
  for _, tool in ipairs(now.running) do
    local is_raw = not (options and options.looks.enabled) or first and first <= tool.line and tool.line < last
    local lines = {}
    for _, line in ipairs(tool.latest) do
      local chunks = {}
      for _, piece in ipairs(line) do
        local colour = piece.style ~= "" and require("flemma.view.ansi").group(piece.style) or nil
        chunks[#chunks + 1] = { piece.text, colour and { "FlemmaToolProgress", colour } or "FlemmaToolProgress" }
      end
      lines[#lines + 1] = #chunks > 0 and chunks or { { "" } }
    end
    api.nvim_buf_set_extmark(buf, live, tool.line, 0, {
      virt_text = { { (" %s "):format(spinner), "FlemmaSpinner" } },
      virt_text_pos = is_raw and "eol" or "overlay",
      priority = 200,
      virt_lines = #lines > 0 and lines or nil,
    })
  end
  if #now.running > 0 then
    require("flemma.view.cursor").show_cursor(buf)
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
  below.keep(buf)
end

---@param buf integer
---@param is_busy boolean
---@param is_other? boolean
local function spin(buf, is_busy, is_other)
  if not is_busy then
    busy[buf], drawn[buf] = nil, nil
    return below.clear(buf)
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

---@type fun()? redraws status lines, if they are in use
M.on_change = nil

--- What a conversation does or waits for has changed.
function M.changed()
  if M.on_change then
    M.on_change()
  end
end

--- A request or a tool is running in the buffer, or no longer is.
---@param buf integer
---@param is_busy boolean
---@param is_other? boolean whether it does something else now, which is shown at once
function M.show(buf, is_busy, is_other)
  -- Most sessions only read.
  if is_busy or package.loaded["flemma.edit.interrupt"] then
    require("flemma.edit.interrupt").watch(buf, is_busy)
    spin(buf, is_busy, is_other)
    require("flemma.view.progress").show(buf, is_busy)
  end
  require("flemma.queue.view").draw(buf)
  M.changed()
end

return M
