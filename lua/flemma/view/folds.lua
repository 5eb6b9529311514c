--- The folds of conversations, and the lines of cards that are hidden beside them.
---
--- They are manual folds (|fold-manual|): Neovim moves them with the text, and keeps what is open and closed. They are made around
--- what a window shows, and more of them before it shows other lines. The library says in which lines something may have changed; the
--- folds of a message there are made again only if they are not right. Whatever the user or another plugin sets counts: in a window
--- whose 'foldmethod' is not "manual", there are none.
local M = {}

local api, fn = vim.api, vim.fn

--- The value of 'foldtext'.
local EXPRESSION = "v:lua.require'flemma.view.folds'.text()"

--- The conversations: whether something may have changed that the windows do not show yet, and whether the last message is complete
--- since.
---@type table<integer, { is_stale: boolean, has_come_to_rest: boolean, is_scheduled: boolean }>
local attached = {}

--- How many lines are folded beyond the screen.
local MARGIN = 2000

--- The lines in which a window has its folds and its hidden lines: a mark for each window.
local covered = api.nvim_create_namespace("flemma.folds")

--- Whether the windows have folds there, or only hidden lines.
---@type table<integer, boolean>
local has_folds = {}

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

--- Whether the folds of a message, from `at` on in the list of the library, are as they should be, apart from what is open. Only where
--- they begin and end is looked at.
---@param list integer[]
---@param at integer
---@return boolean
local function is_right(list, at)
  local first, last, depth, count = list[at], list[at + 1], list[at + 2], list[at + 3]
  local is_inner = count > depth and list[at + 4] == first
  if fn.foldlevel(first) ~= depth + (is_inner and 1 or 0) then
    return false
  end
  for fold = at + 4, at + 1 + 3 * (count - depth), 3 do
    if fn.foldlevel(list[fold]) ~= depth + 1 or fn.foldlevel(list[fold + 1]) ~= depth + 1 then
      return false
    end
  end
  return fn.foldlevel(depth == 1 and list[at + 3 * count + 2] or last) >= depth
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
  local has_any = is_thorough or outer > 0 or fn.foldlevel(last) > 0
  for fold = at + 4, final, 3 do
    local from, to, closed = list[fold], list[fold + 1], list[fold + 2] == 1
    has_any = has_any or fn.foldlevel(from) > 0 or fn.foldlevel(to) > 0
    if depth == 1 and fold == final then
      closed = outer > 0 and is_closed or outer == 0 and closed
    elseif fn.foldlevel(from) > outer then
      closed = fn.foldclosed(from) ~= -1
    end
    commands[#commands + 1] = ("%d,%dfold"):format(from, to)
    commands[#commands + 1] = not closed and from .. "foldopen" or nil
  end
  return has_any and delete(first, last) or last
end

--- Brings the folds of the current window up to date.
---@param buf integer
---@param first integer from 0
---@param last integer
---@param is_known boolean whether the window has had folds there
---@param is_thorough boolean whether anybody may have changed the text since there were folds there
---@return integer last the line after the last message there
local function refold(buf, first, last, is_known, is_thorough)
  local list = native("folds", buf, first, last, is_known and level() or vim.wo.foldlevel) or {}
  local view, commands, at, reached, is_changed = fn.winsaveview(), {}, 1, 0, false
  while list[at] do
    if is_thorough or not is_right(list, at) then
      reached, is_changed = math.max(reached, remake(list, at, commands, is_thorough)), true
    end
    last = list[at + 1]
    at = at + 4 + 3 * list[at + 3]
  end
  if not is_changed then
    return last
  end
  api.nvim_exec2(table.concat(commands, "\n"), {})
  fn.winrestview(view)
  if reached > last and last > first then
    return refold(buf, last, reached, is_known, is_thorough)
  elseif view.lnum == fn.line("$") or not is_known and fn.line("w$") == fn.line("$") then
    -- Neovim scrolls as it does for |G|.
    fn.cursor(1, 1)
    fn.line("w0")
    fn.cursor(view.lnum, view.col + 1)
  end
  return last
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
  if not has_ufo(buf) then
    return
  end
  pcall(package.loaded.ufo.detach, buf)
  for _, win in ipairs(fn.win_findbuf(buf)) do
    has_folds[win] = nil
    if vim.wo[win].foldtext:find("ufo", 1, true) then
      vim.wo[win][0].foldtext = foldtext
    end
  end
end

--- The lines in which a window has its folds and its hidden lines; nothing if it has none.
---@param win integer
---@param buf integer
---@return integer? first from 0
---@return integer? last
local function lines_of(win, buf)
  local mark = api.nvim_buf_get_extmark_by_id(buf, covered, win, { details = true })
  if mark[1] and has_folds[win] ~= nil then
    return mark[1], mark[3].end_row
  end
end

--- The lines that a window shows.
---@param win integer
---@return integer first from 0
---@return integer last
local function shown(win)
  local first = fn.line("w0", win)
  return first - 1, math.max(fn.line("w$", win), first + api.nvim_win_get_height(win))
end

--- Brings the folds and the hidden lines of the current window up to date.
---@param buf integer
---@param first integer the lines that may have changed, from 0
---@param last integer
---@param count integer how many lines are known
local function look(buf, first, last, count)
  local win = api.nvim_get_current_win()
  -- With 'nofoldenable', nothing can be known of folds.
  local can_fold = level() ~= nil and prepare(win) and vim.wo.foldenable
  local from, to = lines_of(win, buf)
  local is_fresh = not from or has_folds[win] ~= can_fold
  local function bring(start, stop, is_known)
    if start < stop and require("flemma.view.overlays").enabled() then
      require("flemma.view.cards").hide(buf, start, stop)
    end
    local is_thorough = not is_fresh and not (is_known and require("flemma.buffer.lock").is_locked(buf))
    return start < stop and can_fold and refold(buf, start, stop, is_known, is_thorough) or stop
  end
  has_folds[win] = nil
  if is_fresh then
    from = nil
  else
    to = math.max(to, bring(math.max(first, from), math.min(last, to), true))
  end
  -- Once there are folds, the window shows more.
  local before = -1
  while to ~= before and (not from or from > 0 or to < count) do
    local top, bottom = shown(win)
    local start = math.max(top - MARGIN, 0)
    if top >= count then
      -- It will be known soon what these lines are.
      return
    elseif not from or bottom < from or top > to then
      from, to = start, start
    end
    bring(start, from, false)
    from, before = math.min(start, from), to
    to = math.max(to, bring(to, math.min(bottom + MARGIN, count), false))
  end
  has_folds[win] = can_fold
  local opts = { id = win, end_row = to, end_right_gravity = true, right_gravity = false, undo_restore = false, strict = false }
  api.nvim_buf_set_extmark(buf, covered, from, 0, opts)
end

--- Brings the folds of a conversation up to date, if that is due. Folds are deleted by a command of Normal mode.
---@param buf integer
local function update(buf)
  local state = attached[buf]
  local mode = api.nvim_get_mode()
  if not state or not state.is_stale or not api.nvim_buf_is_loaded(buf) or mode.blocking or not mode.mode:find("^nt?$") then
    return
  end
  local count, first, last = native("find", buf, "stale_folds")
  if not count then
    return
  elseif state.has_come_to_rest then
    first, last = math.min(first or count - 1, count - 1), count
  end
  state.is_stale, state.has_come_to_rest = false, false
  detach_ufo(buf, EXPRESSION)
  require("flemma.view.cursor").keep_shown(buf, function()
    for _, win in ipairs(fn.win_findbuf(buf)) do
      local ok, problem = pcall(api.nvim_win_call, win, function()
        look(buf, first or 0, math.min(last or 0, count), count)
      end)
      if not ok then
        require("flemma.notify").once(vim.log.levels.WARN, "the conversation cannot be folded: " .. tostring(problem):match("[^\n]*"))
      end
      require("flemma.view.cards").skip_hidden(buf, win)
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

--- Whether a window shows lines without their folds.
---@param win integer
---@param buf integer
---@param top integer
---@param bottom integer
---@return boolean
local function is_short(win, buf, top, bottom)
  local first, last = lines_of(win, buf)
  return not first or top < first or bottom > last and last < api.nvim_buf_line_count(buf)
end

--- Neovim draws a window. Its folds may have been left alone for a while, with 'nofoldenable' or another 'foldmethod', and no event
--- tells of |zi|, nor of folds that are closed, after which it shows more.
---@param win integer
---@param buf integer
---@param top integer the first line, from 0
---@param bottom integer the line after the last
function M.drawn(win, buf, top, bottom)
  local is_manual = api.nvim_get_option_value("foldmethod", { win = win }) == "manual"
  if not is_manual or has_ufo(buf) then
    has_folds[win] = false
  end
  local is_due = is_manual and not has_folds[win] and api.nvim_get_option_value("foldenable", { win = win }) and level()
  if is_due or is_short(win, buf, top, bottom) then
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
  if api.nvim_buf_is_valid(buf) then
    api.nvim_buf_clear_namespace(buf, covered, 0, -1)
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
    has_folds[api.nvim_get_current_win()] = nil
    M.schedule(args.buf)
  end,
})

api.nvim_create_autocmd("WinScrolled", {
  group = group,
  desc = "Flemma: fold what a window comes to before it is drawn",
  callback = function()
    for id in pairs(vim.v.event) do
      local win = tonumber(id)
      local buf = win and api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win)
      if attached[buf] then
        if is_short(win, buf, shown(win)) then
          attached[buf].is_stale = true
          update(buf)
        end
        require("flemma.view.cards").skip_hidden(buf, win)
      end
    end
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
  local width, signs = math.max(1, info.width - info.textoff), require("flemma.view.overlays").signs()
  local ok, line = pcall(function()
    return native("fold_text", api.nvim_get_current_buf(), vim.v.foldstart - 1, vim.v.foldend, width, signs)
  end)
  -- A fold that the user made has Neovim's own line.
  return ok and line and chunks(line) or fn.foldtext()
end

return M
