--- Keeps the place that a conversation has led a window to on the screen, where it has come to rest: the preview of the call that
--- waits, or the end of the text, and above it as much as there is room for.
---
--- The preview is drawn below the first line of the call's status block. It may be drawn after the cursor has arrived, and
--- folds and hidden lines that change around it may push it out of the window, so it is looked at before every wait for
--- a key, until the user presses one: from then on the user decides what the window shows.
local M = {}

local api = vim.api

local namespace = api.nvim_create_namespace("flemma.reveal")

---@type table<integer, integer> the buffer, by the window
local led = {}

local watch ---@type integer?

local function stop()
  led = {}
  vim.on_key(nil, namespace)
  if watch then
    api.nvim_del_autocmd(watch)
    watch = nil
  end
end

--- Scrolls until the line after the cursor's, and with it the preview between them, is visible. The cursor's own line stays
--- visible.
---@param win integer
---@param buf integer
---@return boolean led whether the window still shows the conversation
local function show(win, buf)
  if not api.nvim_win_is_valid(win) or api.nvim_win_get_buf(win) ~= buf then
    return false
  end
  local filling = require("flemma.filling")
  local fills = require("flemma.following").fills(buf, win)
  local line = api.nvim_win_get_cursor(win)[1]
  if not require("flemma.native").call("waits_at", buf, line - 1) then
    if fills then
      filling.fill(win)
    end
    return true
  end
  local below = math.min(line + 1, api.nvim_buf_line_count(buf))
  api.nvim_win_call(win, function()
    for _ = 1, api.nvim_win_get_height(win) do
      local top = vim.fn.line("w0")
      if vim.fn.line("w$") >= below or top >= line or filling.shows(win, below) then
        break
      end
      -- Nothing happens to a line in a closed fold.
      vim.fn.winrestview({ topline = math.max(top, vim.fn.foldclosedend(top)) + 1 })
    end
  end)
  if fills then
    filling.lead_in(win, below)
  end
  return true
end

local function show_all()
  for win, buf in pairs(led) do
    if not show(win, buf) then
      led[win] = nil
    end
  end
  if not next(led) then
    stop()
  end
end

--- A window was led to a call that waits, or to the end of a turn.
---@param win integer
---@param buf integer
function M.lead(win, buf)
  led[win] = buf
  if watch then
    return
  end
  watch = api.nvim_create_autocmd("SafeState", { desc = "Flemma: show where the conversation rests", callback = show_all })
  local mouse_moves = vim.keycode("<MouseMove>")
  vim.on_key(function(_, typed)
    if typed ~= "" and typed ~= mouse_moves then
      stop()
    end
  end, namespace)
end

return M
