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

local api = vim.api

---@class flemma.InlineView: flemma.ReviewView
---@field private review flemma.Review
---@field private at integer the file on the screen
---@field private buf integer the file's buffer
---@field private hunks flemma.Hunk[]
---@field private ours table<integer, true> buffers that were not there before
---@field private win integer
---@field private origin integer the window that the user came from
---@field private is_split? boolean whether the window was made for the review
---@field private above integer how many rows are drawn above the first hunk
---@field private run integer counts what was asked of the library
---@field private restore? fun() gives the keys of the buffer back
---@field private closed fun() the user has closed it
---@field private edit fun() shows the review side by side
---@field private group integer
---@field private is_closed? boolean
local Inline = {}
Inline.__index = Inline

--- The keys, short enough for the command line of a screen of 80 columns.
local HINT = "gA approve, gX reject, do/dp leave/take, gK edit, q leave"

---@param level integer
---@param message string
local function say(level, message)
  require("flemma.notify").say(level, message)
end

---@private
---@return flemma.ReviewedFile
function Inline:file()
  return self.review.files[self.at]
end

--- Goes to a hunk, with the rows that are drawn around it.
---@private
---@param hunk flemma.Hunk?
function Inline:go_to(hunk)
  if not hunk or not api.nvim_win_is_valid(self.win) then
    return
  end
  local line = math.min(math.max(hunk.old_first, 1), api.nvim_buf_line_count(self.buf))
  api.nvim_win_set_cursor(self.win, { line, 0 })
  api.nvim_win_call(self.win, function()
    vim.cmd("normal! zvzt")
    if hunk == self.hunks[1] then
      vim.fn.winrestview({ topline = line, topfill = self.above })
    end
  end)
end

--- Goes to the next hunk, or to the one before.
---@private
---@param by integer
function Inline:step_hunk(by)
  local line = api.nvim_win_get_cursor(self.win)[1]
  local found = vim.iter(by > 0 and self.hunks or vim.iter(self.hunks):rev():totable()):find(function(hunk)
    return (math.max(hunk.old_first, 1) - line) * by > 0
  end)
  self:go_to(found)
end

--- Takes the hunk at the cursor, or the nearest one before it; or leaves it out.
---@private
---@param is_left boolean whether the hunk is one that is left out now
function Inline:toggle(is_left)
  local line, here = api.nvim_win_get_cursor(self.win)[1], self.hunks[1]
  for _, hunk in ipairs(self.hunks) do
    here = math.max(hunk.old_first, 1) <= line and hunk or here
  end
  if here and here.is_left == is_left then
    local file = self:file()
    local text = hunks_of.toggled(file, buffers.text(self.review, file), self.hunks, here)
    buffers.set_text(self.review, file, text)
    decision.note(self.review)
    self:draw()
  end
end

--- Draws the hunks of the file on the screen.
---@param done? fun()
---@private
function Inline:draw(done)
  local file, numbers = self:file(), nil
  local text = buffers.text(self.review, file)
  self.run = self.run + 1
  local run = self.run
  self.hunks, numbers = hunks_of.of(file, text)
  overlay.draw(self.win, file, text, self.hunks, numbers, function()
    return run == self.run and not self.is_closed and api.nvim_buf_is_loaded(self.buf)
  end, function(above)
    self.above = above
    if done then
      done()
    end
  end)
end

--- Why a file cannot be shown in a buffer of its own.
---@param file flemma.ReviewedFile
---@return string? problem
local function why_not(file)
  local name = vim.fn.fnamemodify(file.path, ":~:.")
  if file.note then
    return ("%s is %s"):format(name, file.note)
  elseif file.after then
    return ("it is shown %s"):format(file.after)
  elseif not file.old then
    return ("%s does not exist yet"):format(name)
  elseif not file.new or file.moved_to then
    return ("%s is deleted or moved"):format(name)
  elseif file.path:match("%.chat$") then
    return ("%s is a conversation"):format(name)
  end
  local room = vim.o.columns * vim.o.lines / 4
  for _, text in ipairs({ file.old, file.new }) do
    for line in text:gmatch("[^\n]+") do
      if #line > room then
        return ("a line of %s fills the window"):format(name)
      end
    end
  end
end

--- The buffer of a file, with what is on the disk.
---@param file flemma.ReviewedFile
---@param ours table<integer, true> gets the buffer if it was not there before
---@param call string the call that is reviewed
---@return integer? buf
---@return string? problem
local function open_file(file, ours, call)
  local name = vim.fn.fnamemodify(file.path, ":~:.")
  local is_known = vim.fn.bufexists(file.path) == 1
  local buf = vim.fn.bufadd(file.path)
  ours[buf] = ours[buf] or not is_known or nil
  if not api.nvim_buf_is_loaded(buf) then
    local id = api.nvim_create_autocmd("SwapExists", {
      desc = "Flemma: only look at the file",
      callback = function()
        vim.v.swapchoice = "o"
      end,
    })
    pcall(vim.fn.bufload, buf)
    pcall(api.nvim_del_autocmd, id)
  elseif not vim.bo[buf].modified then
    require("flemma.reload").run(buf, { whole_undo = true })
  end
  if not api.nvim_buf_is_loaded(buf) then
    return nil, ("%s cannot be opened"):format(name)
  elseif vim.bo[buf].modified then
    return nil, ("%s has changes that are not saved"):format(name)
  elseif (vim.b[buf].flemma_review or call) ~= call then
    return nil, ("%s is being reviewed for another call"):format(name)
  elseif content.read(buf, content.is_line(file.old)) ~= file.old then
    return nil, ("the buffer of %s does not show the file as it is"):format(name)
  end
  return buf
end

--- The change may be another one now, and the file as well.
function Inline:refresh()
  self.at = math.min(self.at, #self.review.files)
  local problem = why_not(self:file()) or select(2, open_file(self:file(), self.ours, self.review.call))
  if problem then
    self:quit()
    return say(vim.log.levels.WARN, problem)
  end
  self:draw()
end

--- Puts the keys of the review into the buffer.
---@private
function Inline:map()
  local function run(method, argument)
    return function()
      self[method](self, argument)
    end
  end
  local restore = keys.set(self.buf, {
    { "]c", "the next hunk", run("step_hunk", 1) },
    { "[c", "the previous hunk", run("step_hunk", -1) },
    { "do", "leave this hunk out", run("toggle", false) },
    { "dp", "take this hunk", run("toggle", true) },
    { "]f", "the next file of the change", run("step", 1) },
    { "[f", "the previous file of the change", run("step", -1) },
    { "gL", "leave this file out", run("leave_out") },
    { "gK", "edit the proposal side by side", self.edit },
    { "q", "leave the review", run("quit") },
    {
      "gA",
      "approve the call, with the text that is drawn",
      function()
        decision.approve(self.review)
      end,
    },
    {
      "gX",
      "reject the call",
      function()
        decision.reject(self.review)
      end,
    },
  })
  local buf = self.buf
  vim.b[buf].flemma_review = self.review.call
  self.restore = function()
    restore()
    if api.nvim_buf_is_valid(buf) then
      vim.b[buf].flemma_review = nil
      api.nvim_buf_clear_namespace(buf, overlay.namespace, 0, -1)
    end
  end
end

---@private
function Inline:leave_out()
  buffers.leave_out(self.review, self:file())
  decision.note(self.review)
  self:draw()
end

--- Shows a file in the window.
---@private
---@param at integer
---@return string? problem
function Inline:show(at)
  local file = self.review.files[at]
  self:give_back()
  local buf, problem = open_file(file, self.ours, self.review.call)
  if not buf then
    return problem
  end
  self.at, self.buf = at, buf
  if not self.is_split then
    self:find_window()
  end
  if api.nvim_win_get_buf(self.win) ~= buf then
    api.nvim_win_set_buf(self.win, buf)
  end
  api.nvim_set_current_win(self.win)
  self:map()
  api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "BufWinLeave", "BufUnload" }, {
    group = self.group,
    buffer = buf,
    desc = "Flemma: end the review of a file that is edited or closed",
    callback = vim.schedule_wrap(function(args)
      if self.is_closed or buf ~= self.buf then
        return
      end
      local is_gone = not api.nvim_buf_is_loaded(buf) or #vim.fn.win_findbuf(buf) == 0
      if is_gone or vim.bo[buf].modified then
        self:quit()
      elseif vim.startswith(args.event, "Text") then
        self:draw()
      end
    end),
  })
  ---@type integer[]?
  local cursor
  self:draw(function()
    for _, hunk in ipairs(self.hunks) do
      -- Nothing is drawn in closed folds.
      local line = math.max(hunk.old_first, 1)
      api.nvim_win_call(self.win, function()
        vim.cmd(("silent! %d,%dfoldopen!"):format(line, math.max(line, hunk.old_first + hunk.old_count - 1)))
      end)
    end
    -- With the rows around it, unless the user has gone on.
    if vim.deep_equal(api.nvim_win_get_cursor(self.win), cursor) then
      self:go_to(self.hunks[1])
    end
  end)
  self:go_to(self.hunks[1])
  cursor = api.nvim_win_get_cursor(self.win)
end

--- The window of the file on this tab page; a new one if there is none.
---@private
function Inline:find_window()
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(win) == self.buf and api.nvim_win_get_config(win).relative == "" then
      self.win = win
      return
    end
  end
  local from = api.nvim_get_current_win()
  local split = api.nvim_win_get_width(from) >= 120 and "right" or "above"
  self.win, self.is_split = api.nvim_open_win(self.buf, false, { split = split, win = from }), true
end

--- Takes back what was changed of the buffer on the screen.
---@private
function Inline:give_back()
  if self.restore then
    if api.nvim_buf_is_valid(self.buf) then
      api.nvim_clear_autocmds({ group = self.group, buffer = self.buf })
    end
    self.restore()
    self.restore = nil
  end
end

---@private
---@param by integer
function Inline:step(by)
  if not self.review.files[self.at + by] then
    local words = by > 0 and "this is the last file of the change" or "this is the first file of the change"
    return say(vim.log.levels.INFO, words)
  end
  local problem = self:show(self.at + by)
  if problem then
    say(vim.log.levels.WARN, problem)
    self:quit()
  end
end

function Inline:focus()
  return pcall(api.nvim_set_current_win, self.win)
end

function Inline:is_shown()
  return api.nvim_win_is_valid(self.win) and api.nvim_win_get_tabpage(self.win) == api.nvim_get_current_tabpage()
end

function Inline:close()
  if self.is_closed then
    return
  end
  self.is_closed = true
  self.review.view = nil
  self:give_back()
  api.nvim_del_augroup_by_id(self.group)
  local was_here = api.nvim_get_current_win() == self.win
  if self.is_split and api.nvim_win_is_valid(self.win) and api.nvim_win_get_buf(self.win) == self.buf then
    if not pcall(api.nvim_win_close, self.win, true) and api.nvim_buf_is_loaded(self.review.chat) then
      -- It is the only window.
      api.nvim_win_set_buf(self.win, self.review.chat)
    end
  end
  if was_here and api.nvim_win_is_valid(self.origin) then
    api.nvim_set_current_win(self.origin)
  end
  self:drop_buffers()
end

--- Takes away the buffers that were opened for the review, unless the user has begun to use them. Those are listed as any other.
---@private
function Inline:drop_buffers()
  for buf in pairs(self.ours) do
    if api.nvim_buf_is_valid(buf) and (vim.bo[buf].modified or #vim.fn.win_findbuf(buf) > 0) then
      vim.bo[buf].buflisted = true
    else
      pcall(api.nvim_buf_delete, buf, {})
    end
  end
end

--- The user leaves the review.
---@private
function Inline:quit()
  self:close()
  self.closed()
end

local M = {}

--- Opens the view.
---@param review flemma.Review
---@param closed fun() the user has closed it
---@param edit fun() shows the review side by side
---@return flemma.InlineView? view
---@return string? problem why it has to be shown in another way
function M.open(review, closed, edit)
  local self = setmetatable({
    review = review,
    ours = {},
    origin = api.nvim_get_current_win(),
    above = 0,
    run = 0,
    closed = closed,
    edit = edit,
    group = api.nvim_create_augroup(("flemma.review.%d.%s"):format(review.chat, review.call), { clear = true }),
  }, Inline)
  local problem
  for _, file in ipairs(review.files) do
    problem = problem or why_not(file) or select(2, open_file(file, self.ours, review.call))
  end
  problem = problem or self:show(1)
  if problem then
    self:drop_buffers()
    api.nvim_del_augroup_by_id(self.group)
    return nil, problem
  end
  api.nvim_create_autocmd("WinResized", {
    group = self.group,
    desc = "Flemma: fit the proposal into the window",
    callback = vim.schedule_wrap(function()
      if not self.is_closed and api.nvim_win_is_valid(self.win) then
        self:draw()
      end
    end),
  })
  say(vim.log.levels.INFO, HINT)
  return self
end

return M
