--- What is proposed, drawn over what the file is.
---
--- How hunks are drawn takes as long as comparing their lines. The library finds it out away from the main thread, and calls back.
local content = require("flemma.review.content")
local hunks_of = require("flemma.review.hunks")
local loan = require("flemma.review.loan")
local slices = require("flemma.review.slices")

local M = {}

local api = vim.api

M.namespace = api.nvim_create_namespace("flemma.review")

--- The most rows of the screen that one line of the proposal takes, and the most lines of one hunk that are drawn.
local MAX_ROWS, MAX_LINES = 20, 1000

---@class flemma.HunkRoom
---@field width integer cells of a row
---@field height integer rows of the window
---@field rows integer the most rows of a line
---@field lines integer the most lines of each sign in a hunk
---@field wraps boolean whether the window continues a line that is too long in the next row
---@field dos boolean whether every line break is CR LF, and the CR is not drawn
---@field bom boolean whether both sides begin with a byte order mark, which is not drawn

---@class flemma.HunkRows
---@field old string[][] for each line that goes the rows in which it is drawn once more; none if the file shows what changes in it
---@field new string[][] the rows of each line that comes
---@field same string[] for each line that comes the same in one row; empty if the file shows what changes in it
---@field more integer how many more lines come
---@field is_cut boolean whether part of what changes in the lines did not fit
---@field is_tall boolean whether a line of the file fills so much of the window that it should not be wrapped

---@class flemma.DrawnHunks
---@field hunks integer[] as in `flemma.ReviewedFile`
---@field rows flemma.HunkRows[]

--- Finds out how hunks are drawn.
---@param old string
---@param new string
---@param numbers integer[]? the hunks as in `flemma.ReviewedFile`; nil if the library has to find them
---@param room flemma.HunkRoom
---@param callback fun(drawn: flemma.DrawnHunks)
function M.rows(old, new, numbers, room, callback)
  require("flemma.native").call("hunk_rows", old, new, numbers, room, callback)
end

--- A row of the screen, filled up to the edge.
---@param text string
---@param width integer
---@param group string
local function row(text, width, group)
  return { { text .. (" "):rep(width - api.nvim_strwidth(text)), group } }
end

---@class flemma.Overlay what is drawn over one file
---@field private buf integer
---@field private win integer
---@field private file flemma.ReviewedFile
---@field private hunks flemma.Hunks
---@field private room? flemma.HunkRoom that of the rows
---@field private rows? flemma.HunkRows[]
---@field private ids table<integer, integer[]> by hunk
---@field private run integer counts what was asked of the library, and what is drawn in slices
---@field private wrap? fun() gives 'wrap' back, if it is off because of the review
---@field private drawn? fun() is called once they are drawn
---@field private is_over? boolean
local Overlay = {}
Overlay.__index = Overlay

--- What is drawn over a file.
---@param buf integer the file's buffer
---@param win integer a window that shows it
---@param file flemma.ReviewedFile
---@param hunks flemma.Hunks
---@return flemma.Overlay
function M.new(buf, win, file, hunks)
  return setmetatable({ buf = buf, win = win, file = file, hunks = hunks, ids = {}, run = 0 }, Overlay)
end

---@private
---@return flemma.HunkRoom
function Overlay:room_now()
  local info = vim.fn.getwininfo(self.win)[1]
  local form = content.form(self.file.old, self.file.new)
  return {
    width = math.max(info.width - info.textoff, 1),
    height = info.height,
    rows = MAX_ROWS,
    lines = MAX_LINES,
    wraps = vim.wo[self.win].wrap,
    dos = form.dos,
    bom = form.bom,
  }
end

--- A content as the library reads it.
---@private
---@param text string
function Overlay:in_utf8(text)
  local encoding = vim.bo[self.buf].fileencoding
  if encoding ~= "" and encoding ~= "utf-8" then
    return vim.iconv(text, encoding, "utf-8") or text
  end
  return text
end

--- Draws the hunks, as soon as it is known how.
---@param drawn? fun() the first of them are drawn
function Overlay:draw(drawn)
  if not api.nvim_win_is_valid(self.win) or self.is_over then
    return
  end
  self.run = self.run + 1
  -- The window may get another size before it is known how they are drawn.
  self.drawn = drawn or self.drawn
  local run, room = self.run, self:room_now()
  if self.rows and vim.deep_equal(self.room, room) then
    return self:paint()
  end
  local old, new = self:in_utf8(self.hunks.old), self:in_utf8(self.hunks.new)
  M.rows(old, new, self.hunks.numbers, room, function(found)
    if run ~= self.run or self.is_over or not api.nvim_buf_is_loaded(self.buf) then
      return
    end
    local is_tall = vim.iter(found.rows):any(function(rows)
      return rows.is_tall
    end)
    if is_tall and self:stop_wrapping() then
      return self:draw()
    end
    self.rows, self.room = found.rows, room
    self:paint()
  end)
end

--- Nothing is seen below a line that fills the window. Without 'wrap', every line takes one row.
---@private
---@return boolean is_stopped
function Overlay:stop_wrapping()
  if not self:has_window() or not vim.wo[self.win].wrap then
    return false
  end
  self.wrap = loan.take(self.win, "wrap", false)
  return true
end

---@private
function Overlay:has_window()
  return api.nvim_win_is_valid(self.win) and api.nvim_win_get_buf(self.win) == self.buf
end

--- Draws all hunks, from those at the cursor on.
---@private
function Overlay:paint()
  local drawn = self.drawn
  self.drawn = nil
  -- The rows above the first line count as seen while they are drawn anew.
  local view = api.nvim_win_is_valid(self.win) and api.nvim_win_call(self.win, vim.fn.winsaveview)
  api.nvim_buf_clear_namespace(self.buf, M.namespace, 0, -1)
  self.ids = {}
  local list = self.hunks.list
  local line = api.nvim_win_is_valid(self.win) and api.nvim_win_get_cursor(self.win)[1] or 1
  local order = {}
  for number in ipairs(list) do
    order[number] = number
  end
  table.sort(order, function(one, other)
    local near, far = math.abs(list[one].old_first - line), math.abs(list[other].old_first - line)
    return near == far and one < other or near < far
  end)
  local run = self.run
  slices.run(#order, function(at)
    self:draw_one(order[at])
  end, function()
    return run == self.run and not self.is_over and api.nvim_buf_is_loaded(self.buf)
  end)
  if view and view.topfill > 0 and self:has_window() then
    api.nvim_win_call(self.win, function()
      vim.fn.winrestview({ topline = view.topline, topfill = view.topfill })
    end)
  end
  if drawn then
    drawn()
  end
end

--- What is said of the whole file, above its first hunk.
---@private
---@return string?
function Overlay:note()
  local file = self.file
  local words = {}
  words[#words + 1] = file.is_read_only and "this file is read-only" or nil
  words[#words + 1] = file.line_breaks and "≠ " .. file.line_breaks or nil
  return words[1] and table.concat(words, "; ")
end

--- Whether the rows of a hunk are above its line, and not below.
---@private
---@param hunk flemma.Hunk
function Overlay:is_above(hunk)
  return hunk.old_count == 0 and hunk.old_first == 0 and self.hunks.old ~= ""
end

--- The rows below a hunk, or above it.
---@private
---@param number integer
function Overlay:rows_of(number)
  local hunk, rows, width = self.hunks.list[number], self.rows[number], self.room.width
  local found = {}
  if not rows then
    return found
  end
  for _, lines in ipairs({ { rows.old, "FlemmaReviewDelete" }, { rows.new, "FlemmaReviewAdd" } }) do
    for _, texts in ipairs(lines[1]) do
      for _, text in ipairs(texts) do
        found[#found + 1] = row(text, width, hunk.taken and lines[2] or "FlemmaReviewLeft")
      end
    end
  end
  local more = rows.more > 0 and ("… %d more lines; gK shows them"):format(rows.more)
    or rows.is_cut and "… a long line is cut; gK shows all of it"
  if more then
    found[#found + 1] = row(more, width, "FlemmaReviewNote")
  end
  return found
end

--- Draws one hunk, which may have been drawn before.
---@param number integer
function Overlay:draw_one(number)
  local hunk, count = self.hunks.list[number], api.nvim_buf_line_count(self.buf)
  if not self.rows or self.is_over then
    return
  end
  for _, id in ipairs(self.ids[number] or {}) do
    api.nvim_buf_del_extmark(self.buf, M.namespace, id)
  end
  local ids = {}
  local function mark(line, options)
    ids[#ids + 1] = api.nvim_buf_set_extmark(self.buf, M.namespace, math.min(line, count) - 1, 0, options)
  end
  -- A line that stays is ordinary text.
  if hunk.taken and hunk.old_count > 0 then
    mark(hunk.old_first, {
      end_row = hunk.old_first + hunk.old_count - 1,
      hl_group = "FlemmaReviewDelete",
      hl_eol = true,
      strict = false,
      priority = 200,
    })
  end
  local drawn, is_above = self:rows_of(number), self:is_above(hunk)
  local note = number == 1 and self:note()
  if note then
    local words = row(" " .. note, self.room.width, "FlemmaReviewNote")
    mark(hunks_of.line_of(hunk), { virt_lines = { words }, virt_lines_above = true })
  end
  if #drawn > 0 then
    local last = hunk.old_count == 0 and hunk.old_first or hunk.old_first + hunk.old_count - 1
    mark(math.max(last, 1), { virt_lines = drawn, virt_lines_above = is_above })
  end
  -- A single one needs no number.
  local state = #self.hunks.list > 1 and { ("%d/%d"):format(number, #self.hunks.list) } or {}
  state[#state + 1] = not hunk.taken and "left out" or nil
  if state[1] then
    mark(hunks_of.line_of(hunk), {
      virt_text = { { " " .. table.concat(state, ", "), "FlemmaReviewNote" } },
      virt_text_pos = "eol",
    })
  end
  self.ids[number] = ids
end

--- How many rows are drawn above the line of a hunk, and how many below its last line.
---@param number integer
---@return integer above
---@return integer below
function Overlay:rows_around(number)
  local hunk = self.hunks.list[number]
  if not self.rows then
    return 0, hunk.new_count
  end
  local note = number == 1 and self:note() and 1 or 0
  local count = #self:rows_of(number)
  if self:is_above(hunk) then
    return note + count, 0
  end
  return note, count
end

--- Draws nothing any more.
function Overlay:stop()
  self.is_over = true
  if self.wrap then
    self.wrap()
  end
end

return M
