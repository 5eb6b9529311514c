--- Messages for the user's eyes.
local M = {}

local told = {}

local levels = {
  debug = vim.log.levels.DEBUG,
  info = vim.log.levels.INFO,
  warn = vim.log.levels.WARN,
  error = vim.log.levels.ERROR,
}

local highlights = { [vim.log.levels.WARN] = "WarningMsg", [vim.log.levels.ERROR] = "ErrorMsg" }

--- Whether `vim.notify` is Neovim's own, which shows a message in the command line.
local function shows_in_command_line()
  local source = debug.getinfo(vim.notify, "S").source
  return source == "?" or vim.startswith(source, "@vim/")
end

--- Cuts a message into lines that fit, at spaces where there are any.
---@param message string
---@param room integer cells
---@return string[]
function M.wrap(message, room)
  local lines = {}
  local line = ""
  for word in message:gmatch("%S+") do
    local longer = line == "" and word or line .. " " .. word
    if line ~= "" and vim.fn.strdisplaywidth(longer) > room then
      lines[#lines + 1] = line
      line = "  " .. word
    else
      line = longer
    end
  end
  lines[#lines + 1] = line
  return lines
end

---@type { message: string, level: integer }[]
local waiting = {}

--- More than the command line holds makes Neovim stop and wait for Enter, and everything that streams waits with it.
--- So what is said in one go becomes one line on the screen; all of it is in `:messages`.
local function flush()
  local messages = waiting
  waiting = {}
  local room = math.max(vim.v.echospace, 20)
  local total = 0
  ---@type { message: string, level: integer }
  local gravest = messages[1]
  for _, item in ipairs(messages) do
    for _, line in ipairs(M.wrap(item.message, room)) do
      vim.api.nvim_echo({ { line, highlights[item.level] } }, true, {})
      -- Tells Neovim that the next line may take this one's place.
      vim.cmd.redraw()
      total = total + 1
    end
    if item.level > gravest.level then
      gravest = item
    end
  end
  if total == 1 then
    vim.api.nvim_echo({ { messages[1].message, highlights[messages[1].level] } }, false, {})
    return
  end
  local hint = #messages == 1 and " … :messages" or (" … and %d more in :messages"):format(#messages - 1)
  local short = gravest.message
  while short ~= "" and vim.fn.strdisplaywidth(short .. hint) > room do
    short = vim.fn.strcharpart(short, 0, vim.fn.strcharlen(short) - 1)
  end
  vim.api.nvim_echo({ { short .. hint, highlights[gravest.level] } }, false, {})
end

--- Says something. Safe to call from anywhere, even from a callback of libuv's.
---@param level integer one of vim.log.levels
---@param message string
function M.say(level, message)
  if vim.in_fast_event() then
    vim.schedule(function()
      M.say(level, message)
    end)
    return
  end
  local options = require("flemma.options").taken()
  if options and level < levels[options.notify.level] then
    return
  end
  message = "Flemma: " .. message
  if shows_in_command_line() then
    waiting[#waiting + 1] = { message = (message:gsub("%s+", " ")), level = level }
    if #waiting == 1 then
      vim.schedule(flush)
    end
  else
    vim.notify(message, level, { title = "Flemma" })
  end
end

--- Says something that would be tiresome to hear again.
---@param level integer
---@param message string
function M.once(level, message)
  if not told[message] then
    told[message] = true
    M.say(level, message)
  end
end

return M
