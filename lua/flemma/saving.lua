--- Writes conversations automatically (`editing.auto_write`), and never asks a question while doing so.
---
--- `:write` and `:update` ask if something else has changed the file, and a question inside a callback lets other callbacks
--- wipe the buffer that is being written. So the library writes the file on a thread of its own (`src/runtime/save.rs`), and
--- only if the file is still the one that was loaded into the buffer. Then Neovim is told, with a `:write!` that a
--- `BufWriteCmd` of ours handles: it writes nothing, asks nothing, and makes Neovim accept the file's new timestamp as its
--- own, as described in `:help BufWriteCmd`. A later `:write`, `:checktime` or 'autoread' therefore notices nothing unusual.
local M = {}

local api = vim.api

---@class flemma.Saving
---@field writing boolean whether the library is writing the file
---@field name? string the file that is being written
---@field released? boolean whether the buffer is no longer a conversation; a write in progress is still completed
---@field again boolean whether the text must be written again after that
---@field told? string the last problem that was reported, until a write succeeds
---@field ours boolean whether the current `BufWritePost` is our own
---@type table<integer, flemma.Saving>
local states = {}

local function native(...)
  return require("flemma.native").call(...)
end

local function group_of(buf)
  return "flemma.saving." .. buf
end

local function flight_of(buf)
  return "flemma.saving.flight." .. buf
end

--- The buffer and its file now have the same text.
local function note(buf)
  local name = api.nvim_buf_get_name(buf)
  if name ~= "" then
    native("on_disk", buf, name)
  end
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
  -- A buffer may be attached again while its file is still being written.
  local state = states[buf] or { writing = false, again = false, ours = false }
  state.released = false
  states[buf] = state
  api.nvim_create_autocmd("BufWritePost", {
    group = api.nvim_create_augroup(group_of(buf), { clear = true }),
    buffer = buf,
    desc = "Flemma: record the state of the file after a write",
    callback = function(args)
      local own = vim.fn.fnamemodify(args.match, ":p") == api.nvim_buf_get_name(buf)
      if states[buf] == state and not state.ours and own then
        state.told = nil
        note(buf)
      end
    end,
  })
  api.nvim_create_autocmd("BufWritePre", {
    group = group_of(buf),
    buffer = buf,
    desc = "Flemma: write a conversation as UTF-8",
    callback = function()
      keep_encoding(buf)
    end,
  })
  keep_encoding(buf)
  -- What else is done when a file is read may follow.
  vim.schedule(function()
    if states[buf] == state and not state.released then
      keep_encoding(buf)
    end
  end)
  api.nvim_create_autocmd("BufModifiedSet", {
    group = group_of(buf),
    buffer = buf,
    desc = "Flemma: notice a write without autocommands",
    callback = function()
      M.look(buf)
    end,
  })
  api.nvim_buf_attach(buf, false, {
    on_reload = function()
      if states[buf] == state then
        note(buf)
      end
    end,
  })
  -- If the buffer has changes, it is unknown when the file was read.
  if not state.writing and not vim.bo[buf].modified then
    note(buf)
  end
end

--- Forgets a buffer, and the write of its file if there is one.
local function forget(buf)
  states[buf] = nil
  pcall(api.nvim_del_augroup_by_name, flight_of(buf))
  native("landed", buf)
end

--- Detaches from a buffer. A write in progress is completed. Neovim is then told about it, unless the buffer's text is gone,
--- so that it does not mistake the write for an external change.
---@param buf integer
---@param is_gone boolean whether the buffer was unloaded or read again
function M.release(buf, is_gone)
  local state = states[buf]
  pcall(api.nvim_del_augroup_by_name, group_of(buf))
  if state and state.writing and not is_gone then
    state.released = true
    state.again = false
  else
    forget(buf)
  end
end

--- Whether another plugin's autocommand writes this buffer instead of Neovim.
local function is_written_by_another(buf, name)
  for _, command in ipairs(api.nvim_get_autocmds({ event = "BufWriteCmd" })) do
    if command.buflocal then
      if command.buffer == buf and command.group_name ~= flight_of(buf) then
        return true
      end
    else
      -- Like Neovim: a pattern without a slash matches the last part of the path.
      local subject = command.pattern:find("/", 1, true) and name or vim.fs.basename(name)
      if vim.fn.match(subject, "\\C" .. vim.fn.glob2regpat(command.pattern)) >= 0 then
        return true
      end
    end
  end
  return false
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

--- Whether the library is writing a buffer's file.
---@param buf integer
---@return boolean
function M.is_writing(buf)
  return states[buf] ~= nil and states[buf].writing
end

--- Why this buffer cannot be written automatically.
---@param is_forced? boolean whether the user used `:write!`
---@return string?
local function refusal(buf, is_forced)
  local name, bo = api.nvim_buf_get_name(buf), vim.bo[buf]
  local why, advice = nil, "Use `:write`."
  if not vim.o.write then
    why, advice = "the option 'write' is off", "Switch it on."
  elseif bo.readonly and not is_forced then
    why, advice = "the option 'readonly' is set", "Use `:write!`."
  elseif is_written_by_another(buf, name) then
    why = "another plugin writes this file (BufWriteCmd)"
  end
  if why then
    local problem = ("%s was not written: %s."):format(vim.fs.basename(name), why)
    return require("flemma.notify").with_advice(problem, advice)
  end
end

--- Whether the buffer is empty, without even an empty line. The API reports one line in this case.
local function is_empty(buf)
  return api.nvim_buf_line_count(buf) == 1
    and api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ""
    and api.nvim_buf_call(buf, vim.fn.wordcount).bytes == 0
end

--- How to turn the lines into the bytes that `:write` would write.
local function layout(buf)
  local bo = vim.bo[buf]
  return {
    format = bo.binary and "unix" or bo.fileformat,
    byte_order_mark = bo.bomb and not bo.binary,
    end_of_line = bo.endofline or (bo.fixendofline and not bo.binary),
    end_of_file = bo.endoffile and not bo.fixendofline,
    is_empty = is_empty(buf),
  }
end

--- The buffer is about to change, or Neovim says that its state has. If it is unmodified, Neovim may have written it without
--- an autocommand (`:noautocmd write`, or `:wall` in an autocommand that is not nested): the library then recognises the file.
---@param buf integer
function M.look(buf)
  local state = states[buf]
  if not state or state.released or vim.bo[buf].modified or vim.bo[buf].buftype ~= "" then
    return
  end
  local name = api.nvim_buf_get_name(buf)
  if name ~= "" then
    native("unmodified", buf, name, layout(buf))
  end
end

--- Reports a problem once: a turn may end every second.
local function tell(state, problem)
  if state.told ~= problem then
    state.told = problem
    require("flemma.notify").say(vim.log.levels.ERROR, problem)
  end
end

--- Tells Neovim that the file has the text of the buffer, or had it if `clean` is false.
local function settle(buf, state, clean)
  if not native("is_on_disk", buf) then
    -- Something else has just changed the file. Neovim will notice that itself, as it would after `:write`.
    return
  end
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
  if not clean or states[buf] ~= state or require("flemma.lock").is_locked(buf) then
    return
  end
  local undofile = vim.bo[buf].undofile and vim.fn.undofile(api.nvim_buf_get_name(buf)) or ""
  if undofile ~= "" then
    api.nvim_buf_call(buf, function()
      local mods = { silent = true, emsg_silent = true }
      pcall(vim.cmd.wundo, { args = { undofile }, magic = { file = false, bar = false }, mods = mods })
    end)
  end
end

--- Notifies other plugins, such as one that shows the git status of a file.
local function announce(buf, state)
  state.ours = true
  local ok, problem = pcall(api.nvim_buf_call, buf, function()
    api.nvim_exec_autocmds("BufWritePost", { buffer = buf, modeline = false })
  end)
  state.ours = false
  if not ok then
    local words = tostring(problem):match("[^\n]*")
    require("flemma.notify").once(vim.log.levels.WARN, "an autocommand for BufWritePost failed: " .. words)
  end
end

--- Writes the buffer synchronously: waits for the disk.
---@param is_forced boolean whether to overwrite the file even if it has changed
---@return string? problem
local function write_here(buf, is_forced)
  return refusal(buf, is_forced) or native("save_now", buf, api.nvim_buf_get_name(buf), layout(buf), is_forced)
end

--- While the library writes, Neovim must not mistake the write for an external change, and must not write as well.
local function guard(buf, state)
  local group = api.nvim_create_augroup(flight_of(buf), { clear = true })
  api.nvim_create_autocmd("FileChangedShell", {
    group = group,
    buffer = buf,
    desc = "Flemma: this change is our own",
    callback = function()
      vim.v.fcs_choice = ""
    end,
  })
  api.nvim_create_autocmd("BufWriteCmd", {
    group = group,
    buffer = buf,
    desc = "Flemma: write after the write in progress",
    callback = function(args)
      local target = vim.fn.fnamemodify(args.match, ":p")
      if target ~= api.nvim_buf_get_name(buf) then
        vim.cmd.write({ args = { target }, bang = vim.v.cmdbang == 1, magic = { file = false }, mods = { noautocmd = true } })
        return
      end
      local problem = write_here(buf, vim.v.cmdbang == 1)
      if problem then
        require("flemma.notify").say(vim.log.levels.ERROR, problem)
        return
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
  if not state or state.released or not has_something_to_write(buf) or require("flemma.lock").is_observer(buf) then
    return
  end
  if vim.v.exiting ~= vim.NIL then
    -- Nobody would hear of the end of a write.
    M.write_now(buf)
    return
  end
  if state.writing then
    state.again = true
    return
  end
  local problem = refusal(buf)
  if problem then
    tell(state, problem)
    return
  end
  local name = api.nvim_buf_get_name(buf)
  guard(buf, state)
  state.writing, state.name = true, name
  if not native("save", buf, name, layout(buf), api.nvim_buf_get_changedtick(buf)) then
    state.writing = false
    pcall(api.nvim_del_augroup_by_name, flight_of(buf))
    local why = vim.fs.basename(name) .. " was not written: the system could not start a thread."
    tell(state, require("flemma.notify").with_advice(why, "Use `:write`."))
  end
end

--- A write has ended.
---@param buf integer
---@param tick integer the buffer's count of changes when its text was taken
---@param problem? string
function M.finished(buf, tick, problem)
  local state = states[buf]
  if not state or not state.writing then
    if problem then
      require("flemma.notify").say(vim.log.levels.ERROR, problem)
    end
    return
  end
  state.writing = false
  pcall(api.nvim_del_augroup_by_name, flight_of(buf))
  if problem then
    tell(state, problem)
  elseif api.nvim_buf_is_loaded(buf) and api.nvim_buf_get_name(buf) == state.name then
    -- Under another name (`:saveas`, `:file`) it is another file, which this write does not affect.
    state.told = nil
    settle(buf, state, api.nvim_buf_get_changedtick(buf) == tick)
    announce(buf, state)
  end
  if states[buf] ~= state or state.writing then
    return
  end
  if state.released then
    forget(buf)
    return
  end
  native("landed", buf)
  if state.again then
    state.again = false
    -- After a kill, half a reply in the file would count as a whole one. The text is written at the end of the reply.
    if not native("is_replying", buf) then
      M.auto_write(buf)
    end
  end
  require("flemma.visits").leave_later(buf)
end

--- Neovim is exiting: writes a buffer while there is time, without asking.
---@param buf integer
---@return string? problem
function M.write_now(buf)
  local state = states[buf]
  if not state or not has_something_to_write(buf) then
    return
  end
  local problem = write_here(buf, false)
  if problem then
    tell(state, problem)
  else
    settle(buf, state, true)
  end
  return problem
end

--- The buffer is about to be unloaded: writes it one last time. Neovim forgets the file together with the buffer.
---@param buf integer
function M.write_last(buf)
  local state = states[buf]
  if state and has_something_to_write(buf) then
    local problem = write_here(buf, false)
    if problem then
      tell(state, problem)
    end
  end
end

--- Neovim is exiting: completes all writes in progress.
function M.leave()
  for buf, state in pairs(states) do
    if state.writing and api.nvim_buf_is_loaded(buf) then
      M.write_now(buf)
    end
  end
end

return M
