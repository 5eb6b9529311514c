--- Decides about the call of a review.
local M = {}

local calls = require("flemma.review.calls")
local seen = require("flemma.seen")

--- How long a view stays open after the approval, in milliseconds. The call may have to wait for others before it writes anything.
local PATIENCE = 2000

---@param level integer
---@param message string
local function say(level, message)
  require("flemma.notify").say(level, message)
end

local function reviews()
  return require("flemma.review")
end

--- Keeps what the user has edited for the next review.
---@param review flemma.Review
---@param contents (string|boolean)[]
local function keep(review, contents)
  for at, file in ipairs(review.files) do
    if type(contents[at]) == "string" then
      review.drafts[file.path] = { text = contents[at], base = file.old or "" }
    end
  end
end

--- Approves the call with what was shown.
---@param review flemma.Review
---@param contents (string|boolean)[]
---@param failed fun()
local function approve(review, contents, failed)
  calls.accept(review.chat, review.call, review.revision, contents, function(problem)
    review.is_deciding = nil
    if review.is_over or review.is_rejected then
      return failed()
    end
    if not problem then
      -- Until the call has its result, it may come back: nothing is written if the file has changed.
      review.is_accepted = true
      if review.view then
        review.view.note = "approved"
        review.view:draw()
        vim.defer_fn(function()
          if review.is_accepted and not review.is_over and review.view then
            review.view:close()
            keep(review, contents)
          end
        end, PATIENCE)
      else
        keep(review, contents)
      end
      return reviews().check(review.chat)
    end
    failed()
    say(vim.log.levels.WARN, ("%s was not approved: %s"):format(review.call, problem))
    if not review.view then
      -- It was closed meanwhile, as `:wq` does.
      keep(review, contents)
      reviews().left(review)
    end
    reviews().changed(review.chat)
  end)
end

--- Approves the call, if the files still are what was shown. Otherwise the view shows the new proposal.
---@param review flemma.Review
---@param contents (string|boolean)[] for each file: what to write, `true` for what is proposed, `false` to leave it
---@param failed fun() called when the call is not approved
function M.accept(review, contents, failed)
  if review.is_accepted or review.is_rejected then
    return
  end
  if not seen.allows(review.shown, review.tool, review.call) then
    failed()
    if not review.view then
      -- It was closed meanwhile, as `:wq` does.
      keep(review, contents)
      reviews().left(review)
    end
    return
  end
  review.is_deciding = true
  calls.get(review.chat, review.call, function(proposal, problem)
    if review.is_over or review.is_rejected then
      review.is_deciding = nil
      return failed()
    end
    if proposal and proposal.revision == review.revision and proposal.change == review.change then
      return approve(review, contents, failed)
    end
    review.is_deciding = nil
    failed()
    local view = review.view
    if not view then
      -- It was closed meanwhile, as `:wq` does.
      keep(review, contents)
      reviews().left(review)
    end
    local why = proposal and "the file has changed since you were shown this change; look at it again" or problem
    say(vim.log.levels.WARN, ("%s was not approved: %s"):format(review.call, why))
    if view and proposal then
      reviews().update(review, proposal)
    end
    reviews().check(review.chat)
  end)
end

--- Asks for a reason, and rejects the call.
---@param review flemma.Review
function M.reject(review)
  if not seen.allows(review.shown, review.tool, review.call) then
    return
  end
  local prompt = ("Reject %s. The reason for the model, or nothing: "):format(review.call)
  require("flemma.ask").input({ prompt = prompt }, function(reason)
    if reason == nil or review.is_over or review.is_rejected then
      return
    end
    -- It also counts while an approval is on its way.
    review.is_rejected = true
    local resolution = { approved = false, message = reason:find("%S") and reason or nil }
    local resolve = require("flemma.native").call
    resolve("resolve_call", review.chat, review.call, resolution, "user", function(ok, problem)
      review.is_rejected = nil
      if ok then
        local view = review.view
        reviews().finish(review)
        if view then
          view:close()
        end
      else
        local why = (not problem or problem == "stale") and "it is running or has ended" or problem
        say(vim.log.levels.WARN, ("%s was not rejected: %s"):format(review.call, why))
      end
    end)
  end)
end

--- The call of a review that was approved waits again, because the file has changed.
---@param review flemma.Review
function M.resume(review)
  review.is_accepted = nil
  if not review.view then
    if not next(review.drafts) then
      reviews().finish(review)
    end
    return
  end
  calls.get(review.chat, review.call, function(proposal, problem)
    local view = review.view
    if not view or review.is_over or review.is_deciding then
      return
    end
    view.note = nil
    if proposal and proposal.change ~= review.change then
      -- The change was made. What the call wants next was not asked for here.
      reviews().finish(review)
      view:close()
    elseif not proposal then
      view:warn(problem)
    elseif proposal.revision == review.revision then
      view:reopen()
    else
      reviews().update(review, proposal)
    end
  end)
end

return M
