--- What the keys and commands do.
local M = {}

local function native(...)
  return require("flemma.native").call(...)
end

local function resolve(buf)
  return require("flemma.buffer").resolve(buf)
end

local function cursor_line()
  return vim.api.nvim_win_get_cursor(0)[1] - 1
end

--- Lets the conversation go on: categorises the calls of the last reply, runs what is approved, or sends.
---@param buf? integer
function M.send_or_execute(buf)
  buf = resolve(buf)
  if buf then
    require("flemma.following").watch(buf)
    native("advance", buf)
  end
end

--- Sends, and does nothing else: with a call that has no result it says so.
---@param buf? integer
function M.send_to_provider(buf)
  buf = resolve(buf)
  if not buf then
    return
  end
  local open = #native("open_calls", buf)
  if open > 0 then
    require("flemma.notify").say(
      vim.log.levels.WARN,
      ("not sent: %d tool call%s no result yet"):format(open, open == 1 and " has" or "s have")
    )
  else
    require("flemma.following").watch(buf)
    native("advance", buf)
  end
end

--- Runs or resolves the tool call that the cursor is on.
---@param buf? integer
function M.execute_at_cursor(buf)
  buf = resolve(buf)
  if buf then
    require("flemma.following").watch(buf)
    native("execute", buf, cursor_line())
  end
end

---@param first? integer line, from 0; the cursor's if not said
---@param last? integer
---@param approve boolean
---@param message? string
---@param always boolean
local function decide(first, last, approve, message, always)
  local buf = resolve()
  if buf then
    require("flemma.following").watch(buf)
    first = first or cursor_line()
    native("decide", buf, first, last or first, approve, message, always)
  end
end

--- Approves the tool calls whose blocks the lines of the current buffer touch. When none is left that waits, the
--- conversation goes on.
---@param first? integer line, from 0; the cursor's if not said
---@param last? integer
---@param always? boolean also writes into the frontmatter that calls like these run without asking
function M.approve(first, last, always)
  decide(first, last, true, nil, always == true)
end

--- Rejects the tool calls whose blocks the lines of the current buffer touch.
---@param first? integer line, from 0; the cursor's if not said
---@param last? integer
---@param message? string what the model is told
function M.reject(first, last, message)
  decide(first, last, false, message, false)
end

--- Stops the reply and every tool that runs. What has arrived stays.
---@param buf? integer
function M.cancel(buf)
  local asked = require("flemma.switch").take_back()
  if asked then
    require("flemma.notify").say(vim.log.levels.INFO, ("cancelled: the request for the models of %s"):format(asked))
    return
  end
  buf = resolve(buf)
  if buf then
    require("flemma.following").stop_typing(buf)
    native("cancel", buf)
    require("flemma.buffer").give_back(buf)
  end
end

--- Stops the tool that the cursor is on, or the only one that runs.
---@param buf? integer
function M.cancel_tool(buf)
  buf = resolve(buf)
  if buf then
    native("cancel_tool", buf, cursor_line())
  end
end

--- Stops every tool that runs; a reply goes on arriving.
---@param buf? integer
function M.cancel_all_tools(buf)
  buf = resolve(buf)
  if buf then
    native("cancel_all_tools", buf)
  end
end

--- Moves to the next message. In Visual mode it extends the selection.
function M.next_message()
  require("flemma.motion").go(true)
end

--- Moves to the previous message, or to the beginning of this one.
function M.prev_message()
  require("flemma.motion").go(false)
end

return M
