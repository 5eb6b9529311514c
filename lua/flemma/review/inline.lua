--- A review in a window of the file: the buffer is what the file is, and the text that will be written is drawn over it.
---
--- Nothing of the file's buffer changes. Its keys are those of the review until it is left; editing the file leaves it. The keys
--- change the text that will be written, which is in a buffer of its own. To edit that, the review goes on side by side.
local buffers = require("flemma.review.buffers")
local content = require("flemma.review.content")
local decision = require("flemma.review.decision")
local hunks_of = require("flemma.review.hunks")
local keys = require("flemma.review.keys")
local overlay = require("flemma.review.overlay")

local api, notify = vim.api, require("flemma.notify")

---@class flemma.InlineView: flemma.ReviewView
---@field private review flemma.Review
---@field private buf integer the file's buffer
---@field private hunks flemma.Hunk[]
---@field private win integer
---@field private origin integer the window that the user came from
---@field private is_split? boolean whether the window was made for the review
---@field private is_new boolean whether the buffer was
---@field private above integer how many rows are drawn above the first hunk
---@field private run integer counts what was asked of the library
---@field private done? fun() is called once the hunks are drawn
---@field private restore fun() gives the keys of the buffer back
---@field private closed fun() the user has closed it
---@field private group integer
---@field private is_closed? boolean
local Inline = {}
Inline.__index = Inline

--- The keys, short enough for the command line of a screen of 80 columns.
local HINT = "gA approve, gX reject, do/dp leave/take, gK edit, q leave"

---@param hunk flemma.Hunk
local function line_of(hunk)
  return math.max(hunk.old_first, 1)
end

--- Goes to a hunk, with the rows that are drawn around it.
---@private
---@param hunk flemma.Hunk?
function Inline:go_to(hunk)
  if hunk and api.nvim_win_is_valid(self.win) then
    local line = math.min(line_of(hunk), api.nvim_buf_line_count(self.buf))
    api.nvim_win_set_cursor(self.win, { line, 0 })
    api.nvim_win_call(self.win, function()
      vim.cmd("normal! zvzt")
      if hunk == self.hunks[1] then
        vim.fn.winrestview({ topline = line, topfill = self.above })
      end
    end)
  end
end

--- Goes to the next hunk, or to the one before.
---@private
---@param by integer
function Inline:step(by)
  local line = api.nvim_win_get_cursor(self.win)[1]
  local list = by > 0 and self.hunks or vim.iter(self.hunks):rev():totable()
  self:go_to(vim.iter(list):find(function(hunk)
    return (line_of(hunk) - line) * by > 0
  end))
end

--- Leaves out the hunk at the cursor, or the nearest one before it; or takes it again.
---@private
---@param is_left boolean whether the hunk is one that is left out now
function Inline:toggle(is_left)
  local line, here = api.nvim_win_get_cursor(self.win)[1], self.hunks[1]
  for _, hunk in ipairs(self.hunks) do
    here = line_of(hunk) <= line and hunk or here
  end
  if here and here.is_left == is_left then
    local file = self.review.files[1]
    local text = buffers.text(self.review, file)
    buffers.set_text(self.review, file, hunks_of.toggled(file, text, self.hunks, here))
    decision.note(self.review)
    self:draw()
  end
end

--- Draws the hunks over the file, as soon as it is known how.
---@private
---@param done? fun()
function Inline:draw(done)
  local file, numbers = self.review.files[1], nil
  local text = buffers.text(self.review, file)
  -- The window may get another size before it is known how the hunks are drawn.
  self.run, self.done = self.run + 1, done or self.done
  local run = self.run
  self.hunks, numbers = hunks_of.of(file, text)
  overlay.draw(self.win, file, text, self.hunks, numbers, function()
    local is_there = api.nvim_win_is_valid(self.win) and api.nvim_win_get_buf(self.win) == self.buf
    return run == self.run and not self.is_closed and is_there
  end, function(above)
    self.above = above
    local run_once = self.done
    self.done = nil
    if run_once then
      run_once()
    end
  end)
end

--- Why a change cannot be shown in the window of its file, whose buffer has to show what the file is.
---@param review flemma.Review
---@param buf integer the file's buffer
---@return string? problem
local function why_not(review, buf)
  local file = review.files[1]
  local name = vim.fn.fnamemodify(file.path, ":~:.")
  local is_chat = file.path:match("%.chat$")
  if #review.files > 1 then
    return "several files would change"
  elseif file.note or not file.old or not file.new or file.moved_to or file.after or is_chat then
    return ("%s is no text that only changes where it is now"):format(name)
  elseif not api.nvim_buf_is_loaded(buf) then
    return ("%s cannot be opened"):format(name)
  elseif vim.bo[buf].modified then
    return ("%s has changes that are not saved"):format(name)
  elseif (vim.b[buf].flemma_review or review.call) ~= review.call then
    return ("%s is being reviewed for another call"):format(name)
  elseif content.read(buf, content.is_line(file.old)) ~= file.old then
    return ("the buffer of %s does not show the file as it is"):format(name)
  end
  for line in (file.old .. file.new):gmatch("[^\n]+") do
    if #line > vim.o.columns * vim.o.lines / 4 then
      return ("a line of %s fills the window"):format(name)
    end
  end
end

--- The change may be another one now, and the file as well.
function Inline:refresh()
  if not api.nvim_buf_is_loaded(self.buf) then
    return self:quit()
  end
  require("flemma.buffer.checktime").reload(self.buf)
  local problem = why_not(self.review, self.buf)
  if problem then
    self:quit()
    return notify.say(vim.log.levels.WARN, problem)
  end
  self:draw()
end

--- Puts the keys of the review into the buffer.
---@private
---@param edit fun() shows the review side by side
function Inline:map(edit)
  local buf = self.buf
  local function run(method, argument)
    return function()
      self[method](self, argument)
    end
  end
  local restore = keys.set(buf, {
    { "]c", "the next hunk", run("step", 1) },
    { "[c", "the previous hunk", run("step", -1) },
    { "do", "leave this hunk out", run("toggle", false) },
    { "dp", "take this hunk", run("toggle", true) },
    { "gK", "edit the text side by side", edit },
    { "gA", "approve the call, with the text that is drawn", decision.of(self.review, "approve") },
    { "gX", "reject the call", decision.of(self.review, "reject") },
    { "q", "leave the review", run("quit") },
  })
  vim.b[buf].flemma_review = self.review.call
  self.restore = function()
    restore()
    if api.nvim_buf_is_valid(buf) then
      vim.b[buf].flemma_review = nil
      api.nvim_buf_clear_namespace(buf, overlay.namespace, 0, -1)
    end
  end
end

--- Shows the file: in its window on this tab page, or in a new one if there is none.
---@private
function Inline:show()
  self.win = vim.fn.bufwinid(self.buf)
  if self.win == -1 then
    local split = api.nvim_win_get_width(self.origin) >= 120 and "right" or "above"
    self.win, self.is_split = api.nvim_open_win(self.buf, false, { split = split, win = self.origin }), true
  end
  api.nvim_set_current_win(self.win)
  ---@type integer[]?
  local cursor
  self:draw(function()
    -- Nothing is drawn in closed folds.
    api.nvim_win_call(self.win, function()
      vim.cmd("silent! %foldopen!")
    end)
    -- With the rows around it, unless the user has gone on.
    if vim.deep_equal(api.nvim_win_get_cursor(self.win), cursor) then
      self:go_to(self.hunks[1])
    end
  end)
  self:go_to(self.hunks[1])
  cursor = api.nvim_win_get_cursor(self.win)
end

function Inline:focus()
  return pcall(api.nvim_set_current_win, self.win)
end

function Inline:close()
  if self.is_closed then
    return
  end
  self.is_closed = true
  self.restore()
  api.nvim_del_augroup_by_id(self.group)
  local was_here = api.nvim_get_current_win() == self.win
  local is_there = api.nvim_win_is_valid(self.win) and api.nvim_win_get_buf(self.win) == self.buf
  if self.is_split and is_there and not pcall(api.nvim_win_close, self.win, true) then
    -- It is the only window.
    api.nvim_win_set_buf(self.win, self.review.chat)
  end
  if was_here and api.nvim_win_is_valid(self.origin) then
    api.nvim_set_current_win(self.origin)
  end
  self:drop()
end

--- Takes the buffer away if it was opened for the review and nobody has begun to use it. Otherwise it is listed as any other.
---@private
function Inline:drop()
  if self.is_new and api.nvim_buf_is_valid(self.buf) then
    local is_used = vim.bo[self.buf].modified or #vim.fn.win_findbuf(self.buf) > 0
    if is_used or not pcall(api.nvim_buf_delete, self.buf, {}) then
      vim.bo[self.buf].buflisted = true
    end
  end
end

--- The user leaves the review.
---@private
function Inline:quit()
  if not self.is_closed then
    self:close()
    self.closed()
  end
end

local M = {}

--- Opens the view.
---@param review flemma.Review
---@param closed fun() the user has closed it
---@param edit fun() shows the review side by side
---@return flemma.InlineView? view
---@return string? problem why it has to be shown in another way
function M.open(review, closed, edit)
  local path = review.files[1].path
  local self = setmetatable({ review = review, origin = api.nvim_get_current_win(), above = 0, run = 0 }, Inline)
  self.closed, self.is_new, self.buf = closed, vim.fn.bufexists(path) == 0, vim.fn.bufadd(path)
  if api.nvim_buf_is_loaded(self.buf) then
    require("flemma.buffer.checktime").reload(self.buf)
  else
    pcall(vim.fn.bufload, self.buf)
  end
  local problem = why_not(review, self.buf)
  if problem then
    self:drop()
    return nil, problem
  end
  self:show()
  self:map(edit)
  self.group = api.nvim_create_augroup(("flemma.review.%d.%s"):format(review.chat, review.call), { clear = true })
  api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "BufWinLeave", "BufUnload" }, {
    group = self.group,
    buffer = self.buf,
    desc = "Flemma: end the review of a file that is edited or closed",
    callback = vim.schedule_wrap(function()
      local is_there = api.nvim_buf_is_loaded(self.buf) and #vim.fn.win_findbuf(self.buf) > 0
      if not is_there or vim.bo[self.buf].modified then
        self:quit()
      end
    end),
  })
  api.nvim_create_autocmd("WinResized", {
    group = self.group,
    desc = "Flemma: fit the text into the window",
    callback = vim.schedule_wrap(function()
      if not self.is_closed and api.nvim_win_is_valid(self.win) then
        self:draw()
      end
    end),
  })
  notify.say(vim.log.levels.INFO, HINT)
  return self
end

return M
