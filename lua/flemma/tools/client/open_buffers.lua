--- `open_buffers`: the files that are open in the editor.
local paths = require("flemma.tools.paths")

local api = vim.api

---@param _ table
---@param ctx flemma.ExecutionContext
---@return table
return function(_, ctx)
  -- Terminals, trees and other plugins' windows are no files.
  local bufs = vim.tbl_filter(function(buf)
    return vim.bo[buf].buflisted and vim.list_contains({ "", "acwrite" }, vim.bo[buf].buftype)
  end, api.nvim_list_bufs())
  local readable = paths.readable(ctx, bufs)
  local shown, denied, more = {}, 0, 0
  for _, buf in ipairs(bufs) do
    if not readable[buf] then
      denied = denied + 1
    elseif #shown == paths.MAX_ITEMS then
      more = more + 1
    else
      shown[#shown + 1] = {
        path = paths.of_buffer(ctx, buf),
        filetype = vim.bo[buf].filetype ~= "" and vim.bo[buf].filetype or nil,
        line = math.max(vim.fn.getbufinfo(buf)[1].lnum, 1),
        modified = vim.bo[buf].modified,
        visible = #vim.fn.win_findbuf(buf) > 0,
      }
    end
  end
  return {
    buffers = paths.list(shown),
    note = paths.notes(
      more > 0 and ("%d of %d are shown"):format(#shown, #shown + more) or nil,
      paths.left_out(denied, "buffer")
    ),
  }
end
