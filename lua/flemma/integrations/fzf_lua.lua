--- Conversations in fzf-lua: `conversations.picker = "fzf-lua"`. See `:help flemma-pickers`.
local M = {}

--- Opens a picker.
---@param items flemma.ConversationItem[]
---@param opts? table options of fzf-lua's, such as `winopts`
---@return boolean opened false if fzf-lua is not installed
function M.pick(items, opts)
  local ok, fzf = pcall(require, "fzf-lua")
  if not ok then
    return false
  end
  -- fzf gives back lines, so each begins with its number, which is not shown.
  local lines = {}
  for number, item in ipairs(items) do
    lines[number] = ("%d\t%s"):format(number, item.text)
  end
  local function show(layout)
    return function(selected)
      local number = selected and selected[1] and tonumber(selected[1]:match("^%d+"))
      require("flemma.conversations.picker").show(number and items[number], layout)
    end
  end
  fzf.fzf_exec(
    lines,
    vim.tbl_deep_extend("force", {
      prompt = "Conversations> ",
      fzf_opts = { ["--delimiter"] = "\t", ["--with-nth"] = "2..", ["--no-multi"] = true, ["--no-sort"] = true },
      actions = {
        ["default"] = show(),
        ["ctrl-v"] = show("vertical"),
        ["ctrl-s"] = show("horizontal"),
        ["ctrl-t"] = show("tab"),
      },
    }, opts or {})
  )
  return true
end

--- Lists the conversations of the project and opens a picker.
---@param opts? table
function M.open(opts)
  require("flemma.conversations.picker").gather(function(items)
    M.pick(items, opts)
  end)
end

return M
