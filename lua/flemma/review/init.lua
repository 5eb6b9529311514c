--- Reviewing what a call would change in files, before the user decides about it.
---
--- The library knows the proposal of each call that waits (`crates/workspace/src/proposals.rs`). A review holds, for each of its files, a
--- hidden buffer with the text that will be written (`flemma.review.buffers`). A view shows it: `flemma.review.tab` or
--- `flemma.review.inline`. It opens because the user pressed a key, and decides nothing by itself: closing it leaves the call, and
--- what the user has made of its change, as they are. The review ends when the call is decided, here or elsewhere.
local M = {}

local buffers = require("flemma.review.buffers")
local calls = require("flemma.review.calls")
local decision = require("flemma.review.decision")

local api, native, notify = vim.api, require("flemma.native"), require("flemma.notify")

---@class flemma.ReviewView
---@field focus fun(self: flemma.ReviewView): boolean goes to its window; false if that is gone
---@field refresh fun(self: flemma.ReviewView) draws what may have changed of what it says
---@field close fun(self: flemma.ReviewView) closes it, and goes back to where the user came from if they are in it

---@class flemma.Review
---@field chat integer the buffer of the conversation
---@field call string
---@field tool string
---@field revision string
---@field shown number since when that is on the screen, in milliseconds
---@field change integer which of the changes it is that the call makes one after the other
---@field files flemma.ReviewedFile[]
---@field old table<string, integer> by path: the buffer of what the file is
---@field new table<string, integer> by path: the buffer of the text that will be written
---@field left table<string, true> by path: the files without text that the user leaves out
---@field stale table<string, true> by path: the texts that were made of what the file is not any more
---@field note fun(review: flemma.Review) shows in the conversation what would be written
---@field renew fun(review: flemma.Review) shows what the call would do now
---@field view? flemma.ReviewView
---@field noted? (string|boolean)[] what the conversation shows of it
---@field is_deciding? boolean whether a decision is on its way
---@field is_approved? boolean whether it was approved here, and may come back because the file has changed
---@field is_rejected? boolean
---@field is_unknown? boolean whether the conversation was closed, and may be opened again
---@field is_over? boolean whether the call has ended

--- How long an exit waits for a decision that is on its way, in milliseconds.
local EXIT = 3000

---@type table<string, flemma.Review> by conversation and call
local reviews = {}

--- Those of a conversation.
---@param chat integer
---@return flemma.Review[]
local function reviews_of(chat)
  return vim.tbl_filter(function(review)
    return review.chat == chat
  end, vim.tbl_values(reviews))
end

--- Whether a call of a conversation is being reviewed on the current tab page.
---@param chat integer
---@return boolean
function M.is_shown(chat)
  return vim.iter(api.nvim_tabpage_list_wins(0)):any(function(win)
    local call = vim.b[api.nvim_win_get_buf(win)].flemma_review
    return call ~= nil and reviews[chat .. " " .. call] ~= nil
  end)
end

--- The calls of a conversation that wait for approval, and those that ask something.
---@param chat integer
---@return table<string, true> ids
---@return table<string, string> questions the tools of the others
local function waiting(chat)
  local ids, questions = {}, {}
  for _, call in ipairs(native.call("calls", chat, "pending") or {}) do
    ids[call.id] = call.kind == "approval" or nil
    questions[call.id] = call.kind == "elicitation" and call.tool or nil
  end
  return ids, questions
end

---@param chat integer
---@param call string
local function is_open(chat, call)
  return vim.iter(native.call("calls", chat, "open") or {}):any(function(open)
    return open.id == call
  end)
end

--- The call under the cursor if it waits for approval; otherwise the only one that does.
---@param chat integer
---@return string? call
---@return string? problem
local function call_here(chat)
  local ids, questions = waiting(chat)
  -- The cursor may be in the input window.
  local is_here = api.nvim_get_current_buf() == chat
  local found = is_here and native.call("calls", chat, "at", { line = api.nvim_win_get_cursor(0)[1] - 1 }) or {}
  local here = found[1] and found[1].id
  if here and ids[here] then
    return here
  elseif here and questions[here] then
    local key = (require("flemma.view.previews").keys[chat] or {}).tool_execute or "`:Flemma tool:execute`"
    return nil, ("`%s` asks a question; %s answers it"):format(questions[here], key)
  elseif here and is_open(chat, here) then
    return nil, ("%s does not wait for approval"):format(here)
  end
  local count = vim.tbl_count(ids)
  if count == 1 then
    return next(ids)
  elseif count == 0 then
    return nil, "no call waits for approval here"
  end
  return nil, ("%d calls wait for approval; put the cursor on the one to review"):format(count)
end

--- The user has closed the view of a review. The call still waits, unless a decision is on its way.
---@param review flemma.Review
local function left(review)
  review.view = nil
  decision.note(review)
  if not review.is_over and not review.is_approved and not review.is_deciding then
    local what = review.noted and ", with your edit" or ""
    notify.say(vim.log.levels.INFO, ("%s is not decided; it still waits%s"):format(review.call, what))
  end
end

---@param review flemma.Review
---@param kind "tab"|"inline"
local function show(review, kind)
  local function closed()
    left(review)
  end
  if kind == "inline" then
    local problem
    review.view, problem = require("flemma.review.inline").open(review, closed, function()
      decision.close(review)
      show(review, "tab")
    end)
    if problem then
      notify.say(vim.log.levels.INFO, ("shown side by side: %s"):format(problem))
    end
  end
  review.view = review.view or require("flemma.review.tab").open(review, closed)
  review.shown = require("flemma.view.approval_delay").now()
end

--- Begins with what the user has made of the change for an approval that did not count, because a file had changed.
---@param review flemma.Review
local function take_earlier(review)
  for _, file in ipairs(review.files) do
    if file.draft and not file.note then
      buffers.set_text(review, file, file.draft.text)
      review.stale[file.path] = file.draft.base ~= (file.old or "") or nil
    elseif file.is_left then
      buffers.leave_out(review, file)
    end
  end
end

--- Takes over what a call would do now. What the user has edited stays as it is, to be compared with what the file is now.
---@param review flemma.Review
---@param proposal flemma.ReviewedChange
local function update(review, proposal)
  local is_other, is_file, before = review.revision ~= proposal.revision, false, {}
  for _, file in ipairs(is_other and review.files or {}) do
    before[file.path] = { old = file.old, is_edited = buffers.is_edited(review, file) }
  end
  review.revision, review.files = proposal.revision, proposal.files
  for _, file in ipairs(is_other and review.files or {}) do
    local known, path = before[file.path] or {}, file.path
    local is_changed = known.old ~= file.old or file.note ~= nil
    is_file = is_file or is_changed
    review.stale[path] = (review.stale[path] or is_changed and known.is_edited) and true or nil
    for _, side in ipairs({ "old", not known.is_edited and "new" or nil }) do
      if review[side][path] and api.nvim_buf_is_loaded(review[side][path]) then
        buffers.fill(review[side][path], file, side)
      end
    end
  end
  if review.view then
    -- The calls above may have made their changes.
    review.view:refresh()
  end
  if is_other or review.is_unknown then
    decision.note(review, true)
  end
  if is_other then
    review.shown = require("flemma.view.approval_delay").now()
    local what = is_file and "the file" or "the call"
    local words = ("%s: %s has changed, so the proposal was made again"):format(review.call, what)
    if next(review.stale) then
      words = words .. ". Your text stays as it is. At the right, `:e!` shows the new proposal instead"
    end
    notify.say(vim.log.levels.WARN, words)
  end
end

--- Whether the text of a buffer is not what its file has.
---@param path string
---@param buf integer
local function is_unwritten(path, buf)
  local content = require("flemma.review.content")
  local ok, text = pcall(vim.fn.readblob, path)
  return not ok or text ~= content.read(buf, content.is_line(text))
end

--- The call of a review has ended. A text that the user has edited and that was not written stays.
---@param review flemma.Review
---@param why string
local function finish(review, why)
  review.is_over = true
  reviews[review.chat .. " " .. review.call] = nil
  local kept
  for _, file in ipairs(review.is_rejected and {} or review.files) do
    local buf, is_moved = review.new[file.path], review.is_approved and file.moved_to
    if buffers.is_edited(review, file) and not is_moved and is_unwritten(file.path, buf) then
      kept, review.new[file.path] = buf, nil
      vim.bo[buf].buftype, vim.bo[buf].buflisted = "nofile", true
    end
  end
  for _, buf in pairs(review.new) do
    pcall(api.nvim_buf_delete, buf, { force = true })
  end
  if kept then
    why = ("%s; what you have edited stays in %s"):format(why, api.nvim_buf_get_name(kept))
  end
  if kept or review.view then
    notify.say(kept and vim.log.levels.WARN or vim.log.levels.INFO, ("%s: %s"):format(review.call, why))
  end
  if kept and review.view then
    review.view:refresh()
  else
    decision.close(review)
  end
end

--- Shows what a call would do now. While a decision is on its way, that waits for its answer.
---@param review flemma.Review
local function renew(review)
  calls.get(review.chat, review.call, function(proposal, problem)
    if review.is_over or review.is_deciding then
      return
    elseif not proposal then
      if review.view then
        notify.say(vim.log.levels.WARN, ("%s: %s"):format(review.call, problem))
      end
    elseif proposal.change ~= review.change then
      finish(review, "the call waits with another change now")
    else
      update(review, proposal)
    end
  end)
end

--- Opens the change of the call under the cursor, or of the only one that waits, as soon as it is known.
function M.open()
  local chat = require("flemma.buffer.target").resolve()
  if not chat then
    return
  end
  local call, why = call_here(chat)
  if not call then
    return notify.say(vim.log.levels.INFO, why or "")
  end
  local key = chat .. " " .. call
  local before = reviews[key]
  if before and before.view and before.view:focus() then
    return
  elseif before then
    decision.close(before)
  end
  local place = { api.nvim_get_current_win(), api.nvim_get_current_buf(), "n" }
  require("flemma.view.cursor").watch(chat)
  if api.nvim_get_mode().mode:find("^i") then
    vim.cmd.stopinsert()
  end
  calls.get(chat, call, function(proposal, problem)
    local review = reviews[key]
    if not proposal then
      return notify.say(vim.log.levels.WARN, problem or "")
    elseif review and review.view then
      -- Another key has opened it meanwhile.
      return
    end
    local now = { api.nvim_get_current_win(), api.nvim_get_current_buf(), api.nvim_get_mode().mode }
    if not vim.deep_equal(now, place) then
      -- The user went on meanwhile, and keeps the focus.
      return notify.say(vim.log.levels.INFO, ("the change of %s can be reviewed now"):format(call))
    end
    if not review then
      review = { chat = chat, call = call, tool = proposal.tool, old = {}, new = {}, left = {}, stale = {}, note = decision.note }
      review.revision, review.change, review.files, review.renew = proposal.revision, proposal.change, proposal.files, renew
      reviews[key] = review
      take_earlier(review)
    else
      update(review, proposal)
    end
    local options = require("flemma.options").get()
    show(review, options and options.tools.review.view or "tab")
  end)
end

--- Calls of a conversation are about to be approved: what the user has made of their changes has to be known.
---@param chat integer
function M.note_made(chat)
  for _, review in ipairs(reviews_of(chat)) do
    decision.note(review, true)
  end
end

--- Neovim is about to exit. Waits until what the user has decided a moment ago is kept, but not for ever.
function M.settle()
  vim.wait(EXIT, function()
    return not vim.iter(vim.tbl_values(reviews)):any(function(review)
      return review.is_deciding
    end)
  end, 5)
end

--- Ends the reviews of a conversation whose calls do not wait any more.
---@param chat integer
function M.check(chat)
  local found = reviews_of(chat)
  local is_there = api.nvim_buf_is_loaded(chat) and require("flemma.buffer.target").is_attached(chat)
  if not found[1] or is_there and not native.call("state", chat, "settled") then
    return
  end
  local ids = is_there and waiting(chat) or {}
  for _, review in ipairs(found) do
    if review.is_deciding then
      -- Its answer comes first.
    elseif ids[review.call] then
      if review.is_approved then
        decision.resume(review)
      end
    elseif not is_there and review.noted and api.nvim_buf_is_valid(chat) then
      -- Neovim unloads it where it refuses to exit because of the edit. The edit counts again when the conversation is opened.
      local words = "%s still waits, with your edit. `:edit %s` opens its conversation, and `:qa!` drops the edit"
      notify.say(vim.log.levels.WARN, words:format(review.call, vim.fn.bufname(chat)))
    elseif not is_there or not is_open(chat, review.call) then
      finish(review, is_there and "it does not wait any more" or "its conversation was closed")
    end
  end
end

--- The proposals of a conversation have changed.
---@param chat integer
function M.changed(chat)
  require("flemma.view.refresh").schedule(chat)
  vim.iter(reviews_of(chat)):each(renew)
end

--- The text of a conversation was unloaded, or its filetype changed.
---@param chat integer
function M.forget(chat)
  for _, review in ipairs(reviews_of(chat)) do
    review.is_unknown = true
    -- It may be attached again at once, as after `:edit`.
    vim.schedule(function()
      M.check(chat)
    end)
  end
end

require("flemma.view.refresh").on_refresh = M.check

return M
