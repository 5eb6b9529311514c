--- The buffer of a conversation: attaching to it, and telling the library how its text changes.
---
--- The library follows the text through `on_lines`, and writes through `flemma.buffer.writing`. `flemma.buffer.lock` keeps the user from
--- changing it meanwhile.
local M = {}

local api = vim.api
local target = require("flemma.buffer.target")

---@class flemma.Attached
---@field reading? boolean whether another file or the output of a command is being inserted
---@field replaced? { tick: integer, is_part: boolean } what the change after this 'changedtick' replaces: only parts of
---lines, or more
---@type table<integer, flemma.Attached>
local attached = {}

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

---@param words string
local function warn(words)
  require("flemma.notify").say(vim.log.levels.WARN, words)
end

--- Whether text that is inserted now may come from a file or a command without an event: the events that would report this
--- are ignored, or an autocommand is running, in which they are not triggered.
local function is_deaf()
  for event in vim.o.eventignore:lower():gmatch("[^,]+") do
    if event == "all" or event:find("^fileread") or event == "shellfilterpost" then
      return true
    end
  end
  return require("flemma.buffer.saving").is_in_autocommand()
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
  return not (vim.wo.diff and not api.nvim_get_mode().mode:find("^[iR]")) and vim.fn.changenr() or nil
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
  target.set_attached(buf, false)
  local unlock = require("flemma.buffer.lock").forget(buf)
  require("flemma.view.cursor").forget(buf)
  require("flemma.buffer.writing").forget(buf)
  -- While the library knows the text.
  require("flemma.view.folds").forget(buf)
  require("flemma.native").call("event", buf, "detached")
  -- After `detach`, which first reports the changes that were written down.
  require("flemma.buffer.batch").followed[buf] = nil
  pcall(api.nvim_del_augroup_by_name, "flemma.buffer." .. buf)
  require("flemma.buffer.saving").release(buf, is_gone)
  require("flemma.keymaps").remove(buf)
  require("flemma.view.activity").show(buf, false)
  require("flemma.view.previews").forget(buf)
  require("flemma.view.cards").forget(buf)
  require("flemma.view.markdown").forget(buf)
  require("flemma.queue").forget(buf)
  require("flemma.review").forget(buf)
  unlock()
end

--- Sees to it that the buffer is released when it gets another filetype.
---@param buf integer
local function release_with_filetype(buf)
  -- `:lua` takes the rest of the line, so it must come last.
  local release = ("lua require('flemma.buffer').release(%d)"):format(buf)
  local before = vim.b[buf].undo_ftplugin or ""
  if not vim.endswith(before, release) then
    vim.b[buf].undo_ftplugin = before ~= "" and before .. " | " .. release or release
  end
end

--- Attaches to a buffer. Does nothing if it is already attached.
---@param buf integer
function M.attach(buf)
  if buf == 0 then
    buf = api.nvim_get_current_buf()
  end
  if attached[buf] then
    release_with_filetype(buf)
    return
  elseif not api.nvim_buf_is_loaded(buf) then
    return
  end
  local native = require("flemma.native")
  local burst, lock, writing = require("flemma.buffer.batch"), require("flemma.buffer.lock"), require("flemma.buffer.writing")
  local options = require("flemma.options").get()
  require("flemma.view.markdown").attach(buf)
  local library, why = native.load()
  if not library or not options then
    why = why or "the options could not be read; `:messages` says why"
    require("flemma.install.missing").tell(buf, why, function()
      M.attach(buf)
    end)
    require("flemma.notify").once(vim.log.levels.ERROR, why)
    return
  end
  local state = {}
  attached[buf] = state
  target.set_attached(buf, true)
  lock.attach(buf)
  greet(buf)
  local function parse_on(more)
    if attached[buf] ~= state then
      return
    end
    require("flemma.view.folds").schedule(buf)
    require("flemma.view.folds").settle()
    if not more then
      require("flemma.view.refresh").schedule(buf)
      require("flemma.view.drawing").refresh(buf)
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
      -- `:edit!` and `:bunload` end up here: the lock is no longer needed.
      forget(buf, true)
      if was_locked then
        warn("the buffer was reloaded or unloaded while a reply or a tool was running; both were stopped")
      end
    end
  end
  local function draw_anew(first, ...)
    if first then
      require("flemma.view.drawing").redraw(buf, first, ...)
    else
      -- It failed, so the library starts again.
      parse_on(true)
    end
  end
  burst.followed[buf] = {
    -- While we write, every change must be reported to the library at once.
    step = function()
      return not lock.is_locked(buf) and step_of(buf, state, true) or nil
    end,
    begun = function()
      require("flemma.view.markdown").drop(buf)
    end,
    drawn = function(...)
      if attached[buf] == state then
        require("flemma.view.folds").schedule(buf)
        draw_anew(...)
      end
    end,
  }
  require("flemma.view.folds").attach(buf)
  require("flemma.references.previous_file").follow()
  parse_on(native.call("event", buf, "attached"))
  api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, tick, first, old_last, new_last)
      if attached[buf] ~= state then
        return true
      end
      if burst.takes(buf, first, old_last, new_last) then
        return
      end
      -- The library knows the author of the text that we write ourselves.
      local step = not writing.is_writing(buf) and step_of(buf, state, old_last == new_last) or nil
      local means = step and means_of(state, tick)
      first, old_last, new_last, step = burst.join(buf, first, old_last, new_last, step)
      draw_anew(native.call("changed", buf, first, old_last, new_last, step, means))
      require("flemma.view.folds").schedule(buf)
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
        native.call("event", buf, "undone")
      end
    end,
    on_reload = function()
      parse_on(native.call("event", buf, "reloaded"))
    end,
    on_detach = function()
      if attached[buf] ~= state then
        return
      end
      if lock.wrote_half(buf) then
        writing.note_unheard(buf)
        -- The library does not hear of the text that is read now.
        require("flemma.view.folds").forget(buf)
        -- The text still exists, and cannot be changed before `BufUnload`, which is not triggered with `:noautocmd`.
        vim.schedule(function()
          gone(true)
        end)
      else
        gone(lock.is_locked(buf))
      end
    end,
  })
  local group = api.nvim_create_augroup("flemma.buffer." .. buf, { clear = true })
  local function on(event, desc, callback)
    local opts = { group = group, buffer = buf, nested = event == "BufUnload", desc = "Flemma: " .. desc }
    opts.callback = function(args)
      if attached[buf] == state then
        callback(args)
      end
    end
    api.nvim_create_autocmd(event, opts)
  end
  on("BufWritePost", "keep trusted text trusted when the file is written", function(args)
    local file = vim.fn.fnamemodify(args.match, ":p")
    native.call("event", buf, "saved", { path = file })
    if file == api.nvim_buf_get_name(buf) then
      lock.note_write(buf)
    end
  end)
  on("BufFilePost", "find out who holds the file of the new name", function()
    native.call("event", buf, "renamed")
  end)
  on("BufUnload", "mark an incomplete reply in a file as aborted", function()
    if vim.v.exiting ~= vim.NIL then
      -- Neovim says that of all buffers before it says that it exits.
      M.leave()
    elseif lock.wrote_half(buf) then
      native.call("dispatch", buf, "cancel")
      require("flemma.buffer.saving").write_last(buf)
      gone(true)
    end
  end)
  api.nvim_create_autocmd({ "FileReadPre", "FileReadPost", "FilterReadPost", "ShellFilterPost" }, {
    group = group,
    -- The pattern is matched against the other file's name.
    pattern = "*",
    desc = "Flemma: text from another file or a command was not typed",
    callback = function(args)
      if attached[buf] ~= state or api.nvim_get_current_buf() ~= buf then
        return
      end
      if args.event ~= "FileReadPre" then
        native.call("event", buf, "read_in", { first = vim.fn.line("'[") - 1, last = vim.fn.line("']") })
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
  require("flemma.conversations").follow(buf, group)
  require("flemma.buffer.saving").attach(buf)
  require("flemma.keymaps").apply(buf, options.keymaps)
  release_with_filetype(buf)
  -- Once it is loaded, Neovim asks it what to draw.
  require("flemma.view.drawing")
  require("flemma.view.overlays").attach(buf)
  require("flemma.view.diagnostics").attach(buf, group)
end

--- Detaches from a buffer that is no longer a conversation, because its filetype has changed.
---@param buf integer
function M.release(buf)
  if not attached[buf] then
    return
  end
  local is_chat, is_locked = vim.bo[buf].filetype == "chat", require("flemma.buffer.lock").is_locked(buf)
  if is_chat and is_locked then
    -- `:filetype detect` and `:doautocmd BufRead` set the same filetype again, which stops nothing.
    return
  end
  if is_locked then
    require("flemma.native").call("dispatch", buf, "cancel")
    warn("the buffer is no longer a conversation, so the reply or the tool that was running in it was stopped")
  end
  forget(buf, false)
  if not is_chat then
    vim.bo[buf].modeline = vim.go.modeline
  end
  require("flemma.view.diagnostics").release(buf)
  require("flemma.view.overlays").release(buf)
  require("flemma.view.markdown").release(buf)
  require("flemma.view.folds").release(buf)
end

--- Neovim may be about to exit: writes the conversations that are at work or are being written. What is running goes on: with
--- changes in another file, Neovim refuses the exit.
function M.write_all()
  local lock, saving, options = require("flemma.buffer.lock"), require("flemma.buffer.saving"), require("flemma.options").get()
  for buf in pairs(attached) do
    if saving.is_writing(buf) or lock.is_locked(buf) and options and options.editing.auto_write then
      saving.write_now(buf, true)
      lock.note_write(buf)
    end
  end
end

--- Whether what has to be done before an exit is done. What cannot be written now is not waited for once for each buffer.
local has_left = false

--- Neovim is about to exit: stops everything that is running, and writes its conversation. With `editing.auto_write = false`
--- only a conversation that was saved with an incomplete reply is written, so that the file says that the reply was cut off.
--- More of the reply may have arrived since, but nothing else can have changed, because the buffer was locked.
function M.leave()
  if has_left then
    return
  end
  has_left = true
  local lock = require("flemma.buffer.lock")
  local saved = {}
  for buf in pairs(attached) do
    -- What the user has typed and left without a write is theirs to lose. A locked buffer has nothing of the kind.
    local is_kept = not vim.bo[buf].modified
    if lock.is_locked(buf) then
      local options = require("flemma.options").get()
      is_kept = is_kept or options and options.editing.auto_write or lock.wrote_half(buf)
    end
    saved[buf] = is_kept and api.nvim_buf_get_name(buf) ~= "" or nil
  end
  require("flemma.native").call("editor_event", "leaving")
  require("flemma.review").settle()
  -- What was decided a moment ago comes into the buffers, and their files.
  require("flemma.native").call("editor_event", "closing")
  for buf in pairs(saved) do
    if vim.bo[buf].modified then
      require("flemma.buffer.saving").write_now(buf, true)
    end
  end
  require("flemma.buffer.saving").leave()
end

return M
