--- The buffer of a file that is reviewed in its own window: it has to show what the file is.
local M = {}

local api = vim.api

--- Why a file cannot be shown in a buffer of its own.
---@param file flemma.ReviewedFile
---@return string? problem
function M.why_not(file)
  local name = vim.fn.fnamemodify(file.path, ":~:.")
  if file.note then
    return ("%s is %s"):format(name, file.note)
  elseif file.after then
    return ("it is shown %s"):format(file.after)
  elseif not file.old then
    return ("%s does not exist yet"):format(name)
  elseif not file.new or file.moved_to then
    return ("%s is deleted or moved"):format(name)
  elseif file.path:match("%.chat$") then
    return ("%s is a conversation"):format(name)
  end
end

--- A text whose lines all end in LF.
---@param text string
local function plain(text)
  return text:find("\r", 1, true) and text:gsub("\r\n", "\n"):gsub("\r$", "") or text
end

--- Whether a buffer shows a content.
---@param buf integer
---@param content string
local function shows(buf, content)
  local body = content:gsub("^\239\187\191", ""):gsub("\r?\n$", "")
  if vim.bo[buf].fileencoding ~= "" and vim.bo[buf].fileencoding ~= "utf-8" then
    local _, breaks = body:gsub("\n", "")
    return api.nvim_buf_line_count(buf) == breaks + 1
  end
  local text = table.concat(api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
  return text == body or plain(text) == plain(body)
end

--- The buffer of a file, with what is on the disk.
---@param file flemma.ReviewedFile
---@param ours table<integer, true> gets the buffer if it was not there before
---@return integer? buf
---@return string problem
function M.open(file, ours)
  local known = vim.fn.bufexists(file.path) == 1
  local buf = vim.fn.bufadd(file.path)
  ours[buf] = ours[buf] or not known or nil
  local ok = true
  if not api.nvim_buf_is_loaded(buf) then
    local id = api.nvim_create_autocmd("SwapExists", {
      desc = "Flemma: only look at the file",
      callback = function()
        vim.v.swapchoice = "o"
      end,
    })
    ok = pcall(vim.fn.bufload, buf)
    pcall(api.nvim_del_autocmd, id)
  elseif not vim.bo[buf].modified then
    require("flemma.checktime").reload(buf)
  end
  local name = vim.fn.fnamemodify(file.path, ":~:.")
  if not ok or not api.nvim_buf_is_loaded(buf) then
    return nil, ("%s cannot be opened"):format(name)
  elseif vim.bo[buf].modified then
    return nil, ("%s has changes that are not saved"):format(name)
  elseif not shows(buf, file.old or "") then
    return nil, ("the buffer of %s does not show the file as it is"):format(name)
  end
  return buf, ""
end

return M
