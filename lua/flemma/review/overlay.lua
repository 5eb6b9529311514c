--- The text that will be written, drawn over the file. How lines are drawn, so that every difference can be seen, is found out by the library
--- away from the main thread.
local content = require("flemma.review.content")

local M = {}

local api = vim.api

M.namespace = api.nvim_create_namespace("flemma.review")

--- The most rows of the screen that one line of the proposal takes, and the most lines of one hunk that are drawn.
local MAX_ROWS, MAX_LINES = 20, 1000

---@class flemma.HunkRows
---@field old string[][] for each line that goes the rows in which it is drawn once more; none if the file shows what changes in it
---@field new string[][] the rows of each line that comes
---@field more integer how many more lines come
---@field is_cut boolean whether part of what changes in the lines did not fit

--- Finds out how hunks are drawn.
---@param file flemma.ReviewedFile
---@param text string
---@param numbers integer[] the hunks between the file and the text
---@param win integer
---@param callback fun(rows: flemma.HunkRows[], width: integer)
local function rows_of(file, text, numbers, win, callback)
  local form, info = content.form(file.old, file.new), vim.fn.getwininfo(win)[1]
  local width = math.max(info.width - info.textoff, 2)
  -- One cell is for the sign.
  local room = { width = width - 1, height = info.height, rows = MAX_ROWS, lines = MAX_LINES, wraps = vim.wo[win].wrap }
  room.dos, room.bom = form.dos, form.bom
  require("flemma.native").call("hunk_rows", file.old, text, numbers, room, function(drawn)
    callback(drawn.rows, width)
  end)
end

--- A row of the screen, filled up to the edge.
---@param text string
---@param width integer
---@param group string
local function row(text, width, group)
  return { { text .. (" "):rep(width - api.nvim_strwidth(text)), group } }
end

--- The rows that are drawn for a hunk.
---@param hunk flemma.Hunk
---@param rows flemma.HunkRows
---@param width integer
local function drawn_rows(hunk, rows, width)
  local found = {}
  for _, part in ipairs({ { rows.old, "-", "FlemmaReviewDelete" }, { rows.new, "+", "FlemmaReviewAdd" } }) do
    for _, texts in ipairs(part[1]) do
      for _, text in ipairs(texts) do
        found[#found + 1] = row(part[2] .. text, width, hunk.is_left and "FlemmaReviewLeft" or part[3])
      end
    end
  end
  local more = rows.more > 0 and ("… %d more lines; gK shows them"):format(rows.more)
    or rows.is_cut and "… a long line is cut; gK shows all of it"
  found[#found + 1] = more and row(more, width, "FlemmaReviewNote") or nil
  return found
end

--- What is said of the whole file, above its first hunk.
---@param file flemma.ReviewedFile
---@return string?
local function note_of(file)
  local words = { file.is_read_only and "this file is read-only" or nil }
  words[#words + 1] = file.line_breaks and "≠ " .. file.line_breaks or nil
  return words[1] and table.concat(words, "; ")
end

--- Draws one hunk over the file.
---@param buf integer
---@param hunk flemma.Hunk
---@param rows flemma.HunkRows
---@param width integer
---@param state string what is said of the hunk
---@param note? string what is said of the file
---@return integer above the rows above its line
local function draw_one(buf, hunk, rows, width, state, note)
  local count = api.nvim_buf_line_count(buf)
  local function mark(line, options)
    options.strict = false
    api.nvim_buf_set_extmark(buf, M.namespace, math.min(math.max(line, 1), count) - 1, 0, options)
  end
  local last = hunk.old_first + math.max(hunk.old_count - 1, 0)
  if not hunk.is_left and hunk.old_count > 0 then
    mark(hunk.old_first, { end_row = last, hl_group = "FlemmaReviewDelete", hl_eol = true, priority = 200 })
  end
  local is_empty = count == 1 and api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ""
  local lines, is_above = drawn_rows(hunk, rows, width), hunk.old_count == 0 and hunk.old_first == 0 and not is_empty
  if note then
    mark(hunk.old_first, { virt_lines = { row(" " .. note, width, "FlemmaReviewNote") }, virt_lines_above = true })
  end
  if lines[1] then
    mark(last, { virt_lines = lines, virt_lines_above = is_above })
  end
  if state ~= "" then
    mark(hunk.old_first, { virt_text = { { " " .. state, "FlemmaReviewNote" } }, virt_text_pos = "eol" })
  end
  return (is_above and #lines or 0) + (note and 1 or 0)
end

--- Draws the hunks of a text over the file, as soon as it is known how.
---@param win integer a window of the file
---@param file flemma.ReviewedFile
---@param text string
---@param list flemma.Hunk[]
---@param numbers integer[] those of the text
---@param is_wanted fun(): boolean whether that still is what is to be drawn
---@param done fun(above: integer) gets how many rows are above the first hunk
function M.draw(win, file, text, list, numbers, is_wanted, done)
  local buf = api.nvim_win_get_buf(win)
  local function paint(taken, left, width)
    local above, place = 0, 0
    -- The rows above the first line count as seen while they are drawn anew.
    local view = api.nvim_win_call(win, vim.fn.winsaveview)
    api.nvim_buf_clear_namespace(buf, M.namespace, 0, -1)
    for number, hunk in ipairs(list) do
      -- A single one needs no number.
      local state = { #list > 1 and ("%d/%d"):format(number, #list) or nil }
      state[#state + 1] = hunk.is_left and "left out" or nil
      place = place + (hunk.is_left and 0 or 1)
      local rows = hunk.is_left and left[hunk.new_from] or taken[place]
      local note = number == 1 and note_of(file) or nil
      local drawn = draw_one(buf, hunk, rows, width, table.concat(state, ", "), note)
      above = number == 1 and drawn or above
    end
    api.nvim_win_call(win, function()
      vim.fn.winrestview({ topline = view.topline, topfill = view.topfill })
    end)
    done(above)
  end
  rows_of(file, text, numbers, win, function(taken, width)
    if not is_wanted() or text == file.new then
      return is_wanted() and paint(taken, {}, width)
    end
    rows_of(file, file.new, file.hunks, win, function(proposed)
      local left = {}
      for number, rows in ipairs(proposed) do
        left[file.hunks[8 * (number - 1) + 7]] = rows
      end
      if is_wanted() then
        paint(taken, left, width)
      end
    end)
  end)
end

return M
