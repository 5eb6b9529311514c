--- The buffers of a review: for each file what it is, and the text that will be written.
---
--- The text that will be written stays loaded and hidden until the call is decided, with the user's edits and their undo history.
--- Writing it decides nothing: Neovim cannot tell a user's `:write` from that of a plugin which saves buffers by itself.
local content = require("flemma.review.content")

local M = {}

local api = vim.api

--- Whether the text of a file can be edited.
---@param file flemma.ReviewedFile
function M.is_text(file)
  return not file.note and file.new ~= nil
end

--- What a side shows of a file.
---@param file flemma.ReviewedFile
---@param side "old"|"new"
---@return string
local function text_of(file, side)
  if not file.note then
    return file[side] or ""
  end
  local size = file[side .. "_size"]
  local is_there = file.old_size and "the file is deleted" or "there is no such file"
  return ("%s: the content is not shown\n%s\n"):format(file.note, size and ("%d bytes"):format(size) or is_there)
end

--- Fills a buffer with what its side shows.
---@param buf integer
---@param file flemma.ReviewedFile
---@param side "old"|"new"
function M.fill(buf, file, side)
  local bo = vim.bo[buf]
  bo.modifiable = true
  content.fill(buf, text_of(file, side), content.form(file.old, file.new))
  bo.modifiable = side == "new" and M.is_text(file)
  bo.modified = false
end

--- Gives a buffer the filetype of its file. A conversation is not shown as one: its keys would send it.
---@param buf integer
---@param file flemma.ReviewedFile
local function set_filetype(buf, file)
  local sample = vim.split((file.new or file.old or ""):sub(1, 4096), "\n", { plain = true })
  local ok, filetype = pcall(vim.filetype.match, { filename = file.moved_to or file.path, contents = sample })
  if ok and filetype and not file.note then
    filetype = filetype == "chat" and "markdown" or filetype
    -- A file type plugin may fail, of a language whose parser is missing for example.
    pcall(api.nvim_set_option_value, "filetype", filetype, { buf = buf })
  end
end

---@param review flemma.Review
---@param file flemma.ReviewedFile
---@param side "old"|"new"
---@return integer
local function create(review, file, side)
  local buf = require("flemma.buffer.scratch").create({ is_named = true })
  local bo = vim.bo[buf]
  bo.buftype = side == "new" and "acwrite" or "nofile"
  bo.bufhidden = side == "new" and "hide" or "wipe"
  bo.swapfile = false
  bo.modeline = false
  vim.b[buf].flemma_review = review.call
  local path = vim.fn.fnamemodify(file.path, ":~:."):gsub("%c", "_")
  local name = ("flemma://review/%s/%s%s"):format(review.call, path, side == "old" and " (now)" or "")
  api.nvim_buf_set_name(buf, vim.fn.bufexists(name) == 0 and name or ("%s (%d)"):format(name, buf))
  -- Not a step that can be undone.
  local levels = bo.undolevels
  bo.undolevels = -1
  M.fill(buf, file, side)
  bo.undolevels = levels
  set_filetype(buf, file)
  return buf
end

--- The buffer of a side.
---@param review flemma.Review
---@param file flemma.ReviewedFile
---@param side "old"|"new"
---@return integer
function M.get(review, file, side)
  local path = file.path
  local known = review[side][path]
  if known and api.nvim_buf_is_loaded(known) then
    return known
  elseif known then
    pcall(api.nvim_buf_delete, known, { force = true })
  end
  local buf = create(review, file, side)
  review[side][path] = buf
  api.nvim_create_autocmd("BufReadCmd", {
    buffer = buf,
    desc = "Flemma: show the proposal again",
    callback = function()
      -- As it is in the proposal now.
      local now = vim.iter(review.files):find(function(other)
        return other.path == path
      end)
      if now then
        M.fill(buf, now, side)
        review.stale[path] = nil
      end
    end,
  })
  if side == "old" then
    return buf
  end
  api.nvim_create_autocmd({ "BufWriteCmd", "FileWriteCmd", "FileAppendCmd" }, {
    buffer = buf,
    desc = "Flemma: say which key approves the change",
    callback = function()
      local words = review.is_over and "%s has ended; nothing is written" or "%s still waits: gA approves it, with this text"
      api.nvim_echo({ { "Flemma: " .. words:format(review.call), "ErrorMsg" } }, true, {})
    end,
  })
  api.nvim_create_autocmd({ "BufLeave", "BufUnload" }, {
    buffer = buf,
    desc = "Flemma: show in the conversation what would be written",
    callback = function(args)
      if args.event == "BufLeave" then
        return review.note(review)
      end
      vim.schedule_wrap(review.note)(review)
    end,
  })
  return buf
end

--- The text that will be written of a file.
---@param review flemma.Review
---@param file flemma.ReviewedFile
---@return string
function M.text(review, file)
  return content.read(M.get(review, file, "new"), content.is_line(file.new))
end

--- What would be written of a file: `true` for what is proposed, `false` for nothing.
---@param review flemma.Review
---@param file flemma.ReviewedFile
---@return string|boolean
function M.value(review, file)
  local buf = review.new[file.path]
  if review.left[file.path] then
    return false
  elseif not M.is_text(file) or not buf or not api.nvim_buf_is_loaded(buf) then
    return true
  end
  local text = M.text(review, file)
  if text ~= file.new and text == (file.old or "") and not file.moved_to then
    return false
  end
  return text == file.new or text
end

--- Leaves a file out, as undo takes back; a file without text is left out or not.
---@param review flemma.Review
---@param file flemma.ReviewedFile
function M.leave_out(review, file)
  if not M.is_text(file) or file.moved_to then
    review.left[file.path] = not review.left[file.path] or nil
  else
    M.set_text(review, file, file.old or "")
  end
end

--- Makes another text the one that will be written.
---@param review flemma.Review
---@param file flemma.ReviewedFile
---@param text string
function M.set_text(review, file, text)
  local buf = M.get(review, file, "new")
  content.fill(buf, text, content.form(file.old, file.new))
  vim.bo[buf].modified = text ~= file.new
end

--- Whether the user has edited the text of a file.
---@param review flemma.Review
---@param file flemma.ReviewedFile
function M.is_edited(review, file)
  local buf = review.new[file.path]
  return M.is_text(file) and buf ~= nil and api.nvim_buf_is_loaded(buf) and M.text(review, file) ~= file.new
end

return M
