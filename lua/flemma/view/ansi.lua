--- Highlight groups for the colours of a command's output.
local M = {}

local api = vim.api

--- The first 16 colours where the colour scheme does not define them (`terminal-config`).
local standard = {
  [0] = 0x000000, 0xcd3131, 0x0dbc79, 0xb5a400, 0x2472c8, 0xbc3fbc, 0x11a8cd, 0xbfbfbf,
  0x666666, 0xf14c4c, 0x23d18b, 0xd7ba00, 0x3b8eea, 0xd670d6, 0x29b8db, 0xe5e5e5,
}

---@type table<string, string> style -> group
local groups = {}

--- The colour of a number of 256.
---@param index integer
local function colour(index)
  if index < 16 then
    local own = vim.g["terminal_color_" .. index]
    return type(own) == "string" and own or standard[index]
  elseif index >= 232 then
    local grey = 8 + (index - 232) * 10
    return grey * 0x10101
  end
  local level = { [0] = 0, 95, 135, 175, 215, 255 }
  index = index - 16
  return level[math.floor(index / 36)] * 0x10000 + level[math.floor(index / 6) % 6] * 0x100 + level[index % 6]
end

--- The group for a style, such as `fg=1 bold`.
---@param style string
---@return string
function M.group(style)
  if groups[style] then
    return groups[style]
  end
  local definition = { cterm = {} }
  for word in style:gmatch("%S+") do
    local part, value = word:match("^([fb]g)=(.*)$")
    if not part then
      definition[word], definition.cterm[word] = true, true
    elseif value:sub(1, 1) == "#" then
      definition[part] = value
    else
      definition[part], definition["cterm" .. part] = colour(tonumber(value)), tonumber(value)
    end
  end
  local name = "FlemmaAnsi_" .. style:gsub("[^%w]+", "_")
  api.nvim_set_hl(0, name, definition)
  groups[style] = name
  return name
end

api.nvim_create_autocmd("ColorScheme", {
  group = api.nvim_create_augroup("flemma.looks.ansi", { clear = true }),
  callback = function()
    groups = {}
  end,
})

return M
