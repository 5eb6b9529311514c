--- Prompts by name: `:Flemma prompt`, and a message that begins with `/`.
local M = {}

local native = require("flemma.native").call

--- The names of the prompts of a conversation that begin with some text.
---@param lead string
---@return string[]
function M.names(lead)
  local buf = require("flemma.buffer.target").resolve()
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, buf and native("path", "prompts", { buffer = buf }) or {})
end

--- Puts a prompt into the user's message.
---@param buf? integer
---@param words? string the name, and the arguments
---@param failed? fun() called if there is no such prompt
function M.insert(buf, words, failed)
  local say, levels = require("flemma.notify").say, vim.log.levels
  buf = buf or require("flemma.buffer.target").resolve()
  local name, arguments = (words or ""):match("^(%S+)%s*(.*)$")
  if not buf then
    return
  elseif not name then
    return say(levels.ERROR, "`:Flemma prompt` needs the name of a prompt: " .. table.concat(M.names(""), ", "))
  end
  native("dispatch", buf, "prompt", { name = name, arguments = arguments }, function(done, problem)
    if not done then
      say(levels.ERROR, problem)
      if failed then
        failed()
      end
    end
  end)
end

--- Puts the prompt that the last line of a conversation names as `/name` in its place, if its message has nothing else.
---@param buf integer
---@return boolean whether it did
function M.expand(buf)
  local count = vim.api.nvim_buf_line_count(buf)
  local last = count
  local function line_at(row)
    return vim.api.nvim_buf_get_lines(buf, math.max(row - 1, 0), row, false)[1] or ""
  end
  while last > 1 and line_at(last):match("^%s*$") do
    last = last - 1
  end
  local before = last - 1
  while before > 1 and line_at(before):match("^%s*$") do
    before = before - 1
  end
  local typed = line_at(last)
  local words = line_at(before) == "@You:" and typed:match("^/(%S.*)$")
  local name = words and words:match("^%S+")
  if not name or not vim.bo[buf].modifiable or not vim.list_contains(native("path", "prompts", { buffer = buf }) or {}, name) then
    return false
  end
  vim.api.nvim_buf_set_lines(buf, before, count, false, { "" })
  M.insert(buf, words, function()
    vim.api.nvim_buf_set_lines(buf, before, before + 1, false, { typed })
  end)
  return true
end

return M
