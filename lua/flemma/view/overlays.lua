--- What is drawn over the lines of a conversation: a line for each message, for each block of a call, and for thinking.
---
--- The library lays out the lines that are on the screen; here they are put over the text while Neovim draws, so that the
--- text itself stays as it is. `flemma.view.cards` knows the block whose text is shown because the cursor is in it.
local M = {}

local api = vim.api

--- Higher than the colours of Markdown, lower than those of a search.
local PRIORITY = 150

---@class flemma.Look
---@field line integer from 0
---@field background? string
---@field left { text: string, group: string }[]
---@field right { text: string, group: string }[]
---@field whole boolean whether it covers the whole line

---@return boolean
function M.enabled()
  local options = require("flemma.options").get()
  return options ~= nil and options.looks.enabled
end

--- Which signs the user's font has.
---@return "plain"|"nerd"|"ascii"
function M.signs()
  local options = require("flemma.options").get()
  local icons = options and options.looks.icons
  if icons == "ascii" or icons == "nerd" then
    return icons
  elseif options and options.editing.symbols == "ascii" then
    return "ascii"
  end
  return vim.g.have_nerd_font and "nerd" or "plain"
end

--- How many seconds local time is ahead of UTC.
---@return integer
local function offset()
  local sign, hours, minutes = tostring(os.date("%z")):match("([+-])(%d%d)(%d%d)")
  if not sign then
    return 0
  end
  return (sign == "-" and -1 or 1) * (hours * 3600 + minutes * 60)
end

--- Whether a line is in a closed fold of a window. The line of the fold has a text of its own.
---@param win integer
---@param line integer from 0
function M.is_folded(win, line)
  if not api.nvim_get_option_value("foldenable", { win = win }) then
    return false
  elseif win == api.nvim_get_current_win() then
    return vim.fn.foldclosed(line + 1) ~= -1
  end
  return api.nvim_win_call(win, function()
    return vim.fn.foldclosed(line + 1) ~= -1
  end)
end

---@param chunks { text: string, group: string }[]
---@param background? string
---@param named? boolean whether the first one is the name of a role
---@return [string, string[]][] virt_text
---@return integer width
local function virtual(chunks, background, named)
  local found, width = {}, 0
  for index, chunk in ipairs(chunks) do
    -- Some colour schemes have groups with a background, which would interrupt that of the line.
    local groups = { chunk.group, background or chunk.group, background and index == 1 and named and "FlemmaRole" or nil }
    found[#found + 1] = { chunk.text, groups }
    width = width + api.nvim_strwidth(chunk.text)
  end
  return found, width
end

---@param canvas flemma.Canvas
---@param width integer the cells of a line of the window
---@param look flemma.Look
local function draw(canvas, width, look)
  local function mark(column, opts)
    opts.ephemeral, opts.strict, opts.priority = true, false, opts.priority or PRIORITY
    api.nvim_buf_set_extmark(canvas.buf, canvas.namespace, look.line, column, opts)
  end
  if look.background then
    mark(0, { end_row = look.line + 1, hl_group = look.background, hl_eol = true })
  end
  local left, used = virtual(look.left, look.background, true)
  local right, room = virtual(look.right, look.background)
  local text = api.nvim_buf_get_lines(canvas.buf, look.line, look.line + 1, false)[1] or ""
  if not look.whole then
    mark(0, { virt_text = left, virt_text_pos = "overlay", hl_mode = "combine", priority = PRIORITY + 1 })
    if room > 0 and api.nvim_strwidth(text) + 2 + room <= width then
      mark(0, { virt_text = right, virt_text_win_col = width - room, priority = PRIORITY + 1 })
    end
    return
  end
  if width > used + room then
    left[#left + 1] = { (" "):rep(width - used - room), look.background }
  end
  vim.list_extend(left, right)
  mark(0, { virt_text = left, virt_text_pos = "overlay", hl_mode = "combine", priority = PRIORITY + 1 })
  if api.nvim_strwidth(text) > width then
    -- The rows that a long line continues on.
    mark(0, { end_col = #text, conceal = "" })
  end
end

--- Draws the lines of a canvas that have a look of their own.
---@param canvas flemma.Canvas
---@return table<integer, true>? lines the lines whose text is covered; nil if the option is off
function M.draw(canvas)
  if not M.enabled() then
    return nil
  end
  local info = vim.fn.getwininfo(canvas.win)[1]
  local width, covered = math.max(1, info.width - info.textoff), {}
  local raw_first, raw_last = require("flemma.view.cards").raw(canvas.buf)
  local native = require("flemma.native")
  local looks = native.call("looks", canvas.buf, canvas.first, canvas.last, width, M.signs(), offset())
  for _, look in ipairs(looks or {}) do
    local is_raw = raw_first and look.line >= raw_first and look.line < raw_last
    if M.is_folded(canvas.win, look.line) then
      covered[look.line] = true
    elseif not is_raw then
      draw(canvas, width, look)
      covered[look.line] = (look.whole or look.background ~= nil) or nil
    end
  end
  return covered
end

--- 'conceallevel' where the user has not set it.
local LEVEL = 2

--- Whether the signs of Markdown are concealed as well: only if 'conceallevel' is the user's, or that of another plugin.
---@param buf integer
---@return boolean
function M.conceals_markdown(buf)
  return vim.go.conceallevel ~= 0 or vim.iter(vim.fn.win_findbuf(buf)):any(function(win)
    return vim.wo[win].conceallevel ~= LEVEL
  end)
end

--- Changes 'conceallevel' in the windows that show a conversation.
---@param buf integer
---@param from integer
---@param to integer
local function set_level(buf, from, to)
  for _, win in ipairs(vim.go.conceallevel == 0 and vim.fn.win_findbuf(buf) or {}) do
    if vim.wo[win].conceallevel == from then
      vim.wo[win][0].conceallevel = to
    end
  end
end

--- Takes 'conceallevel' back from the windows of a buffer that is no longer a conversation.
---@param buf integer
function M.release(buf)
  set_level(buf, LEVEL, 0)
end

---@param buf integer
function M.attach(buf)
  if M.enabled() then
    set_level(buf, 0, LEVEL)
    require("flemma.view.cards").attach(buf)
  end
end

return M
