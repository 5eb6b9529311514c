--- Completion in conversations: what the omnifunc and the sources for completion plugins have in common.
---
--- The library finds out what belongs at the cursor. A folder is read in the background, so an answer may come later.
local M = {}

local api = vim.api

---@alias flemma.CompletionKind
---| "role"
---| "file"
---| "folder"
---| "reference"
---| "tool"
---| "group"
---| "preset"
---| "option"
---| "table"
---| "operation"
---| "value"
---| "model"

---@class flemma.CompletionItem
---@field kind flemma.CompletionKind
---@field word string the text that is put into the line
---@field label string how it is shown
---@field detail string a few words that are shown beside it
---@field documentation string Markdown

---@class flemma.Completion
---@field first integer where the word at the cursor begins, in bytes
---@field last integer where it ends; it may go on behind the cursor
---@field items flemma.CompletionItem[]
---@field incomplete boolean whether there may be others for a longer word

--- `CompletionItemKind` of the Language Server Protocol, which completion plugins take their icons from.
---@type table<flemma.CompletionKind, integer>
local KINDS = {
  role = 14, -- Keyword
  file = 17, -- File
  folder = 19, -- Folder
  reference = 18, -- Reference
  tool = 3, -- Function
  group = 9, -- Module
  preset = 21, -- Constant
  option = 10, -- Property
  table = 9, -- Module
  operation = 2, -- Method
  value = 12, -- Value
  model = 20, -- EnumMember
}

--- The conversation for which a message is written in a buffer: in the input window, or in the conversation itself. A conversation
--- that is at work cannot be typed into, so it offers nothing.
---@param buf integer
---@return integer? conversation
---@return boolean? is_draft
local function conversation_of(buf)
  if vim.bo[buf].filetype == "flemma_queue" then
    local chat = vim.b[buf].flemma_conversation
    return chat and require("flemma.buffer.target").is_attached(chat) and chat or nil, true
  end
  return vim.bo[buf].modifiable and require("flemma.buffer.target").is_attached(buf) and buf or nil
end

--- The characters after which something else can be put.
M.triggers = { "@", "/", ".", ":", '"', "'", "$", "{", "~" }

--- Whether the current buffer is one in which something is offered.
---@return boolean
function M.is_offered()
  return vim.bo.filetype == "chat" or vim.bo.filetype == "flemma_queue"
end

--- Finds what can be put at a place.
---@param buf integer 0 for the current buffer
---@param line integer from 0
---@param column integer in bytes
---@param callback fun(found?: flemma.Completion) called once, now or later
function M.find(buf, line, column, callback)
  buf = buf == 0 and api.nvim_get_current_buf() or buf
  local chat, is_draft = conversation_of(buf)
  if not chat then
    return callback()
  end
  local lines = is_draft and api.nvim_buf_get_lines(buf, 0, -1, false) or nil
  if not require("flemma.native").call("complete", chat, line, column, lines, callback) then
    callback()
  end
end

--- What a user types to find an item: `./greet.py` is offered for `gre` as well.
---@param item flemma.CompletionItem
---@return string
local function typed_text(item)
  return item.word:match("^%./(.+)$") or item.word
end

--- The answer for a completion plugin, as the Language Server Protocol has it. Columns are in bytes.
---@param found flemma.Completion
---@param line integer from 0
---@param column integer that of the cursor, in bytes
---@return table[]
function M.lsp_items(found, line, column)
  local function range(last)
    return { start = { line = line, character = found.first }, ["end"] = { line = line, character = last } }
  end
  local items = {}
  for place, item in ipairs(found.items) do
    items[place] = {
      label = item.label,
      kind = KINDS[item.kind],
      detail = item.detail ~= "" and item.detail or nil,
      documentation = item.documentation ~= "" and { kind = "markdown", value = item.documentation } or nil,
      filterText = typed_text(item),
      sortText = ("%05d"):format(place),
      -- PlainText: a `$` is only a character.
      insertTextFormat = 1,
      textEdit = { newText = item.word, insert = range(column), replace = range(math.max(found.last, column)) },
    }
  end
  return items
end

--- The items that fit a word: those that begin with it, or else those that have its letters.
---@param items flemma.CompletionItem[]
---@param base string
---@return flemma.CompletionItem[]
local function fitting(items, base)
  if base == "" then
    return items
  end
  local lower = base:lower()
  local found = vim.tbl_filter(function(item)
    local text = typed_text(item):lower()
    return vim.startswith(text, lower) or vim.startswith(item.word:lower(), lower) or vim.startswith(item.label:lower(), lower)
  end, items)
  return found[1] and found or vim.fn.matchfuzzy(items, base, { key = "word" })
end

--- The items as Neovim's popup menu takes them (`:help complete-items`).
---@param items flemma.CompletionItem[]
local function popup_items(items)
  return vim.tbl_map(function(item)
    local is_short = api.nvim_strwidth(item.detail) <= 20
    return {
      word = item.word,
      abbr = item.label,
      kind = item.kind,
      menu = is_short and item.detail or vim.fn.strcharpart(item.detail, 0, 19) .. "…",
      info = item.documentation,
      icase = 1,
      dup = 1,
    }
  end, items)
end

--- The beginning of the line up to the cursor, and what identifies the place.
local function place()
  local line, column = unpack(api.nvim_win_get_cursor(0))
  return { buf = api.nvim_get_current_buf(), line = line, before = api.nvim_get_current_line():sub(1, column) }
end

--- Opens the popup menu with an answer that came late, unless the user has gone on.
---@param from table the place that it was asked for
---@param found? flemma.Completion
local function show_late(from, found)
  if not found or not vim.startswith(api.nvim_get_mode().mode, "i") or vim.fn.pumvisible() == 1 then
    return
  end
  if vim.deep_equal(place(), from) and conversation_of(from.buf) then
    local items = fitting(found.items, from.before:sub(found.first + 1))
    vim.fn.complete(found.first + 1, popup_items(items))
  end
end

---@type flemma.CompletionItem[]
local offered = {}

--- The 'omnifunc' of conversations.
---@param findstart 0|1
---@param base string
---@return integer|table[]
function M.omnifunc(findstart, base)
  if findstart ~= 1 then
    local items = fitting(offered, base)
    offered = {}
    return popup_items(items)
  end
  local from, is_late, is_answered = place(), false, false
  ---@type flemma.Completion?
  local answer
  M.find(from.buf, from.line - 1, #from.before, function(found)
    answer, is_answered = found, true
    if is_late then
      show_late(from, found)
    end
  end)
  is_late = true
  if not is_answered then
    -- Stay in completion mode, without a message.
    return -2
  elseif not answer then
    return -3
  end
  offered = answer.items
  return answer.first
end

return M
