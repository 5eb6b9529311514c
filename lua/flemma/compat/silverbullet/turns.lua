--- Turns: the handlers of one conversation run one after another, because each may read a page and write the whole of it. One that waits
--- for a person gives its turn away meanwhile.
local M = {}

---@class flemma.silverbullet.Waiting
---@field run flemma.silverbullet.Run
---@field go fun()

---@class flemma.silverbullet.Turns
---@field holder? flemma.silverbullet.Run the run whose turn it is
---@field waiting flemma.silverbullet.Waiting[]

---@type table<integer, flemma.silverbullet.Turns>
local by_buffer = {}

--- Gives the turn to the first that waits.
---@param buf integer
local function advance(buf)
  local turns = by_buffer[buf]
  if not turns or turns.holder then
    return
  end
  local first = table.remove(turns.waiting, 1)
  if not first then
    by_buffer[buf] = nil
    return
  end
  turns.holder = first.run
  first.go()
end

--- Calls `go` when it is the turn of a run: at once if nobody has it.
---@param run flemma.silverbullet.Run
---@param go fun()
---@param is_first? boolean whether it goes before the others that wait, because it has begun already
function M.take(run, go, is_first)
  local buf = run.ctx.bufnr
  local turns = by_buffer[buf] or { waiting = {} }
  by_buffer[buf] = turns
  if not turns.holder and #turns.waiting == 0 then
    turns.holder = run
    return go()
  end
  table.insert(turns.waiting, is_first and 1 or #turns.waiting + 1, { run = run, go = go })
end

--- Whether it is the turn of a run.
---@param run flemma.silverbullet.Run
---@return boolean
function M.has(run)
  local turns = by_buffer[run.ctx.bufnr]
  return turns ~= nil and turns.holder == run
end

--- A run gives its turn away, and waits for none.
---@param run flemma.silverbullet.Run
function M.leave(run)
  local buf = run.ctx.bufnr
  local turns = by_buffer[buf]
  if not turns then
    return
  end
  turns.waiting = vim.tbl_filter(function(waiting)
    return waiting.run ~= run
  end, turns.waiting)
  if turns.holder == run then
    turns.holder = nil
  end
  -- Not from within the handler that gives it away.
  vim.schedule(function()
    advance(buf)
  end)
end

return M
