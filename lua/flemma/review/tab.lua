--- A review side by side, in a tab page of its own: what the file is on the left, what is proposed on the right.
---
--- The right side can be edited. Writing it takes the file as it is there; closing it decides nothing. Both sides are buffers that
--- go with their windows. Every other way to close them ends the review as well.
local content = require("flemma.review.content")
local diffopt = require("flemma.review.diffopt")
local draft = require("flemma.review.draft")
local events = require("flemma.review.tab_events")
local hunks_of = require("flemma.review.hunks")
local marks = require("flemma.review.marks")
local merge = require("flemma.review.merge")
local sides = require("flemma.review.sides")
local watch = require("flemma.review.watch")
local winbar = require("flemma.review.winbar")
local windows = require("flemma.review.windows")
local writing = require("flemma.review.writing")

local api = vim.api

---@class flemma.TabView: flemma.ReviewView
---@field review flemma.Review
---@field at integer the file on the screen
---@field old table<string, integer> by path: the buffer of what the file is
---@field new table<string, integer> by path: the buffer of what is proposed
---@field names table<integer, string> the names of these buffers
---@field left integer window
---@field right integer window
---@field tab integer
---@field origin { tab: integer, win: integer } where the user came from
---@field group integer
---@field scrollopt string
---@field note? string what the user has to know
---@field ticks? table<string, integer> by path: which text of a right side an approval from elsewhere is for
---@field marks? table<string, boolean> which files it takes or leaves out
---@field watch? flemma.Watch
---@field is_busy? boolean whether we are changing windows
---@field is_closed? boolean
local Tab = {}
Tab.__index = Tab

--- The most bytes of both sides that are looked at again after an edit.
local MOST = 512 * 1024

--- With fewer columns, one side is above the other.
local NARROW = 60

---@param level integer
---@param message string
local function say(level, message)
  require("flemma.notify").say(level, message)
end

---@return flemma.ReviewedFile
function Tab:file()
  return self.review.files[self.at]
end

---@param file flemma.ReviewedFile
---@param side "old"|"new"
---@return integer
function Tab:buffer(file, side)
  local known = self[side][file.path]
  if known and api.nvim_buf_is_loaded(known) then
    return known
  end
  local review = self.review
  local text = side == "new" and review.drafts[file.path] or nil
  if side == "new" and not text and review.marks[file.path] == false and file.old and sides.is_text(file) then
    -- All of it was left out before.
    text = { text = file.old, base = file.old }
  end
  local buf = sides.create(file, side, text and text.text)
  self[side][file.path] = buf
  self.names[buf] = api.nvim_buf_get_name(buf)
  if side == "new" then
    writing.guard(buf)
  end
  if text then
    review.drafts[file.path] = nil
  end
  events.listen(self, buf, file.path, side)
  self:map(buf)
  -- Last: what a file type plugin does may depend on the buffer.
  sides.set_filetype(buf, file)
  return buf
end

--- The file of a path, in the proposal as it is now.
---@param path string
---@return flemma.ReviewedFile?
function Tab:file_of(path)
  return merge.by_path(self.review.files)[path]
end

--- What would be written of each file.
---@return (string|boolean)[]
function Tab:made()
  return vim.tbl_map(function(file)
    return draft.value(self, file)
  end, self.review.files)
end

--- What an approval from elsewhere is for, if the right sides have another text than when this was last asked.
function Tab:note_made()
  if self.is_closed or self.is_busy then
    return
  end
  local ticks = {}
  for path, buf in pairs(self.new) do
    ticks[path] = api.nvim_buf_is_loaded(buf) and api.nvim_buf_get_changedtick(buf) or nil
  end
  if vim.deep_equal(ticks, self.ticks) and vim.deep_equal(self.review.marks, self.marks) then
    return
  end
  if require("flemma.review").keep_made(self.review, self:made()) then
    self.ticks, self.marks = ticks, vim.deepcopy(self.review.marks)
  end
end

---@param buf integer
function Tab:map(buf)
  local function map(key, desc, run)
    vim.keymap.set("n", key, run, { buffer = buf, nowait = true, desc = "Flemma: " .. desc })
  end
  map("]f", "the next file of the change", function()
    self:step(1)
  end)
  map("[f", "the previous file of the change", function()
    self:step(-1)
  end)
  map("gA", "approve the call, with all files as they are here", function()
    draft.submit(self)
  end)
  map("gL", "leave this file out", function()
    draft.mark(self, self:file(), false)
  end)
  map("gX", "reject the call", function()
    require("flemma.review.deciding").reject(self.review)
  end)
  map("ZZ", "take this file as it is here", function()
    draft.mark(self, self:file(), true)
  end)
end

--- Draws what stands above the windows.
function Tab:draw()
  local file = self:file()
  if self.is_closed or not file then
    return
  end
  local left, right = winbar.texts(self, file)
  local bars = { [self.left] = left, [self.right] = right }
  for win, bar in pairs(bars) do
    if api.nvim_win_is_valid(win) then
      vim.wo[win][0].winbar = bar
    end
  end
end

--- Shows a file.
---@param at integer
---@param stays? boolean whether the cursors stay where they are
function Tab:show(at, stays)
  self.is_busy = true
  self.at = at
  local file = self:file()
  local shown = { { self.left, self:buffer(file, "old") }, { self.right, self:buffer(file, "new") } }
  for _, pair in ipairs(shown) do
    local win, buf = unpack(pair)
    if api.nvim_win_is_valid(win) then
      local before = api.nvim_win_get_buf(win)
      if before ~= buf then
        api.nvim_win_call(win, function()
          vim.cmd("diffoff")
        end)
        if vim.bo[before].bufhidden == "wipe" and (self:owns(before)) then
          vim.bo[before].bufhidden = "hide"
        end
        api.nvim_win_set_buf(win, buf)
      end
      vim.bo[buf].bufhidden = "wipe"
      windows.reset(win)
      if not file.note then
        api.nvim_win_call(win, function()
          vim.cmd("diffthis")
        end)
      end
    end
  end
  if not stays then
    self:go_to_first()
  end
  self.is_busy = nil
  self:draw()
  self:draw_marks()
end

--- Notes what diff mode does not show of the file on the screen.
---@param is_again? boolean whether it is after an edit
function Tab:draw_marks(is_again)
  local file = self:file()
  local shown = { old = self.old[file.path], new = self.new[file.path] }
  if not sides.is_text(file) or not api.nvim_buf_is_loaded(shown.old) or not api.nvim_buf_is_loaded(shown.new) then
    return
  end
  local old, form = file.old or "", content.form(file.old, file.new)
  if sides.is_untouched(shown.new) then
    marks.draw(shown, old, file.new, file.hunks, form, not is_again)
  elseif not is_again or #old + #file.new <= MOST then
    marks.draw(shown, old, draft.text(self, file), nil, form, not is_again)
  end
end

--- Puts the cursors on the first difference. In a line that is wider than its window, that may be far from its beginning.
function Tab:go_to_first()
  local file = self:file()
  if file.note then
    return
  end
  local hunks = hunks_of.of_file(file)
  local hunk = hunks.list[1]
  if not hunk then
    return
  end
  local column = hunks_of.first_difference(hunks, hunk, content.form(file.old, file.new))
  for win, line in pairs({ [self.left] = hunk.old_first, [self.right] = hunk.new_first }) do
    if api.nvim_win_is_valid(win) then
      local last = api.nvim_buf_line_count(api.nvim_win_get_buf(win))
      windows.show_place(win, math.min(math.max(line, 1), last), column)
    end
  end
end

--- Goes to another file.
---@param by integer
function Tab:step(by)
  local at = self.at + by
  if self.review.files[at] then
    self:show(at)
  else
    say(vim.log.levels.INFO, by > 0 and "this is the last file of the change" or "this is the first file of the change")
  end
end

---@param buf integer
---@return boolean
function Tab:owns(buf)
  return vim.tbl_contains(self.old, function(own)
    return own == buf
  end, { predicate = true }) or vim.tbl_contains(self.new, function(own)
    return own == buf
  end, { predicate = true })
end

--- Shows the left side again after it was closed.
function Tab:complete()
  if api.nvim_win_is_valid(self.left) or not api.nvim_win_is_valid(self.right) then
    return
  end
  self.is_busy = true
  local split = vim.o.columns < NARROW and "above" or "left"
  self.left = api.nvim_open_win(self:buffer(self:file(), "old"), false, { split = split, win = self.right })
  self:show(self.at, true)
end

--- Goes to the view.
function Tab:focus()
  self:complete()
  local win = api.nvim_win_is_valid(self.right) and self.right or vim.fn.win_findbuf(self.new[self:file().path])[1]
  if win then
    api.nvim_set_current_win(win)
  end
end

--- Takes the view away: its windows, its buffers, and what diff mode has set.
function Tab:close()
  if self.is_closed then
    return
  end
  self.is_closed = true
  api.nvim_del_augroup_by_id(self.group)
  if self.watch then
    self.watch:stop()
  end
  if not self.review.is_over then
    draft.keep_drafts(self)
  end
  self.review.view = nil
  local current = api.nvim_get_current_win()
  local was_here = api.nvim_get_current_tabpage() == self.tab
  local chat = self.review.chat
  for _, win in ipairs({ self.left, self.right }) do
    local shown = api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win)
    local is_ours = shown and (self:owns(shown) or shown == chat and api.nvim_win_get_tabpage(win) == self.tab)
    if is_ours then
      if not windows.close(win) and shown ~= chat then
        -- It is the last one.
        pcall(api.nvim_win_set_buf, win, api.nvim_buf_is_loaded(chat) and chat or api.nvim_create_buf(true, false))
        windows.reset(win)
      end
    elseif shown and win == current then
      -- The user shows something else there.
      was_here = false
    end
  end
  for _, buffers in ipairs({ self.old, self.new }) do
    for _, buf in pairs(buffers) do
      windows.wipe(buf)
      writing.release(buf)
      sides.forget(buf)
    end
  end
  local in_diff = vim.iter(api.nvim_list_wins()):any(function(win)
    return vim.wo[win].diff
  end)
  -- `:diffthis` adds to it, and `:diffoff` takes that away again, also if there are other windows in diff mode in another tab page.
  local has_hor = vim.list_contains(vim.split(self.scrollopt, ",", { plain = true }), "hor")
  vim.o.scrollopt = in_diff and not has_hor and self.scrollopt .. ",hor" or self.scrollopt
  if was_here and not api.nvim_tabpage_is_valid(self.tab) and api.nvim_tabpage_is_valid(self.origin.tab) then
    windows.enter(api.nvim_tabpage_get_win(self.origin.tab))
    windows.enter(self.origin.win)
  end
  diffopt.remove(self.tab)
end

--- Something was closed: ends the review when its right side is not on the screen any more.
---@param is_quit? boolean whether the user has closed the left side from within
function Tab:settle(is_quit)
  if self.is_closed or self.is_busy then
    return
  end
  local file = self:file()
  local buf = file and self.new[file.path]
  if not is_quit and buf and api.nvim_buf_is_loaded(buf) and #vim.fn.win_findbuf(buf) > 0 then
    return
  end
  -- Closing may run into errors of other autocommands.
  self:close()
  require("flemma.review").left(self.review)
end

--- What was approved waits again, as it is.
function Tab:reopen()
  draft.undecide(self)
end

---@param why string
function Tab:conclude(why)
  local edited = vim.iter(self.review.files):any(function(file)
    return draft.is_edited(self, file)
  end)
  local is_typing = self:owns(api.nvim_get_current_buf()) and api.nvim_get_mode().mode ~= "n"
  local words = ("%s: %s"):format(self.review.call, why)
  if edited or is_typing then
    self.note = "ended: nothing is written any more"
    self:draw()
    words = words .. "; what you have edited is kept until you close it"
  else
    self:close()
  end
  say(vim.log.levels.INFO, words)
end

---@param problem string
function Tab:warn(problem)
  self.note = problem
  self:draw()
  say(vim.log.levels.WARN, require("flemma.review.calls").about(self.review.call, problem))
end

--- The proposal has changed. What the user has edited is brought onto what the file is now.
---@param files flemma.ReviewedFile[]
function Tab:update(files)
  local review, path = self.review, self:file().path
  local edited, before = {}, merge.by_path(review.files)
  for _, file in ipairs(review.files) do
    edited[file.path] = draft.is_edited(self, file) and draft.text(self, file) or nil
  end
  review.files, review.marks, self.note = files, merge.left_out(review.marks), nil
  self.at = merge.place_of(files, path)
  for _, file in ipairs(files) do
    local known = review.drafts[file.path]
    if known then
      merge.rebase(review, file, known)
    end
    for side, buffers in pairs({ old = self.old, new = self.new }) do
      local buf, text = buffers[file.path], edited[file.path]
      if not buf or not api.nvim_buf_is_loaded(buf) then
        -- It is filled when it is shown.
      elseif side == "new" and text then
        local mine = { text = text, base = before[file.path].old or "" }
        merge.rebase(review, file, mine)
        if mine.text ~= text then
          content.patch(buf, mine.text, content.form(file.old, file.new))
        end
        vim.bo[buf].modified = mine.text ~= file.new
      else
        sides.fill(buf, file, side)
      end
    end
  end
  self:show(self.at, self:file().path == path)
  local words = merge.made_again(review.call, before, files)
  if next(review.conflicts) then
    self.note = "conflict: `:w!` undoes lines at the left"
    words = words .. "; it and you have changed the same lines. Yours are at the right, the others at the left"
  elseif next(edited) then
    self.note = "changed meanwhile: compare again"
    words = words .. "; your edits were brought onto it, look at the differences again"
  end
  self:draw()
  say(vim.log.levels.WARN, words)
  self.watch:set(watch.paths(files))
end

local M = {}

--- Opens the view.
---@param review flemma.Review
---@return flemma.TabView? view
---@return string? problem
function M.open(review)
  local self = setmetatable({
    review = review,
    at = 1,
    old = {},
    new = {},
    names = {},
    is_busy = true,
    origin = { tab = api.nvim_get_current_tabpage(), win = api.nvim_get_current_win() },
    scrollopt = vim.o.scrollopt,
    group = api.nvim_create_augroup(("flemma.review.%d.%s"):format(review.chat, review.call), { clear = true }),
  }, Tab)
  local ok, problem = pcall(function()
    local file = self:file()
    -- Before this tab, so that closing it leads back here.
    vim.cmd(("keepalt -tab sbuffer %d"):format(self:buffer(file, "old")))
    self.left, self.tab = api.nvim_get_current_win(), api.nvim_get_current_tabpage()
    local split = vim.o.columns < NARROW and "belowright" or "belowright vertical"
    vim.cmd(("%s sbuffer %d"):format(split, self:buffer(file, "new")))
    self.right = api.nvim_get_current_win()
    diffopt.add(self.tab)
    self:show(1)
  end)
  self.is_busy = nil
  if not ok then
    self.left, self.right, self.tab = self.left or -1, self.right or -1, self.tab or -1
    self:close()
    return nil, tostring(problem):match("[^\n]*")
  end
  self.watch = watch.start(watch.paths(review.files))
  events.attach(self)
  return self
end

return M
