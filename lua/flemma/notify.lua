--- Messages to the user.
local M = {}

local api = vim.api

local told = {}

--- What is below this level is not shown: the option `notify.level`.
---@type integer one of vim.log.levels
M.level = vim.log.levels.DEBUG

local highlights = { [vim.log.levels.WARN] = "WarningMsg", [vim.log.levels.ERROR] = "ErrorMsg" }

--- Whether `vim.notify` is Neovim's own function, which shows messages on the command line.
local function shows_in_command_line()
  local source = debug.getinfo(vim.notify, "S").source
  return source == "?" or vim.startswith(source, "@vim/")
end

--- Wraps a message into lines that fit: at spaces, and inside a word that is longer than a line.
---@param message string
---@param room integer cells
---@return string[]
function M.wrap(message, room)
  local lines, line = {}, ""
  for word in message:gmatch("%S+") do
    local longer = line == "" and word or line .. " " .. word
    if vim.fn.strdisplaywidth(longer) > room then
      if line ~= "" then
        lines[#lines + 1] = line
      end
      while vim.fn.strdisplaywidth(word) > room do
        -- At least one character, however narrow the screen is.
        local part = vim.fn.printf("%.*S", room, word)
        lines[#lines + 1] = part ~= "" and part or vim.fn.strcharpart(word, 0, 1)
        word = word:sub(#lines[#lines] + 1)
      end
      longer = word
    end
    line = longer
  end
  lines[#lines + 1] = line
  return lines
end

--- Shows a message on the command line. Neovim asks for Enter where one does not fit, or follows another. So each of its lines
--- goes to `:messages` by itself, and the screen keeps the first, which says where the others are.
---@param message string
---@param level integer
local function show(message, level)
  if api.nvim_get_mode().mode:find("^cr?$") then
    -- The user is typing on the command line.
    api.nvim_create_autocmd("ModeChanged", {
      desc = "Flemma: show a message that arrived while the command line was in use",
      callback = vim.schedule_wrap(function()
        show(message, level)
      end),
      once = true,
    })
    return
  end
  local room = vim.v.echospace
  local sign = room < 40 and " …" or " … (:messages)"
  local fits = vim.fn.strdisplaywidth(message) <= room
  local lines = M.wrap(message, math.max(fits and room or room - vim.fn.strdisplaywidth(sign), 1))
  for _, line in ipairs(lines) do
    vim.cmd.redraw()
    api.nvim_echo({ { line, highlights[level] } }, true, {})
  end
  if #lines > 1 then
    vim.cmd.redraw()
    api.nvim_echo({ { lines[1] .. sign, highlights[level] } }, false, {})
  end
end

local has_said = false

--- Whether something was said since the last call.
---@return boolean
function M.take_said()
  local was_said = has_said
  has_said = false
  return was_said
end

--- What is said while |M.unless_returned| runs a function.
---@type { level: integer, message: string }[]?
local held_back

--- A prompt is over. Without a user interface, Neovim prints it, and what follows would be on the same line.
function M.end_line()
  if #api.nvim_list_uis() == 0 then
    io.stderr:write("\n")
  end
end

--- Gets the messages in place of the user, if there is none.
---@type fun(level: integer, message: string)?
M.listener = nil

--- A message and what to do about it in an editor, for whom there is one.
---@param message string
---@param advice string a sentence that names keys or commands
---@return string
function M.with_advice(message, advice)
  return M.listener and message or message .. " " .. advice
end

--- Shows a message. Safe to call from anywhere, including libuv callbacks.
---@param level integer one of vim.log.levels
---@param message string
function M.say(level, message)
  if vim.in_fast_event() then
    vim.schedule(function()
      M.say(level, message)
    end)
    return
  end
  if held_back then
    held_back[#held_back + 1] = { level = level, message = message }
    return
  end
  if M.listener then
    return M.listener(level, message)
  end
  if level < M.level then
    return
  end
  message = "Flemma: " .. message
  has_said = true
  if not shows_in_command_line() then
    vim.notify(message, level, { title = "Flemma" })
  elseif #api.nvim_list_uis() == 0 then
    -- Nobody sees a command line. Neovim prints the message, and may be about to exit.
    api.nvim_echo({ { (message:gsub("%s+", " ")), highlights[level] } }, true, {})
  else
    vim.schedule(function()
      show(message, level)
    end)
  end
end

--- Runs a function that returns a problem to a program, which tells the user if it wants to. So a message that says the same
--- is dropped. The other messages are shown when the function returns.
---@param run fun(): any, string?
---@return any value
---@return string? problem
function M.unless_returned(run)
  local outer, mine = held_back, {}
  held_back = mine
  local ok, value, problem = pcall(run)
  held_back = outer
  for _, item in ipairs(mine) do
    if item.message ~= problem then
      M.say(item.level, item.message)
    end
  end
  if not ok then
    error(value, 0)
  end
  return value, problem
end

--- Shows a message only the first time.
---@param level integer
---@param message string
function M.once(level, message)
  if not told[message] then
    told[message] = true
    M.say(level, message)
  end
end

return M
