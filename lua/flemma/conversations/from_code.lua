--- Asking about code: puts a reference to the selection into the project's conversation, and shows it.
local M = {}

local api = vim.api

---@param message string
local function refuse(message)
  require("flemma.notify").say(vim.log.levels.ERROR, message)
end

local native = require("flemma.native").call

---@class flemma.Question
---@field first integer the first line, from 1
---@field last integer the last line
---@field words? string what the user asks
---@field sends? boolean whether the message is sent

--- The path by which a conversation refers to the file of a buffer: below the folder where its paths start, if the file is there.
---@param name string
---@param real string the same with links resolved
---@param chat integer
---@return string
local function path_for(name, real, chat)
  local base = require("flemma.conversations").base(chat):gsub("/*$", "/")
  return not vim.startswith(name, base) and vim.startswith(real, base) and real or name
end

--- For how many milliseconds at most Neovim waits until it is known who holds a conversation that was just opened.
local PATIENCE = 400

--- Puts the question into the conversation, and sends it or lets the user go on typing. If the conversation is at work, the
--- question becomes a queued message, or the draft of one.
---@param buf integer
---@param question flemma.Question
---@param file? string the file with links resolved; nil if the text of the buffer goes into the message, and not a reference to it
local function put(buf, question, file)
  local lines = not file and api.nvim_buf_get_lines(buf, question.first - 1, question.last, false) or nil
  local name = api.nvim_buf_get_name(buf)
  local chat, win = require("flemma.conversations").show({ buf = buf })
  if not chat then
    return
  end
  -- What is typed next belongs to the question, so that this is not done later.
  vim.wait(PATIENCE, function()
    return native("state", chat, "holder_known") == true
  end, 2)
  local shown = vim.startswith(name, "/") and vim.fn.fnamemodify(name, ":~:.") or ""
  local span = question.first == question.last and ("line %d"):format(question.first)
    or ("lines %d to %d"):format(question.first, question.last)
  local line, column = native("dispatch", chat, "ask", {
    path = file and path_for(name, file, chat) or nil,
    first = question.first,
    last = question.last,
    name = shown ~= "" and ("%s, %s"):format(shown, span) or "",
    language = vim.bo[buf].filetype,
    lines = lines,
    words = question.words or "",
  })
  if type(line) == "string" and question.sends then
    native("dispatch", chat, "queue", { text = line, steers = false })
  elseif type(line) == "string" then
    require("flemma.queue.window").open(chat, line)
    vim.cmd.startinsert({ bang = true })
  elseif type(line) == "number" then
    ---@cast win integer
    api.nvim_win_set_cursor(win, { line + 1, column })
    if question.sends then
      require("flemma.core").send_or_execute(chat)
    elseif api.nvim_get_current_win() == win then
      vim.cmd("startinsert!")
    end
  elseif column then
    local is_observer = require("flemma.buffer.lock").is_observer(chat)
    local with_advice = require("flemma.notify").with_advice
    refuse(is_observer and with_advice(column, "`:Flemma new` begins another conversation.") or column)
  end
end

local choices = {
  { answer = "text", text = "Put the text of the buffer into the message" },
  { answer = "write", text = "Write the file, and refer to it" },
  { answer = "file", text = "Refer to the file as it is on the disk" },
}

--- Asks what a question about a file means whose buffer has changes.
---@param buf integer
---@param question flemma.Question
---@param file string
local function choose(buf, question, file)
  local name = vim.fs.basename(api.nvim_buf_get_name(buf))
  require("flemma.ask").select(choices, {
    prompt = ("%s has changes that are not saved, so the file on the disk may have other lines:"):format(name),
    kind = "flemma.ask",
    format_item = function(choice)
      return choice.text
    end,
  }, function(choice)
    if not choice or not api.nvim_buf_is_loaded(buf) then
      return
    end
    if choice.answer == "write" then
      local ok, problem = pcall(api.nvim_buf_call, buf, function()
        vim.cmd("silent write")
      end)
      if not ok or vim.bo[buf].modified then
        return refuse(("%s was not written: %s"):format(name, tostring(problem):match("[^\n]*")))
      end
    end
    put(buf, question, choice.answer ~= "text" and file or nil)
  end)
end

--- The lines of the selection, or of the cursor.
---@return flemma.Question
local function selected()
  local first, last = vim.fn.line("."), vim.fn.line(".")
  if api.nvim_get_mode().mode:find("^[vV\22]") then
    first = vim.fn.line("v")
    vim.cmd.normal({ "\27", bang = true })
  end
  return { first = math.min(first, last), last = math.max(first, last) }
end

--- Asks about lines of the current buffer.
---@param question? flemma.Question about the selection or the cursor's line, by default
function M.ask(question)
  question = question or selected()
  local buf = api.nvim_get_current_buf()
  if vim.bo[buf].filetype == "chat" then
    return refuse("`:Flemma ask` is for code; here, write under `@You:`")
  elseif question.sends and vim.trim(question.words or "") == "" then
    return refuse("nothing is sent without words: `:Flemma! ask {words}`")
  end
  local count, name = api.nvim_buf_line_count(buf), api.nvim_buf_get_name(buf)
  question.first = math.max(1, math.min(question.first, count))
  question.last = math.max(question.first, math.min(question.last, count))
  local real, problem, is_file
  if vim.bo[buf].buftype == "" and vim.startswith(name, "/") then
    real, problem, is_file = native("path", "file", { path = name })
  end
  if problem then
    refuse(problem)
  elseif is_file and vim.bo[buf].modified then
    choose(buf, question, real)
  else
    put(buf, question, is_file and real or nil)
  end
end

--- Asks about what the motion covers: the 'operatorfunc' of `<Plug>(flemma-ask-operator)`.
function M.operate()
  M.ask({ first = vim.fn.line("'["), last = vim.fn.line("']") })
end

return M
