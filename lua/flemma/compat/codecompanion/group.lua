--- The groups of CodeCompanion's tools table, as groups of ours.
local M = {}

local value = require("flemma.compat.codecompanion.value")

--- What the functions of a group are told.
local function about()
  return {
    language = "English",
    cwd = vim.fn.getcwd(),
    date = os.date("%Y-%m-%d"),
    nvim_version = tostring(vim.version()),
    os = vim.uv.os_uname().sysname,
  }
end

--- A text of a group: as it is, or what its function returns. `${tools}` becomes the names of the tools.
---@param text any
---@param field string
---@param group table
---@return string? text
---@return string? problem what follows the group's name
local function text_of(text, field, group)
  if vim.is_callable(text) then
    local ok, returned = pcall(text, group, about())
    if not ok then
      return nil, ("`%s` failed: %s"):format(field, value.thrown(returned))
    end
    text = returned
  end
  if text == nil or text == false then
    return nil
  elseif type(text) ~= "string" then
    return nil, ("`%s` must be a string, not a %s"):format(field, type(text))
  end
  local names = table.concat(
    vim.tbl_map(function(name)
      return ("`%s`"):format(name)
    end, group.tools),
    ", "
  )
  return (text:gsub("%${tools}", (names:gsub("%%", "%%%%"))))
end

--- The group of ours that stands for a group.
---@param group any
---@return table? ours
---@return string? problem what follows the group's name
function M.describe(group)
  if type(group) ~= "table" then
    return nil, ("the entry must be a table, not a %s"):format(type(group))
  elseif type(group.tools) ~= "table" or not vim.islist(group.tools) then
    return nil, "`tools` must be a list of the names of tools"
  end
  for _, name in ipairs(group.tools) do
    if type(name) ~= "string" then
      return nil, ("`tools` has a %s in it; it must be a list of the names of tools"):format(type(name))
    end
  end
  local texts = {}
  -- That plugin puts `prompt` in the place of the group's name in the message. Both tell the model what the tools are for.
  for _, field in ipairs({ "system_prompt", "prompt" }) do
    local text, problem = text_of(group[field], field, group)
    if problem then
      return nil, problem
    end
    texts[#texts + 1] = text
  end
  return {
    tools = vim.deepcopy(group.tools),
    description = type(group.description) == "string" and group.description or nil,
    system_prompt = #texts > 0 and table.concat(texts, "\n\n") or nil,
  }
end

return M
