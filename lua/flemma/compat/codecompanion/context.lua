--- What tools put into the context of the chat. CodeCompanion sends it with each request; here the result of the call holds it.
local M = {}

local api = vim.api

--- How many lines of a buffer or a file are taken.
local MOST_LINES = 2000

--- The text of a buffer or a file, and its name.
---@param item table
---@return string text
---@return string name
local function read(item)
  local buf = type(item.bufnr) == "number" and api.nvim_buf_is_valid(item.bufnr) and item.bufnr
  local path = type(item.path) == "string" and item.path or buf and api.nvim_buf_get_name(buf) or ""
  local stat, lines = vim.uv.fs_stat(path), {}
  if buf and api.nvim_buf_is_loaded(buf) then
    lines = api.nvim_buf_get_lines(buf, 0, MOST_LINES, false)
  elseif stat and stat.type == "file" then
    lines = vim.fn.readfile(path, "", MOST_LINES)
  end
  return vim.trim(table.concat(lines, "\n")), item.path and path or tostring(item.id or path)
end

--- What a call has put into the context and its result does not hold already.
---@param call flemma.codecompanion.Call
---@param result string
---@return string text empty, or what follows the result
function M.text(call, result)
  local texts = {}
  for _, item in ipairs(call.context) do
    local text, name = read(item)
    if text ~= "" and not result:find(text, 1, true) then
      texts[#texts + 1] = ("\n\n%s:\n\n%s"):format(name, text)
    end
  end
  return table.concat(texts)
end

return M
