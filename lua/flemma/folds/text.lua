--- 'foldtext' of a conversation: the line in place of a closed fold.
local M = {}

local api = vim.api

--- The value of 'foldtext'.
M.EXPRESSION = "v:lua.require'flemma.folds.text'.line()"

---@class flemma.FoldLine
---@field last integer
---@field width integer
---@field chunks [string, integer|integer[]][]

--- The lines of a buffer that were drawn since its text changed, by the first line of the fold.
---@type table<integer, { tick: integer, lines: table<integer, flemma.FoldLine> }>
local drawn = {}

--- The cells of a line in the window that is being drawn.
---@type { win: integer, columns: integer, width: integer }?
local room

--- A window is about to be drawn: its signs and numbers may take other cells than before.
function M.begin()
  room = nil
end

--- Forgets a buffer.
---@param buf integer
function M.forget(buf)
  drawn[buf] = nil
end

--- The colours of a message's line, by those of its author.
local roles = {
  FlemmaUser = "FlemmaUserLine",
  FlemmaAssistant = "FlemmaAssistantLine",
  FlemmaSystem = "FlemmaSystemLine",
}

--- The numbers of groups, which never change. Neovim would look each name up whenever the line is drawn.
---@type table<string, integer>
local ids = setmetatable({}, {
  __index = function(known, name)
    known[name] = api.nvim_get_hl_id_by_name(name)
    return known[name]
  end,
})

--- A line of the library as the chunks of 'foldtext'. The line of a message has a background.
---@param line string[] the text and the group of each piece
---@return [string, integer|integer[]][]
local function draw(line)
  local background
  for at = 2, #line, 2 do
    background = background or roles[line[at]]
  end
  local found = {}
  for at = 1, #line, 2 do
    local text, group = line[at], line[at + 1]
    if not background or group == background then
      found[#found + 1] = { text, ids[group] }
    else
      local name = roles[group] and ids.FlemmaRole or nil
      found[#found + 1] = { text, { ids[group], ids[background], name } }
    end
  end
  return found
end

---@param buf integer
---@param first integer from 1
---@param last integer
---@param width integer in cells
---@return table? chunks
local function chunks(buf, first, last, width)
  local tick = api.nvim_buf_get_changedtick(buf)
  local of = drawn[buf]
  if not of or of.tick ~= tick then
    of = { tick = tick, lines = {} }
    drawn[buf] = of
  end
  local line = of.lines[first]
  if not line or line.last ~= last or line.width ~= width then
    local signs = require("flemma.looks").signs()
    local found = require("flemma.native").call("fold_text", buf, first - 1, last, width, signs)
    line = found and { last = last, width = width, chunks = draw(found) } or nil
    of.lines[first] = line
  end
  return line and line.chunks
end

--- The cells of a line in the current window.
local function width_of_line()
  local win = api.nvim_get_current_win()
  local columns = api.nvim_win_get_width(win)
  if not room or room.win ~= win or room.columns ~= columns then
    local info = vim.fn.getwininfo(win)[1]
    room = { win = win, columns = columns, width = math.max(1, info.width - info.textoff) }
  end
  return room.width
end

--- Called by Neovim while it draws. The current window and buffer are those of the fold.
---@return table|string
function M.line()
  local ok, line = pcall(chunks, api.nvim_get_current_buf(), vim.v.foldstart, vim.v.foldend, width_of_line())
  -- A fold that the user made.
  return ok and line or vim.fn.foldtext()
end

return M
