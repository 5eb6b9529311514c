--- What is drawn over the buffers of a review. How lines are drawn, so that every difference can be seen, is found out by the library
--- away from the main thread.
local content = require("flemma.review.content")

local M = {}

local api = vim.api

M.namespace = api.nvim_create_namespace("flemma.review")

--- The most rows of the screen that one line of the proposal takes, and the most lines of one hunk that are drawn.
local MAX_ROWS, MAX_LINES = 20, 1000

--- How wide the note at the end of a line is, in cells.
local NOTE = 48

--- More rows than any content has.
local MANY = 2 ^ 24

---@class flemma.HunkRows
---@field old string[][] for each line that goes the rows in which it is drawn once more; none if the file shows what changes in it
---@field new string[][] the rows of each line that comes
---@field same string[] for each line that comes the same in one row; empty if the file shows what changes in it
---@field more integer how many more lines come
---@field is_cut boolean whether part of what changes in the lines did not fit

--- Finds out how hunks are drawn.
---@param file flemma.ReviewedFile
---@param text string
---@param numbers integer[]? the hunks between the file and the text; nil if the library has to find them
---@param room { width: integer, height: integer, rows: integer, lines: integer, wraps: boolean }
---@param callback fun(drawn: { hunks: integer[], rows: flemma.HunkRows[] })
local function rows_of(file, text, numbers, room, callback)
  local form = content.form(file.old, file.new)
  room.dos, room.bom = form.dos, form.bom
  require("flemma.native").call("hunk_rows", file.old or "", text, numbers, room, callback)
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
  local info = vim.fn.getwininfo(win)[1]
  local width = math.max(info.width - info.textoff, 2)
  local function room()
    -- One cell is for the sign.
    local wraps = vim.wo[win].wrap
    return { width = width - 1, height = info.height, rows = MAX_ROWS, lines = MAX_LINES, wraps = wraps }
  end
  local function paint(taken, left)
    local buf, above, place = info.bufnr, 0, 0
    api.nvim_buf_clear_namespace(buf, M.namespace, 0, -1)
    for number, hunk in ipairs(list) do
      -- A single one needs no number.
      local state = { #list > 1 and ("%d/%d"):format(number, #list) or nil }
      state[#state + 1] = hunk.is_left and "left out" or nil
      local rows
      if hunk.is_left then
        rows = left[hunk.new_from]
      else
        place = place + 1
        rows = taken[place]
      end
      local note = number == 1 and note_of(file) or nil
      local drawn = draw_one(buf, hunk, rows, width, table.concat(state, ", "), note)
      above = number == 1 and drawn or above
    end
    done(above)
  end
  rows_of(file, text, numbers, room(), function(taken)
    if not is_wanted() then
      return
    elseif text == file.new then
      return paint(taken.rows, {})
    end
    rows_of(file, file.new, file.hunks, room(), function(proposed)
      if is_wanted() then
        local left = {}
        for number, rows in ipairs(proposed.rows) do
          left[file.hunks[8 * (number - 1) + 7]] = rows
        end
        paint(taken.rows, left)
      end
    end)
  end)
end

--- Notes at the ends of lines what diff mode does not show: how lines differ that look the same, and a line break at the end.
---@param sides { old: integer, new: integer } buffers
---@param file flemma.ReviewedFile
---@param text string what is at the right
function M.note(sides, file, text)
  local tick = api.nvim_buf_get_changedtick(sides.new)
  local room = { width = NOTE, height = MANY, rows = MANY, lines = MAX_LINES, wraps = true }
  rows_of(file, text, nil, room, function(drawn)
    local is_loaded = api.nvim_buf_is_loaded(sides.old) and api.nvim_buf_is_loaded(sides.new)
    if not is_loaded or api.nvim_buf_get_changedtick(sides.new) ~= tick then
      return
    end
    local function put(buf, first, texts)
      for at, words in ipairs(texts) do
        if words ~= "" then
          local line = math.min(math.max(first, 1) + at - 1, api.nvim_buf_line_count(buf)) - 1
          local virtual = { { "  ≠ " .. words, "FlemmaReviewNote" } }
          api.nvim_buf_set_extmark(buf, M.namespace, line, 0, { virt_text = virtual, virt_text_pos = "eol" })
        end
      end
    end
    for _, buf in pairs(sides) do
      api.nvim_buf_clear_namespace(buf, M.namespace, 0, -1)
    end
    for number, rows in ipairs(drawn.rows) do
      local at = 8 * (number - 1)
      put(
        sides.old,
        drawn.hunks[at + 1],
        vim.tbl_map(function(texts)
          return texts[1] or ""
        end, rows.old)
      )
      put(sides.new, drawn.hunks[at + 3], rows.same)
    end
  end)
end

return M
