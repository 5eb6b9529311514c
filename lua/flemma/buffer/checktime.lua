--- Reads files again that a tool or another process has changed.
---
--- `:checktime` asks what to do about a file that was changed both on disk and in its buffer. We never ask from a callback:
--- files whose buffers have no changes are read again if a tool of ours has written them, or if 'autoread' is set, and a message
--- names the others.
local M = {}

local api = vim.api

local words = {
  deleted = { "%s is open here, but the file was deleted.", "`:write` creates it again." },
  conflict = { "%s was changed on disk and in its buffer.", "`:edit!` loads the file, `:write!` keeps the buffer." },
  changed = { "%s was changed on disk.", "`:edit!` loads the file." },
}

--- The files that were deleted, by buffer. Neovim says so each time.
---@type table<integer, string>
local gone = {}

--- Checks the files of buffers. A handler decides instead of asking; where it says nothing, the handlers of others do, except that
--- they cannot ask.
---@param bufs integer[]
---@param decide fun(buf: integer, reason: string): string? the value of `v:fcs_choice`
---@param ignored? string an event that does not happen when a file is read again
local function check(bufs, decide, ignored)
  local id = api.nvim_create_autocmd("FileChangedShell", {
    desc = "Flemma: decide about changed files without asking",
    callback = function(args)
      local choice, reason = vim.v.fcs_choice, vim.v.fcs_reason
      if choice ~= "reload" and choice ~= "edit" then
        -- If only the timestamp is new, Neovim does not ask but records it.
        vim.v.fcs_choice = reason == "time" and "ask" or decide(args.buf, reason) or ""
      end
    end,
  })
  for _, buf in ipairs(bufs) do
    local name = api.nvim_buf_get_name(buf)
    local is_blank = api.nvim_buf_line_count(buf) == 1 and api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ""
    if require("flemma.buffer.saving").is_new(buf) or is_blank and not vim.bo[buf].modified and vim.fn.getfsize(name) ~= 0 then
      -- There was no file. `:checktime` asks about one that has come since (W13).
      if not vim.bo[buf].modified and vim.uv.fs_stat(name) and decide(buf, "changed") == "reload" then
        api.nvim_buf_call(buf, function()
          pcall(vim.cmd, "silent! edit!")
        end)
      end
    else
      local before = vim.o.eventignore
      vim.opt.eventignore:append(ignored or "")
      pcall(vim.cmd, ("silent! %dchecktime"):format(buf))
      vim.o.eventignore = before
    end
  end
  pcall(api.nvim_del_autocmd, id)
end

--- Checks every open file.
---@param written? string[] the real paths of files that our tools have written
---@param moved? string[][] the old and the new path of each file that has another name now
function M.all(written, moved)
  -- What became of the moved ones is said there.
  local told = require("flemma.buffer.renamed").follow(moved or {})
  local bufs = vim.tbl_filter(function(buf)
    return api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == "" and api.nvim_buf_get_name(buf) ~= ""
  end, api.nvim_list_bufs())
  local saving, handlers = require("flemma.buffer.saving"), api.nvim_get_autocmds({ event = "FileChangedShell" })
  -- What another plugin has decided about a buffer, except that it cannot ask.
  local function is_decided(buf)
    return vim.v.fcs_choice ~= "ask" and vim.iter(handlers):any(function(handler)
      return not handler.buflocal or handler.buffer == buf
    end)
  end
  check(bufs, function(buf, reason)
    local name = api.nvim_buf_get_name(buf)
    if reason == "changed" and vim.list_contains(written or {}, vim.uv.fs_realpath(name)) then
      return "reload"
    end
    local is_told = reason == "deleted" and (told[buf] or gone[buf] == name)
    gone[buf] = reason == "deleted" and name or nil
    if words[reason] and not is_told and not saving.is_writing(buf) and not is_decided(buf) then
      local notify, message, advice = require("flemma.notify"), unpack(words[reason])
      notify.say(vim.log.levels.WARN, notify.with_advice(message:format(vim.fn.fnamemodify(name, ":~:.")), advice))
    end
  end)
end

--- Reads the file of a buffer again if it has changed. A buffer with unsaved changes keeps them, and a file that was deleted stays on
--- the screen.
---@param buf integer
---@param ignored? string an event that does not happen
function M.reload(buf, ignored)
  if not vim.bo[buf].modified then
    check({ buf }, function(_, reason)
      return reason ~= "deleted" and "reload" or nil
    end, ignored)
  end
end

--- Reads a conversation again that another process has changed. A buffer with changes keeps them, and Flemma does not write it any
--- more until the user has.
---@param buf integer
---@return boolean is_in_conflict whether the buffer has changes, and its file others
function M.follow(buf)
  local saving = require("flemma.buffer.saving")
  if vim.bo[buf].modified then
    return saving.foreign(buf) ~= nil
  elseif not saving.is_writing(buf) then
    -- File type plugins would undo and repeat everything.
    M.reload(buf, "FileType")
  end
  return false
end

return M
