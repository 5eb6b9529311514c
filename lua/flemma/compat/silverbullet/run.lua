--- One call of a tool: the coroutine that its handler runs in, what suspends it, and its result.
local M = {}

local turns = require("flemma.compat.silverbullet.turns")
local value = require("flemma.compat.codecompanion.value")

---@class flemma.silverbullet.Run
---@field name string the tool's name
---@field entry table its entry in `ai.tools`
---@field ctx flemma.ExecutionContext
---@field finish fun(result: table) called once, unless the call is cancelled
---@field thread thread
---@field is_over boolean whether nothing that the handler still does counts
---@field is_waiting boolean whether one of our functions has suspended the handler
---@field notes string[] what the model is told besides the handler's own result
local Run = {}
Run.__index = Run

--- The runs, by their coroutines.
---@type table<thread, flemma.silverbullet.Run>
local by_thread = setmetatable({}, { __mode = "k" })

--- Whether the handler of a tool runs now.
---@return boolean
function M.is_running()
  return by_thread[coroutine.running()] ~= nil
end

--- The call whose handler runs now.
---@param what string the function that was called, for the message if there is none
---@return flemma.silverbullet.Run
function M.current(what)
  local run = by_thread[coroutine.running()]
  if not run then
    error(("%s can only be called by the handler of a tool while a call runs, and not in a coroutine of its own"):format(what), 0)
  elseif run.is_over then
    error(("%s: the call is over"):format(what), 0)
  end
  return run
end

--- Suspends the handler until something is known.
---@param what string the function that was called
---@param begin fun(run: flemma.silverbullet.Run, done: fun(...)): boolean? starts it; `done` takes the values. Returns whether a person is
---  waited for: other handlers of the conversation run meanwhile.
---@return any ... the values
function M.await(what, begin)
  local run = M.current(what)
  if coroutine.isyieldable and not coroutine.isyieldable() then
    error(("%s cannot be called inside a function that Lua itself calls (string.gsub, table.sort, a metamethod)"):format(what), 0)
  end
  local values
  local is_inside = true
  local waits_for_person = begin(run, function(...)
    if values then
      return
    end
    values = vim.F.pack_len(...)
    if is_inside then
      return
    elseif turns.has(run) then
      run:resume()
    elseif not run.is_over then
      turns.take(run, function()
        run:resume()
      end, true)
    end
  end)
  is_inside = false
  if waits_for_person and not values then
    turns.leave(run)
  end
  run.is_waiting = true
  while not values do
    coroutine.yield()
  end
  run.is_waiting = false
  if run.is_over then
    error(("%s: the call is over"):format(what), 0)
  end
  return unpack(values, 1, values.n)
end

--- Asks something about the notes, or changes them.
---@param what string the function that was called
---@param request table
---@return any answer
function Run:request(what, request)
  local answer, problem = M.await(what, function(_, done)
    require("flemma.native").call("use_pages", self.ctx.bufnr, self.ctx.call_id, self.ctx.__run, request, done)
  end)
  if problem then
    error(problem, 0)
  end
  return answer
end

--- The same for the call whose handler runs now.
---@param what string
---@param request table
---@return any answer
function M.request(what, request)
  return M.current(what):request(what, request)
end

--- Lets the handler go on.
---@param ... any
function Run:resume(...)
  if self.is_over then
    return
  end
  local ok, result = coroutine.resume(self.thread, ...)
  local is_suspended = ok and coroutine.status(self.thread) ~= "dead"
  if self.is_over or (is_suspended and self.is_waiting) then
    return
  end
  self.is_over = true
  turns.leave(self)
  local results = require("flemma.compat.silverbullet.result")
  if is_suspended then
    local words = "the tool `%s` called coroutine.yield, and nothing would let it go on. (For its author: return a result.)"
    self.finish(results.failure(self, words:format(self.name)))
  elseif ok then
    self.finish(result)
  else
    local words = value.thrown(result)
    if result == nil or words == "" then
      words = ("the tool `%s` threw an error without a message"):format(self.name)
    end
    self.finish(results.failure(self, words))
  end
end

--- Runs a call.
---@param name string
---@param input table
---@param ctx flemma.ExecutionContext
---@param finish fun(result: table)
---@return fun() cancel
function M.start(name, input, ctx, finish)
  local entry = require("flemma.compat.silverbullet.tools").get(name)
  local run = setmetatable({ name = name, entry = entry, ctx = ctx, finish = finish, is_over = false, is_waiting = false, notes = {} }, Run)
  if not entry then
    finish({ success = false, error = ("The tool `%s` was removed from ai.tools."):format(name) })
    return function() end
  end
  run.thread = coroutine.create(function(given)
    return require("flemma.compat.silverbullet.result").of(run, entry.handler(given))
  end)
  by_thread[run.thread] = run
  turns.take(run, function()
    run:resume(input)
  end)
  return function()
    run.is_over = true
    turns.leave(run)
  end
end

--- Runs another tool of `ai.tools` in the same call.
---@param run flemma.silverbullet.Run
---@param entry table
---@param input table
---@return boolean ok
---@return any result or what was thrown, as text
function M.nested(run, entry, input)
  local outer = run.entry
  run.entry = entry
  local returned = vim.F.pack_len(pcall(entry.handler, input))
  run.entry = outer
  if not returned[1] then
    return false, value.thrown(returned[2])
  end
  return true, returned[2]
end

return M
