--- Functions on text and lists that tools of this kind expect.
local M = {}

local value = require("flemma.compat.codecompanion.value")

M.js = {}

--- A value as JSON.
---@param given any
---@return string
function M.js.stringify(given)
  return value.json(given)
end

--- Goes through the values of a list: `for page in each(pages) do`.
---@param list? any[]
---@return fun(): any
function M.each(list)
  local at = 0
  return function()
    at = at + 1
    return list and list[at]
  end
end

local additions = {}

---@param text string
---@param prefix string
---@return boolean
function additions.startsWith(text, prefix)
  return vim.startswith(text, prefix)
end

---@param text string
---@param suffix string
---@return boolean
function additions.endsWith(text, suffix)
  return vim.endswith(text, suffix)
end

--- The parts of a text between separators, which are no patterns.
---@param text string
---@param separator string
---@return string[]
function additions.split(text, separator)
  return vim.split(text, separator, { plain = true })
end

---@param text string
---@return string
function additions.trim(text)
  return vim.trim(text)
end

--- Adds the functions to `string`, since they are called as methods of texts. What is there stays.
function M.install()
  for name, callback in pairs(additions) do
    if string[name] == nil then
      string[name] = callback
    end
  end
end

return M
