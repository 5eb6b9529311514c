--- The calls of a conversation that run: one after another, as the authors of these tools expect.
local M = {}

local calls = require("flemma.compat.codecompanion.call")

---@class flemma.codecompanion.Job
---@field call flemma.codecompanion.Call
---@field finish fun(result: table)
---@field cancel? fun() set while it runs

---@type table<integer, flemma.codecompanion.Job[]>
local queues = {}

local function start_next(buf)
  local queue = queues[buf]
  local job = queue and queue[1]
  if not job then
    queues[buf] = nil
    return
  elseif job.cancel then
    return
  end
  -- It may end at once, or be cancelled by what it does.
  job.cancel = function() end
  local function finish(result)
    if queue[1] == job then
      table.remove(queue, 1)
    end
    job.finish(result)
    start_next(buf)
  end
  job.cancel = require("flemma.compat.codecompanion.run").start(job.call, finish)
end

--- Runs a call when those before it have ended.
---@param call flemma.codecompanion.Call
---@param finish fun(result: table)
---@return fun() cancel ends the call, and the calls that wait behind it
function M.add(call, finish)
  local buf = call.bufnr
  local job = { call = call, finish = finish } ---@type flemma.codecompanion.Job
  queues[buf] = queues[buf] or {}
  local queue = queues[buf]
  queue[#queue + 1] = job
  start_next(buf)
  return function()
    local at
    for i, other in ipairs(queue) do
      at = other == job and i or at
    end
    if not at then
      return
    end
    local ended = {}
    while queue[at] do
      ended[#ended + 1] = table.remove(queue, at)
    end
    if job.cancel then
      job.cancel()
    end
    -- Those behind it are not started: the user wants an end of it.
    for _, other in ipairs(ended) do
      calls.abandon(other.call)
      if other ~= job then
        other.finish({
          success = false,
          error = ("The call did not run, because the user cancelled a call before it (`%s`)."):format(job.call.name),
        })
      end
    end
    if #queue == 0 and queues[buf] == queue then
      queues[buf] = nil
    end
  end
end

--- A buffer is gone.
---@param buf integer
function M.forget(buf)
  queues[buf] = nil
end

return M
