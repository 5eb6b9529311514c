--- The colours of Markdown and of code, for the lines on the screen and no others.
---
--- A parser over the whole buffer costs what the buffer is long: seconds of work when a long conversation is
--- opened, hundreds of megabytes to hold it, milliseconds a key. So each passage on the screen (a few paragraphs,
--- a piece of code) is parsed by itself with tree-sitter, and what came of it is kept by its text. While a user
--- types or a reply streams in, one paragraph is parsed anew and the rest of the screen is not.
local M = {}

local api = vim.api

--- Nothing longer, in bytes, is parsed: a line of a megabyte has to be readable, not colourful.
local LONGEST = 64 * 1024
--- How many lines of a long passage are read beyond the screen, so that what began up there is seen.
local MARGIN = 100
--- How many parsed texts are kept, twice over.
local KEPT = 400

---@class flemma.Span
---@field row integer counted from the first line of its text, as all here
---@field column integer
---@field opts vim.api.keyset.set_extmark

--- Parsed texts by language and text: those in use, and those that were before the last clearing.
---@type table<string, flemma.Span[]>, table<string, flemma.Span[]>, integer
local fresh, stale, count = {}, {}, 0

---@type table<string, string|false>
local languages = {}

--- The language that a fence names, if there is a parser for it.
---@param word string
---@return string|false
local function language(word)
  local known = languages[word]
  if known == nil then
    known = false
    local by_name = vim.filetype.match({ filename = "a." .. word })
    for _, name in ipairs({ word, vim.treesitter.language.get_lang(word), by_name and vim.treesitter.language.get_lang(by_name) }) do
      local found, parser = pcall(vim.treesitter.language.add, name)
      if found and parser and vim.treesitter.query.get(name, "highlights") then
        known = name
        break
      end
    end
    languages[word] = known
  end
  return known
end

--- Whether there is what Markdown takes.
---@return boolean
function M.available()
  return language("markdown") ~= false
end

--- What tree-sitter has to say about a text.
---@param lang string
---@param text string
---@return flemma.Span[]
local function parse(lang, text)
  local spans = {}
  local parser = vim.treesitter.get_string_parser(text, lang)
  parser:parse(true)
  parser:for_each_tree(function(tree, of)
    local query = vim.treesitter.query.get(of:lang(), "highlights")
    if not query then
      return
    end
    for id, node, metadata in query:iter_captures(tree:root(), text) do
      local capture = query.captures[id]
      local own = metadata[id]
      if capture == "nospell" then
        local row, column, end_row, end_column = node:range()
        spans[#spans + 1] = { row = row, column = column, opts = { end_row = end_row, end_col = end_column, spell = false } }
      elseif capture ~= "spell" and capture ~= "conceal" and not vim.startswith(capture, "_") then
        local range = vim.treesitter.get_range(node, text, own)
        spans[#spans + 1] = {
          row = range[1],
          column = range[2],
          opts = {
            end_row = range[4],
            end_col = range[5],
            hl_group = api.nvim_get_hl_id_by_name("@" .. capture .. "." .. of:lang()),
            priority = tonumber(metadata.priority or own and own.priority) or vim.hl.priorities.treesitter,
            conceal = metadata.conceal or own and own.conceal,
          },
        }
      elseif capture == "conceal" then
        local row, column, end_row, end_column = node:range()
        spans[#spans + 1] = {
          row = row,
          column = column,
          opts = { end_row = end_row, end_col = end_column, conceal = metadata.conceal or own and own.conceal or "" },
        }
      end
    end
  end)
  for _, span in ipairs(spans) do
    span.opts.ephemeral = true
    span.opts.strict = false
  end
  return spans
end

---@param lang string
---@param text string
---@return flemma.Span[]
local function spans_of(lang, text)
  if #text > LONGEST then
    return {}
  end
  local key = lang .. "\n" .. text
  local spans = fresh[key]
  if not spans then
    spans = stale[key] or parse(lang, text)
    if count == KEPT then
      fresh, stale, count = {}, fresh, 0
    end
    fresh[key] = spans
    count = count + 1
  end
  return spans
end

--- What draws: a buffer, a namespace and the lines on the screen, the last one not among them.
---@class flemma.Canvas
---@field buf integer
---@field namespace integer
---@field first integer
---@field last integer

---@param canvas flemma.Canvas
---@param at integer the line of the text's first
---@param lines string[]
---@param lang string
local function paint(canvas, at, lines, lang)
  for _, span in ipairs(spans_of(lang, table.concat(lines, "\n"))) do
    local row, end_row = at + span.row, at + span.opts.end_row
    if row < canvas.last and end_row >= canvas.first then
      local opts = span.opts
      local relative = opts.end_row
      opts.end_row = end_row
      api.nvim_buf_set_extmark(canvas.buf, canvas.namespace, row, span.column, opts)
      opts.end_row = relative
    end
  end
end

--- Prose, a few paragraphs at a time: at a blank line that an unindented one follows, Markdown begins anew.
---@param canvas flemma.Canvas
---@param first integer
---@param last integer
local function prose(canvas, first, last)
  first = math.max(first, canvas.first - MARGIN)
  last = math.min(last, canvas.last + MARGIN)
  local chunk, at, was_blank = {}, first, false
  local function finish(line)
    if #chunk > 0 and line > canvas.first and at < canvas.last then
      paint(canvas, at, chunk, "markdown")
    end
    chunk, at = {}, line
  end
  for index, line in ipairs(api.nvim_buf_get_lines(canvas.buf, first, last, false)) do
    if was_blank and line:find("^%S") then
      finish(first + index - 1)
    end
    chunk[#chunk + 1] = line
    was_blank = not line:find("%S")
  end
  finish(last)
end

--- Code between fences. Of much code, what is read begins and ends at a round number of lines, so that the same
--- text is met again while the screen moves.
---@param canvas flemma.Canvas
---@param passage { first: integer, last: integer, fence: integer }
local function code(canvas, passage)
  if passage.fence >= canvas.first and passage.fence < canvas.last then
    api.nvim_buf_set_extmark(canvas.buf, canvas.namespace, passage.fence, 0, {
      ephemeral = true,
      end_row = passage.fence + 1,
      hl_group = "@markup.raw.block.markdown",
      priority = vim.hl.priorities.treesitter,
      spell = false,
    })
  end
  local function round(line)
    return passage.first + math.floor((line - passage.first) / MARGIN) * MARGIN
  end
  local first = math.max(passage.first, round(canvas.first) - MARGIN)
  local last = math.min(passage.last, round(canvas.last) + 2 * MARGIN)
  if first >= last then
    return
  end
  api.nvim_buf_set_extmark(canvas.buf, canvas.namespace, math.max(first, canvas.first), 0, {
    ephemeral = true,
    end_row = math.min(last, canvas.last),
    hl_group = "@markup.raw.block.markdown",
    priority = vim.hl.priorities.treesitter - 1,
    spell = false,
    strict = false,
  })
  local fence = api.nvim_buf_get_lines(canvas.buf, passage.fence, passage.fence + 1, false)[1] or ""
  local word = fence:match("^%s*[`~]+%s*{?%.?([%w_+#-]+)")
  local lang = word and language(word:lower())
  if lang then
    paint(canvas, first, api.nvim_buf_get_lines(canvas.buf, first, last, false), lang)
  end
end

--- Draws what of the screen is Markdown or code.
---@param canvas flemma.Canvas
---@param passages { first: integer, last: integer, fence?: integer }[] those on the screen
function M.draw(canvas, passages)
  for _, passage in ipairs(passages) do
    if passage.fence then
      code(canvas, passage)
    else
      prose(canvas, passage.first, passage.last)
    end
  end
end

return M
