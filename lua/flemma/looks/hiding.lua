--- Hides lines that a reader need not see, such as the input of a call, while the cursor is in another block.
---
--- The lines are marked once and the marks move with the text; only the blocks that a change touches are marked again.
--- Neovim hides marked lines as 'conceallevel' says.
local M = {}

local api = vim.api

local namespace = api.nvim_create_namespace("flemma.looks.hiding")
M.namespace = namespace

--- How many lines are marked at a time when a conversation is opened or a long part of it changes.
local SLICE = 600

--- A change of more lines is marked in slices.
local MOST = 2 * SLICE

--- The maximum number of blank lines between two calls that are hidden.
local GAP = 3

---@class flemma.Hiding
---@field win integer the window whose cursor shows a block
---@field block? integer the mark around the block whose lines are shown
---@field recent? flemma.RecentMarks what was marked since the last event
---@field waiting? { first: integer, last: integer } the lines that are still to be marked

---@class flemma.RecentMarks
---@field first integer the first line
---@field below integer the number of lines below the last one: lines that are inserted later do not change it
---@field ids integer[]

---@type table<integer, flemma.Hiding>
local hiding = {}

local function native(...)
  return require("flemma.native").call(...)
end

--- Marks are not hidden, but move with the text: around the block that is shown.
local frames = api.nvim_create_namespace("flemma.looks.frames")

---@param buf integer
---@return integer? first
---@return integer? last the line after the block
local function shown_block(buf)
  local state = hiding[buf]
  if not state or not state.block then
    return nil
  end
  local mark = api.nvim_buf_get_extmark_by_id(buf, frames, state.block, { details = true })
  if not mark[1] or not mark[3].end_row then
    return nil
  end
  -- At the end of the text, the mark ends in the last line.
  return mark[1], mark[3].end_row + (mark[3].end_col > 0 and 1 or 0)
end

--- The block whose lines are shown in a window.
---@param win integer
---@param buf integer
---@return integer? first
---@return integer? last
function M.block_in(win, buf)
  local state = hiding[buf]
  if state and state.win == win then
    return shown_block(buf)
  end
end

--- Notes that lines are marked now. During an undo, Neovim reports the lines first and moves the marks afterwards.
---@param state flemma.Hiding
---@param first integer
---@param below integer
---@return integer[] ids for the ids of the marks
local function recent(state, first, below)
  local known = state.recent
  if known then
    known.first, known.below = math.min(known.first, first), math.min(known.below, below)
    return known.ids
  end
  known = { first = first, below = below, ids = {} }
  state.recent = known
  vim.schedule(function()
    if state.recent == known then
      state.recent = nil
    end
  end)
  return known.ids
end

--- An undo or a redo is complete: what was marked meanwhile was moved, and is marked again.
---@param buf integer
function M.undone(buf)
  local state = hiding[buf]
  local known = state and state.recent
  if not known then
    return
  end
  for _, id in ipairs(known.ids) do
    api.nvim_buf_del_extmark(buf, namespace, id)
  end
  state.recent = nil
  M.update(buf, known.first, api.nvim_buf_line_count(buf) - known.below)
end

--- Marks the blocks that touch the lines `first..last` again, all of them at once.
---@param buf integer
---@param state flemma.Hiding
---@param first integer
---@param last integer
local function mark(buf, state, first, last)
  local count = api.nvim_buf_line_count(buf)
  -- A change may end the block before it, and marks of deleted lines stand on the line after them.
  first, last = math.max(0, first - 1 - GAP), math.min(last + 1, count)
  local blocks = native("hidden", buf, first, last) or {}
  local from, to = first, last
  for _, block in ipairs(blocks) do
    from, to = math.min(from, block.first), math.max(to, block.last)
  end
  if not blocks[1] and not api.nvim_buf_get_extmarks(buf, namespace, { from, 0 }, { to, 0 }, { limit = 1 })[1] then
    return
  end
  api.nvim_buf_clear_namespace(buf, namespace, from, to)
  local ids = recent(state, first, count - last)
  local open_first, open_last = shown_block(buf)
  for _, block in ipairs(blocks) do
    if not (open_first and block.first < open_last and block.last > open_first) then
      for _, lines in ipairs(block.lines) do
        if lines[2] <= count then
          ids[#ids + 1] = api.nvim_buf_set_extmark(buf, namespace, lines[1], 0, {
            end_row = lines[2] - 1,
            conceal_lines = "",
            undo_restore = false,
            invalidate = true,
            strict = false,
          })
        end
      end
    end
  end
  if last == count then
    require("flemma.queue.view").keep_at_end(buf)
  end
end

--- Marks those of the lines `first..last` that windows show, and some around them.
---@param buf integer
---@param state flemma.Hiding
---@param first integer
---@param last integer
local function mark_shown(buf, state, first, last)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local info = vim.fn.getwininfo(win)[1]
    local marked = first
    -- With closed folds in between, the ends of a window may be far apart.
    for _, line in ipairs({ info.topline, info.botline }) do
      local from, to = math.max(marked, line - SLICE), math.min(last, line + SLICE)
      if from < to then
        mark(buf, state, from, to)
        marked = to
      end
    end
  end
end

--- Marks the next of the lines that are still to be marked.
---@param buf integer
---@param state flemma.Hiding
local function go_on(buf, state)
  local lines = state.waiting
  if hiding[buf] ~= state or not lines or not api.nvim_buf_is_loaded(buf) then
    return
  end
  local first, last = lines.first, math.min(lines.last, api.nvim_buf_line_count(buf))
  local to = math.min(first + SLICE, last)
  if to < last then
    lines.first = to
    vim.schedule(function()
      go_on(buf, state)
    end)
  else
    state.waiting = nil
  end
  if first < to then
    mark(buf, state, first, to)
  end
end

--- Marks a long part of a conversation: what windows show at once, and the rest later, so that the user can type in between.
---@param buf integer
---@param state flemma.Hiding
---@param first integer
---@param last integer
local function mark_later(buf, state, first, last)
  local lines = state.waiting
  if lines then
    lines.first, lines.last = math.min(lines.first, first), math.max(lines.last, last)
  else
    state.waiting = { first = first, last = last }
    vim.schedule(function()
      go_on(buf, state)
    end)
  end
  mark_shown(buf, state, first, last)
end

--- Marks the blocks that touch the lines `first..last` again.
---@param buf integer
---@param first integer
---@param last integer
function M.update(buf, first, last)
  local state = hiding[buf]
  if not state then
    return
  elseif last - first > MOST then
    mark_later(buf, state, first, last)
  else
    mark(buf, state, first, last)
  end
end

--- The number of lines has changed: the lines that are still to be marked are others now.
---@param buf integer
---@param old_last integer the line after the last one that changed, as it was before
---@param delta integer how many lines there are more
function M.shift(buf, old_last, delta)
  local lines = hiding[buf] and hiding[buf].waiting
  if lines then
    -- What is only touched by the change rather counts too much than too little.
    local first = lines.first >= old_last and lines.first + delta or math.min(lines.first, lines.first + delta)
    lines.first = math.max(0, first)
    lines.last = lines.last >= old_last and lines.last + delta or lines.last + math.max(0, delta)
  end
end

--- Scrolls so that the cursor is in another row. With 'smoothscroll', the window may begin in the middle of a line.
---@param win integer the current window
---@param missing integer by how many rows the cursor is too high
function M.move_cursor_down(win, missing)
  if missing == 0 then
    return
  end
  local info, view = vim.fn.getwininfo(win)[1], vim.fn.winsaveview()
  local width = math.max(1, info.width - info.textoff)
  local line, top = view.lnum, vim.fn.line("w0")
  -- How many rows of the lines from `top` on are above the window.
  local above = math.floor(view.skipcol / width) - missing
  while above < 0 and top > 1 do
    top = top - 1
    above = above + M.rows(win, top, top)
  end
  local rows = M.rows(win, top, top)
  while top < line and above >= rows and above > 0 do
    above, top = above - rows, top + 1
    rows = M.rows(win, top, top)
  end
  above = math.max(0, above)
  local is_partial = above > 0 and vim.wo.smoothscroll and vim.wo.wrap and above < rows and vim.fn.foldclosed(top) == -1
  if above > 0 and not is_partial and top < line then
    -- The cursor goes up rather than down.
    top = top + 1
  end
  vim.fn.winrestview({ topline = top, skipcol = is_partial and above * width or 0 })
end

--- Runs `change`, which shows or hides lines. The cursor stays in its row of the window.
---@param win integer the current window
---@param change fun()
local function keep_row(win, change)
  local row = vim.fn.winline()
  change()
  M.move_cursor_down(win, row - vim.fn.winline())
end

--- The rows of a window that some lines take, from 1 and inclusive.
---@param win integer
---@param first integer
---@param last integer
---@return integer
function M.rows(win, first, last)
  if last < first then
    return 0
  end
  return api.nvim_win_text_height(win, { start_row = first - 1, end_row = last - 1 }).all
end

--- Whether a block is shown when the cursor comes to one of its lines: the header, or a line that is hidden. In lines that are
--- visible all the time, such as the output of a command, the cursor moves nothing.
---@param block { first: integer, lines: [integer, integer][] }
---@param line integer
local function is_shown_by(block, line)
  if line == block.first then
    return true
  end
  for _, lines in ipairs(block.lines) do
    if line >= lines[1] and line < lines[2] then
      return true
    end
  end
  return false
end

--- Marks the blocks again that were shown or hidden, and draws their lines.
---@param buf integer
---@param blocks [integer, integer][] the first line of each, and the line after it
local function draw_again(buf, blocks)
  for _, block in ipairs(blocks) do
    local last = math.min(block[2], api.nvim_buf_line_count(buf))
    api.nvim__redraw({ buf = buf, range = { block[1], last }, flush = false })
  end
end

--- The next line in a direction that is not hidden.
---@param buf integer
---@param line integer from 0
---@param step -1|1
---@return integer line the same if all others are hidden
function M.visible(buf, line, step)
  local at = line
  while api.nvim_buf_get_extmarks(buf, namespace, { at, 0 }, { at, -1 }, { limit = 1, overlap = true })[1] do
    at = at + step
    if at < 0 or at >= api.nvim_buf_line_count(buf) then
      return line
    end
  end
  return at
end

--- The cursor of the current window is in a line: the block that it is in is shown, and the one before is hidden again.
---@param win integer
---@param buf integer
---@param line integer from 0
---@param cause "entered"|"scrolled"|nil the user has come to the window: then it scrolls only if a block above the cursor is
---hidden; or the cursor had to move because the window was scrolled: then no block is shown
function M.follow_cursor(win, buf, line, cause)
  local state = hiding[buf]
  if not state or vim.wo[win].conceallevel < 2 then
    return
  end
  local first, last = shown_block(buf)
  local is_inside = first and line >= first and line < last and state.win == win
  local following = require("flemma.following")
  if is_inside and not following.leads(buf, win) then
    return
  end
  local is_led = cause == "scrolled" or following.is_passing(buf, win)
  local found = not is_led and (native("hidden", buf, line, line + 1) or {})[1] or nil
  if found and not is_shown_by(found, line) then
    -- Nor does a block stay that a cursor has shown which the conversation has moved.
    found = nil
  end
  if found and is_inside then
    return
  end
  if not found and not first then
    state.win = win
    return
  end
  local former = state.win
  local function change()
    state.win, state.block = win, nil
    api.nvim_buf_clear_namespace(buf, frames, 0, -1)
    if found then
      state.block = api.nvim_buf_set_extmark(buf, frames, found.first, 0, {
        end_row = found.last,
        right_gravity = false,
        -- What is added below the block is not in it.
        end_right_gravity = false,
        undo_restore = false,
        strict = false,
      })
      M.update(buf, found.first, found.last)
    end
    if first then
      M.update(buf, first, last)
    end
  end
  if following.carries(buf, win) or cause == "entered" and not (first and last <= line and last >= vim.fn.line("w0")) then
    change()
  else
    keep_row(win, change)
  end
  local changed = { found and { found.first, found.last } }
  changed[#changed + 1] = first and { first, last }
  draw_again(buf, changed)
  if former ~= win and api.nvim_win_is_valid(former) then
    api.nvim__redraw({ win = former, valid = false, flush = false })
  end
end

--- Hides the blocks again that are shown in windows which the user has left. A window that floats over them is no other place.
local function hide_left()
  local current = api.nvim_get_current_win()
  if api.nvim_win_get_config(current).relative ~= "" then
    return
  end
  for buf, state in pairs(hiding) do
    local first, last = shown_block(buf)
    if first and last and not (state.win == current and api.nvim_win_get_buf(current) == buf) then
      state.block = nil
      api.nvim_buf_clear_namespace(buf, frames, 0, -1)
      M.update(buf, first, last)
      draw_again(buf, { { first, last } })
    end
  end
end

api.nvim_create_autocmd({ "WinEnter", "BufEnter" }, {
  group = api.nvim_create_augroup("flemma.looks.hiding", { clear = true }),
  desc = "Flemma: hide the block that the cursor was in, in a window that was left",
  callback = function()
    -- Another plugin may enter a window for a moment.
    vim.schedule(hide_left)
  end,
})

api.nvim_create_autocmd("TextChanged", {
  group = "flemma.looks.hiding",
  desc = "Flemma: hide lines where a long change has taken the cursor",
  callback = function(args)
    local state = hiding[args.buf]
    local lines = state and state.waiting
    if state and lines then
      mark_shown(args.buf, state, lines.first, lines.last)
    end
  end,
})

--- All lines of a conversation may have changed.
---@param buf integer
function M.update_all(buf)
  local state = hiding[buf]
  if state then
    mark_later(buf, state, 0, api.nvim_buf_line_count(buf))
  end
end

--- Begins to hide the lines of a conversation: first those around the windows that show it.
---@param buf integer
function M.attach(buf)
  hiding[buf] = { win = api.nvim_get_current_win() }
  M.update_all(buf)
end

---@param buf integer
function M.forget(buf)
  hiding[buf] = nil
  if api.nvim_buf_is_valid(buf) then
    api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
    api.nvim_buf_clear_namespace(buf, frames, 0, -1)
  end
end

return M
