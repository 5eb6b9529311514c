--- What is queued, drawn below the last line of a conversation that is not hidden.
local M = {}

local api = vim.api

local namespace = api.nvim_create_namespace("flemma.queue")

--- The mark below the end of each buffer in which something is queued.
---@type table<integer, { id: integer, line: integer, virt_lines: table }>
local marks = {}

---@param buf integer
---@return integer line from 0
local function last_line(buf)
  return api.nvim_buf_line_count(buf) - 1
end

--- Puts the lines below the end.
---@param buf integer
---@param id? integer the mark, if it already exists
---@param virt_lines table
local function place(buf, id, virt_lines)
  local last = last_line(buf)
  -- At the very end of the line, so that text that is appended to it moves the mark.
  local column = #api.nvim_buf_get_lines(buf, last, last + 1, false)[1]
  id = api.nvim_buf_set_extmark(buf, namespace, last, column, { id = id, virt_lines = virt_lines })
  marks[buf] = { id = id, line = last, virt_lines = virt_lines }
end

--- Draws what is queued.
---@param buf integer
function M.draw(buf)
  local lines = api.nvim_buf_is_loaded(buf) and require("flemma.native").call("state", buf, "outbox") or {}
  if #lines == 0 then
    return marks[buf] and M.forget(buf)
  end
  local virt_lines = vim.tbl_map(function(line)
    return vim.tbl_map(function(chunk)
      return { chunk.text, chunk.group }
    end, line)
  end, lines)
  place(buf, marks[buf] and marks[buf].id, virt_lines)
end

--- Text was written, or lines were hidden or shown: keeps the lines below the end.
---@param buf integer
function M.keep_at_end(buf)
  local mark = marks[buf]
  if mark and mark.line ~= last_line(buf) then
    place(buf, mark.id, mark.virt_lines)
  end
end

--- Takes the lines away.
---@param buf integer
function M.forget(buf)
  marks[buf] = nil
  if api.nvim_buf_is_loaded(buf) then
    api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  end
end

return M
