--- The folds of conversations, and the lines of cards that are hidden beside them.
---
--- They are manual folds (|fold-manual|): Neovim moves them with the text, and keeps what is open and closed. The library says in
--- which lines something may have changed; the folds of a message there are made again only if they are not right. Whatever the
--- user or another plugin sets counts: in a window whose 'foldmethod' is not "manual", nothing is done.
local M = {}

local api, fn = vim.api, vim.fn

--- The value of 'foldtext'.
local EXPRESSION = "v:lua.require'flemma.view.folds'.text()"

--- The conversations: whether something may have changed that the windows do not show yet, and whether the last message is complete
--- since.
---@type table<integer, { is_stale: boolean, has_come_to_rest: boolean, is_scheduled: boolean }>
local attached = {}

--- The conversation whose folds a window has.
---@type table<integer, integer>
local known = {}

local native = require("flemma.native").call

---@return integer? level nil if there are to be no folds
local function level()
  local options = require("flemma.options").get()
  return options and options.editing.foldlevel or nil
end

--- Prepares a window, unless the user has set 'foldmethod' for it. A value of the user's own stays.
---@param win integer
---@return boolean
local function prepare(win)
  local wo = vim.wo[win][0]
  if wo.foldtext == EXPRESSION then
    return wo.foldmethod == "manual"
  elseif wo.foldmethod ~= "manual" then
    -- A value for all files is not meant for conversations.
    if wo.foldmethod ~= vim.go.foldmethod or wo.diff then
      return false
    end
    wo.foldmethod = "manual"
  end
  wo.foldlevel = level()
  wo.foldtext = wo.foldtext == vim.go.foldtext and EXPRESSION or wo.foldtext
  for option, item in pairs({ fillchars = "fold: ", winhighlight = "Folded:FlemmaFold" }) do
    if not wo[option]:find(item:match("^%a+:"), 1, true) then
      wo[option] = wo[option] == "" and item or wo[option] .. "," .. item
    end
  end
  return true
end

--- Whether a fold has exactly these lines. An open one is closed for a moment.
---@param first integer
---@param last integer
---@return boolean
local function is_exact(first, last)
  local is_open = fn.foldclosed(first) == -1
  if is_open then
    vim.cmd(first .. "foldclose")
  end
  local found = fn.foldclosed(first) == first and fn.foldclosedend(first) == last
  if is_open then
    vim.cmd(first .. "foldopen")
  end
  return found
end

--- The longest message of which every line is looked at.
local MOST = 5000

--- Whether the folds of a message, from `at` on in the list of the library, are as they should be, apart from what is open.
---@param list integer[]
---@param at integer
---@param is_thorough boolean whether anybody may have changed the text, and not only Flemma
---@return boolean
local function is_right(list, at, is_thorough)
  local first, last, depth, count = list[at], list[at + 1], list[at + 2], list[at + 3]
  local stop = depth == 1 and list[at + 3 * count + 2] or last
  local fold, final = at + 4, at + 1 + 3 * (count - depth)
  is_thorough = is_thorough and last - first < MOST
  for line = first, is_thorough and last or first do
    while fold <= final and line > list[fold + 1] do
      fold = fold + 3
    end
    local is_inside = fold <= final and line >= list[fold]
    if fn.foldlevel(line) ~= (line <= stop and depth or 0) + (is_inside and 1 or 0) then
      return false
    end
  end
  for inner = at + 4, final, 3 do
    local from, to = list[inner], list[inner + 1]
    if fn.foldlevel(from) ~= depth + 1 or fn.foldlevel(to) ~= depth + 1 then
      return false
    end
  end
  if not is_thorough then
    return fn.foldlevel(stop) >= depth
  elseif depth == 1 and not is_exact(first, stop) then
    return false
  end
  for inner = at + 7, depth == 1 and fn.foldclosed(first) ~= -1 and 0 or final, 3 do
    -- The levels do not say where one ends and the next one begins.
    if list[inner - 2] + 1 == list[inner] and not is_exact(list[inner], list[inner + 1]) then
      return false
    end
  end
  return true
end

--- Deletes the folds in some lines.
---@param first integer
---@param last integer
---@return integer last the last line of a fold that was deleted, if that is further down
local function delete(first, last)
  local line, deleted = first, last
  while line <= last do
    local before = fn.foldlevel(line)
    if before > 0 then
      vim.cmd(line .. "foldclose!")
      deleted = math.max(deleted, fn.foldclosedend(line))
      vim.cmd(("keepjumps normal! %dGzD"):format(line))
    end
    -- A fold of one line is never closed, so that its parent is deleted first.
    line = fn.foldlevel(line) < before and line or line + 1
  end
  return deleted
end

--- Makes the folds of a message again. What was open or closed stays so.
---@param list integer[]
---@param at integer
---@param commands string[] what makes them
---@param is_thorough boolean whether there may be others that are not known
---@return integer last the last line of the message, or of a fold that was deleted
local function remake(list, at, commands, is_thorough)
  local first, last, depth, count = list[at], list[at + 1], list[at + 2], list[at + 3]
  local final = at + 1 + 3 * count
  local outer = list[at + 4] ~= first and fn.foldlevel(first) or 0
  local is_closed = outer > 0 and fn.foldclosed(first) == first
  if is_closed then
    vim.cmd(first .. "foldopen")
  end
  local has_any, made = is_thorough or outer > 0 or fn.foldlevel(last) > 0, {}
  for fold = at + 4, final, 3 do
    local from, to, closed = list[fold], list[fold + 1], list[fold + 2] == 1
    has_any = has_any or fn.foldlevel(from) > 0 or fn.foldlevel(to) > 0
    if depth == 1 and fold == final then
      closed = outer > 0 and is_closed or outer == 0 and closed
    elseif fn.foldlevel(from) > outer then
      closed = fn.foldclosed(from) ~= -1
    end
    made[#made + 1] = ("%d,%dfold"):format(from, to)
    made[#made + 1] = not closed and from .. "foldopen" or nil
  end
  vim.list_extend(commands, made)
  return has_any and delete(first, last) or last
end

--- Brings the folds of the current window up to date.
---@param buf integer
---@param first integer from 0
---@param last integer
---@param is_thorough boolean whether anybody may have changed the text, and not only Flemma
local function refold(buf, first, last, is_thorough)
  local list = native("folds", buf, first, last, level()) or {}
  local view, commands, at, reached, is_changed = fn.winsaveview(), {}, 1, 0, false
  while list[at] do
    if not is_right(list, at, is_thorough) then
      reached, is_changed = math.max(reached, remake(list, at, commands, is_thorough)), true
    end
    last = list[at + 1]
    at = at + 4 + 3 * list[at + 3]
  end
  if not is_changed then
    return
  end
  api.nvim_exec2(table.concat(commands, "\n"), {})
  fn.winrestview(view)
  if reached > last and last > first then
    refold(buf, last, reached, is_thorough)
  elseif view.lnum == fn.line("$") then
    -- Neovim scrolls as it does for |G|.
    fn.cursor(1, 1)
    fn.line("w0")
    fn.cursor(view.lnum, view.col + 1)
  end
end

--- Whether nvim-ufo makes folds in a buffer. They would replace ours, and its lines hide what a card says.
---@param buf integer
---@return boolean
local function has_ufo(buf)
  local ufo = package.loaded.ufo
  return type(ufo) == "table" and ufo.hasAttached and ufo.hasAttached(buf) and level() ~= nil
end

--- Takes a buffer away from nvim-ufo, which may have been loaded later than the conversation.
---@param buf integer
---@param foldtext string what replaces its own
local function detach_ufo(buf, foldtext)
  if not package.loaded.ufo or not level() then
    return
  end
  pcall(package.loaded.ufo.detach, buf)
  for _, win in ipairs(fn.win_findbuf(buf)) do
    known[win] = nil
    if vim.wo[win].foldtext:find("ufo", 1, true) then
      vim.wo[win][0].foldtext = foldtext
    end
  end
end

--- Brings the folds and the hidden lines in some lines up to date, in all windows.
---@param buf integer
---@param first integer from 0
---@param last integer
local function look(buf, first, last)
  if require("flemma.view.looks").enabled() then
    require("flemma.view.cards").hide(buf, first, last)
  end
  if has_ufo(buf) then
    detach_ufo(buf, EXPRESSION)
  end
  for _, win in ipairs(level() and fn.win_findbuf(buf) or {}) do
    local is_known = known[win] == buf
    known[win] = nil
    -- With 'nofoldenable', nothing can be known of folds.
    if prepare(win) and vim.wo[win].foldenable then
      api.nvim_win_call(win, function()
        if is_known then
          refold(buf, first, last, not require("flemma.buffer.lock").is_locked(buf))
        else
          refold(buf, 0, api.nvim_buf_line_count(buf), false)
        end
      end)
      known[win] = buf
    end
  end
end

--- Brings the folds of a conversation up to date, if that is due. Folds are deleted by a command of Normal mode.
---@param buf integer
local function update(buf)
  local state = attached[buf]
  local mode = api.nvim_get_mode()
  if not state or not state.is_stale or not api.nvim_buf_is_loaded(buf) or mode.blocking or not mode.mode:find("^nt?$") then
    return
  end
  local count = api.nvim_buf_line_count(buf)
  local first, last = native("find", buf, "stale_folds")
  if state.has_come_to_rest then
    first, last = math.min(first or count - 1, count - 1), count
  end
  state.is_stale, state.has_come_to_rest = false, false
  require("flemma.view.following").keep_shown(buf, function()
    local ok, problem = pcall(look, buf, first or 0, math.min(last or 0, count))
    if not ok then
      require("flemma.notify").once(vim.log.levels.WARN, "the conversation cannot be folded: " .. tostring(problem):match("[^\n]*"))
    end
  end)
end

--- The text of a conversation has changed, or more of it is known: its folds are brought up to date soon.
---@param buf integer
function M.schedule(buf)
  local state = attached[buf]
  if state then
    state.is_stale = true
    if not state.is_scheduled then
      state.is_scheduled = true
      vim.schedule(function()
        state.is_scheduled = false
        update(buf)
      end)
    end
  end
end

--- Does that now. What was scheduled before may draw the screen, so after a change by Flemma itself it must not wait for its turn.
function M.settle()
  for buf in pairs(attached) do
    update(buf)
  end
end

--- The buffer is unlocked, so that its last message is complete.
---@param buf integer
function M.rest(buf)
  if attached[buf] then
    attached[buf].has_come_to_rest = true
    M.schedule(buf)
  end
end

--- The user has to look at a line: opens the folds that it is in, once they are up to date.
---@param buf integer
---@param line integer from 0
function M.unfold(buf, line)
  vim.schedule(function()
    for _, win in ipairs(fn.win_findbuf(buf)) do
      api.nvim_win_call(win, function()
        vim.cmd(("silent! %dfoldopen!"):format(line + 1))
      end)
    end
  end)
end

--- Neovim draws a window. Its folds may have been left alone for a while, with 'nofoldenable' or another 'foldmethod', and no event
--- tells of |zi|.
---@param win integer
---@param buf integer
function M.drawn(win, buf)
  local is_manual = api.nvim_get_option_value("foldmethod", { win = win }) == "manual"
  if not is_manual or has_ufo(buf) then
    known[win] = nil
  end
  if is_manual and known[win] ~= buf and api.nvim_get_option_value("foldenable", { win = win }) and level() then
    M.schedule(buf)
  end
end

--- Folds a conversation in all windows that show it.
---@param buf integer
function M.attach(buf)
  detach_ufo(buf, vim.go.foldtext)
  attached[buf] = { is_stale = false, has_come_to_rest = false, is_scheduled = false }
end

--- Forgets a buffer. Its folds stay.
---@param buf integer
function M.forget(buf)
  attached[buf] = nil
  for win, of in pairs(known) do
    known[win] = of ~= buf and of or nil
  end
end

--- Takes the folds away from a buffer that is no longer a conversation.
---@param buf integer
function M.release(buf)
  for _, win in ipairs(fn.win_findbuf(buf)) do
    if vim.wo[win].foldtext == EXPRESSION then
      api.nvim_win_call(win, function()
        if vim.wo.foldmethod == "manual" then
          vim.cmd("normal! zE")
          vim.cmd("setlocal foldmethod<")
        end
        vim.cmd("setlocal foldtext< foldlevel< fillchars< winhighlight<")
      end)
    end
  end
end

local group = api.nvim_create_augroup("flemma.folds", { clear = true })

api.nvim_create_autocmd("BufWinEnter", {
  group = group,
  desc = "Flemma: fold a conversation in a window that shows it",
  callback = function(args)
    known[api.nvim_get_current_win()] = nil
    M.schedule(args.buf)
  end,
})

api.nvim_create_autocmd("ModeChanged", {
  group = group,
  pattern = "*:n",
  desc = "Flemma: bring folds up to date",
  callback = function()
    for buf, state in pairs(attached) do
      if state.is_stale then
        M.schedule(buf)
      end
    end
  end,
})

--- The colours of a message's line, by those of its author.
local roles = { FlemmaUser = "FlemmaUserLine", FlemmaAssistant = "FlemmaAssistantLine", FlemmaSystem = "FlemmaSystemLine" }

--- A line of the library as the chunks of 'foldtext'. The line of a message has a background.
---@param line string[] the text and the group of each piece
---@return [string, string|string[]][]
local function chunks(line)
  local background
  for at = 2, #line, 2 do
    background = background or roles[line[at]]
  end
  local found = {}
  for at = 1, #line, 2 do
    local group_of = line[at + 1]
    found[#found + 1] = { line[at], background and { group_of, background, roles[group_of] and "FlemmaRole" or nil } or group_of }
  end
  return found
end

--- 'foldtext': the line in place of a closed fold. Neovim calls it while it draws; the current window is that of the fold.
---@return table|string
function M.text()
  local info = fn.getwininfo(api.nvim_get_current_win())[1]
  local width, signs = math.max(1, info.width - info.textoff), require("flemma.view.looks").signs()
  local ok, line = pcall(function()
    return native("fold_text", api.nvim_get_current_buf(), vim.v.foldstart - 1, vim.v.foldend, width, signs)
  end)
  -- A fold that the user made has Neovim's own line.
  return ok and line and chunks(line) or fn.foldtext()
end

return M
