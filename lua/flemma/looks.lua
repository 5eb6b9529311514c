--- What is drawn over the lines of a conversation: a line for each message, for each block of a call, and for thinking.
---
--- The library lays out the lines that are on the screen; here they are put over the text while Neovim draws, so that the
--- text itself stays as it is. The line of the cursor shows its text, and so does the block of a call or of thinking that
--- the cursor is in. `flemma.looks.hiding` hides the inputs and fences of the other blocks.
local M = {}

local api = vim.api

--- Higher than the colours of Markdown, lower than those of a search.
local PRIORITY = 150

---@class flemma.Look
---@field line integer from 0
---@field background? string
---@field left { text: string, group: string }[]
---@field right { text: string, group: string }[]
---@field below { text: string, group: string }[] in the second row of a line that the window wraps
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

--- The border of a float.
---@return string|string[]
function M.border()
  return M.signs() == "ascii" and { "+", "-", "+", "|", "+", "-", "+", "|" } or "rounded"
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

--- Whether the text of the cursor's line is visible in a window, as 'concealcursor' says for concealed text.
---@param win integer
---@return boolean
local function is_bare(win)
  if win ~= api.nvim_get_current_win() then
    return false
  end
  local mode = api.nvim_get_mode().mode:sub(1, 1):lower()
  mode = ({ ["\22"] = "v", s = "v", ["\19"] = "v", r = "i" })[mode] or mode
  return not api.nvim_get_option_value("concealcursor", { win = win }):find(mode, 1, true)
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
---@param shows_text boolean
local function draw(canvas, width, look, shows_text)
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
  if shows_text or not look.whole then
    if not shows_text then
      mark(0, { virt_text = left, virt_text_pos = "overlay", hl_mode = "combine", priority = PRIORITY + 1 })
    elseif look.background then
      -- A marker: its name is as wide as the marker.
      local name = { look.left[1].group, look.background, "FlemmaRole" }
      mark(0, { end_col = math.min(#look.left[1].text, #text), hl_group = name, priority = PRIORITY + 1 })
    end
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
    local below = virtual(look.below)
    if below[1] then
      -- A byte that is in the second row, also where 'linebreak' makes the first one shorter.
      local column = math.min(vim.str_byteindex(text, "utf-32", width, false), #text - 1)
      mark(column, { virt_text = below, virt_text_win_col = 0, priority = PRIORITY + 1 })
    end
  end
end

--- Neovim shows the line of the cursor also where it is hidden. The user has not come there, and need not read it.
---@param canvas flemma.Canvas
---@param line integer from 0
local function cover(canvas, line)
  local text = api.nvim_buf_get_lines(canvas.buf, line, line + 1, false)[1] or ""
  api.nvim_buf_set_extmark(canvas.buf, canvas.namespace, line, 0, {
    virt_text = { { (" "):rep(api.nvim_strwidth(text)), "Normal" } },
    virt_text_pos = "overlay",
    hl_mode = "combine",
    ephemeral = true,
    strict = false,
    priority = PRIORITY + 2,
  })
end

--- What the looks of a window's lines depend on, apart from the text.
---@class flemma.LookStyle
---@field width integer the cells of a line
---@field wraps boolean
---@field signs string
---@field offset integer in seconds
---@field cursor? integer the line, from 0, whose text is visible
---@field led? integer the line to which the conversation has brought the cursor, and which is hidden otherwise
---@field first? integer the block whose text is visible
---@field last? integer

---@param win integer
---@param buf integer
---@return flemma.LookStyle
local function style_of(win, buf)
  local info = vim.fn.getwininfo(win)[1]
  local hiding = require("flemma.looks.hiding")
  local first, last = hiding.block_in(win, buf)
  local line = api.nvim_win_get_cursor(win)[1] - 1
  local is_led = require("flemma.following").is_passing(buf, win) and hiding.visible(buf, line, -1) ~= line
  return {
    width = math.max(1, info.width - info.textoff),
    wraps = vim.wo[win].wrap,
    signs = M.signs(),
    offset = offset(),
    cursor = is_bare(win) and line or nil,
    led = is_led and line or nil,
    first = first,
    last = last,
  }
end

---@param buf integer
---@param first integer
---@param last integer
---@param style flemma.LookStyle
---@return flemma.Look[]
local function looks_of(buf, first, last, style)
  local native = require("flemma.native")
  return native.call("looks", buf, first, last, style.width, style.wraps, style.signs, style.offset) or {}
end

--- Whether the text of the cursor's line was visible when a window was last drawn.
---@type table<integer, boolean>
local bare = {}

--- Draws the lines of a canvas that have a look of their own.
---@param canvas flemma.Canvas
---@return table<integer, true>? lines the lines whose text is covered or has its colours; nil if the option is off
function M.draw(canvas)
  if not M.enabled() then
    return nil
  end
  if not canvas.style then
    canvas.style = style_of(canvas.win, canvas.buf)
    bare[canvas.win] = canvas.style.cursor ~= nil
  end
  local style, covered = canvas.style, {}
  for _, look in ipairs(looks_of(canvas.buf, canvas.first, canvas.last, style)) do
    if M.is_folded(canvas.win, look.line) then
      covered[look.line] = true
    else
      local is_in_block = style.first and look.line >= style.first and look.line < style.last
      local is_block = is_in_block and not look.background
      local shows_text = look.line == style.cursor or (style.cursor and is_block) or false
      draw(canvas, style.width, look, shows_text)
      covered[look.line] = (not shows_text or look.background ~= nil) and (look.whole or look.background ~= nil) or nil
    end
  end
  if style.led and style.led >= canvas.first and style.led < canvas.last then
    cover(canvas, style.led)
  end
  return covered
end

--- Any style: whether a line has a look does not depend on it.
---@type flemma.LookStyle
local plain = { width = 80, wraps = false, signs = "plain", offset = 0 }

--- The cursor has moved, or the mode has changed: a line that it left or entered is drawn again.
---@param win integer
---@param buf integer
---@param line integer from 0
local function draw_again(win, buf, line)
  if looks_of(buf, line, line + 1, plain)[1] then
    api.nvim__redraw({ win = win, range = { line, line + 1 }, flush = false })
  end
end

--- The line of the cursor in each window, from 0, when that was last looked at.
---@type table<integer, integer>
local cursors = {}

---@param buf integer
---@param is_entering boolean whether the user has come to the window
local function follow_cursor(buf, is_entering)
  local win = api.nvim_get_current_win()
  if api.nvim_win_get_buf(win) ~= buf then
    return
  end
  local hiding, scrolling = require("flemma.looks.hiding"), require("flemma.looks.scrolling")
  local line = api.nvim_win_get_cursor(win)[1] - 1
  local direction = not is_entering and scrolling.direction(win)
  if direction then
    local visible = hiding.visible(buf, line, direction)
    if visible ~= line then
      line = visible
      vim.fn.winrestview({ lnum = line + 1 })
    end
  end
  local before = cursors[win]
  cursors[win] = line
  hiding.follow_cursor(win, buf, line, is_entering and "entered" or direction and "scrolled" or nil)
  scrolling.settle(win)
  if before ~= line then
    if before then
      draw_again(win, buf, before)
    end
    draw_again(win, buf, line)
  end
end

--- 'conceallevel' where the user has not set it.
local LEVEL = 2

--- The variable of a buffer that says that the user has not set it. A buffer may be attached again with the level that it was given
--- before: after a recovery, or when Neovim shows it again with the options that its window had.
local OURS = "flemma_conceals"

--- Sets 'conceallevel' in the windows that show a conversation, unless the user has set it.
---@param buf integer
local function prepare(buf)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if vim.wo[win].conceallevel == 0 and vim.go.conceallevel == 0 then
      vim.wo[win][0].conceallevel = LEVEL
      vim.b[buf][OURS] = true
    elseif vim.wo[win].conceallevel ~= LEVEL then
      vim.b[buf][OURS] = nil
    end
  end
end

--- Whether the signs of Markdown are concealed as well: only if 'conceallevel' is the user's.
---@param buf integer
---@return boolean
function M.conceals_markdown(buf)
  return vim.b[buf][OURS] == nil
end

--- Takes 'conceallevel' back from the windows of a buffer that is no longer a conversation.
---@param buf integer
function M.release(buf)
  for _, win in ipairs(vim.b[buf][OURS] and vim.fn.win_findbuf(buf) or {}) do
    if vim.wo[win].conceallevel == LEVEL then
      vim.wo[win][0].conceallevel = vim.go.conceallevel
    end
  end
  vim.b[buf][OURS] = nil
end

---@param buf integer
function M.attach(buf)
  if not M.enabled() then
    return
  end
  local group = api.nvim_create_augroup("flemma.looks." .. buf, { clear = true })
  prepare(buf)
  require("flemma.looks.hiding").attach(buf)
  api.nvim_create_autocmd({ "CursorMoved", "CursorMovedI", "WinEnter", "BufEnter" }, {
    group = group,
    buffer = buf,
    desc = "Flemma: show the text of the block that the cursor is in",
    callback = function(args)
      follow_cursor(buf, vim.endswith(args.event, "Enter"))
    end,
  })
  -- A file that is read again leaves the cursor where it was.
  vim.schedule(function()
    if api.nvim_get_current_buf() == buf and require("flemma.buffer").is_attached(buf) then
      follow_cursor(buf, false)
    end
  end)
  api.nvim_create_autocmd("ModeChanged", {
    group = group,
    desc = "Flemma: show the text of the cursor's line as 'concealcursor' says",
    callback = function()
      local win = api.nvim_get_current_win()
      -- A macro changes the mode again and again, mostly without a difference.
      if api.nvim_win_get_buf(win) == buf and bare[win] ~= nil and bare[win] ~= is_bare(win) then
        draw_again(win, buf, api.nvim_win_get_cursor(win)[1] - 1)
      end
    end,
  })
  api.nvim_create_autocmd("WinLeave", {
    group = group,
    buffer = buf,
    desc = "Flemma: draw over the line that the cursor was in",
    callback = function()
      local win = api.nvim_get_current_win()
      vim.schedule(function()
        if api.nvim_win_is_valid(win) and cursors[win] and win ~= api.nvim_get_current_win() then
          cursors[win] = nil
          api.nvim__redraw({ win = win, valid = false, flush = false })
        end
      end)
    end,
  })
end

---@param buf integer
function M.forget(buf)
  pcall(api.nvim_del_augroup_by_name, "flemma.looks." .. buf)
  require("flemma.looks.hiding").forget(buf)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    cursors[win], bare[win] = nil, nil
  end
end

api.nvim_create_autocmd("WinClosed", {
  group = api.nvim_create_augroup("flemma.looks", { clear = true }),
  callback = function(args)
    local win = tonumber(args.match)
    if win then
      cursors[win], bare[win] = nil, nil
      require("flemma.looks.scrolling").forget(win)
    end
  end,
})

return M
