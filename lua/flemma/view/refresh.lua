--- Brings up to date what is drawn over conversations after their calls have changed: previews, cards, and what is queued.
local M = {}

local api = vim.api

local native = require("flemma.native").call

--- Called with the buffer of each conversation that was brought up to date.
---@type fun(buf: integer)?
M.on_refresh = nil

---@type table<integer, true>
local scheduled = {}

--- Combines several changes into one refresh.
---@param buf integer
function M.schedule(buf)
  if scheduled[buf] then
    return
  end
  scheduled[buf] = true
  vim.schedule(function()
    scheduled[buf] = nil
    native("event", buf, "edited")
    require("flemma.view.cursor").keep_shown(buf, function()
      require("flemma.view.previews").draw(buf)
    end)
    require("flemma.queue.view").draw(buf)
    -- The line of a call says how it ended.
    require("flemma.view.drawing").refresh(buf)
    if M.on_refresh then
      M.on_refresh(buf)
    end
  end)
end

local group = api.nvim_create_augroup("flemma.refresh", { clear = true })

api.nvim_create_autocmd({ "WinResized", "BufWinEnter" }, {
  group = group,
  desc = "Flemma: fit what is drawn to the windows",
  callback = function(args)
    local wins = args.event == "BufWinEnter" and vim.fn.win_findbuf(args.buf) or vim.v.event.windows or {}
    for _, win in ipairs(wins) do
      local buf = api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win)
      if buf and require("flemma.buffer.target").is_attached(buf) then
        M.schedule(buf)
      end
    end
  end,
})

api.nvim_create_autocmd({ "FocusGained", "BufModifiedSet", "BufUnload" }, {
  group = group,
  desc = "Flemma: find out again what calls that wait would write",
  callback = vim.schedule_wrap(function()
    native("editor_event", "files_changed")
  end),
})

return M
