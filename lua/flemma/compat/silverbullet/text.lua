--- Functions on text and lists that tools of this kind expect.
local M = {}

--- `js.stringify`: a value as JSON.
M.js = { stringify = require("flemma.compat.json").encode }

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

local additions = {
  startsWith = vim.startswith,
  endsWith = vim.endswith,
  trim = vim.trim,
  --- The parts of a text between separators, which are no patterns.
  split = function(text, separator)
    return vim.split(text, separator, { plain = true })
  end,
}

--- Adds the functions to `string`, since they are called as methods of texts. What is there stays.
function M.install()
  for name, callback in pairs(additions) do
    if string[name] == nil then
      string[name] = callback
    end
  end
end

return M
