--- Checks whether a tool has changed open files.
---
--- `:checktime` asks what to do about a file that was changed both on disk and in its buffer. We never ask from a callback:
--- files whose buffers have no changes are read again if a tool of ours has written them, or if 'autoread' is set, and a message
--- names the others.
local M = {}

local api = vim.api

local words = {
  deleted = { "%s is open here, but the file was deleted.", "`:write` creates it again." },
  conflict = {
    "%s was changed on disk and in its buffer.",
    "`:edit!` loads the file, `:write!` keeps the buffer.",
  },
  changed = { "%s was changed on disk.", "`:edit!` loads the file." },
}

--- Whether one of these autocommands applies to a buffer. Saving defines one for a conversation while it writes that file.
local function applies(autocmds, buf)
  return vim.iter(autocmds):any(function(autocmd)
    return not autocmd.buflocal or autocmd.buffer == buf
  end)
end

--- Checks every open file.
---@param written? string[] the real paths of files that our tools have written
---@param moved? string[][] the old and the new path of each file that has another name now
function M.all(written, moved)
  local ours = {}
  for _, path in ipairs(written or {}) do
    ours[path] = true
  end
  -- What became of these is said there.
  local told = require("flemma.moved").follow(moved or {})
  require("flemma.reload").files(ours)
  local handlers = api.nvim_get_autocmds({ event = "FileChangedShell" })
  local news = {}
  -- The handler that is defined last decides.
  local id = api.nvim_create_autocmd("FileChangedShell", {
    pattern = "*",
    desc = "Flemma: report changed files without asking",
    callback = function(args)
      local reason, choice = vim.v.fcs_reason, vim.v.fcs_choice
      if choice == "reload" or choice == "edit" then
        return
      end
      -- If only the timestamp is new, Neovim does not ask but records it.
      vim.v.fcs_choice = reason == "time" and "ask" or ""
      if reason == "deleted" and told[args.buf] then
        return
      end
      -- Another handler decides what to do, except that it cannot ask.
      if words[reason] and (choice == "ask" or not applies(handlers, args.buf)) then
        local message, advice = unpack(words[reason])
        message = message:format(vim.fn.fnamemodify(args.match, ":~:."))
        news[#news + 1] = require("flemma.notify").with_advice(message, advice)
      end
    end,
  })
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_valid(buf) and api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == "" then
      pcall(vim.cmd, ("silent! %dchecktime"):format(buf))
    end
  end
  pcall(api.nvim_del_autocmd, id)
  for _, message in ipairs(news) do
    require("flemma.notify").say(vim.log.levels.WARN, message)
  end
end

--- Reads a file again that another process has changed, without asking. A buffer with changes keeps them, and Flemma does not write
--- it any more until the user has.
---@param buf integer
---@return boolean is_in_conflict whether the buffer has changes, and its file others
function M.follow(buf)
  if require("flemma.saving").is_writing(buf) then
    -- The file is compared before it is replaced.
    return false
  elseif vim.bo[buf].modified then
    local is_in_conflict = require("flemma.reload").is_in_conflict(buf)
    if is_in_conflict then
      require("flemma.native").call("on_disk", buf)
    end
    return is_in_conflict
  end
  -- Neovim triggers `FileType` again, at which file type plugins undo and repeat everything.
  require("flemma.reload").run(buf, { no_filetype = true })
  return false
end

return M
