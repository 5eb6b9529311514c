--- 'foldtext' of a conversation: the line in place of a closed fold.
local M = {}

local api = vim.api

--- The value of 'foldtext'.
M.EXPRESSION = "v:lua.require'flemma.folds.text'.line()"

--- The lines of a buffer that were drawn since its text changed.
---@type table<integer, { tick: integer, lines: table<string, table> }>
local drawn = {}

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

--- A line of the library as the chunks of 'foldtext'. The line of a message has a background.
---@param line { text: string, group: string }[]
---@return [string, string[]][]
local function draw(line)
  local background
  for _, piece in ipairs(line) do
    background = background or roles[piece.group]
  end
  local found = {}
  for _, piece in ipairs(line) do
    local groups = { piece.group, background or piece.group, roles[piece.group] and "FlemmaRole" or nil }
    found[#found + 1] = { piece.text, groups }
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
  if not drawn[buf] or drawn[buf].tick ~= tick then
    drawn[buf] = { tick = tick, lines = {} }
  end
  local lines = drawn[buf].lines
  local key = ("%d,%d,%d"):format(first, last, width)
  if not lines[key] then
    local signs = require("flemma.looks").signs()
    local found = require("flemma.native").call("fold_text", buf, first - 1, last, width, signs)
    lines[key] = found and draw(found) or nil
  end
  return lines[key]
end

--- Called by Neovim while it draws. The current window and buffer are those of the fold.
---@return table|string
function M.line()
  local buf = api.nvim_get_current_buf()
  local info = vim.fn.getwininfo(api.nvim_get_current_win())[1]
  local width = math.max(1, info.width - info.textoff)
  local ok, line = pcall(chunks, buf, vim.v.foldstart, vim.v.foldend, width)
  -- A fold that the user made.
  return ok and line or vim.fn.foldtext()
end

return M
