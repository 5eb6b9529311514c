--- `:Flemma`.
local M = {}

---@class flemma.Command
---@field run fun(args: table, rest?: string) the argument of `nvim_create_user_command`, and the words after the name, if any
---@field takes? "words"|"text" any words may follow; a `|` ends words, and is a part of a text
---@field words? string[] only these may follow
---@field word? string only one word may follow, which is this
---@field range? boolean whether the command accepts a range
---@field bang? boolean whether the command accepts a `!`, behind `:Flemma` or behind its name
---@field complete? fun(words: string[], lead: string): string[] completes the words after the name, instead of `words`
---@field means? "conversation"|"call" what the command can be about when it is given in another window (|flemma.conversations.meant|)
---@field enters? boolean whether the user goes on in the conversation's window

--- A function of a module, which is loaded when it is called, with the words after the name.
---@param module string
---@param name string
---@return fun(args: table, rest?: string)
local function to(module, name)
  return function(_, rest)
    require("flemma." .. module)[name](rest)
  end
end

--- The completion of a module.
---@param module string
local function completes(module)
  return function(...)
    return require("flemma." .. module).complete(...)
  end
end

---@param option "tools.autopilot.enabled"|"logging.enabled"
---@param value boolean
local function sets(option, value)
  return function()
    require("flemma.conversations.switch").set(option, value)
  end
end

--- The lines that a command names, from 0; nothing for the line of the cursor.
---@return integer? first
---@return integer? last
local function range(args)
  if args.range > 0 then
    return args.line1 - 1, args.line2 - 1
  end
end

---@type table<string, flemma.Command>
local commands = {
  send = { run = to("core", "send_or_execute") },
  cancel = { run = to("core", "cancel") },
  preview = { run = to("status", "preview"), means = "conversation" },
  paste = { run = to("paste", "image"), means = "conversation", enters = true },
  prompt = {
    takes = "text",
    means = "conversation",
    run = function(_, rest)
      require("flemma.prompts").insert(nil, rest)
    end,
    complete = function(words, lead)
      return #words == 0 and require("flemma.prompts").names(lead) or {}
    end,
  },
  rules = { run = to("core", "take_instructions"), means = "conversation" },
  status = { run = to("status", "open"), words = { "all" }, means = "conversation" },
  build = { run = to("install.build", "run") },
  health = { run = function() vim.cmd.checkhealth("flemma") end },
  version = { run = to("native", "tell_version") },
  tour = { run = to("tour", "open") },
  ask = {
    takes = "text",
    range = true,
    bang = true,
    run = function(args, rest)
      local last = vim.fn.line(".")
      local first = args.range > 0 and args.line1 or last
      require("flemma.core").ask({ first = first, last = args.range > 0 and args.line2 or last, words = rest, sends = args.bang })
    end,
  },
  new = { run = to("core", "new"), takes = "text" },
  open = { run = to("core", "open"), takes = "text", complete = completes("conversations.picker") },
  find = {
    takes = "text",
    bang = true,
    run = function(args, rest)
      require("flemma.conversations.find").words(rest, args.bang)
    end,
  },
  fork = { run = to("core", "fork"), means = "conversation", enters = true },
  toggle = { run = to("core", "toggle"), words = { "vertical", "horizontal", "tab" } },
  switch = { run = to("conversations.switch", "run"), takes = "words", complete = completes("conversations.switch") },
  ["autopilot:enable"] = { run = sets("tools.autopilot.enabled", true) },
  ["autopilot:disable"] = { run = sets("tools.autopilot.enabled", false) },
  ["autopilot:status"] = { run = to("conversations.switch", "say_autopilot") },
  ["logging:enable"] = { run = sets("logging.enabled", true) },
  ["logging:disable"] = { run = sets("logging.enabled", false) },
  ["logging:open"] = { run = to("conversations.switch", "open_log") },
  ["tool:execute"] = { run = to("core", "execute_at_cursor"), means = "call", enters = true },
  ["tool:approve"] = {
    words = { "always" },
    range = true,
    means = "call",
    run = function(args, rest)
      local first, last = range(args)
      require("flemma.core").approve(first, last, rest == "always")
    end,
  },
  ["tool:reject"] = {
    takes = "text",
    range = true,
    means = "call",
    run = function(args, rest)
      local first, last = range(args)
      require("flemma.core").reject(first, last, rest)
    end,
  },
  ["tool:review"] = { run = to("core", "review"), means = "call", enters = true },
  ["tool:cancel"] = { run = to("core", "cancel_tool"), means = "conversation" },
  ["tool:cancel-all"] = { run = to("core", "cancel_all_tools"), means = "conversation" },
  ["tool:list"] = { run = to("status", "open_tools"), means = "conversation" },
  queue = { run = to("core", "queue"), takes = "text" },
  unqueue = { run = to("core", "unqueue"), takes = "words" },
  steer = { run = to("core", "steer"), takes = "text" },
  pending = {
    run = to("conversations.pending", "list"),
    takes = "words",
    complete = function(words, lead)
      return #words == 0 and vim.fn.getcompletion(lead, "dir") or {}
    end,
  },
  undo = { run = to("changes", "undo"), word = "the id of one call", complete = completes("changes"), means = "conversation" },
  redo = { run = to("changes", "redo"), means = "conversation" },
  rollback = { run = to("changes", "rollback"), means = "conversation" },
  changes = { run = to("changes", "walk"), means = "conversation" },
  usage = { run = to("status", "open_usage") },
  ["usage:estimate"] = { run = to("status", "estimate") },
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

--- Runs a command that is given outside of a conversation on the one that is meant, and says which one that was.
---@param name string
---@param command flemma.Command
---@param run fun()
---@return boolean done
local function run_elsewhere(name, command, run)
  local target = require("flemma.buffer.target")
  local meant, problem = require("flemma.conversations").meant(command.means == "call")
  if not meant then
    refuse(("`:Flemma %s`: %s"):format(name, problem))
    return false
  elseif command.enters then
    vim.api.nvim_set_current_win(meant.win)
    run()
    return true
  end
  target.chosen = meant
  local ok, thrown = pcall(run)
  target.chosen = nil
  if not ok then
    error(thrown, 0)
  end
  require("flemma.notify").say(vim.log.levels.INFO, ("%s: in %s"):format(name, meant.title))
  return true
end

---@param name string
---@param command? flemma.Command
---@param args table
---@param rest string
---@return string? problem
local function problem_of(name, command, args, rest)
  if not command then
    local near = require("flemma.native").call("text", "nearest", { word = name, words = names() })
    local hint = near and ("; did you mean `%s`?"):format(near)
      or (". The commands are: %s."):format(table.concat(names(), ", "))
    return ("there is no `:Flemma %s`%s"):format(name, hint)
  elseif args.range > 0 and not command.range then
    return ("`:Flemma %s` takes no range"):format(name)
  elseif args.range > 0 and vim.b.flemma_conversation then
    -- Its lines are not those of the conversation.
    return "a range is for the conversation, not for this window"
  elseif args.bang and not command.bang then
    return ("`:Flemma %s` takes no `!`"):format(name)
  end
  local words = command.words and ("only `%s`"):format(table.concat(command.words, "` or `"))
  local fits = command.word and not rest:find("%s") or vim.list_contains(command.words or {}, rest)
  if rest ~= "" and not command.takes and not fits then
    return ("`:Flemma %s` takes %s, but was given `%s`"):format(name, words or command.word or "no argument", rest)
  end
end

---@param args table the argument of `nvim_create_user_command`
function M.run(args)
  local name, rest, following = split(args.args)
  local banged = name:match("^(.*)!$")
  if banged and (commands[banged] or {}).bang then
    name, args.bang = banged, true
  end
  local command = commands[name]
  local problem = problem_of(name, command, args, rest)
  if problem then
    return refuse(problem)
  end
  local function run()
    command.run(args, rest ~= "" and rest or nil)
  end
  local is_done = true
  if command.means and args.range == 0 and vim.bo.filetype ~= "chat" and not require("flemma.buffer.target").here() then
    is_done = run_elsewhere(name, command, run)
  else
    run()
  end
  if is_done and following then
    go_on(following)
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
    -- The titles are known when they are asked for.
    require("flemma.conversations.picker").complete({}, "")
  end
  local words = name and ((command or {}).words or {}) or names()
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, words)
end

return M
