--- Messages for the user's eyes.
local M = {}

local told = {}

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
local function wrap(message, room)
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

--- A message that does not fit into the command line makes Neovim stop and wait for Enter, and everything that
--- streams waits with it. So a long one goes into `:messages` line by line, and the screen keeps its beginning.
local function echo(message, level)
  local highlight = highlights[level]
  local lines = wrap(message, math.max(vim.v.echospace, 20))
  for _, line in ipairs(lines) do
    vim.api.nvim_echo({ { line, highlight } }, true, {})
    if #lines > 1 then
      -- Tells Neovim that the next line may take this one's place.
      vim.cmd.redraw()
    end
  end
  if #lines > 1 then
    local hint = " … :messages"
    local room = math.max(vim.v.echospace, 20) - vim.fn.strdisplaywidth(hint)
    local short = lines[1]
    while vim.fn.strdisplaywidth(short) > room do
      short = vim.fn.strcharpart(short, 0, vim.fn.strcharlen(short) - 1)
    end
    vim.api.nvim_echo({ { short .. hint, highlight } }, false, {})
  end
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
  message = "Flemma: " .. message
  if shows_in_command_line() then
    echo(message, level)
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
