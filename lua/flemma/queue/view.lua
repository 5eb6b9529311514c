--- What is queued, drawn below the last line of a conversation that is not hidden.
local M = {}

local api = vim.api

-- There is nothing to warn about before something is drawn here.
require("flemma.leaving")

local namespace = api.nvim_create_namespace("flemma.queue")

--- The mark below the end of each buffer in which something is queued.
---@type table<integer, { id: integer, line: integer, virt_lines: table }>
local marks = {}

---@param buf integer
---@return integer line from 0
local function last_line(buf)
  return api.nvim_buf_line_count(buf) - 1
end

--- Puts the lines below the end.
---@param buf integer
---@param id? integer the mark, if it already exists
---@param virt_lines table
local function place(buf, id, virt_lines)
  local last = last_line(buf)
  -- At the very end of the line, so that text that is appended to it moves the mark.
  local column = #api.nvim_buf_get_lines(buf, last, last + 1, false)[1]
  id = api.nvim_buf_set_extmark(buf, namespace, last, column, { id = id, virt_lines = virt_lines })
  marks[buf] = { id = id, line = last, virt_lines = virt_lines }
end

--- Scrolls a window whose cursor is on the last line, so that what is below that line is visible. Neovim only shows the line
--- itself.
---@param win integer
---@param buf integer
---@param covered integer how many rows at the bottom are covered
local function reveal_in(win, buf, covered)
  local last = api.nvim_buf_line_count(buf)
  if api.nvim_win_get_cursor(win)[1] ~= last then
    return
  end
  local info = vim.fn.getwininfo(win)[1]
  local room, width = info.height - covered, math.max(1, info.width - info.textoff)
  local function rows(first, final)
    local range = { start_row = first - 1, end_row = final and final - 1 }
    return api.nvim_win_text_height(win, range)
  end
  api.nvim_win_call(win, function()
    -- This brings the first line up to date.
    local before = vim.fn.line("w0")
    local view = vim.fn.winsaveview()
    local top, left = before, rows(before).all
    if left - math.floor(view.skipcol / width) <= room then
      return
    end
    local scrolls_rows = vim.wo.smoothscroll and vim.wo.wrap
    while top < last and left > room do
      local below = math.max(top, vim.fn.foldclosedend(top)) + 1
      local rest = rows(below).all
      if scrolls_rows and rest < room and below == top + 1 then
        break
      end
      top, left = below, rest
    end
    -- With 'smoothscroll', a part of the first line goes, and what is below it stays at the end of the window.
    local skipped = 0
    if scrolls_rows and left > room then
      local own = rows(top, top)
      skipped = math.max(0, math.min(left - room, own.all - own.fill - 1))
    end
    if top ~= before or skipped * width ~= view.skipcol then
      vim.fn.winrestview({ topline = math.min(top, last), topfill = 0, skipcol = skipped * width })
    end
  end)
end

--- Shows what is queued in the windows that follow the conversation, above the input window.
---@param buf integer
function M.reveal(buf)
  local covered, host = require("flemma.queue.window").covers(buf)
  if not marks[buf] and covered == 0 then
    return
  end
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    reveal_in(win, buf, win == host and covered or 0)
  end
end

--- Whether a window on this tab page shows the beginning of what is queued.
---@param buf integer
---@return boolean
local function is_visible(buf)
  local last = last_line(buf) + 1
  local length = #api.nvim_buf_get_lines(buf, last - 1, last, false)[1]
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(win) == buf then
      -- This brings up to date which lines the window shows.
      vim.fn.line("w$", win)
      local row = vim.fn.screenpos(win, last, math.max(length, 1)).row
      if row > 0 and row < api.nvim_win_get_position(win)[1] + api.nvim_win_get_height(win) then
        return true
      end
    end
  end
  return false
end

--- The user has queued something: says so where the screen does not show it.
---@param buf integer
function M.confirm(buf)
  vim.schedule(function()
    local is_queued = marks[buf] and api.nvim_buf_is_loaded(buf)
    if is_queued and not is_visible(buf) then
      require("flemma.notify").say(vim.log.levels.INFO, "queued; it is sent when the turn ends")
    end
  end)
end

--- Draws what is queued.
---@param buf integer
function M.draw(buf)
  if not api.nvim_buf_is_loaded(buf) or not require("flemma.buffer").is_attached(buf) then
    return
  end
  local window, width = require("flemma.queue.window"), require("flemma.ui").text_width(buf)
  window.follow(buf)
  local hint, draft_hint = require("flemma.queue.keys").hint(buf)
  if window.is_open(buf) then
    draft_hint = nil
  end
  local lines = require("flemma.native").call("outbox", buf, width, hint, draft_hint) or {}
  if #lines == 0 then
    if marks[buf] then
      M.forget(buf)
    end
    return
  end
  local virt_lines = {}
  for _, line in ipairs(lines) do
    local chunks = {}
    for _, chunk in ipairs(line) do
      chunks[#chunks + 1] = { chunk.text, chunk.group }
    end
    virt_lines[#virt_lines + 1] = chunks
  end
  place(buf, marks[buf] and marks[buf].id, virt_lines)
  M.reveal(buf)
end

--- Text was written, or lines were hidden or shown: keeps the lines below the end.
---@param buf integer
function M.keep_at_end(buf)
  local mark = marks[buf]
  if mark and mark.line ~= last_line(buf) then
    place(buf, mark.id, mark.virt_lines)
  end
end

--- Takes the lines away.
---@param buf integer
function M.forget(buf)
  marks[buf] = nil
  if api.nvim_buf_is_loaded(buf) then
    api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  end
end

return M
