--- The folds of conversations: in which windows they are, and when they are brought up to date.
---
--- Whatever the user or another plugin sets counts: in a window whose 'foldmethod' is not "manual", nothing is done.
local M = {}

local api = vim.api
local windows = require("flemma.folds.window")

--- How many lines of a long conversation get their folds at a time.
local SLICE = 1200

--- A change of more lines is looked at in slices.
local MOST = 2 * SLICE

---@type table<integer, flemma.FoldedWindow> by window
local known = {}

---@class flemma.Folding
---@field is_stale boolean whether something may have changed that the windows do not show yet
---@field is_scheduled boolean whether they are about to show it
---@field has_come_to_rest boolean whether the buffer was unlocked since, so that its last message is complete
---@field states? table<string, boolean> which folds were closed before the file was read again
---@field waiting? { first: integer, last: integer, is_stopped?: true } lines, from 0, whose folds are brought up to date in slices

--- The conversations with folds.
---@type table<integer, flemma.Folding>
local attached = {}

local function native(...)
  return require("flemma.native").call(...)
end

---@return integer? level nil if there are to be no folds
local function level()
  local options = require("flemma.options").get()
  return options and options.editing.foldlevel or nil
end

local function get(win, option)
  return api.nvim_get_option_value(option, { scope = "local", win = win })
end

local function set(win, option, value)
  api.nvim_set_option_value(option, value, { scope = "local", win = win })
end

--- Prepares a window, unless the user has set 'foldmethod' for it.
---@param win integer
---@return boolean
local function prepare(win)
  local method = get(win, "foldmethod")
  local expression = require("flemma.folds.text").EXPRESSION
  if get(win, "foldtext") == expression then
    -- A split, or the window has shown it before. Setting 'foldlevel' would open and close folds.
    return method == "manual"
  elseif method ~= "manual" then
    -- A value for all files is not meant for conversations.
    if method ~= vim.go.foldmethod or vim.wo[win].diff then
      return false
    end
    set(win, "foldmethod", "manual")
  end
  set(win, "foldlevel", level())
  if get(win, "foldtext") == vim.go.foldtext then
    set(win, "foldtext", expression)
  end
  local chars = vim.wo[win].fillchars
  if not chars:find("fold:", 1, true) then
    set(win, "fillchars", chars == "" and "fold: " or chars .. ",fold: ")
  end
  -- A fold is a line of the conversation like others, and has its own colours.
  local groups = vim.wo[win].winhighlight
  if not groups:find("Folded:", 1, true) then
    set(win, "winhighlight", groups == "" and "Folded:FlemmaFold" or groups .. ",Folded:FlemmaFold")
  end
  return true
end

--- Whether folds can be deleted now: that takes a command of Normal mode.
local function is_normal()
  local mode = api.nvim_get_mode()
  return not mode.blocking and (mode.mode == "n" or mode.mode == "nt")
end

--- The window, if it shows the buffer with our folds.
---@param win integer
---@param buf integer
---@return flemma.FoldedWindow?
local function window_of(win, buf)
  local window = known[win]
  if window and window.buf ~= buf then
    window, known[win] = nil, nil
  end
  if window and get(win, "foldmethod") == "manual" then
    return window
  end
  -- With another 'foldmethod', Neovim has deleted them.
  known[win] = nil
  if not prepare(win) then
    return nil
  end
  known[win] = { buf = buf, shown = {}, closed = {}, late = {}, next = 0, states = attached[buf].states }
  return known[win]
end

---@param buf integer
---@param first integer from 0
---@param last integer
---@return flemma.FoldGroup[]
local function folds(buf, first, last)
  return windows.read(native("folds", buf, first, last, level() or 0) or {})
end

--- Makes the folds of the next lines of a window. The rest is done later, so that the user can type in between.
---@param win integer
---@param window flemma.FoldedWindow
local function open_on(win, window)
  local parsed = native("parsed", window.buf) or 0
  local first = window.next
  if not first or first >= parsed then
    return
  end
  local last = math.min(parsed, first + SLICE)
  local groups = folds(window.buf, first, last)
  api.nvim_win_call(win, function()
    windows.open(window, groups)
  end)
  local reached = groups[#groups] and groups[#groups].last or last
  local is_all = parsed >= api.nvim_buf_line_count(window.buf)
  if reached >= parsed then
    -- The last message of what is parsed may go on.
    window.next = not is_all and groups[#groups] and math.max(first, groups[#groups].first - 1) or nil
    if not window.next then
      window.states = nil
    end
    return
  end
  window.next = reached
  vim.schedule(function()
    if api.nvim_win_is_valid(win) and known[win] == window and window_of(win, window.buf) then
      if is_normal() then
        open_on(win, window)
      else
        attached[window.buf].is_stale = true
      end
    end
  end)
end

--- Calls a function for each window of a conversation that has folds.
---@param buf integer
---@param each fun(win: integer, window: flemma.FoldedWindow)
local function each_window(buf, each)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local window = window_of(win, buf)
    if window then
      each(win, window)
    end
  end
end

--- More lines of a conversation are parsed.
---@param buf integer
function M.extend(buf)
  if attached[buf] then
    each_window(buf, open_on)
  end
end

--- Brings the folds of the messages in some lines up to date, in all windows.
---@param buf integer
---@param first integer from 0
---@param last integer
---@return integer? reached the line after them; nil if the buffer is being read again, and its folds are made when that is done
local function update_lines(buf, first, last)
  local groups = folds(buf, first, last)
  local reached = #groups > 0 and groups[#groups].last or last
  if #groups > 0 and reached > api.nvim_buf_line_count(buf) then
    return nil
  end
  local is_thorough = not require("flemma.lock").is_locked(buf)
  each_window(buf, function(win, window)
    if #groups > 0 then
      api.nvim_win_call(win, function()
        local deleted = windows.update(window, groups, is_thorough)
        if deleted and deleted > reached then
          windows.update(window, folds(buf, reached, deleted), is_thorough)
        end
      end)
    end
  end)
  return math.max(reached, last)
end

--- Runs something that updates folds. What goes wrong is told once.
---@param run fun(): any
---@return any
local function safely(run)
  local ok, result = pcall(run)
  if ok then
    return result
  end
  local words = tostring(result):match("[^\n]*")
  require("flemma.notify").once(vim.log.levels.WARN, "the conversation cannot be folded: " .. words)
end

--- Brings the folds of the next lines that wait for it up to date. The rest is done later, so that the user can type in between.
---@param buf integer
---@param state flemma.Folding
local function go_on(buf, state)
  local lines = state.waiting
  if attached[buf] ~= state or not lines or not api.nvim_buf_is_loaded(buf) then
    return
  elseif not is_normal() then
    -- Normal mode will come.
    state.is_stale, lines.is_stopped = true, true
    return
  end
  local last = math.min(lines.last, api.nvim_buf_line_count(buf))
  local reached = lines.first < last
    and safely(function()
      return update_lines(buf, lines.first, math.min(last, lines.first + SLICE))
    end)
  if not reached or reached >= last then
    state.waiting = nil
    return
  end
  lines.first = reached
  vim.schedule(function()
    go_on(buf, state)
  end)
end

--- Brings the folds of many lines up to date: those that windows show at once, and the others later.
---@param buf integer
---@param state flemma.Folding
---@param first integer from 0
---@param last integer
local function update_later(buf, state, first, last)
  local lines = state.waiting
  if lines then
    lines.first, lines.last = math.min(lines.first, first), math.max(lines.last, last)
  else
    state.waiting = { first = first, last = last }
  end
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local info, rows = vim.fn.getwininfo(win)[1], api.nvim_win_get_height(win)
    -- With closed folds in between, they may be far apart.
    for _, line in ipairs({ info.topline, info.botline, api.nvim_win_get_cursor(win)[1] }) do
      local from, to = math.max(first, line - 1 - rows), math.min(last, line + rows)
      if from < to then
        update_lines(buf, from, to)
      end
    end
  end
  if not lines then
    vim.schedule(function()
      go_on(buf, state)
    end)
  end
end

---@param buf integer
local function update(buf)
  local state = attached[buf]
  if not state or not api.nvim_buf_is_loaded(buf) or not is_normal() then
    -- Normal mode will come.
    return
  end
  state.is_stale = false
  local first, last = native("stale_folds", buf)
  if first and last - first > MOST then
    update_later(buf, state, first, last)
  elseif first and not update_lines(buf, first, last) then
    return
  end
  if state.waiting and state.waiting.is_stopped then
    state.waiting.is_stopped = nil
    go_on(buf, state)
  end
  each_window(buf, function(win, window)
    if next(window.late) then
      api.nvim_win_call(win, function()
        windows.catch_up(window, function(line)
          return folds(buf, line, line + 1)[1]
        end)
      end)
    end
    window.left_behind = nil
    open_on(win, window)
  end)
end

--- Brings the folds of a conversation up to date, if that is due.
---@param buf integer
---@param state flemma.Folding
local function catch_up(buf, state)
  if not state.is_scheduled or attached[buf] ~= state then
    return
  end
  state.is_scheduled = false
  if state.has_come_to_rest and api.nvim_buf_is_loaded(buf) then
    native("refold", buf)
  end
  state.has_come_to_rest = false
  safely(function()
    update(buf)
  end)
end

--- Brings the folds of a conversation up to date soon.
---@param buf integer
function M.schedule(buf)
  local state = attached[buf]
  if not state then
    return
  end
  state.is_stale = true
  -- At the end of Insert mode it is their turn. Until then, each key would only wake Neovim up once more.
  if not state.is_scheduled and not api.nvim_get_mode().mode:find("^[iR]") then
    state.is_scheduled = true
    vim.schedule(function()
      catch_up(buf, state)
    end)
  end
end

--- Brings the folds of all conversations up to date now, where that is due. What was scheduled before may draw the screen, so
--- after a change by Flemma itself they must not wait for their turn.
function M.settle()
  for _, buf in ipairs(vim.tbl_keys(attached)) do
    if attached[buf] then
      catch_up(buf, attached[buf])
    end
  end
end

--- The number of lines has changed, and Neovim may have left a fold behind (|windows.note_inserted|).
---@param win integer
---@param window flemma.FoldedWindow
---@param first integer from 0
---@param delta integer how many lines there are more
local function note_inserted(win, window, first, delta)
  for at, line in ipairs(window.left_behind or {}) do
    window.left_behind[at] = first < line and line + delta or line
  end
  if delta > 0 and not require("flemma.writing").is_writing(window.buf) and api.nvim_win_is_valid(win) then
    api.nvim_win_call(win, function()
      windows.note_inserted(window, first + 1, delta)
    end)
  end
end

--- The text of a conversation has changed.
---@param buf integer
---@param first integer from 0
---@param delta integer how many lines there are more
function M.changed(buf, first, delta)
  if not attached[buf] then
    return
  end
  if delta ~= 0 then
    for win, window in pairs(known) do
      if window.buf == buf and window.next and first < window.next then
        window.next = math.max(first, window.next + delta)
      end
      if window.buf == buf then
        note_inserted(win, window, first, delta)
      end
    end
    local lines = attached[buf].waiting
    if lines and first < lines.last then
      lines.first = first < lines.first and math.max(first, lines.first + delta) or lines.first
      lines.last = math.max(lines.first, lines.last + delta)
    end
  end
  M.schedule(buf)
end

--- The buffer is unlocked, so that its last message is complete.
---@param buf integer
function M.rest(buf)
  if attached[buf] then
    attached[buf].has_come_to_rest = true
    M.schedule(buf)
  end
end

--- The user has to look at a line: opens the folds that it is in.
---@param buf integer
---@param line integer from 0
function M.unfold(buf, line)
  if not attached[buf] or not api.nvim_buf_is_loaded(buf) then
    return
  end
  local mark = api.nvim_buf_set_extmark(buf, windows.namespace, line, 0, {})
  -- The folds may have to be brought up to date first.
  vim.schedule(function()
    local at = api.nvim_buf_is_loaded(buf) and api.nvim_buf_get_extmark_by_id(buf, windows.namespace, mark, {})[1]
    if at then
      api.nvim_buf_del_extmark(buf, windows.namespace, mark)
      each_window(buf, function(win, window)
        api.nvim_win_call(win, function()
          windows.unfold(window, at + 1)
        end)
      end)
    end
  end)
end

--- The text was read from its file again. Everything is looked at once more.
---@param buf integer
function M.reload(buf)
  if attached[buf] then
    attached[buf].waiting = nil
  end
  for _, window in pairs(known) do
    if window.buf == buf then
      window.next = 0
    end
  end
end

--- Which folds were closed in buffers that have been unloaded since.
---@type table<integer, table<string, boolean>>
local remembered = {}

--- Remembers which folds are closed, because the text is about to be unloaded.
---@param buf integer
local function remember(buf)
  local win = vim.fn.win_findbuf(buf)[1]
  if win and known[win] and known[win].buf == buf and vim.v.exiting == vim.NIL then
    local groups = folds(buf, 0, api.nvim_buf_line_count(buf))
    remembered[buf] = api.nvim_win_call(win, function()
      return windows.states(groups)
    end)
  end
end

--- Folds a conversation in all windows that show it.
---@param buf integer
function M.attach(buf)
  if not level() then
    return
  end
  attached[buf] = { is_stale = false, is_scheduled = false, has_come_to_rest = false, states = remembered[buf] }
  remembered[buf] = nil
end

--- Forgets a buffer. Its folds stay.
---@param buf integer
---@param is_gone boolean whether its text is about to be unloaded, and may be read again
function M.forget(buf, is_gone)
  if is_gone and attached[buf] then
    pcall(remember, buf)
  end
  attached[buf] = nil
  require("flemma.folds.text").forget(buf)
  for win, window in pairs(known) do
    if window.buf == buf then
      known[win] = nil
    end
  end
end

--- Takes the folds away from a buffer that is no longer a conversation.
---@param buf integer
function M.release(buf)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if get(win, "foldtext") == require("flemma.folds.text").EXPRESSION then
      api.nvim_win_call(win, function()
        if vim.wo.foldmethod == "manual" then
          -- With a method of the user's own, the folds are not ours, and cannot be deleted.
          vim.cmd("normal! zE")
          vim.cmd("setlocal foldmethod<")
        end
        vim.cmd("setlocal foldtext< foldlevel< fillchars< winhighlight<")
      end)
    end
  end
end

local group = api.nvim_create_augroup("flemma.folds", { clear = true })

api.nvim_create_autocmd("WinNew", {
  group = group,
  desc = "Flemma: a split has the folds of its window",
  callback = function()
    local win = api.nvim_get_current_win()
    local buf = api.nvim_win_get_buf(win)
    for _, other in pairs(attached[buf] and vim.fn.win_findbuf(buf) or {}) do
      local window = known[other]
      if other ~= win and window and window.buf == buf and get(win, "foldmethod") == "manual" then
        known[win] = {
          buf = buf,
          shown = vim.deepcopy(window.shown),
          closed = vim.deepcopy(window.closed),
          late = {},
          next = window.next,
        }
        return
      end
    end
  end,
})

api.nvim_create_autocmd("WinClosed", {
  group = group,
  desc = "Flemma: forget the folds of a window",
  callback = function(args)
    known[tonumber(args.match) or 0] = nil
  end,
})

api.nvim_create_autocmd("BufWinEnter", {
  group = group,
  desc = "Flemma: fold a conversation in a window that shows it",
  callback = function(args)
    if attached[args.buf] then
      M.enter(args.buf)
    end
  end,
})

api.nvim_create_autocmd("BufWinLeave", {
  group = group,
  desc = "Flemma: a window shows another buffer",
  callback = function(args)
    for win, window in pairs(known) do
      if window.buf == args.buf and win == api.nvim_get_current_win() then
        known[win] = nil
      end
    end
  end,
})

api.nvim_create_autocmd({ "ModeChanged", "WinScrolled" }, {
  group = group,
  desc = "Flemma: bring folds up to date",
  callback = function(args)
    if args.event == "ModeChanged" and not args.match:find(":n$") then
      return
    end
    for buf, state in pairs(attached) do
      if state.is_stale then
        M.schedule(buf)
      end
    end
    for _, window in pairs(known) do
      if next(window.late) and attached[window.buf] then
        M.schedule(window.buf)
      end
    end
  end,
})

-- Going to the end need not scroll the window.
api.nvim_create_autocmd("CursorMoved", {
  group = group,
  desc = "Flemma: close the folds that were to be closed later",
  callback = function(args)
    local window = known[api.nvim_get_current_win()]
    if window and window.buf == args.buf and next(window.late) and attached[args.buf] then
      M.schedule(args.buf)
    end
  end,
})

-- Closing a fold need not scroll the window.
api.nvim_create_autocmd({ "SafeState", "WinScrolled" }, {
  group = group,
  desc = "Flemma: show the line of a fold at the top of a window from its beginning",
  callback = function(args)
    local scrolled = args.event == "WinScrolled" and vim.tbl_keys(vim.v.event) or { api.nvim_get_current_win() }
    for _, key in ipairs(scrolled) do
      local win = tonumber(key)
      if win and known[win] and api.nvim_win_is_valid(win) and get(win, "smoothscroll") then
        api.nvim_win_call(win, windows.show_first)
      end
    end
  end,
})

--- A window shows a conversation again, or for the first time. Its text may have changed in the meantime.
---@param buf integer
function M.enter(buf)
  each_window(buf, function(win, window)
    if window.next == 0 then
      open_on(win, window)
    end
  end)
end

return M
