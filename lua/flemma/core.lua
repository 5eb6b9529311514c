--- The actions behind the keys and commands.
local M = {}

local function native(...)
  return require("flemma.native").call(...)
end

---@param buf integer
---@param command string
---@param arguments? table
local function dispatch(buf, command, arguments)
  native("dispatch", buf, command, arguments)
end

local function resolve(buf)
  return require("flemma.buffer").resolve(buf)
end

local function cursor_line()
  return vim.api.nvim_win_get_cursor(require("flemma.buffer").window())[1] - 1
end

--- The line that a key is about, from 0: the cursor's, or in a closed fold that of the only call there that waits.
---@param buf integer
---@return integer
local function meant_line(buf)
  local win, line = require("flemma.buffer").window(), cursor_line()
  local fold = vim.api.nvim_win_call(win, function()
    return { vim.fn.foldclosed(line + 1) - 1, vim.fn.foldclosedend(line + 1) }
  end)
  local function waiting(first, last)
    return #(native("waiting_in", buf, first, last) or {})
  end
  if fold[1] < 0 or vim.api.nvim_win_get_buf(win) ~= buf or waiting(fold[1], fold[2]) ~= 1 then
    return line
  end
  line = fold[1]
  while waiting(line, line + 1) == 0 do
    line = line + 1
  end
  return line
end

--- Whether the user has had time to see the call at a line.
---@param buf integer
---@param line integer
local function has_seen(buf, line)
  return require("flemma.seen").allows_at(require("flemma.buffer").window(), buf, line)
end

--- Takes the next step: decides about the calls of the last reply, runs the approved ones, or sends.
---@param buf? integer
function M.send_or_execute(buf)
  buf = resolve(buf)
  if buf then
    local following = require("flemma.following")
    following.watch(buf)
    if vim.api.nvim_get_mode().mode:sub(1, 1) == "i" and vim.api.nvim_get_current_buf() == buf then
      following.leave_insert(buf)
    end
    dispatch(buf, "advance")
    if not require("flemma.lock").is_locked(buf) then
      following.type_on_later(buf)
    end
  end
end

--- Only sends. If a call has no result, a message says so.
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
    dispatch(buf, "advance")
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
    require("flemma.following").watch(buf)
    dispatch(buf, "execute", { line = line })
  end
end

---@param first? integer line, from 0; the cursor's line by default
---@param last? integer
---@param decision "approve"|"always_approve"|"reject"
---@param message? string
local function decide(first, last, decision, message)
  local buf = resolve()
  if not buf then
    return
  end
  local line = first or meant_line(buf)
  if first or has_seen(buf, line) then
    require("flemma.following").watch(buf)
    dispatch(buf, decision, { first = line, last = last or line, message = message })
  end
end

--- Approves the tool calls of the current buffer whose blocks overlap the lines. When no pending call is left, the
--- conversation continues.
---@param first? integer line, from 0; the cursor's line by default
---@param last? integer
---@param always? boolean also adds a rule to the frontmatter that approves similar calls
function M.approve(first, last, always)
  decide(first, last, always and "always_approve" or "approve")
end

--- Rejects the tool calls of the current buffer whose blocks overlap the lines.
---@param first? integer line, from 0; the cursor's line by default
---@param last? integer
---@param message? string the reason for the model
function M.reject(first, last, message)
  decide(first, last, "reject", message)
end

--- Opens the change of the tool call under the cursor, or of the only one that waits.
function M.review()
  require("flemma.review").open()
end

--- Stops the reply and every running tool. Text that has arrived is kept.
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
    dispatch(buf, "cancel")
  end
end

--- Stops the tool under the cursor, or the only one that is running.
---@param buf? integer
function M.cancel_tool(buf)
  buf = resolve(buf)
  if buf then
    dispatch(buf, "cancel_tool", { line = cursor_line() })
  end
end

--- Stops every running tool. A reply that is arriving is not affected.
---@param buf? integer
function M.cancel_all_tools(buf)
  buf = resolve(buf)
  if buf then
    dispatch(buf, "cancel_tools")
  end
end

--- Asks about lines of the current buffer, in the conversation of the project.
---@param question? flemma.Question the selection, or the cursor's line, by default
function M.ask(question)
  local from_code = require("flemma.from_code")
  if question then
    from_code.ask(question)
  else
    from_code.selected()
  end
end

--- Begins a conversation of the project.
---@param title? string
function M.new(title)
  require("flemma.conversations").new(title)
end

--- Lets the user pick a conversation of the project, or shows the one that words name.
---@param words? string
function M.open(words)
  require("flemma.conversations").open(words)
end

--- Shows the conversation of the project, or hides its window.
---@param layout? flemma.Layout
function M.toggle(layout)
  require("flemma.conversations").toggle(layout)
end

--- Queues words for the end of the turn. Without words, it opens the input window.
---@param words? string
function M.queue(words)
  local buf = resolve()
  if buf then
    require("flemma.following").watch(buf)
    require("flemma.queue").queue(buf, words)
  end
end

--- Takes a queued message back into the input window.
---@param place? string the number of the message; the last one by default
function M.unqueue(place)
  local buf = resolve()
  if buf then
    require("flemma.queue").unqueue(buf, place)
  end
end

--- Sends words with the results of the tools that run, before the next request. Without words, everything that is queued.
---@param words? string
function M.steer(words)
  local buf = resolve()
  if buf then
    require("flemma.following").watch(buf)
    require("flemma.queue").steer(buf, words)
  end
end

--- Moves to the next message. In Visual mode it extends the selection.
function M.next_message()
  require("flemma.motion").go("next_message")
end

--- Moves to the previous message, or to the beginning of the current one.
function M.prev_message()
  require("flemma.motion").go("prev_message")
end

--- Moves to the next call that waits. If there is none, a message says so.
function M.next_waiting()
  require("flemma.motion").go("next_waiting")
end

--- Moves to the previous call that waits. If there is none, a message says so.
function M.prev_waiting()
  require("flemma.motion").go("prev_waiting")
end

return M
