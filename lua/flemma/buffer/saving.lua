--- Writes conversations automatically (`editing.auto_write`), and never asks a question while doing so.
---
--- `:write` asks if something else has changed the file, and a question inside a callback lets other callbacks wipe the buffer
--- that is being written. So Neovim is asked first whether it knows the file as it is (|:checktime|). Then the library writes it
--- on a thread of its own (`crates/runtime/src/save.rs`), and Neovim is told, with a `:write!` that a `BufWriteCmd` of ours handles: it
--- writes nothing, and makes Neovim accept the file's new timestamp as its own, as described in `:help BufWriteCmd`. Nothing
--- unusual is there for a later `:write`, `:checktime` or 'autoread' to notice.
local M = {}

local api = vim.api

--- Whether an autocommand is running. Outside of them, `expand()` gives an error with 'verbose'.
---@return boolean
function M.is_in_autocommand()
  return vim.fn.expandcmd("<abuf>") ~= "<abuf>"
end

---@class flemma.Saving
---@field writing boolean whether the library is writing the file
---@field name? string the file that is being written
---@field again? boolean whether the text must be written again after that
---@field told? string the last problem that was reported, until a write succeeds
---@field ours? boolean whether the current `BufWritePost` is our own
---@field file? string the file of the buffer that Neovim has read or written; nil if there was none
---@field foreign? string why only the user replaces the file: somebody else may have written it
---@field is_quiet? boolean whether Neovim is not to ask about such a change now
---@type table<integer, flemma.Saving>
local states = {}

local DELETED = "the file was deleted"
local FOREIGN = "something else has changed the file"
local UNKNOWN = "it is not known whether the file was changed elsewhere, because the buffer was modified when it was opened"

local native = require("flemma.native").call

local function flight_of(buf)
  return "flemma.saving.flight." .. buf
end

--- Neovim has read or written the file.
local function note(buf, state)
  state.told, state.foreign, state.file = nil, nil, api.nvim_buf_get_name(buf)
  native("event", buf, "on_disk", { path = state.file })
end

--- A conversation is UTF-8, whatever a plugin for `.editorconfig` or the user's options make of it: no other encoding has room for
--- what models write, and the library reads no other.
---@param buf integer
local function keep_encoding(buf)
  local bo = vim.bo[buf]
  if bo.fileencoding ~= "" and bo.fileencoding ~= "utf-8" and bo.modifiable then
    local is_modified = bo.modified
    bo.fileencoding = "utf-8"
    bo.modified = is_modified
  end
end

--- Keeps track of what Neovim reads and writes.
---@param buf integer
function M.attach(buf)
  local name = api.nvim_buf_get_name(buf)
  -- If the buffer has changes, it is unknown when the file was read.
  local state = { writing = false, foreign = vim.bo[buf].modified and UNKNOWN or nil }
  state.file = name ~= "" and vim.uv.fs_stat(name) and name or nil
  states[buf] = state
  local group = api.nvim_create_augroup("flemma.saving." .. buf, { clear = true })
  local function on(event, desc, callback)
    api.nvim_create_autocmd(event, { group = group, buffer = buf, desc = "Flemma: " .. desc, callback = callback })
  end
  on("BufWritePost", "record the state of the file after a write", function(args)
    if not state.ours and vim.fn.fnamemodify(args.match, ":p") == api.nvim_buf_get_name(buf) then
      note(buf, state)
    end
  end)
  on("BufWritePre", "write a conversation as UTF-8", function()
    keep_encoding(buf)
  end)
  on("FileChangedShell", "notice what somebody else has written", function()
    if state.writing then
      -- This change is our own.
      vim.v.fcs_choice = ""
      return
    end
    local reason = vim.v.fcs_reason
    if reason ~= "time" and reason ~= "mode" then
      state.foreign = reason == "deleted" and DELETED or FOREIGN
    end
    if not state.is_quiet and vim.v.fcs_choice == "" then
      vim.v.fcs_choice = "ask"
    end
  end)
  -- What else is done when a file is read may follow.
  vim.schedule(function()
    if states[buf] == state then
      keep_encoding(buf)
    end
  end)
  api.nvim_buf_attach(buf, false, {
    on_reload = function()
      if states[buf] ~= state then
        return true
      end
      note(buf, state)
    end,
  })
  if name ~= "" and not state.foreign then
    native("event", buf, "on_disk", { path = name })
  end
end

--- Detaches from a buffer. A write in progress is completed before that, unless the buffer's text is gone.
---@param buf integer
---@param is_gone boolean whether the buffer was unloaded or read again
function M.release(buf, is_gone)
  if M.is_writing(buf) and not is_gone then
    M.write_now(buf)
  end
  states[buf] = nil
  pcall(api.nvim_del_augroup_by_name, "flemma.saving." .. buf)
  pcall(api.nvim_del_augroup_by_name, flight_of(buf))
end

--- Whether the library is writing a buffer's file.
---@param buf integer
---@return boolean
function M.is_writing(buf)
  return states[buf] ~= nil and states[buf].writing
end

--- Whether there was no file of its name when a buffer was opened or got it, and Neovim knows of none since.
---@param buf integer
---@return boolean
function M.is_new(buf)
  return states[buf] ~= nil and states[buf].file ~= api.nvim_buf_get_name(buf)
end

--- Why the file of a buffer may have something that Neovim does not know of.
---@param buf integer
---@param is_nested? boolean whether an autocommand asks in which others are triggered
---@return string? why
---@return boolean is_known whether Neovim knows the file as it is now; else the library has to compare it with what it saw
function M.foreign(buf, is_nested)
  local state = states[buf]
  if not state or state.writing then
    return nil, false
  elseif M.is_new(buf) then
    return vim.uv.fs_stat(api.nvim_buf_get_name(buf)) and "something else has created the file" or nil, true
  elseif not is_nested and M.is_in_autocommand() then
    -- `FileChangedShell` would not be triggered, and Neovim would ask.
    return state.foreign, false
  end
  state.is_quiet = true
  pcall(vim.cmd, ("silent! %dchecktime"):format(buf))
  state.is_quiet = nil
  return state.foreign, true
end

--- Whether another plugin's autocommand writes this buffer instead of Neovim.
local function is_written_by_another(buf, name)
  return vim.iter(api.nvim_get_autocmds({ event = "BufWriteCmd" })):any(function(command)
    if command.buflocal then
      return command.buffer == buf and command.group_name ~= flight_of(buf)
    end
    -- Like Neovim: a pattern without a slash matches the last part of the path.
    local subject = command.pattern:find("/", 1, true) and name or vim.fs.basename(name)
    return vim.fn.match(subject, "\\C" .. vim.fn.glob2regpat(command.pattern)) >= 0
  end)
end

--- Whether the buffer has changes, and a file of its own to write them to.
local function has_something_to_write(buf)
  -- A signal makes Neovim unload all buffers before it exits: what is left in them is not the text.
  if not api.nvim_buf_is_loaded(buf) then
    return false
  end
  local name = api.nvim_buf_get_name(buf)
  return vim.bo[buf].modified and vim.bo[buf].buftype == "" and name ~= "" and not name:find("^%a[%w+.-]+://")
end

--- Why this buffer cannot be written automatically.
---@param is_forced? boolean whether the user used `:write!`
---@param is_nested? boolean
---@return string?
---@return boolean? is_known
local function refusal(buf, is_forced, is_nested)
  local name, why, advice, is_known = api.nvim_buf_get_name(buf), nil, "Use `:write`.", nil
  if not vim.o.write then
    why, advice = "the option 'write' is off", "Switch it on."
  elseif vim.bo[buf].readonly and not is_forced then
    why, advice = "the option 'readonly' is set", "Use `:write!`."
  elseif is_written_by_another(buf, name) then
    why = "another plugin writes this file (BufWriteCmd)"
  elseif not is_forced then
    advice = "`:edit!` loads the file, `:write!` keeps the buffer."
    why, is_known = M.foreign(buf, is_nested)
    advice = why == DELETED and "`:write!` creates it again." or advice
  end
  why = why and ("%s was not written: %s."):format(vim.fs.basename(name), why)
  return why and require("flemma.notify").with_advice(why, advice), is_known
end

--- How to turn the lines into the bytes that `:write` would write.
local function layout(buf)
  local bo = vim.bo[buf]
  return {
    format = bo.binary and "unix" or bo.fileformat,
    byte_order_mark = bo.bomb and not bo.binary,
    end_of_line = bo.endofline or (bo.fixendofline and not bo.binary),
    end_of_file = bo.endoffile and not bo.fixendofline,
    -- The API reports one line also where there is not even an empty one.
    is_empty = api.nvim_buf_line_count(buf) == 1
      and api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ""
      and api.nvim_buf_call(buf, vim.fn.wordcount).bytes == 0,
  }
end

--- Reports a problem once: a turn may end every second.
local function tell(state, problem)
  if state.told ~= problem then
    state.told = problem
    require("flemma.notify").say(vim.log.levels.ERROR, problem)
  end
end

--- Tells Neovim that the file has the text of the buffer, or had it if `clean` is false.
local function settle(buf, clean)
  local group = api.nvim_create_augroup(flight_of(buf), { clear = true })
  api.nvim_create_autocmd("BufWriteCmd", {
    group = group,
    buffer = buf,
    callback = function()
      if clean then
        vim.bo[buf].modified = false
      end
    end,
  })
  api.nvim_buf_call(buf, function()
    pcall(vim.cmd, "silent! keepalt lockmarks write!")
  end)
  pcall(api.nvim_del_augroup_by_id, group)
  -- The undo file on disk belongs to the previous text. Neovim needs time for all of the text to write another one, so it
  -- is written at the pauses only.
  local undofile = clean and vim.bo[buf].undofile and not require("flemma.buffer.lock").is_locked(buf)
    and vim.fn.undofile(api.nvim_buf_get_name(buf)) or ""
  if undofile ~= "" then
    api.nvim_buf_call(buf, function()
      local mods = { silent = true, emsg_silent = true }
      pcall(vim.cmd.wundo, { args = { undofile }, magic = { file = false, bar = false }, mods = mods })
    end)
  end
end

--- Notifies other plugins, such as one that shows the git status of a file.
local function announce(buf, state)
  state.ours, state.told = true, nil
  local ok, problem = pcall(api.nvim_exec_autocmds, "BufWritePost", { buffer = buf, modeline = false })
  state.ours = nil
  if not ok then
    local words = tostring(problem):match("[^\n]*")
    require("flemma.notify").once(vim.log.levels.WARN, "an autocommand for BufWritePost failed: " .. words)
  end
end

--- Writes the buffer synchronously: waits for the disk.
---@param is_forced boolean whether to overwrite the file even if it has changed
---@param is_nested? boolean
---@return string? problem
local function write_here(buf, is_forced, is_nested)
  local problem, is_known = refusal(buf, is_forced, is_nested)
  problem = problem or native("save", buf, api.nvim_buf_get_name(buf), layout(buf), is_known, "now", { is_forced = is_forced == true })
  if not problem and states[buf] then
    states[buf].foreign, states[buf].file = nil, api.nvim_buf_get_name(buf)
  end
  return problem
end

--- While the library writes, Neovim must not write as well.
local function guard(buf, state)
  api.nvim_create_autocmd("BufWriteCmd", {
    group = api.nvim_create_augroup(flight_of(buf), { clear = true }),
    buffer = buf,
    desc = "Flemma: write after the write in progress",
    callback = function(args)
      local target, is_forced = vim.fn.fnamemodify(args.match, ":p"), vim.v.cmdbang == 1
      if target ~= api.nvim_buf_get_name(buf) then
        vim.cmd.write({ args = { target }, bang = is_forced, magic = { file = false }, mods = { noautocmd = true } })
        return
      end
      local problem = write_here(buf, is_forced)
      if problem then
        return require("flemma.notify").say(vim.log.levels.ERROR, problem)
      end
      vim.bo[buf].modified = false
      api.nvim_echo({ { ('"%s" written'):format(vim.fn.fnamemodify(target, ":~:.")) } }, true, {})
      announce(buf, state)
    end,
  })
end

--- Writes the buffer's file if the buffer has changes. |M.finished| is called at the end.
---@param buf integer
function M.auto_write(buf)
  local state = states[buf]
  if not state or not has_something_to_write(buf) or require("flemma.buffer.lock").is_observer(buf) then
    return
  elseif vim.v.exiting ~= vim.NIL then
    -- Nobody would hear of the end of a write.
    M.write_now(buf)
    return
  elseif state.writing then
    state.again = true
    return
  end
  local problem, is_known = refusal(buf)
  if problem then
    return tell(state, problem)
  end
  local name = api.nvim_buf_get_name(buf)
  guard(buf, state)
  state.writing, state.name = true, name
  problem = native("save", buf, name, layout(buf), is_known, "later", { tick = api.nvim_buf_get_changedtick(buf) })
  if problem then
    state.writing = false
    pcall(api.nvim_del_augroup_by_name, flight_of(buf))
    tell(state, require("flemma.notify").with_advice(problem, "Use `:write`."))
  end
end

---@class flemma.Saved
---@field tick integer the buffer's count of changes when its text was taken
---@field problem? string
---@field is_current boolean whether nothing else has changed the file since
---@field is_replying boolean whether a reply is arriving, so that the text ends with an incomplete one

--- A write has ended.
---@param buf integer
---@param saved flemma.Saved
function M.finished(buf, saved)
  local state = states[buf]
  if not state or not state.writing then
    if saved.problem then
      require("flemma.notify").say(vim.log.levels.ERROR, saved.problem)
    end
    return
  end
  state.writing = false
  pcall(api.nvim_del_augroup_by_name, flight_of(buf))
  if saved.problem then
    tell(state, saved.problem)
  elseif api.nvim_buf_is_loaded(buf) and api.nvim_buf_get_name(buf) == state.name then
    -- Under another name (`:saveas`, `:file`) it is another file, which this write does not affect.
    state.file = state.name
    if saved.is_current then
      settle(buf, api.nvim_buf_get_changedtick(buf) == saved.tick)
    end
    announce(buf, state)
  end
  -- After a kill, half a reply in the file would count as a whole one. The text is written at the end of the reply.
  if states[buf] == state and state.again and not saved.is_replying then
    state.again = nil
    M.auto_write(buf)
  end
end

--- Neovim is exiting, or nobody looks at the buffer: writes it without asking, and waits for the disk.
---@param buf integer
---@param is_nested? boolean whether an autocommand wants it in which others are triggered
---@return string? problem
function M.write_now(buf, is_nested)
  local state = states[buf]
  if not state or not has_something_to_write(buf) then
    return
  end
  local problem = write_here(buf, false, is_nested)
  if problem then
    tell(state, problem)
  else
    settle(buf, true)
  end
  return problem
end

--- The buffer is about to be unloaded: writes it one last time. Neovim forgets the file together with the buffer.
---@param buf integer
function M.write_last(buf)
  local state = states[buf]
  local problem = state and has_something_to_write(buf) and write_here(buf, false, true)
  if problem then
    tell(state, problem)
  end
end

--- Neovim is exiting: completes all writes in progress.
function M.leave()
  for buf, state in pairs(states) do
    if state.writing then
      M.write_now(buf, true)
    end
  end
end

return M
