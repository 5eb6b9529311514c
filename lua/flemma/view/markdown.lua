--- The colours of Markdown and code, by Neovim's own highlighter.
---
--- Its parser would read the whole buffer, which takes seconds and hundreds of megabytes for a long conversation. So it gets only the
--- passages near the screen, each for itself: a fence that a model forgot to close ends with its message.
local M = {}

local api = vim.api

--- How many lines of a long passage are parsed beyond the screen. Where they begin changes once in so many lines.
local STEP = 16
--- Lines, and code, that are longer have no colours, in bytes.
local LONGEST_LINE, LONGEST_CODE = 16 * 1024, 256 * 1024
--- While the text changes, parsing takes a part of the time, and there is a pause after it, in nanoseconds. Until then, what is new has no
--- colours.
local PART, PAUSE = 20, 100e6

--- The languages of words in fences and of ends of files' names; false if there is none.
---@type table<string, string|false>
local languages = {}

--- Whether there is a parser. Its queries are not checked.
---@param lang? string nil for Markdown
---@return boolean
function M.available(lang)
  local found, parser = pcall(vim.treesitter.language.add, lang or "markdown")
  return found and parser == true
end

--- The language of code, if it can be coloured: its queries may be for another version of the parser.
---@param word string
---@return string|false
local function language(word)
  if languages[word] == nil then
    languages[word] = false
    for _, name in ipairs({ word, vim.filetype.match({ filename = "a." .. word }) }) do
      local lang = vim.treesitter.language.get_lang(name) or name
      if M.available(lang) and pcall(vim.treesitter.query.get, lang, "highlights") then
        languages[word] = lang
        break
      end
    end
  end
  return languages[word]
end

--- The ends of the names of the files that code in a buffer is from, by the line of its fence.
---@type table<integer, table<integer, string>>
local files = {}

-- Gives code the language that its fence says, or that of the file that it is from.
vim.treesitter.query.add_directive("flemma-language!", function(match, _, buf, predicate, metadata)
  local row = match[predicate[2]][1]:start()
  local line = api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
  local word = line:match("^%s*[`~]+%s*{?%.?([%w_+#-]+)") or (files[buf] or {})[row] or ""
  metadata["injection.language"] = word ~= "" and language(word:lower()) or nil
end, { force = true, all = true })

local INJECTIONS = [[
  ((fenced_code_block (code_fence_content) @injection.content) @_fence (#flemma-language! @_fence))
  ([(inline) (pipe_table_cell)] @injection.content (#set! injection.language "markdown_inline"))
]]

-- What no parser has coloured in a fence.
api.nvim_set_hl(0, "@flemma.code", { link = "FlemmaToolOutput", default = true })

--- What of a buffer is parsed.
---@param buf integer
---@return Range4[][]
local function regions(buf)
  local found, done, count = {}, 0, api.nvim_buf_line_count(buf)
  local function bytes(first, last)
    return api.nvim_buf_get_offset(buf, last) - api.nvim_buf_get_offset(buf, first)
  end
  local function long_line(first, last)
    for row = first, first < last and bytes(first, last) > LONGEST_LINE and last - 1 or -1 do
      if bytes(row, row + 1) > LONGEST_LINE then
        return row
      end
    end
  end
  local function add(first, last)
    if first < last then
      found[#found + 1] = { { first, 0, last, 0 } }
    end
  end
  files[buf] = {}
  local windows = vim.tbl_map(function(win)
    return { vim.fn.line("w0", win) - 1, vim.fn.line("w$", win) + 1 }
  end, vim.fn.win_findbuf(buf))
  table.sort(windows, function(a, b)
    return a[1] < b[1]
  end)
  for _, range in ipairs(windows) do
    local from, to = math.max(range[1], done), math.min(range[2], count)
    for _, passage in ipairs(from < to and require("flemma.native").call("regions", buf, from, to) or {}) do
      local first = math.max(passage.first, done, math.floor(from / STEP - 1) * STEP)
      local last = math.min(passage.last, count, math.ceil(to / STEP + 1) * STEP)
      local row = long_line(first, last)
      if not passage.fence then
        while row do
          add(first, row)
          first, row = row + 1, long_line(row + 1, last)
        end
        add(first, last)
        done = math.max(done, last)
      elseif not row and not files[buf][passage.fence] and bytes(passage.fence, passage.last) < LONGEST_CODE then
        files[buf][passage.fence] = (passage.file or ""):match("[^./]*$")
        local closing = api.nvim_buf_get_lines(buf, passage.last, passage.last + 1, false)[1] or ""
        add(passage.fence, math.min(passage.last + (closing:find("^%s*[`~]+%s*$") and 1 or 0), count))
      end
    end
  end
  return found
end

--- The query of a language without what hides fences, or any text, which `flemma.view.overlays` does. Code has a group of its own. What
--- a parser takes long to analyse is put in another way: two patterns take two thirds of the time of both queries.
---@param lang string
---@param conceals boolean
local function query(lang, conceals)
  local texts = vim.tbl_map(function(path)
    return table.concat(vim.fn.readfile(path), "\n")
  end, vim.treesitter.query.get_files(lang, "highlights"))
  local text = table.concat(texts, "\n"):gsub("%(%(fenced_code_block%) @markup%.raw%.block", "((fenced_code_block) @flemma.code")
  text = text:gsub('%(#set! conceal ""%)%s*%(#set! conceal_lines ""%)', "")
  text = text:gsub('%(%(link_label%)%s*%.%s*":" @punc', '(link_reference_definition ":" @punc')
  if not conceals then
    text = text:gsub("%(image%s*%[.-%] @markup%.link", "((image) @markup.link"):gsub("%(%(image%s*%(link.-@_url%)%)", "")
  end
  return (text:gsub(conceals and "%(#set! conceal_lines[^)]*%)" or "%(#set! conceal[^)]*%)", ""))
end

---@param buf integer
---@param conceals boolean whether the signs of Markdown are concealed
local function colour(buf, conceals)
  local parser = vim.treesitter.get_parser(buf, "markdown", { injections = { markdown = INJECTIONS } })
  local parse, due, tick, is_waiting = getmetatable(parser).parse, 0, -1, false
  function parser.parse(self, range, done)
    local begun, trees = vim.uv.hrtime(), self:trees()
    if begun > due or api.nvim_buf_get_changedtick(buf) == tick then
      self:set_included_regions(regions(buf))
      trees, tick = parse(self, range), api.nvim_buf_get_changedtick(buf)
      local now = vim.uv.hrtime()
      due = now + math.max(PAUSE, PART * (now - begun))
    elseif not is_waiting then
      is_waiting = true
      vim.defer_fn(function()
        is_waiting = false
        -- It is let go a moment after it is wiped.
        if require("flemma.buffer.target").is_attached(buf) and api.nvim_buf_is_loaded(buf) then
          -- The windows may show other lines by now. There are regions for these alone.
          self:parse(true)
        end
      end, math.ceil((due - begun) / 1e6) + 1)
    end
    if done then
      done(nil, trees)
    end
    return trees
  end
  local queries = {}
  for _, lang in ipairs({ "markdown", "markdown_inline" }) do
    queries[lang] = query(lang, conceals)
  end
  vim.treesitter.highlighter.new(parser, { queries = queries })
end

--- Whether the signs of Markdown are concealed in each conversation that has its colours.
---@type table<integer, boolean>
local concealing = {}

--- Colours a conversation, after the first screen: reading the queries takes a while.
---@param buf integer
local function start(buf)
  vim.schedule(function()
    local ok, problem = pcall(function()
      if require("flemma.buffer.target").is_attached(buf) then
        vim.treesitter.stop(buf)
        concealing[buf] = require("flemma.view.overlays").conceals_markdown(buf)
        colour(buf, concealing[buf])
      end
    end)
    if not ok then
      require("flemma.notify").once(vim.log.levels.ERROR, "the conversation cannot be coloured: " .. tostring(problem))
    end
  end)
end

---@param buf integer
function M.forget(buf)
  files[buf], concealing[buf] = nil, nil
end

--- Neovim draws a conversation. Another plugin may have set 'conceallevel' since it was last drawn.
---@param buf integer
function M.drawn(buf)
  if concealing[buf] ~= nil and concealing[buf] ~= require("flemma.view.overlays").conceals_markdown(buf) then
    concealing[buf] = nil
    start(buf)
  end
end

--- A command is about to change many lines. Neovim edits every tree at each change, so there are none until the next screen.
---@param buf integer
function M.drop(buf)
  local highlighter = vim.treesitter.highlighter.active[buf]
  local parser = highlighter and highlighter.tree
  for lang in pairs(parser and parser:children() or {}) do
    parser:remove_child(lang)
  end
  if parser then
    parser:set_included_regions({})
  end
end

--- Takes the colours away from a buffer that is no longer a conversation.
---@param buf integer
function M.release(buf)
  if vim.treesitter.highlighter.active[buf] then
    vim.treesitter.stop(buf)
    -- Neovim keeps one parser for each buffer. The next one for Markdown parses all of it.
    vim.treesitter.get_parser(buf, "markdown_inline")
  end
end

--- Sets up the highlighting of Markdown. Without a parser, Vim's syntax file is used, which knows nothing about messages.
---@param buf integer
function M.attach(buf)
  if M.available() then
    -- Other plugins look it up under this filetype.
    require("vim.treesitter.language").register("markdown", "chat")
    start(buf)
  else
    vim.bo[buf].syntax = "markdown"
  end
end

return M
