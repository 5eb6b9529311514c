--- Colours that follow the colour scheme: its own background with a little of another group's colour, its own text with a
--- little of the background, its own text in bold, and links to groups of the scheme that differ from each other.
---
--- They are computed again whenever the colour scheme or 'background' changes. A definition of the user's, or of a colour
--- scheme that knows our groups, is kept.
local M = {}

local api = vim.api

--- Group -> the group whose colour is mixed in, and how much of it.
local tints = {
  FlemmaUserLine = { "FlemmaUser", 0.12 },
  FlemmaAssistantLine = { "FlemmaAssistant", 0.12 },
  FlemmaSystemLine = { "FlemmaSystem", 0.12 },
}

--- Group -> how much of the background is mixed into the colour of text.
local dims = { FlemmaMeta = 0.45, FlemmaThinking = 0.4 }

--- The least contrast of dimmed text (WCAG).
local LEAST_CONTRAST = 3

--- Groups that are text in bold.
local bold = { "FlemmaRole", "FlemmaTool" }

--- What was last computed for a group, so that a definition by somebody else is recognised.
---@type table<string, vim.api.keyset.highlight>
local computed = {}

---@param name string
local function resolve(name)
  return api.nvim_get_hl(0, { name = name, link = false })
end

--- A colour between two others.
---@param base integer
---@param colour integer
---@param share number of `colour`, from 0 to 1
---@return integer
function M.blend(base, colour, share)
  local mixed = 0
  for shift = 16, 0, -8 do
    local from = bit.band(bit.rshift(base, shift), 255)
    local to = bit.band(bit.rshift(colour, shift), 255)
    mixed = bit.bor(bit.lshift(mixed, 8), math.floor(from + (to - from) * share + 0.5))
  end
  return mixed
end

--- A dimmed colour of text that can still be read, as far as the text itself can.
---@param foreground integer
---@param background integer
---@param share number
local function dim(foreground, background, share)
  local distinct = require("flemma.view.contrast")
  while share > 0 do
    local colour = M.blend(foreground, background, share)
    if distinct.contrast(colour, background) >= LEAST_CONTRAST then
      return colour
    end
    share = share - 0.05
  end
  return foreground
end

--- Computes the groups, except those that somebody has defined.
---@param overrides table<string, true> the groups that the user's options define
function M.apply(overrides)
  local is_light = vim.o.background == "light"
  local normal = resolve("Normal")
  local background = normal.bg or (is_light and 0xffffff or 0x000000)
  local foreground = normal.fg or (is_light and 0x000000 or 0xffffff)
  local function set(name, definition)
    local now = api.nvim_get_hl(0, { name = name })
    if not overrides[name] and (not next(now) or vim.deep_equal(now, computed[name])) then
      api.nvim_set_hl(0, name, definition)
      computed[name] = api.nvim_get_hl(0, { name = name })
    end
  end
  for _, name in ipairs(bold) do
    set(name, { bold = true, cterm = { bold = true } })
  end
  for name, share in pairs(dims) do
    set(name, { fg = dim(foreground, background, share), ctermfg = resolve("Comment").ctermfg })
  end
  local meta = resolve("FlemmaMeta").fg
  require("flemma.view.contrast").link(background, { foreground, meta }, set)
  -- Without 'termguicolors', a shade of grey next to that of the colour scheme.
  local grey = resolve("CursorLine").ctermbg or (is_light and 254 or 236)
  for name, tint in pairs(tints) do
    local colour = resolve(tint[1]).fg or foreground
    set(name, { bg = M.blend(background, colour, tint[2]), ctermbg = grey })
  end
end

return M
