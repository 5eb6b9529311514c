--- What is queued, drawn below the last line of a conversation that is not hidden.
local M = {}

local api = vim.api

local below = require("flemma.view.last_line").new(api.nvim_create_namespace("flemma.queue"))

M.keep_at_end, M.forget = below.keep, below.clear

--- Draws what is queued.
---@param buf integer
function M.draw(buf)
  local lines = api.nvim_buf_is_loaded(buf) and require("flemma.native").call("state", buf, "outbox") or {}
  if #lines == 0 then
    return M.forget(buf)
  end
  local function chunks(line)
    return vim.tbl_map(function(chunk)
      return { chunk.text, chunk.group }
    end, line)
  end
  below.place(buf, vim.tbl_map(chunks, lines))
end

return M
