--- A source for blink.cmp, which loads it by the name of this module. See `:help flemma-blink`.
---@class flemma.integrations.blink
local Source = {}
Source.__index = Source

function Source.new()
  return setmetatable({}, Source)
end

function Source:enabled()
  return vim.bo.filetype == "chat" or vim.bo.filetype == "flemma_queue"
end

function Source:get_trigger_characters()
  return { "@", "/", ".", ":", '"', "'", "$", "{", "~" }
end

---@param context { bufnr: integer, cursor: integer[] } the line from 1, the column in bytes from 0
---@param callback fun(answer: table)
function Source:get_completions(context, callback)
  local line, column = context.cursor[1] - 1, context.cursor[2]
  local is_cancelled = false
  local completion = require("flemma.completion")
  completion.find(context.bufnr, line, column, function(found)
    if is_cancelled then
      return
    end
    local is_incomplete = found ~= nil and found.incomplete
    callback({
      items = found and completion.lsp_items(found, line, column) or {},
      is_incomplete_forward = is_incomplete,
      is_incomplete_backward = is_incomplete,
    })
  end)
  return function()
    is_cancelled = true
  end
end

return Source
