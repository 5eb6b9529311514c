--- What the library needs of Neovim: the other side of `src/nvim/shim.rs` and `src/nvim/host.rs`, name by name.
local M = {}

local api = vim.api

local lock = require("flemma.buffer.lock")
-- It has to know from now on whether the editor has the focus.
require("flemma.view.visibility")

lock.on_change = function(buf, is_locked)
  local cursor = require("flemma.view.cursor")
  require("flemma.queue").map_keys(buf, lock.is_locked(buf))
  if not is_locked then
    cursor.type_on_later(buf)
    require("flemma.view.folds").rest(buf)
  elseif buf == api.nvim_get_current_buf() and api.nvim_get_mode().mode:sub(1, 1) == "i" then
    cursor.leave_insert(buf)
    if lock.is_observer(buf) then
      -- Nobody waits in Insert mode until another editor ends.
      cursor.stop_typing(buf)
    end
  end
end

--- What each effect does, by its kind: the variants of `HostEffect` in `crates/workspace/src/ports.rs`.
---@type table<string, function>
local effects = {}

--- Performs an effect. It comes up to 200 times a second, and "wake" comes in a callback of libuv's.
---@param kind string
function M.perform(kind, ...)
  effects[kind](...)
end

--- A step of ours may trigger another plugin's autocommand that wipes the buffer, and then continue. So nothing is done to a
--- buffer that is no longer loaded.
local function if_loaded(act)
  return function(buf, ...)
    if api.nvim_buf_is_loaded(buf) then
      return act(buf, ...)
    end
  end
end

--- A function of a module, which is loaded by the first call.
---@param module string
---@param name string
local function to(module, name)
  return function(...)
    return require("flemma." .. module)[name](...)
  end
end

--- Neovim's own |vim.ui.select()| waits for the answer, and anything can happen in the meantime. So a question is asked when no
--- function of the library is on the stack.
local function later(ask)
  ask = if_loaded(ask)
  return function(...)
    local arguments = vim.F.pack_len(...)
    vim.schedule(function()
      ask(vim.F.unpack_len(arguments))
    end)
  end
end

effects.lock = if_loaded(lock.lock)
effects.observe = if_loaded(lock.observe)

effects.cursor = if_loaded(to("view.cursor", "move_to"))
effects.follow = if_loaded(to("view.cursor", "follow"))
effects.unfold = if_loaded(to("view.folds", "unfold"))
effects.note_reviews = if_loaded(to("review", "note_made"))
effects.proposals_changed = if_loaded(to("review", "changed"))
effects.diagnose = if_loaded(to("view.diagnostics", "set"))
effects.show = if_loaded(to("view.activity", "show"))
effects.redraw = if_loaded(to("view.drawing", "refresh"))
effects.unsettled = if_loaded(to("buffer.undo", "settle_later"))

---@param level "info"|"warn"|"error"
---@param message string
function effects.notify(level, message)
  require("flemma.notify").say(vim.log.levels[level:upper()], message)
end

effects.refresh = if_loaded(function(buf)
  require("flemma.view.refresh").schedule(buf)
  require("flemma.view.activity").changed()
end)

effects.turn_over = if_loaded(function(buf)
  local options = require("flemma.options").get()
  if options and options.editing.auto_write then
    require("flemma.buffer.saving").auto_write(buf)
  end
  require("flemma.buffer.hidden").leave_later(buf)
end)

---@param buf integer
---@param saved flemma.Saved
function effects.saved(buf, saved)
  require("flemma.buffer.saving").finished(buf, saved)
  require("flemma.buffer.hidden").leave_later(buf)
end

--- A conversation that `flemma run` carries on has come to its end.
effects.driven = to("command_line.headless", "driven")

--- A tool may have changed open files.
---@param written string[] the real paths of those that are known to be written
---@param moved string[][] the old and the new path of each that has another name now
function effects.check_files(written, moved)
  vim.schedule(function()
    require("flemma.buffer.checktime").all(written, moved)
  end)
end

--- A tool's answer came when its call had ended. It may come from anywhere, libuv's callbacks included.
---@param buf integer
---@param tool string
---@param call string the call's id
---@param text string
function effects.refuse_late(buf, tool, call, text)
  vim.schedule(function()
    local refused = require("flemma.tools.refused_answer")
    require("flemma.notify").end_line()
    refused.tell(vim.log.levels.WARN, tool, call, refused.why(buf, call), text)
  end)
end

---@param event string name of the `User` autocommand
---@param data table
function effects.announce(event, data)
  api.nvim_exec_autocmds("User", { pattern = event, data = data, modeline = false })
end

---@param question { language: string }|{ files: string[], references: string[], line: integer }|{ instructions: table[] }
effects.ask = later(function(buf, number, question)
  if question.instructions then
    require("flemma.trust").ask_instructions(buf, number, question.instructions)
  elseif question.language then
    require("flemma.trust").ask(buf, number, question.language)
  else
    require("flemma.trust").ask_files(buf, number, question.files, question.references, question.line)
  end
end)

effects.open_form = later(to("form", "open"))
effects.look = later(to("references.editor_context", "collect"))

--- Schedules `drain` for when buffers can be changed.
function effects.wake()
  vim.schedule(function()
    require("flemma.native").call("drain")
    require("flemma.view.folds").settle()
  end)
end

---@type uv.uv_timer_t?
local pause

--- Does the same once, after a delay.
---@param milliseconds integer
function effects.wake_after(milliseconds)
  pause = pause or assert(vim.uv.new_timer())
  pause:start(milliseconds, 0, effects.wake)
end

M.write = if_loaded(to("buffer.writing", "write"))
M.read_again = if_loaded(to("buffer.checktime", "follow"))
M.run_frontmatter = to("frontmatter", "run")
M.guard = to("frontmatter", "guard")
M.parse = to("codeblock.parsers", "parse")

---@param buf integer
---@return string problem empty if the file has the text
function M.write_now(buf)
  return require("flemma.buffer.saving").write_now(buf) or ""
end

--- The files that have changes in the editor which are not saved.
M.unsaved = to("changes", "unsaved")

--- Whether the user sees a buffer.
M.is_in_sight = to("view.visibility", "is_visible")

--- The function for the calls of a built-in tool that the editor answers. Its file is loaded by the first call.
---@param tool string
---@return fun(input: table, ctx: flemma.ExecutionContext, callback: fun(result: any)): any
function M.client_tool(tool)
  return function(...)
    return require("flemma.tools.client." .. tool)(...)
  end
end

--- Calls a tool's function. Any error is returned as text. What comes last is the tool's context.
---@param execute function
---@param input table
---@param callback function
---@return boolean ok
---@return any value
---@return any problem
function M.run_tool(execute, input, callback, ...)
  return xpcall(execute, function(thrown)
    return type(thrown) == "string" and thrown or vim.inspect(thrown)
  end, input, require("flemma.tools.context").new(...), callback)
end

--- Calls a function of a tool's definition, which must not change the buffer.
---@param buf integer
---@param ask function
---@return boolean ok
---@return any value what it returned, or the error
function M.ask_tool(buf, ask, ...)
  local modifiable = api.nvim_buf_is_loaded(buf) and vim.bo[buf].modifiable
  local function set_modifiable(value)
    if modifiable and api.nvim_buf_is_loaded(buf) then
      api.nvim_buf_call(buf, function()
        vim.cmd(("noautocmd setlocal %smodifiable"):format(value and "" or "no"))
      end)
    end
  end
  set_modifiable(false)
  local ok, value = pcall(ask, ...)
  set_modifiable(true)
  if not ok and type(value) ~= "string" then
    value = vim.inspect(value, { newline = " ", indent = "" })
  end
  return ok, value
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
api.nvim_create_autocmd("BufWritePost", {
  group = group,
  desc = "Flemma: keep trusted instructions trusted that the user changes",
  callback = function(args)
    require("flemma.native").call("editor_event", "written", { path = vim.fn.fnamemodify(args.match, ":p") })
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

return M
