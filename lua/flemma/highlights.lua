--- The colours: each a link that a colour scheme or the user's options may replace.
local M = {}

--- Option in `highlights` -> group, and what it looks like unless somebody says otherwise.
local groups = {
  role_system = { "FlemmaRoleSystem", "Special" },
  role_user = { "FlemmaRoleUser", "Title" },
  role_assistant = { "FlemmaRoleAssistant", "Function" },
  thinking = { "FlemmaThinking", "Comment" },
  tool_use = { "FlemmaToolUse", "Statement" },
  tool_result = { "FlemmaToolResult", "Statement" },
  tool_error = { "FlemmaToolError", "DiagnosticError" },
  tool_status = { "FlemmaToolStatus", "DiagnosticWarn" },
  tool_preview = { "FlemmaToolPreview", "Comment" },
  tool_progress = { "FlemmaToolProgress", "Comment" },
  frontmatter = { "FlemmaFrontmatter", "PreProc" },
  stray = { "FlemmaStray", "DiagnosticError" },
  aborted = { "FlemmaAborted", "DiagnosticWarn" },
  spinner = { "FlemmaSpinner", "DiagnosticInfo" },
}

---@param overrides? table<string, string|table>
function M.apply(overrides)
  for option, group in pairs(groups) do
    local wanted = overrides and overrides[option]
    if type(wanted) == "string" then
      vim.api.nvim_set_hl(0, group[1], { link = wanted })
    elseif type(wanted) == "table" then
      vim.api.nvim_set_hl(0, group[1], wanted)
    else
      vim.api.nvim_set_hl(0, group[1], { link = group[2], default = true })
    end
  end
end

--- A colour scheme clears groups that it does not know.
vim.api.nvim_create_autocmd("ColorScheme", {
  group = vim.api.nvim_create_augroup("flemma.highlights", { clear = true }),
  callback = function()
    local options = require("flemma").options()
    M.apply(options and options.highlights)
  end,
})

return M
