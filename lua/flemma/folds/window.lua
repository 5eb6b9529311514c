--- The folds of one window.
---
--- They are manual folds (|fold-manual|): Neovim moves them with the text and keeps what is open and closed. So a change costs
--- nothing unless it adds, removes or resizes a fold. Only then the folds of the message are made again, in the same state.
---
--- Every function here is called for the current window.
local M = {}

local api, fn = vim.api, vim.fn

---@class flemma.Fold
---@field first integer from 1
---@field last integer
---@field begins 0|1|2|3 open, closed, open because the user has to see it, or closed if it is new
---@field key string the same for this fold in all windows, and after the file was read again

---@class flemma.FoldGroup
---@field first integer the first line of a message, from 1
---@field last integer
---@field outer? flemma.Fold
---@field inner flemma.Fold[]

--- What is known about a window.
---@class flemma.FoldedWindow
---@field buf integer
---@field shown table<string, string> the folds that are open because the user has to see them, and how their text begins
---@field closed table<string, string> the folds that were closed without the user, and how their text begins
---@field late table<integer, true> the marks of folds that are to be closed when that moves nothing on the screen
---@field next? integer the line, from 0, up to which the folds have been made; nil when all have been
---@field states? table<string, boolean> which folds were closed before the file was read again
---@field left_behind? integer[] the lines, from 1, at which closed folds should begin that Neovim has not moved with their text

local late = api.nvim_create_namespace("flemma.folds")
M.namespace = late

--- The numbers per fold in the library's lists.
local FIELDS = 5

--- In how many lines of a message its first result begins at the latest.
local GAP = 4

--- The number of lines of a message above which only the ends of its folds are looked at.
local MOST = 5000

--- Reads a list of the library.
---@param list integer[]
---@return flemma.FoldGroup[]
function M.read(list)
  local groups = {}
  for at = 1, #list, FIELDS do
    local kind, fold = list[at], { first = list[at + 1], last = list[at + 2], begins = list[at + 3] }
    local group = groups[#groups]
    if kind == 0 then
      groups[#groups + 1] = { first = fold.first, last = fold.last, inner = {} }
    elseif kind == 1 then
      fold.key = tostring(list[at + 4])
      group.outer = fold
    else
      fold.key = ("%d.%d"):format(list[at + 4], #group.inner + 1)
      group.inner[#group.inner + 1] = fold
    end
  end
  return groups
end

--- The lines of a fold, when it is closed for a moment.
---@param line integer
---@return integer first
---@return integer last
local function extent(line)
  local first = fn.foldclosed(line)
  if first ~= -1 then
    return first, fn.foldclosedend(line)
  end
  vim.cmd(line .. "foldclose")
  local last
  first, last = fn.foldclosed(line), fn.foldclosedend(line)
  vim.cmd(line .. "foldopen")
  return first, last
end

---@param fold flemma.Fold
---@return boolean
local function is_exact(fold)
  local first, last = extent(fold.first)
  return first == fold.first and last == fold.last
end

--- Whether the folds of a message are as they should be, apart from what is open and closed.
---@param group flemma.FoldGroup
---@param is_thorough boolean whether every line is looked at
---@return boolean
local function is_right(group, is_thorough)
  local level = fn.foldlevel
  local base = group.outer and 1 or 0
  if not is_thorough then
    for _, fold in ipairs(group.inner) do
      if level(fold.first) ~= base + 1 or level(fold.last) ~= base + 1 then
        return false
      end
    end
    local outer = group.outer or group
    return level(outer.last) >= base and level(outer.first) >= base and (base == 1 or level(outer.first) <= 1)
  end
  local index, fold = 1, group.inner[1]
  for line = group.first, group.last do
    while fold and line > fold.last do
      index = index + 1
      fold = group.inner[index]
    end
    local is_in_outer = group.outer and line <= group.outer.last
    local wanted = (is_in_outer and 1 or 0) + (fold and line >= fold.first and 1 or 0)
    if level(line) ~= wanted then
      return false
    end
  end
  if group.outer and not is_exact(group.outer) then
    return false
  elseif group.outer and fn.foldclosed(group.first) ~= -1 then
    return true
  end
  for at = 2, #group.inner do
    -- The levels do not say where one ends and the next one begins.
    if group.inner[at - 1].last + 1 == group.inner[at].first and not is_exact(group.inner[at]) then
      return false
    end
  end
  return true
end

--- Lines were inserted. When an undo does that, Neovim leaves a fold that begins there where it is, and may open it before its
--- turn to be made again comes. So it is noted now that it was closed.
---@param window flemma.FoldedWindow
---@param first integer the first of the lines
---@param count integer
function M.note_inserted(window, first, count)
  if fn.foldclosed(first) == first then
    window.left_behind = window.left_behind or {}
    table.insert(window.left_behind, first + count)
  end
end

--- Which of the folds of a message exist, and whether they are closed. Opens the fold of the whole message.
---@param window flemma.FoldedWindow
---@param group flemma.FoldGroup
---@return table<string, boolean>
local function look(window, group)
  local seen = {}
  local base = fn.foldlevel(group.first)
  if base > 0 then
    local is_closed = fn.foldclosed(group.first) ~= -1
    if group.outer then
      seen[group.outer.key] = is_closed
    end
    if is_closed then
      vim.cmd(group.first .. "foldopen")
    end
  elseif group.outer and #group.inner == 0 then
    -- A result that was alone in the last message is a fold of its own, and then its message is.
    for line = group.first + 1, math.min(group.first + GAP, group.outer.last) do
      if fn.foldlevel(line) > 0 then
        seen[group.outer.key] = fn.foldclosed(line) ~= -1
        break
      end
    end
  end
  for _, fold in ipairs(group.inner) do
    if fn.foldclosed(fold.first) == fold.first then
      seen[fold.key] = true
    elseif fn.foldlevel(fold.first) > base then
      seen[fold.key] = false
    end
  end
  for _, fold in ipairs(window.left_behind and { group.outer or group.inner[1], unpack(group.inner) } or {}) do
    if vim.list_contains(window.left_behind, fold.first) then
      seen[fold.key] = true
    end
  end
  return seen
end

--- Deletes the folds in some lines.
---@param first integer
---@param last integer
---@return integer last the last line of a fold that was deleted, if that is further down
local function delete(first, last)
  local line, deleted, free = first, last, 0
  while line <= last do
    if fn.foldlevel(line) == 0 and free > MOST then
      -- There may be millions of lines before the next fold. The motion looks at all folds, and scrolls the window.
      free = 0
      fn.cursor(line, 1)
      vim.cmd("normal! zj")
      line = fn.line(".") > line and fn.line(".") or last + 1
    elseif fn.foldlevel(line) == 0 then
      line, free = line + 1, free + 1
    else
      vim.cmd(line .. "foldclose!")
      local stop = math.max(line, fn.foldclosedend(line))
      fn.cursor(line, 1)
      -- A fold of one line is never closed, so that its parent is deleted after it.
      repeat
        local level = fn.foldlevel(line)
        vim.cmd("normal! zD")
      until fn.foldlevel(line) == 0 or fn.foldlevel(line) == level
      deleted = math.max(deleted, stop)
      line = stop + 1
    end
  end
  return deleted
end

--- Whether the window may close a fold by itself: the line with the cursor must not move on the screen, nor what a user who
--- does not follow the conversation is reading.
---@param window flemma.FoldedWindow
---@param fold flemma.Fold
---@param cursor integer
---@return boolean
local function may_close(window, fold, cursor)
  if fold.first <= cursor and cursor <= fold.last then
    return false
  end
  local is_visible = fold.last >= fn.line("w0") and fold.first <= fn.line("w$")
  if not is_visible then
    return true
  end
  local leads = require("flemma.following").leads(window.buf, api.nvim_get_current_win())
  return cursor > fold.last and (leads or cursor == fn.line("$"))
end

--- Closes a fold when the time has come.
---@param window flemma.FoldedWindow
---@param fold flemma.Fold
local function postpone(window, fold)
  local id = api.nvim_buf_set_extmark(window.buf, late, fold.first - 1, 0, {})
  window.late[id] = true
end

---@param window flemma.FoldedWindow
local function is_passing(window)
  return require("flemma.following").is_passing(window.buf, api.nvim_get_current_win())
end

--- How the text of a fold begins, which names its call. A fold has the key of another one if calls above it were deleted.
---@param window flemma.FoldedWindow
---@param fold flemma.Fold
---@return string
local function head_of(window, fold)
  return table.concat(api.nvim_buf_get_lines(window.buf, fold.first - 1, fold.first + 1, false), "\n")
end

--- Whether a fold is to be closed now.
---@param window flemma.FoldedWindow
---@param fold flemma.Fold
---@param was_closed? boolean nil if it did not exist
---@param cursor integer
---@param is_opening boolean whether the conversation is being opened
---@return boolean
local function closes(window, fold, was_closed, cursor, is_opening)
  local head = head_of(window, fold)
  local shown = window.shown[fold.key] == head
  if fold.begins == 2 then
    window.shown[fold.key] = head
    return was_closed == true and (shown or is_opening)
  elseif fold.begins == 3 then
    return was_closed ~= false
  end
  window.shown[fold.key] = nil
  if fold.begins == 0 and window.closed[fold.key] == head then
    -- A message of results has been closed, and now the user's own words are in it.
    window.closed[fold.key] = nil
    return false
  elseif was_closed ~= nil and not (shown and not was_closed) then
    -- The user's own decision.
    return was_closed
  elseif fold.begins == 0 then
    return false
  end
  local is_inside = fold.first <= cursor and cursor <= fold.last
  local is_closed ---@type boolean
  if is_opening then
    is_closed = not is_inside or cursor == fold.first
  else
    -- A call that waited or ran has its result: the lines below move by that, and least if it is folded.
    is_closed = may_close(window, fold, cursor) or shown and (not is_inside or is_passing(window)) or false
  end
  if is_closed then
    window.closed[fold.key] = head
  elseif not is_opening then
    postpone(window, fold)
  end
  return is_closed
end

--- Adds the commands that make the folds of a message.
---@param commands string[]
---@param group flemma.FoldGroup
---@param is_closed fun(fold: flemma.Fold): boolean
local function create(commands, group, is_closed)
  local function add(fold)
    commands[#commands + 1] = ("%d,%dfold"):format(fold.first, fold.last)
    if not is_closed(fold) then
      commands[#commands + 1] = fold.first .. "foldopen"
    end
  end
  -- A range is extended to the closed folds that it touches, so what is inside comes first.
  for _, fold in ipairs(group.inner) do
    add(fold)
  end
  if group.outer then
    add(group.outer)
  end
end

--- Runs something that asks about folds or changes them. With 'nofoldenable', Neovim would answer that there are none.
---@param run fun()
local function with_folding(run)
  if vim.wo.foldenable then
    return run()
  end
  vim.cmd("noautocmd setlocal foldenable")
  local ok, problem = pcall(run)
  vim.cmd("noautocmd setlocal nofoldenable")
  if not ok then
    error(problem, 0)
  end
end

--- Runs something that may move the cursor and change what is closed. The line with the cursor stays where it is on the screen, or
--- the text above it if the cursor is only there because the conversation goes on there.
---@param window flemma.FoldedWindow
---@param run fun(cursor: integer)
local function keep_view(window, run)
  -- If the cursor has moved since the last redraw, the window scrolls now.
  fn.line("w0")
  local view, row = fn.winsaveview(), math.min(fn.winline(), api.nvim_win_get_height(0))
  local is_carried = require("flemma.following").carries(window.buf, api.nvim_get_current_win())
  local ok, problem = pcall(run, view.lnum)
  fn.winrestview(view)
  if is_carried and ok then
    -- Where most of the window would be empty, nothing that was read stays in its place anyway.
    local win = api.nvim_get_current_win()
    local filling = require("flemma.filling")
    if filling.empty(win) > api.nvim_win_get_height(win) / 2 and require("flemma.following").fills(window.buf, win) then
      filling.fill(win)
    end
    return
  end
  local moved = fn.winline() - row
  local key = vim.keycode(moved > 0 and "<C-e>" or "<C-y>")
  for _ = 1, math.abs(moved) do
    local top = fn.line("w0")
    if moved < 0 and top == 1 then
      break
    end
    vim.cmd.normal({ args = { key }, bang = true })
    if fn.line(".") ~= view.lnum then
      -- The line is too high for the window, or has virtual lines below it.
      fn.winrestview({ lnum = view.lnum, col = view.col, topline = top })
      break
    end
  end
  if not ok then
    error(problem, 0)
  end
end

--- Makes the folds of messages that have none yet, when a conversation is opened.
---@param window flemma.FoldedWindow
---@param groups flemma.FoldGroup[]
function M.open(window, groups)
  with_folding(function()
    keep_view(window, function(cursor)
      local commands = {}
      for _, group in ipairs(groups) do
        local exists = fn.foldlevel(group.first) > 0 or fn.foldlevel(group.last) > 0
        for _, fold in ipairs(group.inner) do
          exists = exists or fn.foldlevel(fold.first) > 0
        end
        local is_done = exists and is_right(group, false)
        local seen = {}
        if exists and not is_done then
          seen = look(window, group)
          delete(group.first, group.last)
        end
        if not is_done then
          create(commands, group, function(fold)
            local state = seen[fold.key]
            if state == nil and window.states then
              state = window.states[fold.key]
            end
            return closes(window, fold, state, cursor, true)
          end)
        end
      end
      api.nvim_exec2(table.concat(commands, "\n"), {})
    end)
  end)
end

--- Calls a function for each fold of a message that has begun or ceased to be something that the user has to see.
---@param window flemma.FoldedWindow
---@param group flemma.FoldGroup
---@param each fun(fold: flemma.Fold)
local function each_turned(window, group, each)
  for _, fold in ipairs(group.outer and { group.outer, unpack(group.inner) } or group.inner) do
    if (fold.begins == 2) ~= (window.shown[fold.key] ~= nil and window.shown[fold.key] == head_of(window, fold)) then
      each(fold)
    end
  end
end

--- Makes the folds of a message again.
---@param window flemma.FoldedWindow
---@param group flemma.FoldGroup
---@param cursor integer
---@return integer last the last line of a fold that was deleted, or of the message
local function remake(window, group, cursor)
  local seen = look(window, group)
  local last = delete(group.first, group.last)
  local commands = {}
  create(commands, group, function(fold)
    return closes(window, fold, seen[fold.key], cursor, false)
  end)
  api.nvim_exec2(table.concat(commands, "\n"), {})
  return last
end

--- Brings the folds of messages that have changed up to date.
---@param window flemma.FoldedWindow
---@param groups flemma.FoldGroup[]
---@param is_thorough boolean whether anybody may have changed the text, and not only Flemma
---@return integer? last the last line of a fold that was deleted, if there was any
function M.update(window, groups, is_thorough)
  local last
  with_folding(function()
    local wrong, turned = {}, {}
    for _, group in ipairs(groups) do
      if not is_right(group, is_thorough and group.last - group.first < MOST) then
        wrong[#wrong + 1] = group
      else
        each_turned(window, group, function(fold)
          turned[#turned + 1] = fold
        end)
      end
    end
    if #wrong == 0 and #turned == 0 then
      return
    end
    keep_view(window, function(cursor)
      for _, group in ipairs(wrong) do
        last = remake(window, group, cursor)
      end
      for _, fold in ipairs(turned) do
        local is_closed = fn.foldclosed(fold.first) == fold.first
        if closes(window, fold, is_closed, cursor, false) ~= is_closed then
          vim.cmd(fold.first .. (is_closed and "foldopen" or "foldclose"))
        end
      end
    end)
    -- Neovim draws only what it believes to have changed. With hidden lines beside folds that open and close, rows were left over.
    api.nvim__redraw({ win = api.nvim_get_current_win(), valid = false, flush = false })
  end)
  return last
end

--- Closes the folds that were to be closed later, if that moves nothing on the screen now.
---@param window flemma.FoldedWindow
---@param folds_at fun(line: integer): flemma.FoldGroup? the folds of the message with a line, from 0
function M.catch_up(window, folds_at)
  with_folding(function()
    local ready = {}
    local cursor = fn.line(".")
    for id in pairs(window.late) do
      local at = api.nvim_buf_get_extmark_by_id(window.buf, late, id, {})
      local group = at[1] and folds_at(at[1])
      local found
      for _, fold in ipairs(group and { group.outer or group.inner[1], unpack(group.inner) } or {}) do
        found = found or (fold.first == at[1] + 1 and fold)
      end
      local is_over = not found or found.begins ~= 1 or fn.foldclosed(found.first) ~= -1
      if not is_over and may_close(window, found, cursor) then
        ready[#ready + 1] = found.first
        window.closed[found.key] = head_of(window, found)
        is_over = true
      end
      if is_over then
        window.late[id] = nil
        api.nvim_buf_del_extmark(window.buf, late, id)
      end
    end
    if #ready > 0 then
      keep_view(window, function()
        for _, line in ipairs(ready) do
          vim.cmd(line .. "foldclose")
        end
      end)
    end
  end)
end

--- Shows the line of a closed fold at the top of the window from its beginning. Neovim keeps how much of the text in its place was
--- scrolled away, and draws `<<<` over it.
function M.show_first()
  local view = fn.winsaveview()
  if view.skipcol > 0 and fn.foldclosed(view.topline) ~= -1 then
    view.skipcol = 0
    fn.winrestview(view)
  end
end

--- Opens the folds that a line is in.
---@param window flemma.FoldedWindow
---@param line integer from 1
function M.unfold(window, line)
  with_folding(function()
    if fn.foldclosed(line) ~= -1 then
      keep_view(window, function()
        vim.cmd(line .. "foldopen!")
      end)
    end
  end)
end

--- Opens the closed folds that some lines are in. An operator takes a closed fold as a whole, and a selection spans it.
---@param first integer from 1
---@param last integer
function M.open_lines(first, last)
  if not vim.wo.foldenable then
    return
  end
  for _, line in ipairs({ first, last }) do
    -- One level at a time, so that what lies beside the line stays closed.
    local left = fn.foldlevel(line)
    while left > 0 and fn.foldclosed(line) ~= -1 do
      vim.cmd(line .. "foldopen")
      left = left - 1
    end
  end
  -- A range is extended to the closed folds at its ends, and there are none now.
  vim.cmd(("silent! %d,%dfoldopen!"):format(first, last))
end

--- Which folds are closed. Of those inside a closed one nothing is known.
---@param groups flemma.FoldGroup[]
---@return table<string, boolean>
function M.states(groups)
  local states = {}
  for _, group in ipairs(groups) do
    if group.outer then
      states[group.outer.key] = fn.foldclosed(group.first) ~= -1
    end
    if not group.outer or not states[group.outer.key] then
      for _, fold in ipairs(group.inner) do
        states[fold.key] = fn.foldclosed(fold.first) == fold.first
      end
    end
  end
  return states
end

return M
