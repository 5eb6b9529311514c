--- The buffer of a conversation: attaching to it, writing to it, locking it.
---
--- The library follows the text through `on_lines` and writes through `write`. Nothing else changes a buffer while it is
--- locked.
local M = {}

local api = vim.api

---@class flemma.Attached
---@field reading? boolean whether another file or the output of a command is being inserted
---@field is_new boolean whether there was no file of this name when the buffer was opened, and has been none since
---@field is_busy? boolean whether a request or a tool is running, which locks the buffer
---@field is_observer? boolean whether another editor holds the file, which locks the buffer as well
---@field unlocked_modifiable? boolean what 'modifiable' was before the lock; nil while unlocked
---@field unlocked_readonly? boolean what 'readonly' was before another editor was found to hold the file
---@field own_modifiable? boolean the user's own 'modifiable' since the last lock; nil before the first lock, and after
---the user has set it themselves
---@field is_borrowed? boolean whether another plugin has set 'modifiable' since then and may still restore the lock
---@field wrote_half? boolean whether the user wrote the file during this lock, so that it may contain an incomplete reply
---@field is_writing? boolean whether we are writing now
---@field is_setting? boolean whether we are setting 'modifiable' now
---@field replaced? { tick: integer, is_part: boolean } what the change after this 'changedtick' replaces: only parts of
---lines, or more
---@type table<integer, flemma.Attached>
local attached = {}

---@param buf integer
---@return boolean
function M.is_attached(buf)
  return attached[buf] ~= nil
end

--- Whether a request or a tool is running in a buffer, so that the user cannot change it.
---@param buf integer
---@return boolean
function M.is_locked(buf)
  return attached[buf] ~= nil and attached[buf].is_busy == true
end

--- Whether another editor holds the file of a buffer, so that the conversation is only shown here.
---@param buf integer
---@return boolean
function M.is_observer(buf)
  return attached[buf] ~= nil and attached[buf].is_observer == true
end

--- Whether there was no file when a buffer was opened, and Neovim knows of none since.
---@param buf integer
---@return boolean
function M.is_new(buf)
  return attached[buf] ~= nil and attached[buf].is_new
end

--- The buffer that a command applies to, if it is a conversation.
---@param buf? integer 0 or nil for the current one
---@return integer? buf nil, after a message, if it is not a conversation
function M.resolve(buf)
  buf = (buf == nil or buf == 0) and api.nvim_get_current_buf() or buf
  if attached[buf] then
    return buf
  end
  local _, why = require("flemma.native").load()
  local notify = require("flemma.notify")
  notify.say(vim.log.levels.ERROR, why or "this buffer is not a conversation: its filetype is not `chat`")
end

--- An empty file gets the marker for a first message. This is not a change by the user: undo does not remove it, and the
--- buffer is not modified.
local function greet(buf)
  local empty = api.nvim_buf_line_count(buf) == 1 and api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ""
  if not empty or vim.bo[buf].modified or not vim.bo[buf].modifiable then
    return
  end
  local undolevels = vim.bo[buf].undolevels
  local has_history = api.nvim_buf_call(buf, vim.fn.undotree).seq_last > 0
  if has_history then
    -- The file was emptied and read again: one undo restores the text before that. An insertion without undo would delete
    -- the history. Joining fails right after an undo.
    api.nvim_buf_call(buf, function()
      pcall(vim.cmd.undojoin)
    end)
  else
    vim.bo[buf].undolevels = -1
  end
  api.nvim_buf_set_lines(buf, 0, -1, false, { "@You:", "" })
  if not has_history then
    vim.bo[buf].undolevels = undolevels
  end
  vim.bo[buf].modified = false
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    api.nvim_win_set_cursor(win, { 2, 0 })
  end
end

--- Whether text that is inserted now may come from a file or a command without an event: the events that would report this
--- are ignored, or an autocommand is running, in which they are not triggered.
local function is_deaf()
  for event in vim.o.eventignore:lower():gmatch("[^,]+") do
    if event == "all" or event:find("^fileread") or event == "shellfilterpost" then
      return true
    end
  end
  -- Outside of autocommands it is empty, and with 'verbose' an error.
  local errmsg = vim.v.errmsg
  local ok, abuf = pcall(vim.fn.expand, "<abuf>")
  if not ok then
    vim.v.errmsg = errmsg
  end
  return ok and abuf ~= ""
end

--- The number of the undo step that a change belongs to, if the user made it.
---@param buf integer
---@param state flemma.Attached
---@param in_place boolean whether the number of lines did not change
---@return integer? step nil for text from elsewhere or of unknown origin
local function step_of(buf, state, in_place)
  if state.reading or (not in_place and is_deaf()) then
    return nil
  end
  -- Undo and `:diffget` only change the current buffer.
  if buf ~= api.nvim_get_current_buf() then
    return 0
  end
  if vim.wo.diff and not api.nvim_get_mode().mode:find("^[iR]") then
    return nil
  end
  return vim.fn.changenr()
end

--- Notes what a change replaces. For most commands, Neovim reports this just before it reports the lines.
---@param state flemma.Attached
---@param tick integer 'changedtick' before the change
---@param is_part boolean whether it replaces only a part of one line
local function note_bytes(state, tick, is_part)
  local replaced = state.replaced
  if replaced and replaced.tick == tick then
    replaced.is_part = replaced.is_part and is_part
  else
    state.replaced = { tick = tick, is_part = is_part }
  end
end

--- How the user made the change of lines that is reported now.
---@param state flemma.Attached
---@param tick integer 'changedtick' after the change
---@return "typing"|"part"|nil means nil for a command that may have written whole lines
local function means_of(state, tick)
  if api.nvim_get_mode().mode:find("^[iR]") then
    return "typing"
  end
  local replaced = state.replaced
  return replaced and replaced.tick == tick - 1 and replaced.is_part and "part" or nil
end

--- Forgets a buffer: its state, its keys and its autocommands. Previews and diagnostics stay.
---@param buf integer
---@param is_gone boolean whether the buffer was unloaded or read again
local function forget(buf, is_gone)
  attached[buf] = nil
  require("flemma.following").forget(buf)
  require("flemma.native").call("detach", buf)
  -- After `detach`, which first reports the changes that were written down.
  require("flemma.burst").forget(buf)
  for _, group in ipairs({ "flemma.buffer.", "flemma.lock." }) do
    pcall(api.nvim_del_augroup_by_name, group .. buf)
  end
  require("flemma.saving").release(buf, is_gone)
  require("flemma.keymaps").remove(buf)
  require("flemma.host").show(buf, false)
  require("flemma.ui").forget(buf)
end

--- Attaches to a buffer. Does nothing if it is already attached.
---@param buf integer
function M.attach(buf)
  if buf == 0 then
    buf = api.nvim_get_current_buf()
  end
  if attached[buf] or not api.nvim_buf_is_loaded(buf) then
    return
  end
  local native = require("flemma.native")
  local burst = require("flemma.burst")
  local options = require("flemma.options").get()
  require("flemma.ui").highlight(buf)
  local library, why = native.load()
  if not library or not options then
    why = why or "the options could not be read; `:messages` says why"
    require("flemma.arrival").tell(buf, why)
    require("flemma.notify").once(vim.log.levels.ERROR, why)
    return
  end
  local name = api.nvim_buf_get_name(buf)
  local state = { is_new = name ~= "" and not vim.uv.fs_stat(name) }
  attached[buf] = state
  greet(buf)
  local function index_on()
    if attached[buf] == state and native.call("index_on", buf) then
      vim.defer_fn(index_on, 1)
    end
  end
  local function parse_on(more)
    if attached[buf] ~= state then
      return
    end
    if not more then
      local ui = require("flemma.ui")
      ui.schedule_refresh(buf)
      ui.redraw(buf, 0, api.nvim_buf_line_count(buf))
      vim.defer_fn(index_on, 1)
      return
    end
    -- A long file is read in slices, so that the user can type in between.
    vim.schedule(function()
      parse_on(native.call("parse_on", buf))
    end)
  end
  -- The text was unloaded, or is about to be unloaded.
  local function gone(was_locked)
    if attached[buf] == state then
      forget(buf, true)
      -- `:edit!` and `:bunload` end up here: the lock is no longer needed.
      for option, value in pairs({ modifiable = state.unlocked_modifiable, readonly = state.unlocked_readonly }) do
        pcall(api.nvim_set_option_value, option, value, { buf = buf })
      end
      if was_locked then
        require("flemma.notify").say(
          vim.log.levels.WARN,
          "the buffer was reloaded or unloaded while a reply or a tool was running; both were stopped"
        )
      end
    end
  end
  local function draw_anew(first, last)
    if last then
      require("flemma.ui").redraw(buf, first, last)
    else
      -- It failed, so the library starts again.
      parse_on(true)
    end
  end
  burst.follow(buf, {
    -- While we write, every change must be reported to the library at once.
    step = function()
      return not state.is_busy and step_of(buf, state, true) or nil
    end,
    drawn = function(first, last)
      if attached[buf] == state then
        draw_anew(first, last)
      end
    end,
  })
  parse_on(native.call("attach", buf))
  api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, tick, first, old_last, new_last)
      if attached[buf] ~= state then
        return true
      end
      if burst.takes(buf, first, old_last, new_last) then
        return
      end
      -- The library knows the author of the text that we write ourselves.
      local step = not state.is_writing and step_of(buf, state, old_last == new_last) or nil
      local means = step and means_of(state, tick)
      first, old_last, new_last, step = burst.join(buf, first, old_last, new_last, step)
      draw_anew(first, native.call("changed", buf, first, old_last, new_last, step, means))
    end,
    on_bytes = function(_, _, tick, _, column, _, old_rows, _, _, new_rows)
      if attached[buf] ~= state then
        return true
      end
      note_bytes(state, tick, column > 0 and old_rows == 0 and new_rows == 0)
    end,
    on_changedtick = function()
      -- Neovim calls this after undo and redo, when their changes have been reported.
      if attached[buf] == state then
        native.call("undone", buf)
      end
    end,
    on_reload = function()
      state.is_new = false
      parse_on(native.call("reloaded", buf))
    end,
    on_detach = function()
      if attached[buf] ~= state then
        return
      end
      local is_locked = state.is_busy
      if is_locked and state.wrote_half then
        -- The text still exists, and cannot be changed before `BufUnload`, which is not triggered with `:noautocmd`.
        vim.schedule(function()
          gone(true)
        end)
      else
        gone(is_locked)
      end
    end,
  })
  api.nvim_create_autocmd("BufWritePost", {
    group = api.nvim_create_augroup("flemma.buffer." .. buf, { clear = true }),
    buffer = buf,
    desc = "Flemma: keep trusted text trusted when the file is written",
    callback = function(args)
      if attached[buf] == state then
        local file = vim.fn.fnamemodify(args.match, ":p")
        native.call("saved", buf, file)
        state.is_new = state.is_new and file ~= api.nvim_buf_get_name(buf)
        if state.is_busy and file == api.nvim_buf_get_name(buf) then
          state.wrote_half = true
        end
      end
    end,
  })
  api.nvim_create_autocmd("BufFilePost", {
    group = api.nvim_create_augroup("flemma.buffer." .. buf, { clear = false }),
    buffer = buf,
    desc = "Flemma: find out who holds the file of the new name",
    callback = function()
      if attached[buf] == state then
        native.call("renamed", buf)
      end
    end,
  })
  api.nvim_create_autocmd("BufUnload", {
    group = api.nvim_create_augroup("flemma.buffer." .. buf, { clear = false }),
    buffer = buf,
    desc = "Flemma: mark an incomplete reply in a file as aborted",
    callback = function()
      if attached[buf] == state and state.is_busy and state.wrote_half then
        native.call("dispatch", buf, "cancel")
        require("flemma.saving").write_last(buf)
        gone(true)
      end
    end,
  })
  api.nvim_create_autocmd({ "FileReadPre", "FileReadPost", "FilterReadPost", "ShellFilterPost" }, {
    group = api.nvim_create_augroup("flemma.buffer." .. buf, { clear = false }),
    -- The pattern is matched against the other file's name.
    pattern = "*",
    desc = "Flemma: text from another file or a command was not typed",
    callback = function(args)
      if attached[buf] ~= state or api.nvim_get_current_buf() ~= buf then
        return
      end
      if args.event ~= "FileReadPre" then
        native.call("read_in", buf, vim.fn.line("'[") - 1, vim.fn.line("']"))
      end
      -- Other handlers may still change the text: a compressed file is read first, and then unpacked.
      if not state.reading then
        state.reading = true
        vim.schedule(function()
          state.reading = nil
        end)
      end
    end,
  })
  require("flemma.saving").attach(buf)
  require("flemma.keymaps").apply(buf, options.keymaps)
  -- `:lua` takes the rest of the line, so it must come last.
  local release = ("lua require('flemma.buffer').release(%d)"):format(buf)
  local before = vim.b[buf].undo_ftplugin or ""
  if not vim.endswith(before, release) then
    vim.b[buf].undo_ftplugin = before ~= "" and before .. " | " .. release or release
  end
  require("flemma.ui").attach(buf)
end

--- Detaches from a buffer that is no longer a conversation, because its filetype has changed.
---@param buf integer
function M.release(buf)
  local state = attached[buf]
  if not state then
    return
  end
  if state.is_busy then
    require("flemma.native").call("dispatch", buf, "cancel")
    require("flemma.notify").say(
      vim.log.levels.WARN,
      "the buffer is no longer a conversation, so the reply or the tool that was running in it was stopped"
    )
  end
  forget(buf, false)
  if state.unlocked_modifiable ~= nil then
    vim.bo[buf].modifiable = state.unlocked_modifiable
  end
  if state.unlocked_readonly ~= nil then
    vim.bo[buf].readonly = state.unlocked_readonly
  end
  if vim.bo[buf].filetype ~= "chat" then
    vim.bo[buf].modeline = vim.go.modeline
  end
  require("flemma.ui").release(buf)
end

--- Neovim is about to exit: stops everything that is running, and writes its conversation. With `editing.auto_write = false`
--- only a conversation that was saved with an incomplete reply is written, so that the file says that the reply was cut off.
--- More of the reply may have arrived since, but nothing else can have changed, because the buffer was locked.
function M.leave()
  local saved = {}
  for buf, state in pairs(attached) do
    if state.is_busy then
      local options = require("flemma.options").get()
      local is_kept = options and options.editing.auto_write or state.wrote_half or not vim.bo[buf].modified
      saved[buf] = is_kept and api.nvim_buf_get_name(buf) ~= "" or nil
      require("flemma.native").call("dispatch", buf, "cancel")
    end
  end
  -- What was decided a moment ago comes into the buffers, and their files.
  require("flemma.native").call("wind_up")
  for buf in pairs(saved) do
    if vim.bo[buf].modified then
      require("flemma.saving").write_now(buf)
    end
  end
  require("flemma.saving").leave()
end

--- Replaces text. An edit that only inserts whole lines does not touch the lines around them, and so keeps the user's marks,
--- which `nvim_buf_set_text` would delete.
local function replace(buf, first, first_col, last, last_col, lines)
  local inserts = first == last and first_col == last_col and #lines > 1
  if inserts and lines[1] == "" then
    local line = api.nvim_buf_get_lines(buf, first, first + 1, true)[1]
    if first_col == #line then
      return api.nvim_buf_set_lines(buf, first + 1, first + 1, true, vim.list_slice(lines, 2))
    end
  end
  if inserts and first_col == 0 and lines[#lines] == "" then
    return api.nvim_buf_set_lines(buf, first, first, true, vim.list_slice(lines, 1, #lines - 1))
  end
  api.nvim_buf_set_text(buf, first, first_col, last, last_col, lines)
end

---@type function? the function for `_run`
local to_run

--- Runs the function passed to `quietly`. Called by an Ex command.
function M._run()
  local run = to_run
  to_run = nil
  if run then
    run()
  end
end

--- Runs a function that calls other plugins' callbacks (`on_bytes` and the like). If one of them throws, Neovim prints an
--- error for each chunk of a reply, with a hit-enter prompt. This reports the error once instead.
local function quietly(run)
  local before = vim.v.errmsg
  vim.v.errmsg = ""
  to_run = run
  api.nvim_cmd({ cmd = "lua", args = { "require('flemma.buffer')._run()" }, mods = { emsg_silent = true } }, {})
  local problem = vim.v.errmsg
  vim.v.errmsg = before
  if problem ~= "" then
    require("flemma.notify").once(
      vim.log.levels.WARN,
      "another plugin's callback failed while the conversation was written: " .. problem:match("[^\n]*")
    )
  end
end

--- Sets 'modifiable' without counting it as a change by another plugin.
local function set_modifiable(buf, value)
  local state = attached[buf] or {}
  state.is_setting = true
  vim.bo[buf].modifiable = value
  state.is_setting = false
end

--- Writes to a buffer. This is the only way in which the library changes text.
---@param buf integer
---@param first integer first line, from 0
---@param first_col integer byte
---@param last integer last line
---@param last_col integer byte, exclusive
---@param lines string[]
---@param join boolean whether the edit belongs to the previous undo step
function M.write(buf, first, first_col, last, last_col, lines, join)
  local bo = vim.bo[buf]
  local modifiable = bo.modifiable
  set_modifiable(buf, true)
  api.nvim_buf_call(buf, function()
    if join then
      -- Fails right after an undo: then the edit is an undo step of its own.
      pcall(vim.cmd.undojoin)
    else
      -- Setting it ends the previous undo step, which Neovim otherwise only does when it waits for a key.
      bo.undolevels = bo.undolevels
    end
  end)
  local settle = require("flemma.following").before_write(buf)
  local ok, problem
  local state = attached[buf] or {}
  state.is_writing = true
  quietly(function()
    ok, problem = pcall(replace, buf, first, first_col, last, last_col, lines)
  end)
  state.is_writing = nil
  set_modifiable(buf, modifiable)
  if ok then
    require("flemma.ui").keep_at_end(buf)
  end
  settle(ok)
  if not ok then
    error(problem, 0)
  end
end

--- Restores the user's own 'modifiable' in a buffer that is not locked, if another plugin has restored our lock: it saved
--- the value during the lock, and restored it afterwards.
---@param buf integer
function M.give_back(buf)
  local state = attached[buf]
  if state and state.own_modifiable and state.unlocked_modifiable == nil and not vim.bo[buf].modifiable then
    set_modifiable(buf, true)
  end
end

--- Whether the current `OptionSet` comes from a command by the user (typed, or in a mapping), and not from code.
---@return boolean
local function is_set_by_the_user()
  -- A function, a script or another autocommand would precede this event.
  if not vim.startswith(vim.fn.expand("<stack>"), "OptionSet ") then
    return false
  end
  -- Levels 1 and 2 are this function and the callback. Code that set the option follows them; `:lua` may be typed.
  local level = 3
  while true do
    local frame = debug.getinfo(level, "S")
    if not frame then
      return true
    end
    if frame.what ~= "C" and frame.source ~= ":lua" then
      return false
    end
    level = level + 1
  end
end

--- Watches for such a restore. It may happen at any time, and more than once, so the watch ends with the next lock.
local function watch_for_restore(buf, state)
  api.nvim_create_autocmd("OptionSet", {
    group = api.nvim_create_augroup("flemma.lock." .. buf, { clear = true }),
    pattern = "modifiable",
    desc = "Flemma: do not let a plugin restore the lock",
    callback = function(args)
      if attached[buf] ~= state or state.own_modifiable == nil then
        return true
      end
      if state.is_setting or (args.buf ~= buf and api.nvim_get_current_buf() ~= buf) then
        return
      end
      if is_set_by_the_user() then
        state.own_modifiable = nil
      elseif vim.bo[buf].modifiable then
        -- A plugin that sets a value that is already set needs it for a while. A toggle does not.
        state.is_borrowed = state.is_borrowed or vim.v.option_oldlocal == true
      elseif state.is_borrowed then
        -- Not while another plugin is changing it.
        vim.schedule(function()
          M.give_back(buf)
        end)
      end
    end,
  })
end

--- Turns 'modifiable' off, or gives the user's own value back, as the state says.
---@param buf integer
---@param state flemma.Attached
local function settle_lock(buf, state)
  local is_locked = state.is_busy or state.is_observer or false
  if is_locked and state.unlocked_modifiable == nil then
    M.give_back(buf)
    pcall(api.nvim_del_augroup_by_name, "flemma.lock." .. buf)
    state.unlocked_modifiable = vim.bo[buf].modifiable
    vim.bo[buf].modifiable = false
    if buf == api.nvim_get_current_buf() and api.nvim_get_mode().mode:sub(1, 1) == "i" then
      require("flemma.following").leave_insert(buf)
      if state.is_observer then
        -- Nobody waits in Insert mode until another editor ends.
        require("flemma.following").stop_typing(buf)
      end
    end
  elseif not is_locked and state.unlocked_modifiable ~= nil then
    local own = state.unlocked_modifiable
    state.unlocked_modifiable = nil
    -- Another plugin has removed the lock, and may restore it.
    state.is_borrowed = vim.bo[buf].modifiable
    vim.bo[buf].modifiable = own
    state.own_modifiable = own
    watch_for_restore(buf, state)
    require("flemma.following").type_on_later(buf)
  end
end

--- Locks or unlocks the buffer for the user: a request or a tool is running in it, or no longer is.
---@param buf integer
---@param locked boolean
function M.lock(buf, locked)
  local state = attached[buf]
  if state and locked ~= (state.is_busy or false) then
    if locked then
      state.wrote_half = false
    end
    state.is_busy = locked
    settle_lock(buf, state)
  end
end

--- Makes the buffer read-only because another editor holds its file, or lets the user change it again.
---@param buf integer
---@param is_observer boolean
---@return boolean has_changes whether the buffer has changes that are not in its file
function M.observe(buf, is_observer)
  local state = attached[buf]
  if not state then
    return false
  end
  if is_observer and not state.is_observer then
    state.unlocked_readonly = vim.bo[buf].readonly
    -- `:write` would replace what the other editor has written.
    vim.bo[buf].readonly = true
  elseif not is_observer and state.is_observer then
    vim.bo[buf].readonly = state.unlocked_readonly
    state.unlocked_readonly = nil
  end
  state.is_observer = is_observer
  settle_lock(buf, state)
  return vim.bo[buf].modified
end

return M
