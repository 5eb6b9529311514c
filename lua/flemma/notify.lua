--- Messages to the user.
local M = {}

local api = vim.api

local told = {}

local levels = {
  debug = vim.log.levels.DEBUG,
  info = vim.log.levels.INFO,
  warn = vim.log.levels.WARN,
  error = vim.log.levels.ERROR,
}

local highlights = { [vim.log.levels.WARN] = "WarningMsg", [vim.log.levels.ERROR] = "ErrorMsg" }

--- Whether `vim.notify` is Neovim's own function, which shows messages on the command line.
local function shows_in_command_line()
  local source = debug.getinfo(vim.notify, "S").source
  return source == "?" or vim.startswith(source, "@vim/")
end

--- Cuts a word into pieces that fit.
---@param word string
---@param room integer cells
---@return string[] pieces at least one; all but the last are as long as possible
local function cut(word, room)
  local pieces, piece = {}, ""
  for character in word:gmatch("[%z\1-\127\194-\244][\128-\191]*") do
    if piece ~= "" and vim.fn.strdisplaywidth(piece .. character) > room then
      pieces[#pieces + 1] = piece
      piece = ""
    end
    piece = piece .. character
  end
  pieces[#pieces + 1] = piece
  return pieces
end

--- Wraps a message into lines that fit: at spaces, and inside a word that is longer than a line.
---@param message string
---@param room integer cells
---@return string[]
function M.wrap(message, room)
  -- The lines after the first are indented if there is enough room.
  local indent = room > 8 and "  " or ""
  local lines = {}
  local line = ""
  for word in message:gmatch("%S+") do
    local longer = line == "" and word or line .. " " .. word
    if vim.fn.strdisplaywidth(longer) <= room then
      line = longer
    else
      for _, piece in ipairs(cut(word, room - #indent)) do
        if line ~= "" then
          lines[#lines + 1] = line
        end
        line = (#lines > 0 and indent or "") .. piece
      end
    end
  end
  lines[#lines + 1] = line
  return lines
end

---@type { message: string, level: integer }[]
local waiting = {}

--- Adds messages to `:messages`. Neovim cannot do that without showing them, so they are shown in lines that fit, and each
--- can be overwritten at once. This avoids a hit-enter prompt.
local function record(messages)
  local ignored, showcmd, ruler = vim.o.eventignore, vim.o.showcmd, vim.o.ruler
  local is_narrow = vim.v.echospace < 20
  if is_narrow then
    -- These two take up most of a narrow command line, or all of it.
    vim.o.eventignore = "OptionSet"
    vim.o.showcmd, vim.o.ruler = false, false
  end
  -- What Neovim has just said itself must not be followed by another row.
  vim.cmd.redraw()
  for _, item in ipairs(messages) do
    for _, line in ipairs(M.wrap(item.message, math.max(vim.v.echospace, 1))) do
      api.nvim_echo({ { line, highlights[item.level] } }, true, {})
      vim.cmd.redraw()
    end
  end
  if is_narrow then
    vim.o.showcmd, vim.o.ruler = showcmd, ruler
    vim.o.eventignore = ignored
  end
end

--- A message that does not fit on the command line causes a hit-enter prompt, which also blocks everything that streams. So
--- messages that arrive together become a single line on the screen, and `:messages` has all of them.
local function flush()
  if api.nvim_get_mode().mode:find("^cr?$") then
    -- The user is typing on the command line.
    api.nvim_create_autocmd("ModeChanged", {
      group = api.nvim_create_augroup("flemma.notify", { clear = true }),
      desc = "Flemma: show messages that arrived while the command line was in use",
      callback = vim.schedule_wrap(flush),
      once = true,
    })
    return
  end
  local messages = waiting
  waiting = {}
  record(messages)
  ---@type { message: string, level: integer }
  local gravest = messages[1]
  for _, item in ipairs(messages) do
    if item.level > gravest.level then
      gravest = item
    end
  end
  require("flemma.lastline").show({
    text = gravest.message,
    more = #messages - 1,
    highlight = highlights[gravest.level],
  })
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
  local options = require("flemma.options").taken()
  if options and level < levels[options.notify.level] then
    return
  end
  message = "Flemma: " .. message
  if not shows_in_command_line() then
    vim.notify(message, level, { title = "Flemma" })
  elseif #api.nvim_list_uis() == 0 then
    -- Nobody sees a command line. Neovim prints the message, and may be about to exit.
    api.nvim_echo({ { (message:gsub("%s+", " ")), highlights[level] } }, true, {})
  else
    waiting[#waiting + 1] = { message = (message:gsub("%s+", " ")), level = level }
    if #waiting == 1 then
      vim.schedule(flush)
    end
  end
end

--- Shows a message again that was said before, without adding it to `:messages`. Where a plugin shows messages, that was enough.
---@param level integer
---@param message string
function M.repeat_on_screen(level, message)
  if shows_in_command_line() and #waiting == 0 and not M.listener then
    require("flemma.lastline").show({ text = "Flemma: " .. message, more = 0, highlight = highlights[level] })
  end
end

--- Takes a message off the screen that no longer holds. `:messages` keeps it.
---@param message string
function M.withdraw(message)
  if shows_in_command_line() then
    require("flemma.lastline").clear(function(text)
      return text == "Flemma: " .. message
    end)
  end
end

--- How messages end that refuse something while a reply or a tool is running.
local WHILE_IT_RUNS = "; Ctrl-C stops it"

--- Nothing is running any more: takes a message off the screen that says so. `:messages` keeps it.
function M.withdraw_refusal()
  if shows_in_command_line() then
    require("flemma.lastline").clear(function(text)
      return vim.endswith(text, WHILE_IT_RUNS)
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
