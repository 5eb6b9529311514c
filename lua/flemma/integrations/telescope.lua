--- Conversations in telescope.nvim: `:Telescope flemma`, or `conversations.picker = "telescope"`. See `:help flemma-pickers`.
local M = {}

--- Opens a picker.
---@param items flemma.ConversationItem[]
---@param opts? table options of telescope's, such as `layout_strategy`
---@return boolean opened false if telescope.nvim is not installed
function M.pick(items, opts)
  local ok, pickers = pcall(require, "telescope.pickers")
  if not ok then
    return false
  end
  opts = opts or {}
  local config = require("telescope.config").values
  local actions, state = require("telescope.actions"), require("telescope.actions.state")
  pickers
    .new(opts, {
      prompt_title = "Conversations",
      finder = require("telescope.finders").new_table({
        results = items,
        entry_maker = function(item)
          return { value = item, display = item.text, ordinal = item.text, path = item.path }
        end,
      }),
      sorter = config.generic_sorter(opts),
      previewer = config.file_previewer(opts),
      attach_mappings = function(prompt)
        local function choose(action, layout)
          action:replace(function()
            local entry = state.get_selected_entry()
            actions.close(prompt)
            require("flemma.conversations.picker").show(entry and entry.value, layout)
          end)
        end
        choose(actions.select_default)
        choose(actions.select_vertical, "vertical")
        choose(actions.select_horizontal, "horizontal")
        choose(actions.select_tab, "tab")
        return true
      end,
    })
    :find()
  return true
end

--- Lists the conversations of the project and opens a picker: what `:Telescope flemma` runs.
---@param opts? table
function M.open(opts)
  require("flemma.conversations.picker").gather(function(items)
    M.pick(items, opts)
  end)
end

return M
