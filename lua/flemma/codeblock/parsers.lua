--- Languages of frontmatter, beside `lua` and `json`.
local M = {}

---@class flemma.ParserContext
---@field bufnr integer the conversation's buffer
---@field filename? string its file; nil for a buffer without one

---@alias flemma.Parser fun(code: string, context: flemma.ParserContext): table the options, shaped as in JSON

---@type table<string, flemma.Parser>
local parsers = {}

--- Teaches Flemma a language of frontmatter. Registering a language again replaces its parser.
---@param language string the first word behind the fence, as in "```yaml"
---@param parser flemma.Parser throws where the code is wrong
---@return boolean ok
function M.register(language, parser)
  local problem
  if type(language) ~= "string" or not language:match("^[%w_+.#-]+$") then
    problem = ("parsers.register: the language must be a word, not %s"):format(vim.inspect(language))
  elseif type(parser) ~= "function" then
    problem = ("parsers.register: the parser of `%s` must be a function, not a %s"):format(language, type(parser))
  end
  if problem then
    require("flemma.notify").say(vim.log.levels.ERROR, problem)
    return false
  end
  parsers[language] = parser
  require("flemma.native").call("forget_frontmatter")
  return true
end

--- Takes a language away again.
---@param language string
---@return boolean found
function M.unregister(language)
  local found = parsers[language] ~= nil
  parsers[language] = nil
  if found then
    require("flemma.native").call("forget_frontmatter")
  end
  return found
end

--- The languages that were registered, sorted.
---@return string[]
function M.languages()
  local names = vim.tbl_keys(parsers)
  table.sort(names)
  return names
end

--- Reads code in a language that was registered.
---@param buf integer
---@param language string
---@param code string
---@return boolean? ok nil where nobody has registered the language
---@return any value the options, or what was thrown
function M.parse(buf, language, code)
  local parser = parsers[language]
  if not parser then
    return nil
  end
  local name = vim.api.nvim_buf_get_name(buf)
  return xpcall(parser, function(thrown)
    return type(thrown) == "string" and thrown or vim.inspect(thrown)
  end, code, { bufnr = buf, filename = name ~= "" and name or nil })
end

return M
