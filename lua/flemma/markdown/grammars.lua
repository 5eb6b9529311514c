--- The languages that can be coloured, with their tree-sitter parsers and queries.
---
--- Reading a query takes up to twenty milliseconds, once per language. So nothing is read while Neovim draws: a language that
--- is not available yet is read afterwards in small steps, so that keys are handled in between.
local M = {}

--- The language of each word in a fence; false if there is none.
---@type table<string, string|false>
local known = {}

--- The words that are being looked up.
---@type table<string, true>
local wanted = {}

--- The remaining steps, and whether they are being processed.
---@type (fun())[]
local steps = {}
local is_working = false

---@type fun()? called when a language has become available
M.on_known = nil

local function work()
  local step = table.remove(steps, 1)
  if step then
    step()
    -- Not `vim.schedule`, with which keys would have to wait until all steps are done.
    return vim.defer_fn(work, 1)
  end
  is_working = false
end

---@param ... fun()
local function queue(...)
  vim.list_extend(steps, { ... })
  if not is_working then
    is_working = true
    vim.defer_fn(work, 1)
  end
end

--- Whether there is a parser. Its queries are not checked.
---@param lang string
---@return boolean
function M.has_parser(lang)
  local found, parser = pcall(require("vim.treesitter.language").add, lang)
  return found and parser == true
end

--- Reads a query of a language. Fails if the query does not fit the parser.
---@param lang string
---@param kind "highlights"|"injections"
---@return boolean ok
---@return vim.treesitter.Query?
local function read(lang, kind)
  return pcall(vim.treesitter.query.get, lang, kind)
end

---@param word string
local function look_up(word)
  local names = { word, vim.treesitter.language.get_lang(word) }
  local filetype = vim.filetype.match({ filename = "a." .. word })
  if filetype then
    names[#names + 1] = vim.treesitter.language.get_lang(filetype)
  end
  for _, name in ipairs(names) do
    if M.has_parser(name) then
      local has_injections
      return queue(function()
        has_injections = read(name, "injections")
      end, function()
        local ok, query = read(name, "highlights")
        known[word] = has_injections and ok and query and name or false
        if M.on_known then
          M.on_known()
        end
      end)
    end
  end
  known[word] = false
end

--- The language that a fence names, if it can be coloured.
---@param word string in lower case
---@return string|false|nil lang nil while it is unknown
function M.of(word)
  local lang = known[word]
  if lang == nil and not wanted[word] then
    wanted[word] = true
    queue(function()
      look_up(word)
    end)
  end
  return lang
end

---@type boolean?
local has_markdown

--- Whether there is a parser for Markdown.
---@return boolean
function M.has_markdown()
  if has_markdown == nil then
    has_markdown = M.has_parser("markdown")
  end
  return has_markdown
end

--- Whether Markdown can be coloured now.
---@return boolean
function M.is_ready()
  -- The second one is for text inside a paragraph.
  local prose, words = M.of("markdown"), M.of("markdown_inline")
  return prose and words ~= nil or false
end

return M
