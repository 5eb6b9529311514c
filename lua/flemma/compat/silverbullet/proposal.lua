--- Changes that the user has to approve: they are shown, and the handler waits for the decision.
local M = {}

local runs = require("flemma.compat.silverbullet.run")

--- Proposes the content of a page, and waits. Throws if the user rejects it.
---@param what string the function that was called
---@param page string
---@param content string
function M.write(what, page, content)
  for _, about in ipairs({ { "name", page }, { "content", content } }) do
    if type(about[2]) ~= "string" then
      error(("%s: the %s of the page must be a string, not a %s"):format(what, about[1], type(about[2])), 0)
    end
  end
  if page == "" then
    error(("%s: the name of the page is empty"):format(what), 0)
  end
  local problem, outcome = runs.await(what, function(run, done)
    return run.ctx.propose_write({ { page = page, content = content } }, done)
  end)
  if problem then
    error(problem, 0)
  end
  local run = runs.current(what)
  if type(outcome) == "table" and outcome.note then
    run.notes[#run.notes + 1] = outcome.note
  end
end

return M
