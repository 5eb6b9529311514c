--- Which standard groups stand for roles and states. Colour schemes give some of them the same colour, and some the colour of
--- plain text, so that each is the first of several that differs from the others and can be read.
local M = {}

local api = vim.api

--- The least difference between two colours (CIE76), and the least contrast of a text (WCAG).
local DIFFERENCE, CONTRAST = 20, 3

--- Each group with those that it may link to, the best first. Groups of one family differ from each other.
---@type { [1]: string, [2]: string[] }[][]
M.families = {
  {
    { "FlemmaRoleUser", { "String", "DiagnosticOk", "MoreMsg", "Constant", "Type" } },
    { "FlemmaRoleAssistant", { "Special", "Function", "Identifier", "PreProc", "Type" } },
    { "FlemmaRoleSystem", { "Statement", "Identifier", "Type", "PreProc", "Constant", "Directory", "DiagnosticWarn" } },
  },
  {
    { "FlemmaFailed", { "DiagnosticError", "ErrorMsg", "Removed" } },
    { "FlemmaToolDone", { "Added", "DiagnosticOk", "String", "MoreMsg" } },
    { "FlemmaWaiting", { "DiagnosticWarn", "WarningMsg", "Type", "Constant", "PreProc" } },
    { "FlemmaRunning", { "Changed", "DiagnosticInfo", "Directory", "Identifier", "Special", "Function" } },
    { "FlemmaRejected", { "Removed", "DiagnosticHint", "PreProc", "Special", "Constant", "Statement", "Identifier" } },
  },
}

--- The parts of a colour from 0 to 1, without the correction for screens.
---@param colour integer
local function linear(colour)
  local function part(shift)
    local value = bit.band(bit.rshift(colour, shift), 255) / 255
    return value <= 0.04045 and value / 12.92 or ((value + 0.055) / 1.055) ^ 2.4
  end
  return part(16), part(8), part(0)
end

---@param colour integer
local function luminance(colour)
  local red, green, blue = linear(colour)
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
end

--- A colour as CIE L*a*b*.
---@param colour integer
local function lab(colour)
  local function curve(value)
    return value > 0.008856 and value ^ (1 / 3) or 7.787 * value + 16 / 116
  end
  local red, green, blue = linear(colour)
  local x = curve((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505)
  local y = curve(0.2126 * red + 0.7152 * green + 0.0722 * blue)
  local z = curve((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089)
  return 116 * y - 16, 500 * (x - y), 200 * (y - z)
end

--- How different two colours look: 2 is hardly seen, 100 is black and white.
---@param one integer
---@param other integer
---@return number
function M.difference(one, other)
  local l, a, b = lab(one)
  local m, c, d = lab(other)
  return math.sqrt((l - m) ^ 2 + (a - c) ^ 2 + (b - d) ^ 2)
end

--- The contrast of two colours, from 1 to 21.
---@param one integer
---@param other integer
---@return number
function M.contrast(one, other)
  local light, dark = luminance(one), luminance(other)
  return (math.max(light, dark) + 0.05) / (math.min(light, dark) + 0.05)
end

--- The colour of a text in a group; nil if that is the colour of plain text.
---@param name string
---@return integer?
local function text_colour(name)
  local group = api.nvim_get_hl(0, { name = name, link = false })
  return group[group.reverse and "bg" or "fg"]
end

--- Links every group of the families, unless `set` refuses because somebody has defined it.
---@param background integer
---@param plain integer[] the colours that text without a role or a state has
---@param set fun(name: string, definition: table)
function M.link(background, plain, set)
  for _, family in ipairs(M.families) do
    local taken = vim.list_extend({}, plain)
    for _, entry in ipairs(family) do
      local chosen, best = entry[2][1], 0
      for _, candidate in ipairs(entry[2]) do
        local colour = text_colour(candidate)
        local score = colour and M.contrast(colour, background) / CONTRAST or 0
        for _, other in ipairs(colour and taken or {}) do
          score = math.min(score, M.difference(colour, other) / DIFFERENCE)
        end
        if score > best then
          chosen, best = candidate, score
        end
        if score >= 1 then
          break
        end
      end
      set(entry[1], { link = chosen })
      -- A definition of the user's counts for the others.
      local colour = text_colour(entry[1])
      taken[#taken + 1] = colour
    end
  end
end

return M
