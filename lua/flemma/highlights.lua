--- The highlight groups. Each is a link that a colour scheme or the user's options can replace.
local M = {}

--- Option in `highlights` -> group and its default link.
local groups = {
  role_system = { "FlemmaRoleSystem", "Special" },
  role_user = { "FlemmaRoleUser", "Title" },
  role_assistant = { "FlemmaRoleAssistant", "Function" },
  thinking = { "FlemmaThinking", "Comment" },
  tool_use = { "FlemmaToolUse", "Statement" },
  tool_result = { "FlemmaToolResult", "Statement" },
  tool_error = { "FlemmaToolError", "DiagnosticError" },
  tool_status = { "FlemmaToolStatus", "DiagnosticWarn" },
  attachment = { "FlemmaAttachment", "Underlined" },
  reference = { "FlemmaReference", "Underlined" },
  tool_preview = { "FlemmaToolPreview", "Comment" },
  tool_progress = { "FlemmaToolProgress", "Comment" },
  frontmatter = { "FlemmaFrontmatter", "PreProc" },
  stray = { "FlemmaStray", "DiagnosticError" },
  aborted = { "FlemmaAborted", "DiagnosticWarn" },
  spinner = { "FlemmaSpinner", "DiagnosticInfo" },
  usage = { "FlemmaUsage", "NormalFloat" },
}

---@param overrides? table<string, string|table>
---@return string[] problems overrides with an unknown name, or that Neovim does not accept
function M.apply(overrides)
  local problems = {}
  for option, group in pairs(groups) do
    local wanted = overrides and overrides[option]
    local definition = type(wanted) == "string" and { link = wanted } or wanted
    local ok, problem = pcall(vim.api.nvim_set_hl, 0, group[1], definition or { link = group[2], default = true })
    if not ok then
      problems[#problems + 1] = ("`highlights.%s`: %s"):format(option, problem)
      vim.api.nvim_set_hl(0, group[1], { link = group[2], default = true })
    end
  end
  for option in pairs(overrides or {}) do
    if not groups[option] then
      local near = require("flemma.native").call("nearest", option, vim.tbl_keys(groups))
      problems[#problems + 1] = ("unknown option `highlights.%s`%s"):format(
        option,
        near and ("; did you mean `highlights.%s`?"):format(near) or ""
      )
    end
  end
  table.sort(problems)
  return problems
end

--- A colour scheme clears groups that it does not know.
vim.api.nvim_create_autocmd("ColorScheme", {
  group = vim.api.nvim_create_augroup("flemma.highlights", { clear = true }),
  callback = function()
    local options = require("flemma.options").get()
    M.apply(options and options.highlights)
  end,
})

return M
