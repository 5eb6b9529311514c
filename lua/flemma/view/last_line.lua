--- Lines that are drawn below the last line of a buffer, and stay there while text is appended.
local M = {}

local api = vim.api

---@class flemma.LastLine
---@field place fun(buf: integer, virt_lines: table) draws lines in place of those before
---@field keep fun(buf: integer) text was written: keeps the lines below the last one
---@field clear fun(buf: integer) takes everything in the namespace away

---@param namespace integer
---@return flemma.LastLine
function M.new(namespace)
  ---@type table<integer, { id: integer, line: integer, virt_lines: table }> the mark of each buffer
  local marks = {}
  local self = {}

  function self.place(buf, virt_lines)
    local last = api.nvim_buf_line_count(buf) - 1
    -- At the very end of the line, so that text that is appended to it moves the mark.
    local column = #api.nvim_buf_get_lines(buf, last, last + 1, false)[1]
    local opts = { id = marks[buf] and marks[buf].id, virt_lines = virt_lines }
    local id = api.nvim_buf_set_extmark(buf, namespace, last, column, opts)
    marks[buf] = { id = id, line = last, virt_lines = virt_lines }
  end

  function self.keep(buf)
    local mark = marks[buf]
    if mark and mark.line ~= api.nvim_buf_line_count(buf) - 1 then
      self.place(buf, mark.virt_lines)
    end
  end

  function self.clear(buf)
    marks[buf] = nil
    if api.nvim_buf_is_loaded(buf) then
      api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
    end
  end

  return self
end

return M
