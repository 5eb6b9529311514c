--- The highlights that tree-sitter finds in a text.
---
--- The result is cached by the text. At the end of a reply that is streaming in, the text is different each time it is drawn.
--- It is only parsed again when it has grown by an eighth, so that a long text costs no more per second than a short one.
--- Until then, its new end is not coloured.
local M = {}

local api = vim.api

--- Longer texts, in bytes, are not parsed: a line of a megabyte must be readable, but not coloured.
local LONGEST = 16 * 1024
--- The number of spans that are cached, twice over: a few screens.
local KEPT = 4000
--- The number of cuts that are cached.
local CUTS = 256
--- How much a growing text must grow before it is parsed again: this fraction of it, and at least so many bytes.
local PART, LEAST = 8, 24
--- The size of the garbage collector's step after each parse of a growing text, in kilobytes. The collector does not see the
--- memory of parsers, and without this it would not free it as fast as a reply uses it.
local COLLECTED = 200
--- The maximum number of growing texts that are parsed per redraw. The others are parsed in the next one.
local TURNS = 2

---@class flemma.Span
---@field row integer relative to the first line of its text, like all rows here
---@field column integer
---@field opts vim.api.keyset.set_extmark

--- The spans of parsed texts, by language and text: the current ones, and those from before the last clearing.
---@type table<string, flemma.Span[]>, table<string, flemma.Span[]>, integer
local fresh, stale, count = {}, {}, 0

--- The growing text of each buffer when it was last parsed. `whole` is its length when all of it was last examined.
---@type table<integer, { lang: string, text: string, spans: flemma.Span[], whole: integer }>
local growing = {}

--- Where code can be cut, by language and text.
---@type table<string, integer>, integer
local cuts, cut_count = {}, 0

--- How many growing texts may still be parsed in this redraw.
local turns = TURNS

--- The number of parses, for the tests.
M.parses = 0

--- The screen is about to be drawn.
function M.start()
  turns = TURNS
end

--- The appearance of a query's capture.
---@class flemma.Look
---@field group? integer the highlight group; nil for a capture that only hides text or is not shown
---@field hides? boolean
---@field spells? false

--- The captures of each query, by their number. A language may get another query, with other numbers.
---@type table<vim.treesitter.Query, table<integer, flemma.Look>>
local looks = setmetatable({}, { __mode = "k" })

---@param lang string
---@param query vim.treesitter.Query
---@return table<integer, flemma.Look>
local function looks_of(lang, query)
  local found = looks[query]
  if not found then
    found = {}
    for id, capture in ipairs(query.captures) do
      if capture == "nospell" then
        found[id] = { spells = false }
      elseif capture == "conceal" then
        found[id] = { hides = true }
      elseif capture ~= "spell" and not vim.startswith(capture, "_") then
        found[id] = { group = api.nvim_get_hl_id_by_name("@" .. capture .. "." .. lang) }
      end
    end
    looks[query] = found
  end
  return found
end

---@param spans flemma.Span[]
---@param text string
---@param tree TSTree
---@param lang string
---@param from integer the first row of interest
local function collect(spans, text, tree, lang, from)
  -- For a language inside another one, it is not known yet whether its query can be read.
  local ok, query = pcall(vim.treesitter.query.get, lang, "highlights")
  if not ok or not query then
    return
  end
  local captures = looks_of(lang, query)
  for id, node, metadata in query:iter_captures(tree:root(), text, from > 0 and from or nil) do
    local look, own = captures[id], metadata[id]
    if look then
      local row, column, end_row, end_column = node:range()
      if own and look.group then
        row, column, _, end_row, end_column = unpack(vim.treesitter.get_range(node, text, own))
      end
      local conceal = metadata.conceal or own and own.conceal
      spans[#spans + 1] = {
        row = row,
        column = column,
        opts = {
          end_row = end_row,
          end_col = end_column,
          hl_group = look.group,
          priority = look.group and (tonumber(metadata.priority or own and own.priority) or vim.hl.priorities.treesitter),
          conceal = look.group and conceal or look.hides and (conceal or "") or nil,
          spell = look.spells,
          ephemeral = true,
          strict = false,
        },
      }
    end
  end
end

---@param lang string
---@param text string
---@param spans? flemma.Span[] the spans of the rows above `from`
---@param from? integer
---@return flemma.Span[]
local function parse(lang, text, spans, from)
  M.parses = M.parses + 1
  spans = spans or {}
  local parser = vim.treesitter.get_string_parser(text, lang)
  parser:parse(true)
  parser:for_each_tree(function(tree, of)
    collect(spans, text, tree, of:lang(), from or 0)
  end)
  return spans
end

--- Whether a Markdown text is nothing but words in paragraphs, as most of what people type is. Parsing it would find nothing,
--- and would cost more at each key than everything else.
---@param text string
---@return boolean
function M.is_plain(text)
  -- The signs of Markdown anywhere; those of lists, headings and tables at the beginning of a line, also after spaces; code
  -- that is indented; and spaces that break a line.
  return not text:find("[*_`~<>#|=\\%[%]&$^{}\t\r]")
    and not text:find("^ *[-+:%d]")
    and not text:find("\n *[-+:%d]")
    and not text:find("^    ")
    and not text:find("\n    ")
    and not text:find("  \n")
end

--- The spans of a text.
---@param lang string
---@param text string
---@return flemma.Span[]
function M.of(lang, text)
  if #text > LONGEST or lang == "markdown" and M.is_plain(text) then
    return {}
  end
  local key = lang .. "\n" .. text
  local spans = fresh[key]
  if not spans then
    spans = stale[key] or parse(lang, text)
    if count > KEPT then
      fresh, stale, count = {}, fresh, 0
    end
    fresh[key] = spans
    count = count + #spans + 1
  end
  return spans
end

--- The spans that end above the last rows of a text, and the first row that they leave out.
---@param text string
---@param spans flemma.Span[]
---@return flemma.Span[] above
---@return integer row
local function above_the_end(text, spans)
  local _, breaks = text:gsub("\n", "")
  local row = math.max(0, breaks - 2)
  return vim.tbl_filter(function(span)
    return span.opts.end_row < row
  end, spans), row
end

--- The spans of a text that is growing.
---@param buf integer
---@param lang string
---@param text string
---@return flemma.Span[] spans of the text when it was last parsed
---@return boolean is_behind whether the text has grown since
function M.of_growing(buf, lang, text)
  local last = growing[buf]
  if not last or last.lang ~= lang or text:sub(1, #last.text) ~= last.text then
    last = nil
  elseif #text - #last.text < math.max(LEAST, #last.text / PART) then
    return last.spans, #text > #last.text
  end
  if turns == 0 then
    return last and last.spans or {}, true
  end
  turns = turns - 1
  local spans
  local whole = #text
  if #text > LONGEST then
    spans = {}
  elseif last and lang ~= "markdown" and #text < last.whole * 1.5 then
    -- Queries for code are slow. The text further up has been examined, and will be again when it is complete.
    whole = last.whole
    spans = parse(lang, text, above_the_end(last.text, last.spans))
  else
    spans = parse(lang, text)
  end
  growing[buf] = { lang = lang, text = text, spans = spans, whole = whole }
  collectgarbage("step", COLLECTED)
  return spans, whole < #text
end

--- The text in this buffer is no longer growing.
---@param buf integer
function M.forget(buf)
  growing[buf] = nil
end

--- Where a piece of code can end: before the last top-level construct that begins in it, which may continue below. The code
--- before that has no errors.
---@param lang string
---@param text string
---@param anywhere boolean whether to ignore errors
---@return integer row 0 if there is no such place
function M.cut(lang, text, anywhere)
  local key = (anywhere and "anywhere\n" or "\n") .. lang .. "\n" .. text
  local row = cuts[key]
  if not row then
    row = 0
    local tree = #text <= LONGEST and vim.treesitter.get_string_parser(text, lang):parse()[1]
    if tree and (anywhere or tree:root():type() ~= "ERROR") then
      for node in tree:root():iter_children() do
        local first, column = node:range()
        row = column == 0 and first or row
        if node:has_error() and not anywhere then
          break
        end
      end
    end
    if cut_count == CUTS then
      cuts, cut_count = {}, 0
    end
    cuts[key], cut_count = row, cut_count + 1
  end
  return row
end

return M
