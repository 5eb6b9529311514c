--- What tree-sitter has to say about a text: which bytes of it look like what.
---
--- The answer is kept by the text. The text at the end of a reply that streams in is another one each time it is drawn.
--- It is parsed anew only when it has grown by an eighth, so that a long one costs no more a second than a short one;
--- until then its new end is plain.
local M = {}

local api = vim.api

--- Nothing longer, in bytes, is parsed: a line of a megabyte has to be readable, not colourful.
local LONGEST = 16 * 1024
--- How many spans are kept, twice over: a few screens full.
local KEPT = 4000
--- How many cuts are kept.
local CUTS = 256
--- What a text that grows has to grow by before it is parsed anew: this part of it, and at least so many bytes.
local PART, LEAST = 8, 24
--- How far the garbage collector is driven after each parse of a text that grows, in kilobytes. It does not see the memory
--- of parsers, and without this would not come to free it as fast as a reply fills it.
local COLLECTED = 200
--- How many texts that grow are parsed at most while the screen is drawn once. Others have their turn the next time.
local TURNS = 2

---@class flemma.Span
---@field row integer counted from the first line of its text, as all here
---@field column integer
---@field opts vim.api.keyset.set_extmark

--- The spans of parsed texts by language and text: those in use, and those that were before the last clearing.
---@type table<string, flemma.Span[]>, table<string, flemma.Span[]>, integer
local fresh, stale, count = {}, {}, 0

--- The text that grows in a buffer, as it was when it was parsed last. `whole` is its length when all of it was looked at.
---@type table<integer, { lang: string, text: string, spans: flemma.Span[], whole: integer }>
local growing = {}

--- Where code can be cut, by language and text.
---@type table<string, integer>, integer
local cuts, cut_count = {}, 0

--- How many texts that grow may still be parsed in this drawing.
local turns = TURNS

--- How often anything was parsed, for the tests.
M.parses = 0

--- The screen is about to be drawn.
function M.start()
  turns = TURNS
end

--- What a capture of a query looks like.
---@class flemma.Look
---@field group? integer the highlight group; nil for one that only hides or is not for the screen
---@field hides? boolean
---@field spells? false

--- The captures of each query, by their number. A language may get another query, which numbers its captures anew.
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
  -- Of a language inside another one, nobody knows yet whether its query can be read.
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
---@param spans? flemma.Span[] those of the rows above `from`
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

--- The spans of a text.
---@param lang string
---@param text string
---@return flemma.Span[]
function M.of(lang, text)
  if #text > LONGEST then
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

--- The spans of a text to which something is added all the time.
---@param buf integer
---@param lang string
---@param text string
---@return flemma.Span[] spans of the text as it was a moment ago
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
    -- Queries of code are slow. What stands further up was looked at, and will be once more when it is complete.
    whole = last.whole
    spans = parse(lang, text, above_the_end(last.text, last.spans))
  else
    spans = parse(lang, text)
  end
  growing[buf] = { lang = lang, text = text, spans = spans, whole = whole }
  collectgarbage("step", COLLECTED)
  return spans, whole < #text
end

--- Nothing grows in this buffer any more.
---@param buf integer
function M.forget(buf)
  growing[buf] = nil
end

--- Where a piece of code can end: before the last thing at the top level that begins in it, and so may go on below. What
--- precedes that is free of errors.
---@param lang string
---@param text string
---@param anywhere boolean whether errors do not matter
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
