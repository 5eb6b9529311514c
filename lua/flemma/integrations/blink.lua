--- A source for blink.cmp, which loads it by the name of this module. See `:help flemma-blink`.
local completion = require("flemma.completion")

---@class flemma.integrations.blink
local Source = { enabled = completion.is_offered }
Source.__index = Source

function Source.new()
  return setmetatable({}, Source)
end

function Source:get_trigger_characters()
  return completion.triggers
end

---@param context { bufnr: integer, cursor: integer[] } the line from 1, the column in bytes from 0
---@param callback fun(answer: table)
function Source:get_completions(context, callback)
  local line, column = context.cursor[1] - 1, context.cursor[2]
  local is_cancelled = false
  completion.find(context.bufnr, line, column, function(found)
    local items = found and completion.lsp_items(found, line, column) or {}
    local is_incomplete = found ~= nil and found.incomplete
    if not is_cancelled then
      callback({ items = items, is_incomplete_forward = is_incomplete, is_incomplete_backward = is_incomplete })
    end
  end)
  return function()
    is_cancelled = true
  end
end

return Source
