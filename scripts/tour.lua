-- Plays the tour in a headless Neovim: presses the keys that a user would press, waits for the buffer to change, and
-- prints the conversation at the end. Exits with 0 only if the tour was completed.
--
-- The player is a coroutine on Neovim's event loop: `wait` yields, and a timer checks the condition. Keys are sent with
-- nvim_input, so that they are handled like real ones.

local PATIENCE_MS = 60000
local POLL_MS = 10
local REASON = "Please keep the notes: I still need them."

local function lines()
  return vim.api.nvim_buf_get_lines(0, 0, -1, true)
end

local function press(keys)
  vim.api.nvim_input(keys)
end

--- Prints the conversation and any failure, and exits.
---@param problem string?
local function finish(problem)
  io.stdout:write(table.concat(lines(), "\n"), "\n")
  io.stdout:flush()
  if problem then
    local messages = vim.api.nvim_exec2("messages", { output = true }).output
    io.stderr:write("\ndemo: ", problem, "\n", messages ~= "" and messages .. "\n" or "")
  else
    io.stderr:write("\ndemo: the tour was completed\n")
  end
  vim.cmd(problem and "cquit 1" or "qall!")
end

--- Yields until `condition` returns something other than nil or false, and returns that.
---@generic T
---@param what string completes the sentence "timed out while waiting for"
---@param condition fun(): T?
---@return T
local function wait(what, condition)
  local deadline = vim.uv.now() + PATIENCE_MS
  while true do
    local found = condition()
    if found then
      return found
    end
    if vim.uv.now() > deadline then
      error("timed out while waiting for " .. what, 0)
    end
    coroutine.yield()
  end
end

--- The first pending call: its id, its line (from 1) and the command that it would run.
---@return { id: string, line: integer, command: string }?
local function pending()
  local text = lines()
  local header, id
  for number, line in ipairs(text) do
    local result = line:match("^%*%*Tool Result:%*%* `([^`]+)`")
    if result then
      header, id = number, result
    elseif id and line:match("^`+flemma:tool%s.*status=pending") and number - header <= 2 then
      local use = "(`" .. id .. "`)"
      for above = header, 1, -1 do
        if vim.startswith(text[above], "**Tool Use:**") and text[above]:find(use, 1, true) then
          local input = table.concat(text, "\n", above + 1, header - 1):match("```+json\n(.-)\n```")
          local ok, decoded = pcall(vim.json.decode, input or "")
          return { id = id, line = number, command = ok and decoded.command or "" }
        end
      end
    end
  end
end

--- Whether the buffer is ready for the user's next message.
local function prompt()
  local text = lines()
  for number = #text, 1, -1 do
    if text[number]:match("%S") then
      return text[number] == "@You:" and vim.bo.modifiable
    end
  end
end

--- Whether something in the buffer is incomplete.
---@return string?
local function unfinished()
  local uses, results, refused, cut = 0, 0, 0, 0
  for _, line in ipairs(lines()) do
    uses = uses + (vim.startswith(line, "**Tool Use:**") and 1 or 0)
    results = results + (vim.startswith(line, "**Tool Result:**") and 1 or 0)
    refused = refused + (line == REASON and 1 or 0)
    cut = cut + (vim.startswith(line, "<!-- flemma:aborted") and 1 or 0)
    if line:match("^`+flemma:tool") then
      return "a call still has no result"
    end
  end
  if uses == 0 or uses ~= results then
    return ("%d calls have %d results"):format(uses, results)
  end
  if refused == 0 then
    return "the reason for the rejection is not in the conversation"
  end
  if cut > 0 then
    return "a reply was aborted"
  end
  if vim.fn.filereadable("notes.md") == 0 then
    return "notes.md does not exist, although its removal was rejected"
  end
end

local function play()
  local seen = { approved = 0, rejected = 0 }
  wait("the tour to open", function() return vim.bo.filetype == "chat" end)
  press("<C-]>")
  while true do
    local call = wait("the next pending call, or the end of the tour", function()
      return pending() or (prompt() and "end")
    end)
    if call == "end" then
      break
    end
    press(call.line .. "G")
    if call.command:match("^rm ") then
      press("<Cmd>substitute/pending/rejected/<CR>o" .. REASON .. "<Esc><C-]>")
      seen.rejected = seen.rejected + 1
    else
      press("<M-CR>")
      seen.approved = seen.approved + 1
    end
    wait("the decision about " .. call.id .. " to take effect", function()
      local now = pending()
      return not now or now.id ~= call.id
    end)
  end
  if seen.approved == 0 or seen.rejected == 0 then
    error(("the tour had too few pending calls: %d approved, %d rejected"):format(seen.approved, seen.rejected), 0)
  end
  local problem = unfinished()
  if problem then
    error(problem, 0)
  end
end

local player = coroutine.create(play)
local timer = assert(vim.uv.new_timer())
timer:start(0, POLL_MS, vim.schedule_wrap(function()
  if coroutine.status(player) == "dead" then
    return
  end
  local ok, problem = coroutine.resume(player)
  if not ok then
    finish(tostring(problem))
  elseif coroutine.status(player) == "dead" then
    finish()
  end
end))
