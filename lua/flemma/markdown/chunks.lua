--- Where a passage can be cut, so that each piece can be parsed separately.
---
--- A cut only depends on the text before it and on the character after it. While a reply streams in, the pieces before the
--- last one therefore do not change.
local M = {}

--- The number of lines of a list in a piece.
local ITEMS = 8
--- A paragraph of at least so many bytes is cut at the end of a sentence.
local LONG = 600
--- At this length, it is cut at any space.
local TOO_LONG = 4 * LONG
--- A longer line is not cut, and therefore not coloured.
local LONGEST = 64 * 1024
--- Code is cut about every `STEP` lines, and at the latest after `STEPS` steps.
local STEP, STEPS = 16, 4
M.STEP = STEP

---@class flemma.Chunk
---@field row integer
---@field column integer the number of bytes before it in that row
---@field last integer the row after its last row
---@field text string

--- The kind of list that a line is an item of.
---@param line string
---@return string?
local function bullet(line)
  return line:match("^([-*+]) ") or line:match("^%d+([.)]) ")
end

--- Whether all Markdown constructs inside a paragraph (code, emphasis, links) are closed at the end of a text.
---@param text string
---@return boolean
local function is_closed(text)
  text = text:gsub("\\%p", ""):gsub("(`+).-%1", "")
  if text:find("`", 1, true) then
    return false
  end
  text = text:gsub("%b[]%b()", ""):gsub("%w_+%w", "")
  if text:find("%b[]%(") or text:gsub("%b[]", ""):find("[", 1, true) or text:find("<[^>%s]*$") then
    return false
  end
  for _, mark in ipairs({ "%*", "_", "~" }) do
    -- A mark on its own between spaces has no meaning.
    local _, marks = text:gsub("%s" .. mark .. "%s", " "):gsub(mark, "")
    if marks % 2 ~= 0 then
      return false
    end
  end
  return true
end

--- Whether texts are closed: while the user types below them, they are looked at again for each key.
---@type table<string, boolean>, integer
local closed, closed_count = {}, 0
--- The number of texts that are remembered.
local TEXTS = 64

--- The same for the lines of a piece.
---@param piece string[]
---@return boolean
local function are_closed(piece)
  local text = table.concat(piece, "\n")
  local known = closed[text]
  if known == nil then
    if closed_count == TEXTS then
      closed, closed_count = {}, 0
    end
    known = is_closed(text)
    closed[text], closed_count = known, closed_count + 1
  end
  return known
end

--- Whether a line may be cut in the middle, so that the parts still have the same meaning.
---@param line string
---@return boolean
local function is_plain(line)
  return #line <= LONGEST and not line:find("^%s*[>|#]") and not line:find("^    ") and not line:find("^\t")
end

--- Where in a line a piece can end. `before` counts towards the length of the piece.
---@param before string the piece so far, and a line break
---@param line string
---@param from integer the byte at which the piece continues
---@return integer? byte the first of the next piece
local function cut_inside(before, line, from)
  local at = from + math.max(0, LONG - #before)
  local limit = from + math.max(0, TOO_LONG - #before)
  local text = line:sub(at, limit)
  local stop, letter = text:find("[.!?:;,] +%a")
  while stop do
    if is_closed(before .. line:sub(from, at + stop - 1)) then
      return at + letter - 1
    end
    stop, letter = text:find("[.!?:;,] +%a", letter)
  end
  if #line <= limit then
    return nil
  end
  local _, space = line:sub(limit, limit + LONG):find(" +%a")
  return space and limit + space - 1 or nil
end

--- The cuts of long lines and the text that they are based on, by the text before the line and the beginning of the line.
---@type table<string, { text: string, cuts: integer[] }>, integer
local remembered, count = {}, 0
--- The number of lines that are remembered, and how much of their text is used as the key.
local LINES, BEGINNING = 32, 128

--- Where a line is cut, given the text before it. The cuts are remembered, so that a growing line is only examined from its
--- last cut on.
---@param before string
---@param line string
---@return integer[] cuts the first byte of each piece but the first
local function cuts_inside(before, line)
  local key = before .. line:sub(1, BEGINNING)
  local known = remembered[key]
  if not known or line:sub(1, #known.text) ~= known.text then
    known = { text = "", cuts = {} }
  end
  local cuts = known.cuts
  local found = #cuts
  while true do
    local from = cuts[#cuts]
    local at = cut_inside(from and "" or before, line, from or 1)
    if not at then
      break
    end
    cuts[#cuts + 1] = at
  end
  if #cuts > found then
    if not remembered[key] then
      if count == LINES then
        remembered, count = {}, 0
      end
      count = count + 1
    end
    -- A cut also depends on the character after it.
    remembered[key] = { text = line:sub(1, cuts[#cuts]), cuts = cuts }
  end
  return cuts
end

--- Cuts prose: at blank lines that are followed by an unindented line, between list items, and in long paragraphs.
---@param lines string[]
---@param row integer the row of the first one
---@return flemma.Chunk[]
function M.prose(lines, row)
  local chunks = {}
  local piece, size, first, column, list = {}, 0, row, 0, nil
  local was_blank = false
  local function finish(next_row, next_column)
    if #piece > 0 then
      local last = next_column > 0 and next_row + 1 or next_row
      chunks[#chunks + 1] = { row = first, column = column, last = last, text = table.concat(piece, "\n") }
    end
    piece, size, first, column, list = {}, 0, next_row, next_column, nil
  end
  for index, line in ipairs(lines) do
    local here = row + index - 1
    local kind = bullet(line)
    if #piece > 0 and line:find("^%S") then
      if was_blank or (kind and kind == list and #piece >= ITEMS) then
        finish(here, 0)
      elseif size >= LONG and line:find("^%a") and (size >= TOO_LONG or are_closed(piece)) then
        finish(here, 0)
      end
    end
    if #piece == 0 then
      list = kind
    end
    local from = 1
    if size + #line > LONG and is_plain(line) then
      for _, at in ipairs(cuts_inside(#piece > 0 and table.concat(piece, "\n") .. "\n" or "", line)) do
        piece[#piece + 1] = line:sub(from, at - 1)
        finish(here, at - 1)
        from = at
      end
    end
    piece[#piece + 1] = from == 1 and line or line:sub(from)
    size = size + #line - from + 2
    was_blank = not line:find("%S")
  end
  finish(row + #lines, 0)
  return chunks
end

--- The maximum number of lines of a paragraph, above and below, that are drawn again when it changes.
local AROUND = 40

--- Whether the marker of a message, which is no prose.
---@param line string
local function is_marker(line)
  return line:find("^@%u%l+:%s*$") ~= nil
end

--- Whether prose is always cut between two lines.
---@param line string
---@param next_line? string
local function is_cut(line, next_line)
  return next_line ~= nil and not line:find("%S") and next_line:find("^%S") ~= nil
end

--- The lines whose pieces may be cut otherwise when some lines change: in prose, those of the pieces before and after them.
---@param buf integer
---@param first integer
---@param last integer
---@param is_code boolean whether the lines may be code, which is cut elsewhere
---@return integer first
---@return integer last
function M.around(buf, first, last, is_code)
  local top, bottom = math.max(0, first - AROUND), math.min(last + AROUND, vim.api.nvim_buf_line_count(buf))
  if is_code then
    return top, bottom
  end
  local above = vim.api.nvim_buf_get_lines(buf, top, first, false)
  local from = #above + 1
  while from > 1 and not is_marker(above[from - 1]) do
    from = from - 1
    if from > 1 and is_cut(above[from - 1], above[from]) then
      break
    end
  end
  local below = vim.api.nvim_buf_get_lines(buf, last, bottom, false)
  local to = 0
  while to < #below and not is_marker(below[to + 1]) do
    to = to + 1
    if is_cut(below[to], below[to + 1]) then
      break
    end
  end
  return top + from - 1, last + to
end

--- Cuts code from `row` to the line `last`. A piece ends where a top-level construct begins.
---@param lines string[] all lines from `row` on
---@param row integer counted from the first line of the code
---@param last integer
---@param cut fun(text: string, anywhere: boolean): integer where the text can be cut; see `spans.cut`
---@return flemma.Chunk[]
function M.code(lines, row, last, cut)
  local chunks = {}
  local at, total = row, row + #lines
  local function text(to)
    return table.concat(lines, "\n", at - row + 1, to - row)
  end
  while at < last do
    local to = math.ceil((at + STEP / 2) / STEP) * STEP
    local stop = 0
    for step = 1, STEPS do
      if to >= total then
        stop = total - at
        break
      end
      stop = cut(text(to), step == STEPS)
      if stop > 0 then
        break
      end
      to = to + STEP
    end
    -- No top-level construct begins in so much code.
    stop = stop > 0 and at + stop or to - STEP
    chunks[#chunks + 1] = { row = at, column = 0, last = stop, text = text(stop) }
    at = stop
  end
  return chunks
end

return M
