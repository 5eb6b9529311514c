--- The colours of Markdown and code, only for the lines on the screen.
---
--- The cost of parsing the whole buffer grows with its length: seconds when a long conversation is opened, hundreds of
--- megabytes of memory, milliseconds per key. So each piece on the screen (a paragraph, a few items of a list, some lines of
--- code) is parsed separately with tree-sitter, and the result is cached by the text of the piece. While the user types or a
--- reply streams in, only one piece is parsed again.
local M = {}

local grammars = require("flemma.markdown.grammars")
local spans = require("flemma.markdown.spans")
local chunks = require("flemma.markdown.chunks")

local api = vim.api

--- How many lines of a long passage are read beyond the screen, so that constructs that begin there are recognised.
local MARGIN = 6 * chunks.STEP

--- Where to draw: a buffer, a namespace and the lines on the screen, excluding `last`.
---@class flemma.Canvas
---@field win integer
---@field buf integer
---@field namespace integer
---@field first integer
---@field last integer
---@field growing boolean whether a reply is streaming into the end of the buffer
---@field style? flemma.LookStyle

---@class flemma.Passage
---@field first integer
---@field last integer
---@field fence? integer the line of the fence, for code
---@field file? string the path of the file that the code is from

--- Draws spans on the screen.
---@param canvas flemma.Canvas
---@param at integer the row of the text's first line
---@param column integer the number of bytes before the text in that row
---@param last integer the row after the last one in which they may begin
---@param list flemma.Span[]
local function paint(canvas, at, column, last, list)
  local conceals = require("flemma.looks").conceals_markdown(canvas.buf)
  for _, span in ipairs(list) do
    local opts = span.opts
    local relative, end_column, conceal = opts.end_row, opts.end_col, opts.conceal
    opts.conceal = conceals and conceal or nil
    local row, end_row = at + span.row, at + relative
    if row < last and row < canvas.last and end_row >= canvas.first then
      opts.end_row = end_row
      opts.end_col = relative == 0 and column + end_column or end_column
      api.nvim_buf_set_extmark(
        canvas.buf,
        canvas.namespace,
        row,
        span.row == 0 and column + span.column or span.column,
        opts
      )
      opts.end_row, opts.end_col = relative, end_column
    end
    opts.conceal = conceal
  end
end

--- Whether a reply is streaming into the end of a passage.
---@param canvas flemma.Canvas
---@param passage flemma.Passage
---@return boolean
local function grows(canvas, passage)
  return canvas.growing and passage.last >= api.nvim_buf_line_count(canvas.buf)
end

--- The line to start at, so that `line` is read with its context. It only changes once in a number of lines, so that the
--- texts that are parsed stay the same.
---@param passage flemma.Passage
---@param line integer
---@return integer
local function begin(passage, line)
  local rounded = passage.first + math.floor((line - passage.first) / MARGIN) * MARGIN
  return math.max(passage.first, rounded - MARGIN)
end

--- The bytes of a line that may be on the screen. If a line is longer than the window, these are the bytes around the cursor,
--- or the end or the beginning of the line if the cursor is below or above it.
---@param canvas flemma.Canvas
---@param row integer
---@param line string
---@return integer first
---@return integer last
local function visible(canvas, row, line)
  local area = api.nvim_win_get_width(canvas.win) * api.nvim_win_get_height(canvas.win)
  if line:find("[\128-\255]") then
    area = area * 4
  end
  if #line <= area or not vim.wo[canvas.win].wrap then
    return 0, #line
  end
  local cursor = api.nvim_win_get_cursor(canvas.win)
  if cursor[1] - 1 == row then
    return cursor[2] - area, cursor[2] + area
  elseif cursor[1] - 1 > row then
    return #line - area, #line
  end
  return 0, area
end

---@param canvas flemma.Canvas
---@param passage flemma.Passage
---@return boolean is_behind whether a part of it is not coloured yet
local function prose(canvas, passage)
  local first = begin(passage, canvas.first)
  local last = math.min(passage.last, canvas.last + MARGIN)
  local is_behind = false
  local lines = api.nvim_buf_get_lines(canvas.buf, first, last, false)
  local pieces = chunks.prose(lines, first)
  local row, from, to
  local function is_shown(piece)
    if piece.last <= canvas.first or piece.row >= canvas.last then
      return false
    elseif piece.last - piece.row > 1 then
      return true
    elseif row ~= piece.row then
      row = piece.row
      from, to = visible(canvas, row, lines[row - first + 1])
    end
    return piece.column <= to and piece.column + #piece.text >= from
  end
  for index, piece in ipairs(pieces) do
    if is_shown(piece) then
      local found
      if index == #pieces and last == passage.last and grows(canvas, passage) then
        found, is_behind = spans.of_growing(canvas.buf, "markdown", piece.text)
      else
        found = spans.of("markdown", piece.text)
      end
      paint(canvas, piece.row, piece.column, piece.last, found)
    end
  end
  return is_behind
end

---@param canvas flemma.Canvas
---@param row integer
local function fence(canvas, row)
  if row >= canvas.first and row < canvas.last then
    api.nvim_buf_set_extmark(canvas.buf, canvas.namespace, row, 0, {
      ephemeral = true,
      end_row = row + 1,
      hl_group = "@markup.raw.block.markdown",
      priority = vim.hl.priorities.treesitter,
      spell = false,
      strict = false,
    })
  end
end

--- The language of the files of a path, as Neovim detects it, by the path's end.
---@type table<string, string|false>
local languages = {}

---@param path string
---@return string|false
local function language_of_file(path)
  local name = path:match("[^/]*$")
  local key = name:match("%.[^.]*$") or name
  if languages[key] == nil then
    local filetype = vim.filetype.match({ filename = name })
    languages[key] = filetype and vim.treesitter.language.get_lang(filetype) or filetype or false
  end
  return languages[key]
end

--- The language of code: what its fence says, or that of the file that it is from.
---@param buf integer
---@param passage flemma.Passage
---@return string? lang the parser's language
---@return boolean is_diff whether it is a diff that there is no parser for
local function language(buf, passage)
  local opening = api.nvim_buf_get_lines(buf, passage.fence, passage.fence + 1, false)[1] or ""
  local word = opening:match("^%s*[`~]+%s*{?%.?([%w_+#-]+)")
  word = word or passage.file and language_of_file(passage.file)
  if not word then
    -- The output of a command may be a diff.
    local line = api.nvim_buf_get_lines(buf, passage.first, passage.first + 1, false)[1] or ""
    word = line:find("^diff %-%-git ") and "diff"
  end
  local lang = word and grammars.of(word:lower()) or nil
  return lang, not lang and (word == "diff" or word == "patch")
end

--- Whether a fence is that of a result.
---@param buf integer
---@param row integer
---@return boolean
local function is_output(buf, row)
  for _, line in ipairs(api.nvim_buf_get_lines(buf, math.max(0, row - 3), row, false)) do
    if line:find("^%*%*Tool Result:%*%*") then
      return true
    end
  end
  return false
end

--- Code between fences.
---@param canvas flemma.Canvas
---@param passage flemma.Passage
---@return boolean is_behind
local function code(canvas, passage)
  fence(canvas, passage.fence)
  local closing = api.nvim_buf_get_lines(canvas.buf, passage.last, passage.last + 1, false)[1] or ""
  if closing:find("^%s*```+%s*$") or closing:find("^%s*~~~+%s*$") then
    fence(canvas, passage.last)
  end
  local shown = { first = math.max(passage.first, canvas.first), last = math.min(passage.last, canvas.last) }
  if shown.first >= shown.last then
    return false
  end
  api.nvim_buf_set_extmark(canvas.buf, canvas.namespace, shown.first, 0, {
    ephemeral = true,
    end_row = shown.last,
    hl_group = is_output(canvas.buf, passage.fence) and "FlemmaToolOutput" or "@markup.raw.block.markdown",
    priority = vim.hl.priorities.treesitter - 1,
    spell = false,
    strict = false,
  })
  local lang, is_diff = language(canvas.buf, passage)
  if not lang then
    if is_diff then
      require("flemma.markdown.diff").draw(canvas, shown.first, shown.last, passage.first)
    end
    return false
  end
  local first = begin(passage, shown.first)
  local lines = api.nvim_buf_get_lines(canvas.buf, first, math.min(passage.last, shown.last + 2 * MARGIN), false)
  local is_behind = false
  local pieces = chunks.code(lines, first - passage.first, shown.last - passage.first, function(text, anywhere)
    return spans.cut(lang, text, anywhere)
  end)
  for _, piece in ipairs(pieces) do
    local row, last = passage.first + piece.row, passage.first + piece.last
    if last > canvas.first then
      local found
      if last == passage.last and grows(canvas, passage) then
        found, is_behind = spans.of_growing(canvas.buf, lang, piece.text)
      else
        found = spans.of(lang, piece.text)
      end
      paint(canvas, row, 0, last, found)
    end
  end
  return is_behind
end

--- Draws the Markdown and the code on the screen, as far as the languages are available.
---@param canvas flemma.Canvas
---@param passages flemma.Passage[] the passages on the screen
---@return boolean is_behind whether the end of a reply is not coloured yet
function M.draw(canvas, passages)
  local is_ready, is_behind = grammars.is_ready(), false
  for _, passage in ipairs(passages) do
    if passage.fence then
      is_behind = code(canvas, passage) or is_behind
    elseif is_ready then
      is_behind = prose(canvas, passage) or is_behind
    end
  end
  return is_behind
end

--- The screen is about to be drawn.
M.start = spans.start

--- Whether the parser for Markdown is available.
---@return boolean
function M.available()
  return grammars.has_markdown()
end

--- The reply in a buffer is complete or has paused: it is coloured to its end.
---@param buf integer
function M.settle(buf)
  spans.forget(buf)
end

return M
