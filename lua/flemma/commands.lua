--- `:Flemma`.
local M = {}

local function core(name, ...)
  return require("flemma.core")[name](...)
end

--- The lines that a command names; nothing for the line of the cursor.
---@return integer? first from 0
---@return integer? last
local function range(args)
  if args.range > 0 then
    return args.line1 - 1, args.line2 - 1
  end
end

--- The lines that a command applies to: the selection, or the cursor's line.
---@return integer first from 0
---@return integer last
local function lines(args)
  local first, last = range(args)
  if first and last then
    return first, last
  end
  local line = vim.api.nvim_win_get_cursor(require("flemma.buffer").window())[1] - 1
  return line, line
end

---@class flemma.Command
---@field run fun(args: table, rest: string) the argument of `nvim_create_user_command`, and the words after the name
---@field takes? "words"|"text" any words may follow; a `|` ends words, and is a part of a text
---@field words? string[] only these may follow
---@field range? boolean whether the command accepts a range
---@field bang? boolean whether the command accepts a `!`, behind `:Flemma` or behind its name
---@field complete? fun(words: string[], lead: string): string[] completes the words after the name, instead of `words`

---@type table<string, flemma.Command>
local commands = {
  send = {
    run = function()
      core("send_or_execute")
    end,
  },
  cancel = {
    run = function()
      core("cancel")
    end,
  },
  status = {
    run = function()
      require("flemma.status").open()
    end,
  },
  build = {
    run = function()
      require("flemma.build").run()
    end,
  },
  health = {
    run = function()
      vim.cmd.checkhealth("flemma")
    end,
  },
  tour = {
    run = function()
      require("flemma.tour").open()
    end,
  },
  ask = {
    takes = "text",
    range = true,
    bang = true,
    run = function(args, rest)
      local first, last = lines(args)
      core("ask", { first = first + 1, last = last + 1, words = rest, sends = args.bang })
    end,
  },
  new = {
    takes = "text",
    run = function(_, rest)
      core("new", rest)
    end,
  },
  open = {
    takes = "text",
    run = function(_, rest)
      core("open", rest ~= "" and rest or nil)
    end,
    complete = function(words, lead)
      return require("flemma.conversations.picker").complete(words, lead)
    end,
  },
  toggle = {
    words = { "vertical", "horizontal", "tab", "float" },
    run = function(_, rest)
      core("toggle", rest ~= "" and rest or nil)
    end,
  },
  switch = {
    takes = "words",
    run = function(_, rest)
      require("flemma.switch").run(vim.split(rest, "%s+", { trimempty = true }))
    end,
    complete = function(words, lead)
      return require("flemma.switch").complete(words, lead)
    end,
  },
  ["autopilot:enable"] = {
    run = function()
      require("flemma.switch").set("tools.autopilot.enabled", true)
    end,
  },
  ["autopilot:disable"] = {
    run = function()
      require("flemma.switch").set("tools.autopilot.enabled", false)
    end,
  },
  ["autopilot:status"] = {
    run = function()
      require("flemma.switch").say_autopilot()
    end,
  },
  ["logging:enable"] = {
    run = function()
      require("flemma.switch").set("logging.enabled", true)
    end,
  },
  ["logging:disable"] = {
    run = function()
      require("flemma.switch").set("logging.enabled", false)
    end,
  },
  ["logging:open"] = {
    run = function()
      require("flemma.switch").open_log()
    end,
  },
  ["tool:execute"] = {
    run = function()
      core("execute_at_cursor")
    end,
  },
  ["tool:approve"] = {
    words = { "always" },
    range = true,
    run = function(args, rest)
      local first, last = range(args)
      core("approve", first, last, rest == "always")
    end,
  },
  ["tool:reject"] = {
    takes = "text",
    range = true,
    run = function(args, rest)
      local first, last = range(args)
      core("reject", first, last, rest ~= "" and rest or nil)
    end,
  },
  ["tool:review"] = {
    run = function()
      core("review")
    end,
  },
  ["tool:cancel"] = {
    run = function()
      core("cancel_tool")
    end,
  },
  ["tool:cancel-all"] = {
    run = function()
      core("cancel_all_tools")
    end,
  },
  ["tool:list"] = {
    run = function()
      require("flemma.status").open_tools()
    end,
  },
  queue = {
    takes = "text",
    run = function(_, rest)
      core("queue", rest)
    end,
  },
  unqueue = {
    takes = "words",
    run = function(_, rest)
      core("unqueue", rest)
    end,
  },
  steer = {
    takes = "text",
    run = function(_, rest)
      core("steer", rest)
    end,
  },
  pending = {
    takes = "words",
    run = function(_, rest)
      require("flemma.pending").list(rest ~= "" and vim.fn.expand(rest) or nil)
    end,
    complete = function(words, lead)
      return #words == 0 and vim.fn.getcompletion(lead, "dir") or {}
    end,
  },
  undo = {
    takes = "words",
    run = function(_, rest)
      if rest:find("%s") then
        require("flemma.notify").say(
          vim.log.levels.ERROR,
          ("`:Flemma undo` takes the id of one call, but was given `%s`"):format(rest)
        )
      else
        require("flemma.changes").undo(rest ~= "" and rest or nil)
      end
    end,
    complete = function(words, lead)
      return require("flemma.changes").complete(words, lead)
    end,
  },
  redo = {
    run = function()
      require("flemma.changes").redo()
    end,
  },
  rollback = {
    run = function()
      require("flemma.changes").rollback()
    end,
  },
  changes = {
    run = function()
      require("flemma.changes").walk()
    end,
  },
  usage = {
    run = function()
      require("flemma.usage").open()
    end,
  },
  ["usage:estimate"] = {
    run = function()
      require("flemma.usage").estimate()
    end,
  },
}

local function names()
  local list = vim.tbl_keys(commands)
  table.sort(list)
  return list
end

---@param problem string
local function refuse(problem)
  require("flemma.notify").say(vim.log.levels.ERROR, problem)
end

--- The name, the words after it, and the command behind a `|`. In a command that takes a text, a `|` is a part of it.
--- `-bar` cannot be used: it is for all of `:Flemma`, and a `"` in the words of `ask` would begin a comment.
---@param text string all that follows `:Flemma`
---@return string name
---@return string rest
---@return string? following
local function split(text)
  local name, rest = text:match("^%s*([^%s|]*)(.*)$")
  name = name ~= "" and name or "status"
  local command = commands[name] or commands[name:match("^(.*)!$")]
  local bar = not (command and command.takes == "text") and rest:find("|", 1, true)
  if not bar then
    return name, vim.trim(rest)
  end
  return name, vim.trim(rest:sub(1, bar - 1)), rest:sub(bar + 1)
end

--- Runs the command behind a `|`. An error of it is shown as Neovim shows it, without a traceback.
---@param following string
local function go_on(following)
  local is_done, problem = pcall(vim.cmd, following)
  if not is_done then
    local message = tostring(problem):match("E%d+: .*") or tostring(problem):gsub("^.-Vim%b():", "")
    vim.api.nvim_echo({ { message } }, true, { err = true })
  end
end

---@param args table the argument of `nvim_create_user_command`
function M.run(args)
  local name, rest, following = split(args.args)
  local command = commands[name]
  if not command and name:find("!$") and (commands[name:sub(1, -2)] or {}).bang then
    name, args.bang = name:sub(1, -2), true
    command = commands[name]
  end
  if not command then
    local near = require("flemma.native").call("nearest", name, names())
    local hint = near and ("; did you mean `%s`?"):format(near)
      or (". The commands are: %s."):format(table.concat(names(), ", "))
    refuse(("there is no `:Flemma %s`%s"):format(name, hint))
  elseif args.range > 0 and not command.range then
    refuse(("`:Flemma %s` takes no range"):format(name))
  elseif args.range > 0 and vim.b.flemma_conversation then
    -- Its lines are not those of the conversation.
    refuse("a range is for the conversation, not for this window")
  elseif args.bang and not command.bang then
    refuse(("`:Flemma %s` takes no `!`"):format(name))
  elseif rest ~= "" and command.words and not vim.list_contains(command.words, rest) then
    refuse(("`:Flemma %s` takes %s, but was given `%s`"):format(name, table.concat(command.words, " or "), rest))
  elseif rest ~= "" and not command.words and not command.takes then
    refuse(("`:Flemma %s` takes no argument, but was given `%s`"):format(name, rest))
  else
    command.run(args, rest)
    if following then
      go_on(following)
    end
  end
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local name, rest = line:match("Flemma!?%s+(%S+)%s+(.*)$")
  local command = name and commands[name]
  if command and command.complete then
    local before = vim.split(rest:sub(1, #rest - #lead), "%s+", { trimempty = true })
    return command.complete(before, lead)
  end
  if not name and require("flemma.native").is_loaded() then
    require("flemma.conversations.picker").prepare()
  end
  local words = name and ((command or {}).words or {}) or names()
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, words)
end

return M
