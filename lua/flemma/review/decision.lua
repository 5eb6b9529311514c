--- Decides about the call of a review: what is approved is the text of its buffers.
local buffers = require("flemma.review.buffers")
local calls = require("flemma.review.calls")
local notify = require("flemma.notify")
local seen = require("flemma.view.approval_delay")

local M = {}

--- What would be written of each file.
---@param review flemma.Review
---@return (string|boolean)[] contents as for `flemma.review.calls`
local function made(review)
  return vim.tbl_map(function(file)
    return buffers.value(review, file)
  end, review.files)
end

--- Makes the text of the buffers what the conversation shows of the call, and what an approval there is for. A text that was made of
--- another content of the file is only approved in the review.
---@param review flemma.Review
---@param is_forced? boolean whether the library may have forgotten it
function M.note(review, is_forced)
  if review.is_over or review.is_deciding or review.is_approved then
    return
  end
  local contents = made(review)
  local before = review.noted or vim.tbl_map(function()
    return true
  end, contents)
  if vim.deep_equal(contents, before) and not (is_forced and review.noted) then
    return
  end
  local kept = { call = review.call, revision = review.revision, contents = contents, has_conflict = next(review.stale) ~= nil }
  if require("flemma.native").call("dispatch", review.chat, "keep_review", kept) then
    review.noted, review.is_unknown = contents, nil
  end
end

--- Sets whether Neovim warns that the edits of the user are lost when it exits.
---@param review flemma.Review
---@param warns boolean
local function set_modified(review, warns)
  for _, file in ipairs(review.files) do
    if buffers.is_edited(review, file) then
      vim.bo[review.new[file.path]].modified = warns
    end
  end
end

--- Closes the view of a review.
---@param review flemma.Review
function M.close(review)
  local view = review.view
  review.view = nil
  if view then
    view:close()
  end
end

--- Approves the call with the text of its buffers.
---@param review flemma.Review
function M.approve(review)
  if review.is_over or review.is_deciding or review.is_approved then
    return notify.say(vim.log.levels.INFO, ("%s is decided already"):format(review.call))
  end
  local contents = made(review)
  if not vim.iter(contents):any(function(content)
    return content ~= false
  end) then
    local words = "nothing is left of the change, so %s was not approved; gX rejects it"
    return notify.say(vim.log.levels.WARN, words:format(review.call))
  elseif next(review.stale) then
    review.stale = {}
    M.note(review)
    review.view:refresh()
    local words = "%s was not approved: the file has changed since you edited the proposal, and your text may undo that. "
      .. "gA once more approves it as it is"
    return notify.say(vim.log.levels.WARN, words:format(review.call))
  elseif not seen.allows(review.shown, review.tool, review.call) then
    return
  end
  review.is_deciding = true
  -- From now on the approval keeps the edits.
  set_modified(review, false)
  calls.accept(review.chat, review.call, review.revision, contents, function(problem)
    review.is_deciding = nil
    if problem then
      set_modified(review, true)
      notify.say(vim.log.levels.WARN, ("%s was not approved: %s"):format(review.call, problem))
      review:renew()
    elseif not review.is_over then
      -- Until the call has its result, it may come back: nothing is written if the file has changed.
      review.is_approved = true
      M.close(review)
    end
  end)
end

--- The call of a review that was approved waits again.
---@param review flemma.Review
function M.resume(review)
  review.is_approved = nil
  set_modified(review, true)
end

--- Asks for a reason, and rejects the call.
---@param review flemma.Review
function M.reject(review)
  if not seen.allows(review.shown, review.tool, review.call) then
    return
  end
  local prompt = ("Reject %s. The reason for the model, or nothing: "):format(review.call)
  require("flemma.ask").input({ prompt = prompt }, function(reason)
    if reason == nil or review.is_over then
      return
    end
    review.is_deciding = true
    local resolution = { approved = false, message = reason:find("%S") and reason or nil }
    require("flemma.native").call("resolve_call", review.chat, review.call, resolution, "user", function(ok, problem)
      review.is_deciding = nil
      if ok then
        review.is_rejected = true
        M.close(review)
      else
        local why = (not problem or problem == "stale") and "it is running or has ended" or problem
        notify.say(vim.log.levels.WARN, ("%s was not rejected: %s"):format(review.call, why))
      end
    end)
  end)
end

--- What a key does.
---@param review flemma.Review
---@param name "approve"|"reject"
---@return fun()
function M.of(review, name)
  return function()
    M[name](review)
  end
end

return M
