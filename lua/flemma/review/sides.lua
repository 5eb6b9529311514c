--- The buffers of a review side by side: what a file is, and what is proposed for it.
local content = require("flemma.review.content")

local M = {}

--- The filetype of a file that may not exist. A conversation is not shown as one: its keys would send it.
---@param file flemma.ReviewedFile
---@return string?
local function filetype_of(file)
  local sample = vim.split((file.new or file.old or ""):sub(1, 4096), "\n", { plain = true })
  local ok, filetype = pcall(vim.filetype.match, { filename = file.moved_to or file.path, contents = sample })
  return ok and (filetype == "chat" and "markdown" or filetype) or nil
end

--- What a side shows of a file.
---@param file flemma.ReviewedFile
---@param side "old"|"new"
---@return string
local function text_of(file, side)
  if not file.note then
    return file[side] or ""
  end
  local words = file.note .. ": the content is not shown\n"
  local size = file[side .. "_size"]
  if size then
    words = words .. ("%d bytes\n"):format(size)
  elseif file.old_size or file.new_size then
    words = words .. (side == "old" and "there is no such file\n" or "the file is deleted\n")
  end
  return side == "new" and words .. "gA accepts the change, gX rejects the call\n" or words
end

--- Whether the right side of a file can be edited.
---@param file flemma.ReviewedFile
function M.is_text(file)
  return not file.note and file.new ~= nil
end

---@type table<integer, string> by buffer: its state when it was filled
local filled = {}

--- What changes with the text of a buffer, and with the options that count for what is written of it.
---@param buf integer
local function state_of(buf)
  local bo = vim.bo[buf]
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  return ("%d %s %s %s"):format(tick, bo.fileformat, bo.bomb, bo.endofline)
end

--- Whether a buffer still has what it was filled with. Reading it takes long if it is large.
---@param buf integer
---@return boolean
function M.is_untouched(buf)
  return filled[buf] == state_of(buf)
end

--- Whether a buffer is a side of a review that is open.
---@param buf integer
---@return boolean
function M.is_filled(buf)
  return filled[buf] ~= nil
end

--- Forgets a buffer.
---@param buf integer
function M.forget(buf)
  filled[buf] = nil
end

--- Fills a buffer with what its side shows.
---@param buf integer
---@param file flemma.ReviewedFile
---@param side "old"|"new"
---@param before? string what an undo leads back to
function M.fill(buf, file, side, before)
  local bo, form = vim.bo[buf], content.form(file.old, file.new)
  bo.modifiable = true
  if before then
    local levels = bo.undolevels
    bo.undolevels = -1
    content.fill(buf, before, form)
    bo.undolevels = levels
  end
  content.fill(buf, text_of(file, side), form)
  bo.modifiable = side == "new" and M.is_text(file)
  bo.modified = false
  filled[buf] = state_of(buf)
end

--- Gives the buffer of a side a name that reads well in a tab page's label, a status line and `:ls`: `flemma://src/a.rs (proposed)`.
--- With the scheme, no plugin takes it for a file. Another review of the same file has a number.
---@param buf integer
---@param file flemma.ReviewedFile
---@param side "old"|"new"
local function set_name(buf, file, side)
  local what = side == "new" and "proposed" or file.after and "before" or "now"
  local path = vim.fn.fnamemodify(side == "new" and file.moved_to or file.path, ":~:."):gsub("%c", "_")
  for count = 1, 100 do
    local name = ("flemma://%s (%s%s)"):format(path, what, count > 1 and " " .. count or "")
    if vim.fn.bufexists(name) == 0 and pcall(vim.api.nvim_buf_set_name, buf, name) then
      return
    end
  end
end

--- Makes the buffer of a side. It goes with its window.
---@param file flemma.ReviewedFile
---@param side "old"|"new"
---@param draft? string what the user has made of it before
---@return integer
function M.create(file, side, draft)
  local buf = require("flemma.scratch").create({ is_named = true })
  local bo = vim.bo[buf]
  -- What cannot be edited can still be taken with `:write`.
  bo.buftype = side == "new" and "acwrite" or "nofile"
  bo.bufhidden = "wipe"
  bo.swapfile = false
  bo.modeline = false
  set_name(buf, file, side)
  -- Not a step that can be undone.
  local levels = bo.undolevels
  bo.undolevels = -1
  M.fill(buf, file, side)
  bo.undolevels = levels
  if draft then
    content.fill(buf, draft, content.form(file.old, file.new))
    bo.modified = true
  end
  return buf
end

--- Gives a buffer the filetype of its file.
---@param buf integer
---@param file flemma.ReviewedFile
function M.set_filetype(buf, file)
  local filetype = not file.note and filetype_of(file)
  if filetype then
    vim.api.nvim_buf_call(buf, function()
      -- A file type plugin may fail, of a language whose parser is missing for example.
      pcall(vim.cmd, "silent! setlocal filetype=" .. filetype)
    end)
  end
end

return M
