--- The functions that the library calls in Neovim: the counterpart of `src/nvim/host.rs`, name by name.
local M = {}

local api = vim.api

M.write = function(...)
  return require("flemma.writing").write(...)
end

local lock = require("flemma.lock")

M.lock = lock.lock
M.observe = lock.observe

lock.on_change = function(buf, is_locked)
  local following = require("flemma.following")
  require("flemma.queue").map_keys(buf, lock.is_locked(buf))
  if not is_locked then
    following.type_on_later(buf)
    require("flemma.folds").rest(buf)
  elseif buf == api.nvim_get_current_buf() and api.nvim_get_mode().mode:sub(1, 1) == "i" then
    following.leave_insert(buf)
    if lock.is_observer(buf) then
      -- Nobody waits in Insert mode until another editor ends.
      following.stop_typing(buf)
    end
  end
end

M.read_again = function(...)
  return require("flemma.checktime").follow(...)
end

M.cursor = function(...)
  return require("flemma.following").cursor(...)
end

M.note_reviews = function(...)
  local review = package.loaded["flemma.review"]
  if review then
    review.note_made(...)
  end
end

M.unfold = function(...)
  require("flemma.folds").unfold(...)
end

M.follow = function(...)
  return require("flemma.following").follow(...)
end

local levels = { info = vim.log.levels.INFO, warn = vim.log.levels.WARN, error = vim.log.levels.ERROR }

---@param level "info"|"warn"|"error"
---@param message string
function M.notify(level, message)
  require("flemma.notify").say(levels[level], message)
end

--- The file and the working directory of a buffer's tools. The windows of other buffers may have folders of their own.
---@param buf integer
---@return string name the file's full path, empty for a buffer without one
---@return string cwd
function M.place(buf)
  local tab, win = unpack(vim.fn.win_id2tabwin(vim.fn.win_findbuf(buf)[1] or 0))
  local cwd = win > 0 and vim.fn.getcwd(win, tab) or vim.fn.getcwd(-1, -1)
  return api.nvim_buf_is_valid(buf) and api.nvim_buf_get_name(buf) or "", cwd
end

---@alias flemma.Fault { line: integer, severity: "error"|"warning", message: string }

---@param buf integer
---@param items flemma.Fault[]
local function set_diagnostics(buf, items)
  local severities = { error = vim.diagnostic.severity.ERROR, warning = vim.diagnostic.severity.WARN }
  vim.diagnostic.set(
    require("flemma.ui").diagnostics,
    buf,
    vim.tbl_map(function(item)
      return {
        lnum = item.line,
        col = 0,
        severity = severities[item.severity],
        source = "flemma",
        message = item.message,
      }
    end, items)
  )
end

---@type table<integer, flemma.Fault[]> by buffer
local undiagnosed = {}

--- On Neovim 0.12, diagnostics draw the status lines and with them the windows, in the middle of a change. So they are set
--- afterwards.
---@param buf integer
---@param items flemma.Fault[]
function M.diagnose(buf, items)
  if not undiagnosed[buf] then
    vim.schedule(function()
      local latest = undiagnosed[buf]
      undiagnosed[buf] = nil
      if api.nvim_buf_is_loaded(buf) then
        set_diagnostics(buf, latest)
      end
    end)
  end
  undiagnosed[buf] = items
end

---@type fun()? redraws status lines, if they are in use
M.on_show = nil

---@param buf integer
---@param busy boolean whether a request or a tool is running in it
---@param is_other boolean whether it does something else now
function M.show(buf, busy, is_other)
  require("flemma.interrupt").watch(buf, busy)
  require("flemma.ui").show(buf, busy, is_other)
  require("flemma.queue.view").draw(buf)
  require("flemma.progress").show(buf, busy)
  if M.on_show then
    M.on_show()
  end
end

--- The status blocks changed.
---@param buf integer
function M.refresh(buf)
  require("flemma.ui").schedule_refresh(buf)
  if M.on_show then
    M.on_show()
  end
end

--- What is drawn over the text has changed.
---@param buf integer
function M.redraw(buf)
  require("flemma.drawing").refresh(buf)
end

--- The user's edit is not settled yet.
---@param buf integer
function M.unsettled(buf)
  require("flemma.unsettled").add(buf)
end

M.run_frontmatter = function(...)
  return require("flemma.frontmatter").run(...)
end

M.guard = function(...)
  return require("flemma.frontmatter").guard(...)
end

M.parse = function(...)
  return require("flemma.codeblock.parsers").parse(...)
end

---@param buf integer
---@return string problem empty if the file has the text
function M.write_now(buf)
  return require("flemma.saving").write_now(buf) or ""
end

--- A conversation that `flemma run` carries on has come to its end.
---@param buf integer
function M.driven(buf)
  require("flemma.headless").driven(buf)
end

M.languages = function()
  return require("flemma.codeblock.parsers").languages()
end

--- Where the command line reaches this Neovim: `:help v:servername`.
---@return string
function M.server()
  return vim.v.servername
end

--- The files that have changes in the editor which are not saved.
---@return string[]
function M.unsaved()
  return require("flemma.changes").unsaved()
end

--- What calls in a buffer would write may be something else now.
---@param buf integer
function M.proposals_changed(buf)
  local review = package.loaded["flemma.review"]
  if review then
    review.changed(buf)
  end
end

--- Whether a user can see this Neovim, so that tools can run in its user interface.
---@return boolean
function M.has_ui()
  return #api.nvim_list_uis() > 0
end

--- A moment as the user reads it, in the time zone of the system or of $TZ.
---@param at integer seconds since 1970
---@return string
function M.local_time(at)
  return vim.fn.strftime("%Y-%m-%d %H:%M", at)
end

--- Whether the user sees a buffer.
---@param buf integer
function M.is_in_sight(buf)
  return require("flemma.sight").sees(buf)
end

--- Whether the user is typing in a buffer: in Insert, Replace or Select mode.
---@param buf integer
---@return boolean
function M.is_typing(buf)
  return api.nvim_get_current_buf() == buf and api.nvim_get_mode().mode:find("^n?[iRsS\19]") ~= nil
end

--- Looks up what the editor shows, for references in a conversation. It passes the answers to the library, when no function of
--- the library is on the stack.
---@param buf integer
---@param number integer
---@param wanted { subject: string, path?: string }[]
function M.look(buf, number, wanted)
  require("flemma.captures").look(buf, number, wanted)
end

--- Opens the form of a call that asks the user a question.
---@param buf integer
---@param call string
function M.open_form(buf, call)
  require("flemma.form").open(buf, call)
end

M.ask_files = function(...)
  return require("flemma.trust").ask_files(...)
end

M.ask_trust = function(...)
  return require("flemma.trust").ask(...)
end

M.current_buffer = api.nvim_get_current_buf

---@param buf integer
---@param tool string
---@param timeout number seconds
---@param progress? fun(text: string)
---@return flemma.ExecutionContext
function M.context(buf, tool, timeout, progress, about)
  return require("flemma.tools.context").new(buf, tool, timeout, progress, about)
end

--- The function for the calls of a built-in tool that the editor answers. Its file is loaded by the first call.
---@param tool string
---@return fun(input: table, ctx: flemma.ExecutionContext, callback: fun(result: any)): any
function M.client_tool(tool)
  return function(...)
    return require("flemma.tools.client." .. tool)(...)
  end
end

---@param event string name of the `User` autocommand
---@param data table
function M.announce(event, data)
  api.nvim_exec_autocmds("User", { pattern = event, data = data, modeline = false })
end

--- Calls a tool's function. Any error is returned as text.
---@param execute function
---@return boolean ok
---@return any value
---@return any problem
function M.execute(execute, ...)
  return xpcall(execute, function(thrown)
    return type(thrown) == "string" and thrown or vim.inspect(thrown)
  end, ...)
end

--- Calls a function when what has been written is on the screen: it may show a prompt that waits, and then nothing is drawn.
---@param run fun()
function M.when_drawn(run)
  vim.schedule(function()
    vim.cmd.redraw()
    run()
  end)
end

--- A tool's answer came when its call had ended. It may come from anywhere, libuv's callbacks included.
---@param buf integer
---@param tool string
---@param call string the call's id
---@param text string
function M.refuse_late(buf, tool, call, text)
  vim.schedule(function()
    local late = require("flemma.late")
    require("flemma.notify").end_line()
    late.refuse(vim.log.levels.WARN, tool, call, late.why(buf, call), text)
  end)
end

--- Calls a function of a tool's definition, which must not change the buffer.
---@param buf integer
---@param ask function
---@return boolean ok
---@return any value what it returned, or the error
function M.ask_tool(buf, ask, ...)
  local is_loaded = api.nvim_buf_is_loaded(buf)
  local modifiable, ignored = is_loaded and vim.bo[buf].modifiable, vim.o.eventignore
  local function set_modifiable(value)
    if is_loaded and api.nvim_buf_is_loaded(buf) then
      vim.o.eventignore = "OptionSet"
      vim.bo[buf].modifiable = value
      vim.o.eventignore = ignored
    end
  end
  set_modifiable(false)
  local ok, value = pcall(ask, ...)
  set_modifiable(modifiable)
  if not ok and type(value) ~= "string" then
    value = vim.inspect(value, { newline = " ", indent = "" })
  end
  return ok, value
end

--- A tool may have changed open files.
---@param written string[] the real paths of those that are known to be written
---@param moved string[][] the old and the new path of each that has another name now
function M.checktime(written, moved)
  vim.schedule(function()
    require("flemma.checktime").all(written, moved)
  end)
end

--- The open `.chat` files. Tools do not write to them.
---@return string[]
function M.open_chats()
  local paths = {}
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(buf) and vim.bo[buf].filetype == "chat" and api.nvim_buf_get_name(buf) ~= "" then
      paths[#paths + 1] = api.nvim_buf_get_name(buf)
    end
  end
  return paths
end

--- Some lines are so long that Neovim takes its time for each change of them. With these options, that is ten times as long.
---@param buf integer
function M.long_lines(buf)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    vim.wo[win][0].linebreak, vim.wo[win][0].breakindent = false, false
  end
end

---@param buf integer
function M.turn_over(buf)
  local options = require("flemma.options").get()
  if options and options.editing.auto_write then
    require("flemma.saving").auto_write(buf)
  end
  require("flemma.visits").leave_later(buf)
end

---@param buf integer
---@param saved flemma.Saved
function M.saved(buf, saved)
  require("flemma.saving").finished(buf, saved)
  require("flemma.visits").leave_later(buf)
end

--- Schedules `drain` for when buffers can be changed. Called from a libuv callback.
function M.wake()
  vim.schedule(function()
    require("flemma.native").call("drain")
    require("flemma.folds").settle()
  end)
end

---@type uv.uv_timer_t?
local pause

--- Does the same once, after a delay.
---@param milliseconds integer
function M.wake_after(milliseconds)
  pause = pause or assert(vim.uv.new_timer())
  pause:start(milliseconds, 0, M.wake)
end

local group = api.nvim_create_augroup("flemma.host", { clear = true })
api.nvim_create_autocmd("ExitPre", {
  group = group,
  nested = true,
  desc = "Flemma: write what is at work, so that Neovim need not refuse the exit",
  callback = function()
    require("flemma.buffer").write_all()
  end,
})
-- The exit can still be cancelled before this.
api.nvim_create_autocmd("VimLeavePre", {
  group = group,
  nested = true,
  desc = "Flemma: stop everything that is running, and mark it in the files",
  callback = function()
    require("flemma.buffer").leave()
    require("flemma.native").call("editor_event", "left")
  end,
})
api.nvim_create_autocmd("UIEnter", {
  group = group,
  desc = "Flemma: run the calls that wait for a user interface",
  callback = function()
    require("flemma.native").call("editor_event", "ui_attached")
  end,
})

--- A step of ours may trigger another plugin's autocommand that wipes the buffer, and then continue. So nothing is done to a
--- buffer that is no longer loaded.
for _, name in ipairs({
  "cursor",
  "diagnose",
  "follow",
  "lock",
  "long_lines",
  "observe",
  "read_again",
  "refresh",
  "show",
  "turn_over",
  "unsettled",
  "write",
}) do
  local perform = M[name]
  M[name] = function(buf, ...)
    if api.nvim_buf_is_loaded(buf) then
      return perform(buf, ...)
    end
  end
end

--- Neovim's own |vim.ui.select()| waits for the answer, and anything can happen in the meantime. So the question is asked
--- when no function of the library is on the stack.
for _, name in ipairs({ "ask_files", "ask_trust", "look", "open_form" }) do
  local ask = M[name]
  M[name] = function(buf, ...)
    local arguments = vim.F.pack_len(...)
    vim.schedule(function()
      if api.nvim_buf_is_loaded(buf) then
        ask(buf, vim.F.unpack_len(arguments))
      end
    end)
  end
end

return M
