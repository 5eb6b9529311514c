--- The actions behind the keys and commands.
local M = {}

local native = require("flemma.native").call

local resolve = require("flemma.buffer.target").resolve

local function cursor_line()
  return vim.api.nvim_win_get_cursor(require("flemma.buffer.target").window())[1] - 1
end

--- The line that a key is about, from 0: the cursor's, or in a closed fold that of the only call there that waits.
---@param buf integer
---@return integer
local function meant_line(buf)
  local win, line = require("flemma.buffer.target").window(), cursor_line()
  local fold = vim.api.nvim_win_call(win, function()
    return { vim.fn.foldclosed(line + 1) - 1, vim.fn.foldclosedend(line + 1) }
  end)
  local is_closed = fold[1] >= 0 and vim.api.nvim_win_get_buf(win) == buf
  local waiting = is_closed and native("calls", buf, "waiting", { first = fold[1], last = fold[2] }) or {}
  return #waiting == 1 and waiting[1].line or line
end

--- Whether the user has had time to see the call at a line.
---@param buf integer
---@param line integer
local function has_seen(buf, line)
  return require("flemma.view.approval_delay").allows_at(require("flemma.buffer.target").window(), buf, line)
end

--- Takes the next step: decides about the calls of the last reply, runs the approved ones, or sends.
---@param buf? integer
function M.send_or_execute(buf)
  buf = resolve(buf)
  if buf then
    local cursor = require("flemma.view.cursor")
    cursor.watch(buf)
    if vim.api.nvim_get_mode().mode:sub(1, 1) == "i" and vim.api.nvim_get_current_buf() == buf then
      cursor.leave_insert(buf)
    end
    if not require("flemma.prompts").expand(buf) then
      native("dispatch", buf, "advance")
    end
    if not require("flemma.buffer.lock").is_locked(buf) then
      cursor.type_on_later(buf)
    end
  end
end

--- Only sends. If a call has no result, a message says so.
---@param buf? integer
function M.send_to_provider(buf)
  buf = resolve(buf)
  local open = buf and #(native("calls", buf, "open") or {}) or 0
  if open > 0 then
    local words = ("not sent: %d tool call%s no result yet"):format(open, open == 1 and " has" or "s have")
    require("flemma.notify").say(vim.log.levels.WARN, words)
  elseif buf then
    M.send_or_execute(buf)
  end
end

--- Runs or resolves the tool call under the cursor.
---@param buf? integer
function M.execute_at_cursor(buf)
  buf = resolve(buf)
  if not buf then
    return
  end
  local line = meant_line(buf)
  if has_seen(buf, line) then
    require("flemma.view.cursor").watch(buf)
    native("dispatch", buf, "execute", { line = line })
  end
end

---@param decision "approve"|"always_approve"|"reject"
---@param first? integer line, from 0; the cursor's line by default
---@param last? integer
---@param message? string
local function decide(decision, first, last, message)
  local buf = resolve()
  if not buf then
    return
  end
  local line = first or meant_line(buf)
  if first or has_seen(buf, line) then
    require("flemma.view.cursor").watch(buf)
    native("dispatch", buf, "decide", { decision = decision, first = line, last = last or line, message = message })
  end
end

--- Approves the tool calls of the current buffer whose blocks overlap the lines. When no pending call is left, the
--- conversation continues.
---@param first? integer line, from 0; the cursor's line by default
---@param last? integer
---@param always? boolean also adds a rule to the frontmatter that approves similar calls
function M.approve(first, last, always)
  decide(always and "always_approve" or "approve", first, last)
end

--- Approves the call under the cursor, and similar ones from now on.
function M.approve_always()
  decide("always_approve")
end

--- Rejects the tool calls of the current buffer whose blocks overlap the lines.
---@param first? integer line, from 0; the cursor's line by default
---@param last? integer
---@param message? string the reason for the model
function M.reject(first, last, message)
  decide("reject", first, last, message)
end

--- Asks for a reason, and rejects the call under the cursor. The question may be answered later, when lines have moved.
function M.reject_with_reason()
  local buf = resolve()
  local line = buf and meant_line(buf)
  local call = line and has_seen(buf, line) and (native("calls", buf, "at", { line = line }) or {})[1]
  if not call then
    return
  end
  require("flemma.ask").input({ prompt = "Reason, for the model (empty for none): " }, function(reason)
    if reason then
      local result = { approved = false, message = reason:find("%S") and reason or nil }
      native("resolve_call", buf, call.id, result, "user", function(ok, why)
        if not ok then
          require("flemma.notify").say(vim.log.levels.WARN, ("%s was not rejected: %s"):format(call.id, why))
        end
      end)
    end
  end)
end

--- Opens a new conversation that has the messages up to the one under the cursor.
function M.fork()
  local buf = resolve()
  if not buf then
    return
  end
  native("dispatch", buf, "fork", { line = vim.fn.line(".") - 1 }, function(path, problem)
    if not path then
      return require("flemma.notify").say(vim.log.levels.ERROR, problem)
    end
    vim.cmd.edit(vim.fn.fnameescape(path))
    vim.cmd("normal! G")
  end)
end

--- Takes in the rules and skills of the project as they are now.
function M.take_instructions()
  local buf = resolve()
  if buf then
    native("dispatch", buf, "take_instructions")
  end
end

--- Stops the reply and every running tool. Text that has arrived is kept.
---@param buf? integer
function M.cancel(buf)
  local asked = require("flemma.conversations.switch").take_back()
  if asked then
    require("flemma.notify").say(vim.log.levels.INFO, ("cancelled: the request for the models of %s"):format(asked))
    return
  end
  buf = resolve(buf)
  if buf then
    require("flemma.view.cursor").stop_typing(buf)
    native("dispatch", buf, "cancel")
  end
end

--- Stops the tool under the cursor, or the only one that is running.
---@param buf? integer
function M.cancel_tool(buf)
  buf = resolve(buf)
  if buf then
    native("dispatch", buf, "cancel_tool", { line = cursor_line() })
  end
end

--- Stops every running tool. A reply that is arriving is not affected.
---@param buf? integer
function M.cancel_all_tools(buf)
  buf = resolve(buf)
  if buf then
    native("dispatch", buf, "cancel_tools")
  end
end

--- The actions that other modules have: the module, its function, and what that is given first.
local others = {
  review = { "review", "open" },
  ask = { "conversations.from_code", "ask" },
  new = { "conversations", "new" },
  open = { "conversations.picker", "open" },
  queue = { "queue", "queue" },
  unqueue = { "queue", "unqueue" },
  steer = { "queue", "steer" },
  toggle = { "conversations", "toggle" },
  next_message = { "edit.motion", "go", "next_message" },
  prev_message = { "edit.motion", "go", "prev_message" },
  next_waiting = { "edit.motion", "go", "next_waiting" },
  prev_waiting = { "edit.motion", "go", "prev_waiting" },
}

for name, place in pairs(others) do
  M[name] = function(argument)
    require("flemma." .. place[1])[place[2]](place[3] or argument)
  end
end

return M
