--- A source for nvim-cmp. See `:help flemma-nvim-cmp`.
local completion = require("flemma.completion")

local kinds = vim.lsp.protocol.CompletionItemKind

---@class flemma.integrations.cmp
local Source = { is_available = completion.is_offered }
Source.__index = Source

function Source.new()
  return setmetatable({}, Source)
end

function Source:get_debug_name()
  return "flemma"
end

function Source:get_position_encoding_kind()
  return "utf-8"
end

function Source:get_trigger_characters()
  return completion.triggers
end

function Source:get_keyword_pattern()
  return [[\%(\k\|-\)\+]]
end

--- nvim-cmp looks at the kinds before the order of a source, so all items have the same one, and show another.
---@param item table
---@return table
local function of_one_kind(item)
  local kind = kinds[item.kind]
  item.cmp = { kind_text = kind, kind_hl_group = kind and "CmpItemKind" .. kind }
  item.kind = kinds.Value
  return item
end

---@param params { context: { bufnr: integer, cursor: { row: integer, col: integer } } } both from 1, in bytes
---@param callback fun(answer?: table)
function Source:complete(params, callback)
  local cursor = params.context.cursor
  local line, column = cursor.row - 1, cursor.col - 1
  completion.find(params.context.bufnr, line, column, function(found)
    local items = found and completion.lsp_items(found, line, column) or {}
    callback({ items = vim.tbl_map(of_one_kind, items), isIncomplete = found ~= nil and found.incomplete })
  end)
end

return Source
