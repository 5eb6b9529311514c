--- A review in a window of the file: the buffer is what the file is, and what is proposed is drawn over it.
---
--- Nothing of the buffer changes: neither its text nor its undo history. While the review is open it cannot be edited, and keys
--- take and leave single hunks. To edit the proposal, the review goes on side by side.
local borrowed = require("flemma.review.borrowed")
local hunk_cursor = require("flemma.review.hunk_cursor")
local hunks_of = require("flemma.review.hunks")
local original = require("flemma.review.original")
local merge = require("flemma.review.merge")
local overlay = require("flemma.review.overlay")
local watch = require("flemma.review.watch")
local windows = require("flemma.review.windows")

local api = vim.api

---@class flemma.InlineView: flemma.ReviewView
---@field review flemma.Review
---@field at integer the file on the screen
---@field hunks table<string, flemma.Hunks> by path
---@field buf integer the file's buffer
---@field ours table<integer, true> buffers that were not there before
---@field win integer
---@field origin { win: integer } where the user came from
---@field made_win? boolean whether we have split the window
---@field look? fun() gives a window of the user its look back
---@field watch? flemma.Watch
---@field overlay? flemma.Overlay what is drawn over the file on the screen
---@field restore? fun() takes back what was changed of the buffer
---@field group integer
---@field is_busy? boolean
---@field is_closed? boolean
local Inline = {}
Inline.__index = Inline

--- The keys, short enough for the command line of a screen of 80 columns.
local HINT = "gA approve, gX reject, do/dp leave/take, gK edit, q leave"

---@param level integer
---@param message string
local function say(level, message)
  require("flemma.notify").say(level, message)
end

---@return flemma.ReviewedFile
function Inline:file()
  return self.review.files[self.at]
end

---@param file flemma.ReviewedFile
---@return flemma.Hunks
function Inline:hunks_in(file)
  self.hunks[file.path] = self.hunks[file.path] or hunks_of.of_file(file)
  return self.hunks[file.path]
end

--- Draws the hunks of the file on the screen.
function Inline:draw()
  if self.overlay then
    self.overlay:draw()
  end
end

--- Goes to the next hunk, or to the one before.
---@param by integer
function Inline:next_hunk(by)
  hunk_cursor.next_hunk(self, by)
end

--- Takes the hunk at the cursor, or leaves it out.
---@param is_taken boolean
function Inline:take(is_taken)
  local hunk, number = hunk_cursor.hunk_here(self)
  if hunk and number and self.overlay then
    hunk.taken = is_taken
    self.review.marks[self:file().path] = nil
    self.overlay:draw_one(number)
    self:note_made()
  end
end

--- What an approval from elsewhere is for.
function Inline:note_made()
  require("flemma.review").keep_made(self.review, self:made())
end

--- What would be written of each file.
---@return (string|boolean)[]
function Inline:made()
  return vim.tbl_map(function(file)
    return self:value(file)
  end, self.review.files)
end

--- What would be written of a file.
---@param file flemma.ReviewedFile
---@return string|boolean
function Inline:value(file)
  if self.review.marks[file.path] == false then
    return false
  end
  local text = hunks_of.merged(self:hunks_in(file))
  if text == file.new then
    return true
  end
  return text ~= file.old and text
end

--- Approves the call with the hunks that are taken.
function Inline:submit()
  local review = self.review
  if review.is_deciding or review.is_over then
    return
  end
  local contents, some = {}, false
  for at, file in ipairs(review.files) do
    contents[at] = self:value(file)
    some = some or contents[at] ~= false
  end
  if not some then
    local words = "nothing is left of the change, so %s was not approved; gX rejects it"
    return say(vim.log.levels.WARN, words:format(review.call))
  end
  require("flemma.review.deciding").accept(review, contents, function() end)
end

--- Leaves a file out, and goes on to the next one.
function Inline:leave_out()
  local review = self.review
  review.marks[self:file().path] = false
  for _, hunk in ipairs(self:hunks_in(self:file()).list) do
    hunk.taken = false
  end
  self:draw()
  self:note_made()
  for at, file in ipairs(review.files) do
    if at > self.at and review.marks[file.path] == nil then
      return self:show(at)
    end
  end
  if #review.files == 1 then
    self:submit()
  end
end

--- Goes on side by side, with the hunks that are taken.
function Inline:edit()
  self:keep_drafts()
  self:close()
  require("flemma.review").show_in_tab(self.review)
end

--- Keeps what the user has made of the change, for a review side by side.
function Inline:keep_drafts()
  local review = self.review
  for _, file in ipairs(review.files) do
    local value = self:value(file)
    if type(value) == "string" then
      review.drafts[file.path] = { text = value, base = file.old or "" }
    elseif not value then
      review.marks[file.path] = false
    end
  end
end

--- Takes and leaves hunks as in an earlier review of this change, and says why that cannot be shown here.
---@return string? problem
function Inline:take_again()
  local review = self.review
  for _, file in ipairs(review.files) do
    local hunks, made = self:hunks_in(file), review.drafts[file.path]
    if review.marks[file.path] == false then
      for _, hunk in ipairs(hunks.list) do
        hunk.taken = false
      end
    elseif made and not (made.base == (file.old or "") and hunks_of.take_as(hunks, made.text)) then
      return "you have edited the proposal"
    end
  end
end

--- Opens the buffers of the files, and says why the change cannot be shown in them.
---@return string? problem
function Inline:why_not()
  for _, file in ipairs(self.review.files) do
    local problem = original.why_not(file)
    if problem then
      return problem
    end
    local buf
    buf, problem = original.open(file, self.ours)
    if not buf then
      return problem
    elseif borrowed.is_borrowed(buf) then
      return ("%s is being reviewed for another call"):format(vim.fn.fnamemodify(file.path, ":~:."))
    end
  end
end

--- Shows a file in the window.
---@param at integer
---@param stays? boolean whether the cursor stays where it is
---@return string? problem
function Inline:show(at, stays)
  local file = self.review.files[at]
  local buf, problem = original.open(file, self.ours)
  if not buf then
    return problem
  end
  self.is_busy = true
  self:give_back()
  self.at, self.buf = at, buf
  local has_window = self.win and api.nvim_win_is_valid(self.win)
  if not has_window or not self.made_win and api.nvim_win_get_buf(self.win) ~= buf then
    self:give_look_back()
    self:find_window(buf)
  end
  if api.nvim_win_get_buf(self.win) ~= buf then
    api.nvim_win_set_buf(self.win, buf)
  end
  if not stays then
    api.nvim_set_current_win(self.win)
  end
  self.restore = api.nvim_buf_call(buf, function()
    return borrowed.borrow(self, buf)
  end)
  local hunks = self:hunks_in(file)
  self.overlay = overlay.new(buf, self.win, file, hunks)
  if stays then
    self.overlay:draw()
  else
    hunk_cursor.go_to(self, 1)
    local cursor = api.nvim_win_get_cursor(self.win)
    self.overlay:draw(function()
      -- With the rows around it, unless the user has gone on.
      if vim.deep_equal(api.nvim_win_get_cursor(self.win), cursor) then
        hunk_cursor.go_to(self, 1)
      end
    end)
  end
  self.is_busy = nil
end

--- The window of the file on this tab page; a new one if there is none.
---@param buf integer
function Inline:find_window(buf)
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(win) == buf and api.nvim_win_get_config(win).relative == "" then
      self.win, self.made_win = win, false
      self.look = windows.unfold(win)
      return
    end
  end
  local from = api.nvim_get_current_win()
  local split = api.nvim_win_get_width(from) >= 120 and "right" or "above"
  self.sizes = vim.fn.winrestcmd()
  self.win = api.nvim_open_win(buf, false, { split = split, win = from })
  self.made_win = true
  windows.reset(self.win)
end

--- Lets the user's window look as before.
function Inline:give_look_back()
  local look = self.look
  self.look = nil
  if look then
    look()
  end
end

--- Takes back what was changed of the buffer on the screen.
function Inline:give_back()
  if self.overlay then
    self.overlay:stop()
    self.overlay = nil
  end
  local restore = self.restore
  self.restore = nil
  if restore then
    restore()
  end
end

---@param by integer
function Inline:step(by)
  local at = self.at + by
  if not self.review.files[at] then
    local words = by > 0 and "this is the last file of the change" or "this is the first file of the change"
    return say(vim.log.levels.INFO, words)
  end
  local problem = self:show(at)
  if problem then
    say(vim.log.levels.WARN, problem)
  end
end

function Inline:focus()
  if api.nvim_win_is_valid(self.win) then
    api.nvim_set_current_win(self.win)
  end
end

function Inline:close()
  if self.is_closed then
    return
  end
  self.is_closed = true
  api.nvim_del_augroup_by_id(self.group)
  self.review.view = nil
  if self.watch then
    self.watch:stop()
  end
  self:give_back()
  self:give_look_back()
  local was_here = api.nvim_get_current_win() == self.win
  if self.made_win and api.nvim_win_is_valid(self.win) and api.nvim_win_get_buf(self.win) == self.buf then
    if not windows.close(self.win) and api.nvim_buf_is_loaded(self.review.chat) then
      -- It is the only window.
      pcall(api.nvim_win_set_buf, self.win, self.review.chat)
    elseif self.sizes then
      pcall(vim.cmd, self.sizes)
    end
  end
  if was_here then
    windows.enter(self.origin.win)
  end
  self:drop_buffers()
end

--- Takes away the buffers that were opened for the review, unless the user has begun to use them. Those are listed as any other.
function Inline:drop_buffers()
  for buf in pairs(self.ours) do
    if not api.nvim_buf_is_valid(buf) then
      -- It is gone.
    elseif vim.bo[buf].modified or #vim.fn.win_findbuf(buf) > 0 then
      vim.bo[buf].buflisted = true
    else
      pcall(api.nvim_buf_delete, buf, {})
    end
  end
end

--- The user leaves the review.
function Inline:quit()
  self:keep_drafts()
  self:close()
  require("flemma.review").left(self.review)
end

--- Something was closed or changed: ends the review when its buffer is not on the screen any more.
function Inline:settle()
  if self.is_closed or self.is_busy then
    return
  end
  local is_shown = api.nvim_buf_is_loaded(self.buf)
    and api.nvim_win_is_valid(self.win)
    and api.nvim_win_get_buf(self.win) == self.buf
  if not is_shown then
    self:quit()
  end
end

---@param why string
function Inline:conclude(why)
  self:close()
  say(vim.log.levels.INFO, ("%s: %s"):format(self.review.call, why))
end

---@param problem string
function Inline:warn(problem)
  self:quit()
  say(vim.log.levels.WARN, require("flemma.review.calls").about(self.review.call, problem))
end

--- What was approved waits again, as it is.
function Inline:reopen()
  self:draw()
end

--- The proposal has changed. What was left out stays so.
---@param files flemma.ReviewedFile[]
function Inline:update(files)
  local review, path = self.review, self:file().path
  local before, hunks = merge.by_path(review.files), self.hunks
  review.files, review.marks, self.hunks = files, merge.left_out(review.marks), {}
  for _, file in ipairs(files) do
    if hunks[file.path] then
      hunks_of.leave_again(hunks[file.path], self:hunks_in(file))
    end
  end
  local at = merge.place_of(files, path)
  local problem = original.why_not(files[at]) or self:show(at, true)
  local words = merge.made_again(review.call, before, files)
  if problem then
    self:quit()
    words = ("%s; %s"):format(words, problem)
  else
    self.watch:set(watch.paths(files))
  end
  say(vim.log.levels.WARN, words)
end

local M = {}

--- Opens the view.
---@param review flemma.Review
---@return flemma.InlineView? view
---@return string? problem why it has to be shown in another way
function M.open(review)
  local self = setmetatable({
    review = review,
    at = 1,
    hunks = {},
    ours = {},
    origin = { win = api.nvim_get_current_win() },
  }, Inline)
  local problem = self:why_not() or self:take_again() or self:show(1)
  if problem then
    self:drop_buffers()
    return nil, problem
  end
  review.drafts = {}
  self.group = api.nvim_create_augroup(("flemma.review.%d.%s"):format(review.chat, review.call), { clear = true })
  self.watch = watch.start(watch.paths(review.files))
  api.nvim_create_autocmd({ "WinClosed", "BufWinLeave", "BufUnload", "TabClosed", "SafeState" }, {
    group = self.group,
    desc = "Flemma: end the review whose window was closed",
    callback = vim.schedule_wrap(function()
      self:settle()
    end),
  })
  api.nvim_create_autocmd("WinResized", {
    group = self.group,
    desc = "Flemma: fit the proposal into the window",
    callback = vim.schedule_wrap(function()
      if not self.is_closed and not self.is_busy and api.nvim_buf_is_loaded(self.buf) then
        self:draw()
      end
    end),
  })
  say(vim.log.levels.INFO, HINT)
  return self
end

return M
