--- What the user makes of a proposal side by side: edits on the right, and files that are taken or left out.
local content = require("flemma.review.content")
local merge = require("flemma.review.merge")
local sides = require("flemma.review.sides")
local writing = require("flemma.review.writing")

local api = vim.api

local M = {}

---@param level integer
---@param message string
local function say(level, message)
  require("flemma.notify").say(level, message)
end

--- What would be written of a file: `true` for what is proposed, `false` for nothing.
---@param view flemma.TabView
---@param file flemma.ReviewedFile
---@return string|boolean
function M.value(view, file)
  if view.review.marks[file.path] == false then
    return false
  end
  local buf = view.new[file.path]
  if not sides.is_text(file) then
    return true
  elseif not buf or not api.nvim_buf_is_loaded(buf) then
    local known = view.review.drafts[file.path]
    return known and known.text or true
  end
  if sides.is_untouched(buf) then
    return true
  end
  local text = content.read(buf, content.is_line(file.new))
  if text == file.new then
    return true
  end
  return text ~= (file.old or "") and text
end

--- The text of the right side of a file that is shown.
---@param view flemma.TabView
---@param file flemma.ReviewedFile
---@return string
function M.text(view, file)
  return content.read(view.new[file.path], content.is_line(file.new))
end

--- Whether the user has changed what is proposed for a file.
---@param view flemma.TabView
---@param file flemma.ReviewedFile
function M.is_edited(view, file)
  local buf = view.new[file.path]
  return sides.is_text(file)
    and buf ~= nil
    and api.nvim_buf_is_loaded(buf)
    and not sides.is_untouched(buf)
    and content.read(buf, content.is_line(file.new)) ~= file.new
end

--- `:write` in the right side.
---@param view flemma.TabView
---@param buf integer
---@param path string
---@param args table of the autocommand
function M.write(view, buf, path, args)
  local file = view:file_of(path)
  local problem = writing.why_not(buf, view.names[buf], args)
  if problem then
    say(vim.log.levels.ERROR, ("%s was not approved: %s"):format(view.review.call, problem))
    return
  elseif view.review.is_over then
    say(vim.log.levels.ERROR, ("%s has ended; nothing is written"):format(view.review.call))
  elseif file then
    if vim.v.cmdbang == 1 then
      view.review.conflicts[path] = nil
    end
    if M.stop_at(view, file) then
      return
    end
    -- Now, so that `:wq` and `:wall` find it written. After the autocommand, Neovim shows its buffer again.
    vim.bo[buf].modified = false
    M.mark(view, file, true, vim.schedule_wrap(function(at)
      if not view.is_closed then
        view:show(at)
      end
    end))
  end
end

--- Says what is lost if the user accepts their text over what another program has written meanwhile.
---@param view flemma.TabView
---@param file flemma.ReviewedFile
---@return boolean is_stopped
function M.stop_at(view, file)
  local text = M.value(view, file)
  if type(text) ~= "string" or not merge.undoes(view.review, file.path, text) then
    return false
  end
  local words = "%s was not approved: it would undo lines that another program has written to %s. They are at the left. "
    .. "`:w!` accepts your text"
  say(vim.log.levels.WARN, words:format(view.review.call, vim.fn.fnamemodify(file.path, ":~:.")))
  return true
end

--- What the user may not expect of what is written.
---@param view flemma.TabView
---@param file flemma.ReviewedFile
---@return string?
local function remark(view, file)
  local buf, text = view.new[file.path], M.value(view, file)
  if type(text) ~= "string" or not buf or not api.nvim_buf_is_loaded(buf) then
    return
  end
  local name, bo = vim.fn.fnamemodify(file.path, ":~:."), vim.bo[buf]
  if text == "" then
    return ("%s is empty now"):format(name)
  end
  local form, format, words = content.form(file.old, file.new), bo.fileformat, {}
  if (format == "dos") ~= form.dos or format == "mac" then
    words[#words + 1] = ("gets the line breaks of 'fileformat' %s"):format(format)
  end
  if bo.bomb ~= (form.bom and vim.startswith(file.new, content.BOM)) then
    words[#words + 1] = bo.bomb and "gets a byte order mark ('bomb')" or "loses its byte order mark ('nobomb')"
  end
  if file.new ~= "" and bo.endofline ~= vim.endswith(file.new, "\n") then
    words[#words + 1] = bo.endofline and "gets a line break at its end ('endofline')"
      or "gets no line break at its end ('noendofline')"
  end
  if bo.fileencoding ~= "" and bo.fileencoding ~= "utf-8" then
    words[#words + 1] = "is written as UTF-8: 'fileencoding' has no effect here"
  end
  return words[1] and ("%s %s"):format(name, table.concat(words, ", and "))
end

--- Takes a file or leaves it, and goes on to the next one. After the last one the call is approved.
---@param view flemma.TabView
---@param file flemma.ReviewedFile
---@param is_taken boolean
---@param show? fun(at: integer) shows the next file
function M.mark(view, file, is_taken, show)
  if is_taken and M.stop_at(view, file) then
    return
  end
  view.review.marks[file.path] = is_taken
  for step = 1, #view.review.files do
    local at = (view.at + step - 1) % #view.review.files + 1
    if view.review.marks[view.review.files[at].path] == nil then
      if show then
        return show(at)
      end
      return view:show(at)
    end
  end
  M.submit(view)
end

--- Approves the call with the files as they are here.
---@param view flemma.TabView
function M.submit(view)
  local review = view.review
  if review.is_over or review.is_deciding then
    return say(vim.log.levels.INFO, ("%s is decided already"):format(review.call))
  end
  local contents, some = {}, false
  for at, file in ipairs(review.files) do
    contents[at] = M.value(view, file)
    if M.stop_at(view, file) then
      M.undecide(view)
      return view:show(at)
    end
    some = some or contents[at] ~= false
  end
  if not some then
    M.undecide(view)
    local words = "nothing is left of the change, so %s was not approved; gX rejects it"
    return say(vim.log.levels.WARN, words:format(review.call))
  end
  for _, file in ipairs(review.files) do
    local words = remark(view, file)
    if words then
      say(vim.log.levels.WARN, ("%s: %s"):format(review.call, words))
    end
  end
  for _, buf in pairs(view.new) do
    if api.nvim_buf_is_loaded(buf) then
      vim.bo[buf].modified = false
    end
  end
  require("flemma.review.deciding").accept(review, contents, function()
    M.undecide(view)
  end)
end

--- No file is taken or left out, since the call was not approved.
---@param view flemma.TabView
function M.undecide(view)
  view.review.marks = {}
  for _, file in ipairs(view.review.files) do
    if M.is_edited(view, file) then
      vim.bo[view.new[file.path]].modified = true
    end
  end
  view:draw()
end

--- Keeps what the user has edited, since its buffers go.
---@param view flemma.TabView
function M.keep_drafts(view)
  for _, file in ipairs(view.review.files) do
    local buf = view.new[file.path]
    if buf and M.is_edited(view, file) then
      local text = content.read(buf, content.is_line(file.new))
      view.review.drafts[file.path] = { text = text, base = file.old or "" }
    end
  end
end

return M
