--- Conversations in snacks.picker: a source, or `conversations.picker = "snacks"`. See `:help flemma-pickers`.
local M = {}

--- An item as snacks.picker shows and matches it.
---@param item flemma.ConversationItem
---@return table
local function entry(item)
  return { text = item.text, file = item.path, conversation = item }
end

--- How a line looks: texts with their highlight groups.
---@param item table
---@return table[]
local function format(item)
  local row = item.conversation
  local line = { { row.date, "SnacksPickerComment" }, { "  " } }
  if row.state ~= "idle" then
    vim.list_extend(line, { { ("[%s]"):format(row.state), "SnacksPickerSpecial" }, { "  " } })
  end
  return vim.list_extend(line, { { row.title }, { "  " }, { row.model, "SnacksPickerComment" } })
end

---@param layout? flemma.Layout
local function confirm(layout)
  return function(picker, item)
    picker:close()
    vim.schedule(function()
      require("flemma.conversations.picker").show(item and item.conversation, layout)
    end)
  end
end

--- What the picker is, whichever way it gets its items.
local function config()
  return {
    title = "Conversations",
    format = format,
    preview = "file",
    confirm = confirm(),
    -- The newest first, while nothing is typed.
    sort = { fields = { "score:desc", "idx" } },
    actions = {
      edit_vsplit = confirm("vertical"),
      edit_split = confirm("horizontal"),
      tab = confirm("tab"),
    },
  }
end

--- Opens a picker.
---@param items flemma.ConversationItem[]
---@return boolean opened false if snacks.nvim is not installed
function M.pick(items)
  local ok, snacks = pcall(require, "snacks")
  if not ok then
    return false
  end
  snacks.picker.pick(vim.tbl_extend("error", config(), { items = vim.tbl_map(entry, items) }))
  return true
end

--- Lists the conversations of the project and opens a picker.
function M.open()
  require("flemma.conversations.picker").gather(M.pick)
end

return M
