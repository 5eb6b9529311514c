--- Languages for frontmatter in addition to `lua` and `json`.
local M = {}

---@class flemma.ParserContext
---@field bufnr integer the conversation's buffer
---@field filename? string its file; nil for a buffer without one

---@alias flemma.Parser fun(code: string, context: flemma.ParserContext): table the options, in the same format as JSON

---@type table<string, flemma.Parser>
local parsers = {}

--- Adds a language for frontmatter. Registering a language again replaces its parser.
---@param language string the first word after the fence, as in "```yaml"
---@param parser flemma.Parser throws an error if the code is wrong
---@return boolean ok
function M.register(language, parser)
  local is_word = type(language) == "string" and language:match("^[%w_+.#-]+$")
  local problem = not is_word and ("the language must be a word, not %s"):format(vim.inspect(language))
    or type(parser) ~= "function" and ("the parser of `%s` must be a function, not a %s"):format(language, type(parser))
  if problem then
    require("flemma.notify").say(vim.log.levels.ERROR, "parsers.register: " .. problem)
    return false
  end
  parsers[language] = parser
  require("flemma.native").call("editor_event", "parsers_changed")
  return true
end

--- Removes a language.
---@param language string
---@return boolean found
function M.unregister(language)
  local found = parsers[language] ~= nil
  parsers[language] = nil
  require("flemma.native").call("editor_event", "parsers_changed")
  return found
end

--- The registered languages in sorted order.
---@return string[]
function M.languages()
  local names = vim.tbl_keys(parsers)
  table.sort(names)
  return names
end

--- Reads code in a registered language.
---@param buf integer
---@param language string
---@param code string
---@return boolean? ok nil if the language is not registered
---@return any value the options, the error, or the languages that are registered
function M.parse(buf, language, code)
  local parser = parsers[language]
  if not parser then
    return nil, M.languages()
  end
  local name = vim.api.nvim_buf_get_name(buf)
  return xpcall(parser, function(thrown)
    return type(thrown) == "string" and thrown or vim.inspect(thrown)
  end, code, { bufnr = buf, filename = name ~= "" and name or nil })
end

return M
