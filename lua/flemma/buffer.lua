--- One conversation's buffer: taking it in hand, writing to it, locking it.
---
--- The library follows the text through `on_lines` and writes through `write`; nobody else changes a buffer
--- while it is locked.
local M = {}

local api = vim.api

---@class flemma.Attached
---@field reading? boolean whether another file or the output of a command is being read in
---@field unlocked_modifiable? boolean what 'modifiable' was before the lock; nil while unlocked
---@field own_modifiable? boolean the user's own 'modifiable' since the last lock; nil before the first one, and once the
---user has set it themselves
---@field is_borrowed? boolean whether another plugin has set 'modifiable' since then and may yet put the lock back
---@field wrote_half? boolean whether the user wrote the file during this lock, so that half a reply may stand in it
---@field is_writing? boolean whether we write just now
---@field is_setting? boolean whether we set 'modifiable' ourselves just now
---@type table<integer, flemma.Attached>
local attached = {}

---@param buf integer
---@return boolean
function M.is_attached(buf)
  return attached[buf] ~= nil
end

--- Whether we are at work in a buffer, so that the user cannot change it.
---@param buf integer
---@return boolean
function M.is_locked(buf)
  return attached[buf] ~= nil and attached[buf].unlocked_modifiable ~= nil
end

--- The buffer a command means, and whether it is a conversation.
---@param buf? integer 0 or nil for the current one
---@return integer? buf nil, after a message, when it is no conversation
function M.resolve(buf)
  buf = (buf == nil or buf == 0) and api.nvim_get_current_buf() or buf
  if attached[buf] then
    return buf
  end
  local _, why = require("flemma.native").load()
  local notify = require("flemma.notify")
  notify.say(vim.log.levels.ERROR, why or "this buffer is not a conversation: its filetype is not `chat`")
end

--- An empty file gets the marker that a first message stands under. It is no change of the user's: it is not
--- undone, and the buffer can be left as if nothing had happened.
local function greet(buf)
  local empty = api.nvim_buf_line_count(buf) == 1 and api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ""
  if not empty or vim.bo[buf].modified or not vim.bo[buf].modifiable then
    return
  end
  local undolevels = vim.bo[buf].undolevels
  local has_history = api.nvim_buf_call(buf, vim.fn.undotree).seq_last > 0
  if has_history then
    -- A file that was emptied and read again: one undo brings back the text before that. An insertion without undo
    -- would delete the history. Joining fails right after an undo.
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

--- Whether text that comes in now could come from a file or a command without a word to us: the events that would
--- tell are ignored, or an autocommand runs, in which they are not sent.
local function is_deaf()
  for event in vim.o.eventignore:lower():gmatch("[^,]+") do
    if event == "all" or event:find("^fileread") or event == "shellfilterpost" then
      return true
    end
  end
  -- Outside of autocommands it is empty, and an error under 'verbose'.
  local errmsg = vim.v.errmsg
  local ok, abuf = pcall(vim.fn.expand, "<abuf>")
  if not ok then
    vim.v.errmsg = errmsg
  end
  return ok and abuf ~= ""
end

--- The number of the step of undo that a change belongs to, if the user made it.
---@param buf integer
---@param state flemma.Attached
---@param in_place boolean whether as many lines came as went
---@return integer? step nil for text that comes from elsewhere, and for text of which nobody knows
local function step_of(buf, state, in_place)
  if state.reading or (not in_place and is_deaf()) then
    return nil
  end
  -- Undo and `:diffget` change the current buffer only.
  if buf ~= api.nvim_get_current_buf() then
    return 0
  end
  if vim.wo.diff and not api.nvim_get_mode().mode:find("^[iR]") then
    return nil
  end
  return vim.fn.changenr()
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

--- Takes a buffer in hand. Harmless when that was done before.
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
  local state = {}
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
    -- A long file is read in slices, between which the user can type.
    vim.schedule(function()
      parse_on(native.call("parse_on", buf))
    end)
  end
  -- The text was unloaded, or is about to be.
  local function gone(was_locked)
    if attached[buf] == state then
      forget(buf, true)
      if state.unlocked_modifiable ~= nil then
        -- `:edit!` and `:bunload` end up here: the lock goes with what it was for.
        pcall(api.nvim_set_option_value, "modifiable", state.unlocked_modifiable, { buf = buf })
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
      -- It failed, and the library begins anew.
      parse_on(true)
    end
  end
  burst.follow(buf, {
    -- While we write, the library has to hear of every change at once.
    step = function()
      return state.unlocked_modifiable == nil and step_of(buf, state, true) or nil
    end,
    drawn = function(first, last)
      if attached[buf] == state then
        draw_anew(first, last)
      end
    end,
  })
  parse_on(native.call("attach", buf))
  api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, _, first, old_last, new_last)
      if attached[buf] ~= state then
        return true
      end
      if burst.takes(buf, first, old_last, new_last) then
        return
      end
      -- Of what we write ourselves the library knows who has written it.
      local step = not state.is_writing and step_of(buf, state, old_last == new_last) or nil
      first, old_last, new_last, step = burst.join(buf, first, old_last, new_last, step)
      draw_anew(first, native.call("changed", buf, first, old_last, new_last, step))
    end,
    on_changedtick = function()
      -- Neovim sends this after undo and redo, once their changes were reported.
      if attached[buf] == state then
        native.call("undone", buf)
      end
    end,
    on_reload = function()
      parse_on(native.call("reloaded", buf))
    end,
    on_detach = function()
      if attached[buf] ~= state then
        return
      end
      local is_locked = state.unlocked_modifiable ~= nil
      if is_locked and state.wrote_half then
        -- The text is still there, and cannot be changed before `BufUnload`, which `:noautocmd` leaves out.
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
    desc = "Flemma: what is trusted in a file stays so",
    callback = function(args)
      if attached[buf] == state then
        local file = vim.fn.fnamemodify(args.match, ":p")
        native.call("saved", buf, file)
        if state.unlocked_modifiable ~= nil and file == api.nvim_buf_get_name(buf) then
          state.wrote_half = true
        end
      end
    end,
  })
  api.nvim_create_autocmd("BufUnload", {
    group = api.nvim_create_augroup("flemma.buffer." .. buf, { clear = false }),
    buffer = buf,
    desc = "Flemma: half a reply in a file says that it was cut off",
    callback = function()
      if attached[buf] == state and state.unlocked_modifiable ~= nil and state.wrote_half then
        native.call("dispatch", buf, "cancel")
        require("flemma.saving").write_last(buf)
        gone(true)
      end
    end,
  })
  api.nvim_create_autocmd({ "FileReadPre", "FileReadPost", "FilterReadPost", "ShellFilterPost" }, {
    group = api.nvim_create_augroup("flemma.buffer." .. buf, { clear = false }),
    -- The pattern is the other file's name.
    pattern = "*",
    desc = "Flemma: what comes from another file or from a command was not typed here",
    callback = function(args)
      if attached[buf] ~= state or api.nvim_get_current_buf() ~= buf then
        return
      end
      if args.event ~= "FileReadPre" then
        native.call("read_in", buf, vim.fn.line("'[") - 1, vim.fn.line("']"))
      end
      -- Others may still change what was read: a compressed file is read as it is, and then unpacked.
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
  -- `:lua` takes the rest of its line, so it comes last.
  local release = ("lua require('flemma.buffer').release(%d)"):format(buf)
  local before = vim.b[buf].undo_ftplugin or ""
  if not vim.endswith(before, release) then
    vim.b[buf].undo_ftplugin = before ~= "" and before .. " | " .. release or release
  end
  require("flemma.ui").attach(buf)
end

--- Lets go of a buffer that is no conversation any more: its filetype is another now.
---@param buf integer
function M.release(buf)
  local state = attached[buf]
  if not state then
    return
  end
  if state.unlocked_modifiable ~= nil then
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
  if vim.bo[buf].filetype ~= "chat" then
    vim.bo[buf].modeline = vim.go.modeline
  end
  require("flemma.ui").release(buf)
end

--- Neovim is about to leave: what runs ends now. A conversation that was saved with half a reply is saved once more,
--- so that the file says that the reply was cut off. More of the reply may have come since; nothing else can have, since
--- the buffer was locked.
function M.leave()
  for buf, state in pairs(attached) do
    if state.unlocked_modifiable ~= nil then
      local was_saved = (state.wrote_half or not vim.bo[buf].modified) and api.nvim_buf_get_name(buf) ~= ""
      require("flemma.native").call("dispatch", buf, "cancel")
      if was_saved and vim.bo[buf].modified then
        require("flemma.saving").write_now(buf)
      end
    end
  end
  require("flemma.saving").leave()
end

--- Puts text in the place of other text. What only inserts whole lines leaves the lines around them untouched, and with
--- them the user's marks, which `nvim_buf_set_text` would delete.
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

---@type function? what `_run` runs
local to_run

--- Runs what `quietly` is given. For Neovim's command line.
function M._run()
  local run = to_run
  to_run = nil
  if run then
    run()
  end
end

--- Runs something that calls other plugins' callbacks (`on_bytes` and the like). Neovim prints an error for each of
--- them that throws, for each piece of a reply, and then waits for Enter: it is said once instead.
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

--- Sets 'modifiable' for ourselves, which says nothing about other plugins.
local function set_modifiable(buf, value)
  local state = attached[buf] or {}
  state.is_setting = true
  vim.bo[buf].modifiable = value
  state.is_setting = false
end

--- Writes to a buffer: the only way in which the library changes text.
---@param buf integer
---@param first integer first line, from 0
---@param first_col integer byte
---@param last integer last line
---@param last_col integer byte, exclusive
---@param lines string[]
---@param join boolean whether the edit belongs to the step of undo before it
function M.write(buf, first, first_col, last, last_col, lines, join)
  local bo = vim.bo[buf]
  local modifiable = bo.modifiable
  set_modifiable(buf, true)
  api.nvim_buf_call(buf, function()
    if join then
      -- Fails right after an undo: then the edit is a step of its own.
      pcall(vim.cmd.undojoin)
    else
      -- Setting it ends the step before, which Neovim otherwise does only when it waits for a key.
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

--- Gives a buffer that is not locked the user's own 'modifiable', where another plugin has put our lock back: it saved
--- the value during the lock, and restored it when the lock was gone.
---@param buf integer
function M.give_back(buf)
  local state = attached[buf]
  if state and state.own_modifiable and state.unlocked_modifiable == nil and not vim.bo[buf].modifiable then
    set_modifiable(buf, true)
  end
end

--- Whether the `OptionSet` that runs now comes from a command of the user's (typed, or in a mapping), and not from
--- anybody's code.
---@return boolean
local function is_set_by_the_user()
  -- A function, a script or another autocommand stands in front of this event.
  if not vim.startswith(vim.fn.expand("<stack>"), "OptionSet ") then
    return false
  end
  -- Levels 1 and 2 are this function and the callback. Code that set the option is below them; `:lua` may be typed.
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

--- Watches for such a restore. It may come at any time, and more than once, so the watch ends with the next lock.
local function watch_for_restore(buf, state)
  api.nvim_create_autocmd("OptionSet", {
    group = api.nvim_create_augroup("flemma.lock." .. buf, { clear = true }),
    pattern = "modifiable",
    desc = "Flemma: a lock that is gone does not come back",
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
        -- Whoever sets what is set already wants to be sure of it for a while. A toggle does not.
        state.is_borrowed = state.is_borrowed or vim.v.option_oldlocal == true
      elseif state.is_borrowed then
        -- Not while somebody else is at it.
        vim.schedule(function()
          M.give_back(buf)
        end)
      end
    end,
  })
end

--- Keeps the user from changing the buffer, or lets them again.
---@param buf integer
---@param locked boolean
function M.lock(buf, locked)
  local state = attached[buf]
  if not state then
    return
  end
  if locked and state.unlocked_modifiable == nil then
    M.give_back(buf)
    pcall(api.nvim_del_augroup_by_name, "flemma.lock." .. buf)
    state.unlocked_modifiable = vim.bo[buf].modifiable
    state.wrote_half = false
    vim.bo[buf].modifiable = false
    if buf == api.nvim_get_current_buf() and api.nvim_get_mode().mode:sub(1, 1) == "i" then
      require("flemma.following").leave_insert(buf)
    end
  elseif not locked and state.unlocked_modifiable ~= nil then
    local own = state.unlocked_modifiable
    state.unlocked_modifiable = nil
    -- Somebody has taken the lock off, and may want to put it back.
    state.is_borrowed = vim.bo[buf].modifiable
    vim.bo[buf].modifiable = own
    state.own_modifiable = own
    watch_for_restore(buf, state)
    require("flemma.following").type_on_later(buf)
  end
end

return M
