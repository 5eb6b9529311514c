--- Components for a status line: what one conversation is doing, and what all of them are doing.
---
--- The functions that are called while a status line is drawn only ask the library, which counts nothing anew. Redrawing is a
--- matter of its own: a change redraws the status lines at most every 200 ms, and every second while something is running.
local M = {}

--- The shortest time between two redraws for changes, and the time between two while something is running, in milliseconds.
local PAUSE, SECOND = 200, 1000

local function escape(text)
  return (text:gsub("%%", "%%%%"))
end

---@param buf integer
---@return string text empty if the buffer is not a conversation
local function component(buf)
  if not require("flemma.buffer").is_attached(buf) then
    return ""
  end
  return escape(require("flemma.native").call("status_line", buf) or "")
end

--- The buffer of the window whose status line is drawn.
---@return integer
local function drawn_buffer()
  local win = vim.g.statusline_winid
  local valid = win and vim.api.nvim_win_is_valid(win)
  return vim.api.nvim_win_get_buf(valid and win or 0)
end

--- The component for the window whose status line is drawn; empty if the buffer is not a conversation.
---@return string
function M.component()
  require("flemma.activity").note_status_line()
  return component(drawn_buffer())
end

--- How many messages are queued in the conversation whose status line is drawn: `2 queued`. Empty if there are none.
---@return string
function M.queued()
  local buf = drawn_buffer()
  local count = require("flemma.buffer").is_attached(buf) and require("flemma.native").call("queued", buf) or 0
  return count > 0 and ("%d queued"):format(count) or ""
end

--- How many conversations are at work and how many wait for you: `2 working, 1 waits`. Empty if there are none.
---@return string
function M.overview()
  local native = require("flemma.native")
  return native.is_loaded() and escape(native.call("overview") or "") or ""
end

--- What was on the screen when it was last redrawn for a change.
local drawn = ""
---@type uv.uv_timer_t?
local timer
local is_due = false

--- What the status lines on the screen have to say.
---@return string
local function now()
  local texts = {}
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    texts[#texts + 1] = component(vim.api.nvim_win_get_buf(win))
  end
  texts[#texts + 1] = M.overview()
  return table.concat(texts, "\n")
end

local redraw

--- Redraws after a pause, once.
---@param pause integer milliseconds
local function later(pause)
  timer = timer or assert(vim.uv.new_timer())
  timer:start(pause, 0, vim.schedule_wrap(redraw))
end

function redraw()
  is_due = false
  local text = now()
  if text ~= drawn then
    drawn = text
    vim.cmd.redrawstatus({ bang = true })
    if vim.o.tabline ~= "" then
      vim.cmd.redrawtabline()
    end
  end
  if M.overview():find("working", 1, true) then
    later(SECOND)
  end
end

require("flemma.host").on_show = function()
  if not is_due then
    is_due = true
    later(PAUSE)
  end
end

return M
