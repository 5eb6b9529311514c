--- Keeps what the user reads in its place while a conversation changes above it: a result arrives, the output of a command grows
--- or goes, a card is folded. The windows that follow the conversation are not kept.
local M = {}

local api = vim.api

--- The rows of the cursors before the changes that are under way, by window.
---@type table<integer, { buf: integer, row: integer }>
local rows = {}

local is_due = false

--- The row of the cursor's line. What Neovim knows of it may be older than the folds and the virtual lines above.
---@param win integer the current window
---@return integer
local function row_of(win)
  local info, view = vim.fn.getwininfo(win)[1], vim.fn.winsaveview()
  local skipped = math.floor(view.skipcol / math.max(1, info.width - info.textoff))
  return require("flemma.looks.hiding").rows(win, vim.fn.line("w0"), view.lnum - 1) - skipped
end

--- Scrolls the windows back in which the row of the cursor has changed.
local function restore()
  is_due = false
  local known = rows
  rows = {}
  for win, was in pairs(known) do
    if api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == was.buf then
      api.nvim_win_call(win, function()
        require("flemma.looks.hiding").move_cursor_down(win, was.row - row_of(win))
      end)
    end
  end
end

--- A conversation is about to change. What follows at once, such as folds that close, belongs to the change.
---@param buf integer
function M.before_change(buf)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if not rows[win] and not require("flemma.following").follows(buf, win) then
      rows[win] = { buf = buf, row = api.nvim_win_call(win, function()
          return row_of(win)
        end) }
    end
  end
  if next(rows) and not is_due then
    is_due = true
    -- After what is scheduled now, and after what that schedules.
    vim.schedule(function()
      vim.schedule(restore)
    end)
  end
end

--- The user has moved the cursor or scrolled: the rows are no longer those that are to be kept.
api.nvim_create_autocmd({ "CursorMoved", "WinScrolled" }, {
  group = api.nvim_create_augroup("flemma.staying", { clear = true }),
  desc = "Flemma: keep what the user reads now",
  callback = function(args)
    rows[args.event == "WinScrolled" and tonumber(args.match) or api.nvim_get_current_win()] = nil
  end,
})

return M
