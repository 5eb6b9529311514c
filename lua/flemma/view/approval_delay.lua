--- Since when the user has been able to see each call that waits, so that a key decides about nothing that has only just appeared.
---
--- A key that is held, or that was meant for the call before, would approve the next one as soon as it is drawn. What names
--- the call is no such key: a range, the id in a script, the status that the user writes.
local M = {}

local api = vim.api

--- How long a call has to be on the screen before a key decides about it, in milliseconds.
M.delay = 500

--- The calls that wait and are drawn, by window: since when, in milliseconds.
---@type table<integer, table<string, number>>
local drawn = {}

--- When a key was last refused.
local refused = -math.huge

--- When a key has last decided, and about which call. A key that is held repeats after up to 0.7 seconds, when the next call may have
--- been in sight for long.
local decided, last = -math.huge, ""

--- A key that comes so soon after one that was refused is held down, and does not wait for its turn. In milliseconds.
local HELD = 250

---@return number milliseconds
local function now()
  return vim.uv.hrtime() / 1e6
end

--- Without a user interface, nobody presses keys.
local function is_off()
  return M.delay == 0 or #api.nvim_list_uis() == 0
end

---@param buf integer
---@param first integer
---@param last integer
---@return table<string, { id: string, tool: string, has_block: boolean }> calls
local function waiting(buf, first, last)
  local calls = {}
  for _, call in ipairs(require("flemma.native").call("calls", buf, "waiting", { first = first, last = last }) or {}) do
    calls[("%d %s %s"):format(buf, call.id, call.has_block)] = call
  end
  return calls
end

--- Neovim has drawn its windows.
function M.note()
  local before = drawn
  drawn = {}
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    local buf, info = api.nvim_win_get_buf(win), vim.fn.getwininfo(win)[1]
    local is_chat = require("flemma.buffer.target").is_attached(buf)
    for key in pairs(is_chat and waiting(buf, info.topline - 1, info.botline) or {}) do
      drawn[win] = drawn[win] or {}
      drawn[win][key] = (before[win] or {})[key] or now()
    end
  end
end

--- The conversation moves the cursor of a window: it may come to another call than the user meant.
---@param win integer
function M.moved(win)
  for key in pairs(drawn[win] or {}) do
    drawn[win][key] = now()
  end
end

--- Whether a key may decide about what is on the screen since then. If not, a message names the call.
---@param since number milliseconds
---@param tool string
---@param id string
---@return boolean
function M.allows(since, tool, id)
  local time = now()
  local is_held = time - refused < HELD
  local is_next = time - decided < 2 * M.delay
  if is_off() or (time - since >= M.delay and not is_held and not is_next) then
    decided, last = time, id
    return true
  end
  refused = time
  local words = is_next and "press the key again to decide about %s (%s): %s was decided within the last second"
    or "press the key again: %s (%s) has only just appeared"
  require("flemma.notify").say(vim.log.levels.WARN, words:format(tool, id, last == id and "this call" or "another call"))
  return false
end

--- Whether a key may decide about the call at a line of a window.
---@param win integer 0 for the current one
---@param buf integer
---@param line integer from 0
---@return boolean
function M.allows_at(win, buf, line)
  win = win == 0 and api.nvim_get_current_win() or win
  -- A script may name a buffer that is not in the window.
  local is_exempt = is_off() or api.nvim_win_get_buf(win) ~= buf
  local key, call = next(is_exempt and {} or waiting(buf, line, line + 1))
  if not key then
    -- There is nothing to decide about, which the user is told.
    return true
  end
  local since = drawn[win] and drawn[win][key]
  if not since then
    -- Neovim draws the line of the cursor before it takes the next key.
    drawn[win] = drawn[win] or {}
    drawn[win][key] = now()
  elseif M.allows(since, call.tool, call.id) then
    -- A call may wait a second time, with something else.
    drawn[win][key] = now()
    return true
  else
    return false
  end
  return M.allows(now(), call.tool, call.id)
end

--- This moment, for `allows`.
M.now = now

return M
