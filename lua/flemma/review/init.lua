--- Reviewing what a call would change in files, before the user decides about it.
---
--- The library knows the proposal of each call that waits (`src/workspace/proposals.rs`). A review shows one of them, in a view:
--- `flemma.review.tab` or `flemma.review.inline`. It opens because the user pressed a key, and decides nothing by itself: closing
--- the view leaves the call as it is. It ends when the call is decided, here or elsewhere.
local M = {}

local calls = require("flemma.review.calls")

local api = vim.api

---@class flemma.ReviewView
---@field focus fun(self: flemma.ReviewView)
---@field close fun(self: flemma.ReviewView) closes it, and goes back to where the user came from if they are in it
---@field conclude fun(self: flemma.ReviewView, why: string) the call has ended elsewhere: closes it unless that loses text
---@field update fun(self: flemma.ReviewView, files: flemma.ReviewedFile[]) shows another proposal
---@field warn fun(self: flemma.ReviewView, problem: string) there is no proposal any more
---@field reopen fun(self: flemma.ReviewView) the same proposal is to be decided about once more
---@field draw fun(self: flemma.ReviewView) draws what may have changed of what it says
---@field made fun(self: flemma.ReviewView): (string|boolean)[] what would be written of each file
---@field note_made fun(self: flemma.ReviewView) notes this for approvals from elsewhere
---@field note? string what the user has to know, where there is room for it

---@class flemma.Draft
---@field text string
---@field base string what the file was when it was made

---@class flemma.Review
---@field chat integer the buffer of the conversation
---@field call string
---@field tool string
---@field revision string
---@field shown number since when that is on the screen, in milliseconds
---@field change integer which of the changes it is that the call makes one after the other
---@field files flemma.ReviewedFile[]
---@field marks table<string, boolean> by path: whether the user takes the file; nil if that is not decided
---@field drafts table<string, flemma.Draft> by path: what the user has edited and not accepted
---@field conflicts table<string, string[]> by path: what another program has written where the user has edited
---@field view? flemma.ReviewView
---@field is_kept? boolean whether the conversation shows what the user has made of the change
---@field kept? (string|boolean)[] what was noted of that last
---@field is_deciding? boolean whether an approval is on its way
---@field is_rejected? boolean whether a rejection is on its way
---@field is_accepted? boolean whether it was approved and may come back, because the file has changed
---@field is_over? boolean whether the call has ended

--- How long an exit waits for a decision that is on its way, in milliseconds.
local EXIT = 3000

--- After how long the user is told that the files are still being compared, in milliseconds.
local LATE = 300

---@type table<string, flemma.Review> by conversation and call
local reviews = {}

---@type table<string, string> by conversation and call: what is said while it is found out what the call would change
local pending = {}

local function native(...)
  return require("flemma.native").call(...)
end

---@param level integer
---@param message string
local function say(level, message)
  require("flemma.notify").say(level, message)
end

local function key_of(chat, call)
  return chat .. " " .. call
end

--- Whether a call of a conversation is being reviewed on the current tab page.
---@param chat integer
---@return boolean
function M.is_shown(chat)
  for _, review in pairs(reviews) do
    local win = review.view and (review.view.win or review.view.right)
    if review.chat == chat and win and api.nvim_win_is_valid(win) then
      if api.nvim_win_get_tabpage(win) == api.nvim_get_current_tabpage() then
        return true
      end
    end
  end
  return false
end

--- The calls of a conversation that wait for approval.
---@param chat integer
---@return table<string, true>
local function waiting(chat)
  local ids = {}
  for _, call in ipairs(native("pending_calls", chat) or {}) do
    if call.kind == "approval" then
      ids[call.id] = true
    end
  end
  return ids
end

--- The call under the cursor if it waits for approval; otherwise the only one that does.
---@param chat integer
---@return string? call
---@return string? problem
local function call_here(chat)
  local ids = waiting(chat)
  -- The cursor may be in the input window.
  local is_here = api.nvim_get_current_buf() == chat
  local here = is_here and native("call_at", chat, api.nvim_win_get_cursor(0)[1] - 1) or nil
  if here and ids[here] then
    return here
  end
  if here and vim.list_contains(native("open_calls", chat) or {}, here) then
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

---@param review flemma.Review
---@param kind? "tab"|"inline"
local function show(review, kind)
  local options = require("flemma.options").get()
  kind = kind or options and options.tools.review.view or "tab"
  local problem
  if kind == "inline" then
    review.view, problem = require("flemma.review.inline").open(review)
    if problem then
      say(vim.log.levels.INFO, ("shown side by side: %s"):format(problem))
    end
  end
  if not review.view then
    review.view, problem = require("flemma.review.tab").open(review)
    if problem then
      say(vim.log.levels.ERROR, ("%s cannot be shown: %s"):format(review.call, problem))
    end
  end
  review.shown = require("flemma.seen").now()
end

--- Shows what the call of a review would do now.
---@param review flemma.Review
---@param proposal flemma.ReviewedChange
function M.update(review, proposal)
  review.revision, review.shown = proposal.revision, require("flemma.seen").now()
  review.view:update(proposal.files)
end

--- Whether the user still looks at a call.
---@param place { win: integer, buf: integer } where they have pressed the key
---@param chat integer
---@param call string
local function is_at(place, chat, call)
  return api.nvim_get_current_win() == place.win
    and api.nvim_get_current_buf() == place.buf
    and api.nvim_get_mode().mode == "n"
    and call_here(chat) == call
end

--- Begins the review of a call.
---@param chat integer
---@param call string
---@param proposal flemma.ReviewedChange
local function begin(chat, call, proposal)
  local key = key_of(chat, call)
  local before = reviews[key]
  ---@type flemma.Review
  local review = {
    chat = chat,
    call = call,
    tool = proposal.tool,
    revision = proposal.revision,
    change = proposal.change,
    files = proposal.files,
    marks = {},
    -- What was edited in a review that was closed, or whose approval came too late.
    drafts = before and before.drafts or {},
    conflicts = before and before.conflicts or {},
    is_kept = before and before.is_kept,
  }
  for _, file in ipairs(review.files) do
    if not before then
      -- What was accepted in an earlier session, or was not written because the file had changed.
      review.drafts[file.path] = file.draft
    end
    if file.is_left then
      review.marks[file.path] = false
    end
    review.is_kept = review.is_kept or file.is_left or file.draft ~= nil
    local draft = review.drafts[file.path]
    if draft then
      require("flemma.review.merge").rebase(review, file, draft)
    end
  end
  reviews[key] = review
  show(review)
end

--- Opens the change of the call under the cursor, or of the only one that waits, as soon as it is known.
function M.open()
  local chat = require("flemma.buffer").resolve()
  if not chat then
    return
  end
  local call, why = call_here(chat)
  if not call then
    return say(vim.log.levels.INFO, why or "")
  end
  local key = key_of(chat, call)
  local before = reviews[key]
  if before and before.view then
    return before.view:focus()
  elseif pending[key] then
    -- It opens when it is known, however often the key is pressed.
    return say(vim.log.levels.INFO, pending[key])
  end
  local place = { win = api.nvim_get_current_win(), buf = api.nvim_get_current_buf() }
  if api.nvim_get_mode().mode:find("^i") then
    vim.cmd.stopinsert()
  end
  local words = ("comparing what %s would change…"):format(call)
  pending[key] = words
  local timer = vim.defer_fn(function()
    if pending[key] == words then
      say(vim.log.levels.INFO, words)
    end
  end, LATE)
  calls.get(chat, call, function(proposal, problem)
    pending[key] = nil
    if not timer:is_closing() then
      timer:close()
    end
    local review = reviews[key]
    if not proposal then
      say(vim.log.levels.WARN, calls.about(call, problem))
    elseif review and review.view then
      -- Another key has opened it meanwhile.
      return
    elseif not is_at(place, chat, call) then
      -- The user went on meanwhile, and keeps the focus.
      say(vim.log.levels.INFO, ("the change of %s can be reviewed now"):format(call))
    else
      begin(chat, call, proposal)
    end
  end)
end

--- Shows a review side by side instead, with what was edited or left out so far.
---@param review flemma.Review
function M.show_in_tab(review)
  review.view = nil
  show(review, "tab")
end

--- Makes what the user has made of the change so far what the conversation shows of it, and what an approval there is for. What would
--- undo lines of another program is kept, but only a review approves it.
---@param review flemma.Review
---@param contents (string|boolean)[] as for `flemma.review.deciding`
---@return boolean is_done false if the proposal is another one now, or another Neovim has the conversation
function M.keep_made(review, contents)
  if review.is_over or review.is_deciding or review.is_accepted then
    return true
  end
  local is_changed = vim.iter(contents):any(function(content)
    return content ~= true
  end)
  if not is_changed and not review.is_kept then
    return true
  end
  local has_conflict = next(review.conflicts) ~= nil
  local is_done = native("review_keep", review.chat, review.call, review.revision, contents, has_conflict) == true
  review.is_kept = is_changed and is_done
  review.kept = is_done and contents or nil
  return is_done
end

--- The same for all reviews of a conversation that are open.
---@param chat integer
function M.note_made(chat)
  for _, review in pairs(reviews) do
    if review.chat == chat and review.view then
      review.view:note_made()
    end
  end
end

--- The user closed the view of a review. The call still waits, unless a decision is on its way.
---@param review flemma.Review
function M.left(review)
  review.view = nil
  if review.is_over or review.is_accepted then
    return
  end
  local is_done = M.keep_made(
    review,
    vim.tbl_map(function(file)
      local draft = review.drafts[file.path]
      if review.marks[file.path] == false then
        return false
      end
      return not draft and true or draft.text ~= (file.old or "") and draft.text
    end, review.files)
  )
  if not next(review.drafts) and not review.is_deciding then
    reviews[key_of(review.chat, review.call)] = nil
  end
  if review.is_deciding then
    return
  end
  local words = "%s is not decided; it still waits"
  if review.is_kept then
    words = words .. ", with what you have made of it"
  elseif not is_done then
    words = words .. ". What you have made of it is only known here, until you leave Neovim"
  end
  say(vim.log.levels.INFO, words:format(review.call))
end

--- The call of a review has ended.
---@param review flemma.Review
function M.finish(review)
  review.is_over = true
  local key = key_of(review.chat, review.call)
  if reviews[key] == review then
    reviews[key] = nil
  end
end

--- Neovim is about to exit. Waits until what the user has accepted a moment ago is decided, but not for ever.
function M.settle()
  vim.wait(EXIT, function()
    for _, review in pairs(reviews) do
      if review.is_deciding or review.is_rejected then
        return false
      end
    end
    return true
  end, 5)
end

---@param chat integer
---@param call string
local function is_open(chat, call)
  return vim.list_contains(native("open_calls", chat) or {}, call)
end

--- Whether the call of a review has written what the view shows, because it was approved elsewhere.
---@param review flemma.Review
local function has_applied(review)
  local is_same = review.kept and vim.deep_equal(review.kept, review.view:made())
  return is_same and native("review_applied", review.chat, review.call) == true
end

--- Ends the reviews of a conversation whose calls do not wait any more.
---@param chat integer
function M.check(chat)
  if not next(reviews) then
    return
  end
  local ids
  for _, review in pairs(vim.tbl_values(reviews)) do
    if review.chat == chat and not review.is_deciding then
      if api.nvim_buf_is_loaded(chat) and require("flemma.buffer").is_attached(chat) then
        if not native("is_settled", chat) then
          return
        end
        ids = ids or waiting(chat)
      end
      local waits = ids and ids[review.call]
      if review.is_accepted then
        if waits then
          require("flemma.review.deciding").resume(review)
        elseif not ids or not is_open(chat, review.call) then
          M.finish(review)
          if review.view then
            review.view:close()
          end
        end
      elseif not waits and not (ids and is_open(chat, review.call)) then
        M.finish(review)
        if review.view and has_applied(review) then
          review.view:close()
        elseif review.view then
          local why = ids and "it does not wait any more" or "its conversation was closed"
          review.view:conclude(why)
        end
      end
    end
  end
end

--- The proposals of a conversation have changed.
---@param chat integer
function M.changed(chat)
  require("flemma.ui").schedule_refresh(chat)
  for _, review in pairs(vim.tbl_values(reviews)) do
    if review.chat == chat and review.view and not review.is_deciding and not review.is_accepted then
      calls.get(chat, review.call, function(proposal, problem)
        local view = review.view
        if not view or review.is_over or review.is_deciding or review.is_accepted then
          return
        elseif not proposal then
          view:warn(problem)
        elseif proposal.change ~= review.change then
          M.finish(review)
          view:conclude("the call waits with another change now")
        elseif proposal.revision ~= review.revision then
          M.update(review, proposal)
        else
          -- The calls above may have made their changes.
          for at, file in ipairs(review.files) do
            file.after = proposal.files[at].after
          end
          view:draw()
        end
      end)
    end
  end
end

--- The text of a conversation was unloaded, or its filetype changed.
---@param chat integer
function M.forget(chat)
  for key in pairs(pending) do
    if vim.startswith(key, chat .. " ") then
      pending[key] = nil
    end
  end
  if next(reviews) then
    -- It may be attached again at once, as after `:edit`.
    vim.schedule(function()
      M.check(chat)
    end)
  end
end

return M
