--- Components for a status line: what one conversation is doing, and what all of them are doing; and the status line of
--- conversations and the tab line, where the user has none of their own.
---
--- The functions that are called while a line is drawn only ask the library, which counts nothing anew. Redrawing is a matter of
--- its own: a change redraws the status lines at most every 200 ms, and every second while something is running.
local M = {}

local api = vim.api

--- The shortest time between two redraws for changes, and the time between two while something is running, in milliseconds.
local PAUSE, SECOND = 200, 1000

---@param text? string
---@param most? integer the most characters of it
---@return string
local function escape(text, most)
  text = text or ""
  if most and vim.fn.strchars(text) > most then
    text = vim.fn.strcharpart(text, 0, most - 1) .. "…"
  end
  return (text:gsub("%%", "%%%%"))
end

--- The conversation in the window whose status line is drawn.
---@return integer? buf
local function drawn_buffer()
  local win = vim.g.statusline_winid
  local buf = api.nvim_win_get_buf(win and api.nvim_win_is_valid(win) and win or 0)
  return require("flemma.buffer.target").is_attached(buf) and buf or nil
end

--- The component for the window whose status line is drawn; empty if the buffer is not a conversation.
---@return string
function M.component()
  local buf = drawn_buffer()
  return buf and escape(require("flemma.native").call("state", buf, "status_line")) or ""
end

--- The title of the conversation whose status line is drawn; empty if the buffer is not one.
---@return string
function M.title()
  local buf = drawn_buffer()
  return buf and escape(require("flemma.conversations").title(buf), 40) or ""
end

--- How many messages are queued in the conversation whose status line is drawn: `2 queued`. Empty if there are none.
---@return string
function M.queued()
  local buf = drawn_buffer()
  local count = buf and require("flemma.native").call("state", buf, "queued") or 0
  return count > 0 and ("%d queued"):format(count) or ""
end

--- How many conversations are at work and how many wait for you: `2 working, 1 waits`. Empty if there are none.
---@return string
function M.overview()
  local native = require("flemma.native")
  return native.is_loaded() and escape(native.call("state", nil, "status_line")) or ""
end

--- Neovim's own tab line, with the titles of conversations in place of the paths of their files.
---@return string
function M.tabs()
  local parts = {}
  for number, tab in ipairs(api.nvim_list_tabpages()) do
    local buf, count = api.nvim_win_get_buf(api.nvim_tabpage_get_win(tab)), #api.nvim_tabpage_list_wins(tab)
    local name = vim.fn.pathshorten(vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ":~:."))
    if require("flemma.buffer.target").is_attached(buf) then
      name = require("flemma.conversations").title(buf)
    end
    local group = tab == api.nvim_get_current_tabpage() and "%#TabLineSel#" or "%#TabLine#"
    local mark = (count > 1 and count or "") .. (vim.bo[buf].modified and "+" or "")
    name = escape(name ~= "" and name or "[No Name]", 24)
    parts[#parts + 1] = ("%s%%%dT %s%s "):format(group, number, mark ~= "" and mark .. " " or "", name)
  end
  return table.concat(parts) .. "%#TabLineFill#%T"
end

---@type uv.uv_timer_t?
local timer
local is_due = false

local redraw

--- Redraws after a pause, once.
---@param pause integer milliseconds
local function later(pause)
  timer = timer or assert(vim.uv.new_timer())
  timer:start(pause, 0, vim.schedule_wrap(redraw))
end

function redraw()
  is_due = false
  vim.cmd.redrawstatus({ bang = true })
  if vim.o.tabline ~= "" then
    vim.cmd.redrawtabline()
  end
  if M.overview():find("working", 1, true) then
    later(SECOND)
  end
end

require("flemma.view.activity").on_change = function()
  if not is_due then
    is_due = true
    later(PAUSE)
  end
end

return M
