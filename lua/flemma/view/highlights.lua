--- The highlight groups. Each is a link that a colour scheme or the user's options can replace, or is computed from the
--- colour scheme (`flemma.view.colours`).
local M = {}

--- Option in `highlights` -> group and its default link; false for one that is computed or chosen.
local groups = {
  role_system = { "FlemmaSystem", "FlemmaRoleSystem" },
  role_user = { "FlemmaUser", "FlemmaRoleUser" },
  role_assistant = { "FlemmaAssistant", "FlemmaRoleAssistant" },
  line_system = { "FlemmaSystemLine", false },
  line_user = { "FlemmaUserLine", false },
  line_assistant = { "FlemmaAssistantLine", false },
  role = { "FlemmaRole", false },
  meta = { "FlemmaMeta", false },
  tool = { "FlemmaTool", false },
  tool_summary = { "FlemmaToolSummary", "Normal" },
  tool_waiting = { "FlemmaWaiting", false },
  tool_running = { "FlemmaRunning", false },
  tool_failed = { "FlemmaFailed", false },
  tool_rejected = { "FlemmaRejected", false },
  tool_output = { "FlemmaToolOutput", "Normal" },
  thinking = { "FlemmaThinking", false },
  tool_use = { "FlemmaToolUse", "Statement" },
  tool_result = { "FlemmaToolResult", "Statement" },
  tool_error = { "FlemmaToolError", "DiagnosticError" },
  tool_done = { "FlemmaToolDone", false },
  tool_status = { "FlemmaToolStatus", "FlemmaWaiting" },
  attachment = { "FlemmaAttachment", "Underlined" },
  reference = { "FlemmaReference", "Underlined" },
  tool_preview = { "FlemmaToolPreview", "Comment" },
  diff_add = { "FlemmaDiffAdd", "Added" },
  diff_delete = { "FlemmaDiffDelete", "Removed" },
  diff_context = { "FlemmaDiffContext", "Comment" },
  diff_hunk = { "FlemmaDiffHunk", "Special" },
  diff_note = { "FlemmaDiffNote", "Comment" },
  review_add = { "FlemmaReviewAdd", "DiffAdd" },
  review_delete = { "FlemmaReviewDelete", "DiffDelete" },
  review_left = { "FlemmaReviewLeft", "Comment" },
  review_note = { "FlemmaReviewNote", "FlemmaRunning" },
  tool_progress = { "FlemmaToolProgress", "Comment" },
  frontmatter = { "FlemmaFrontmatter", "PreProc" },
  fold = { "FlemmaFold", "Normal" },
  fold_size = { "FlemmaFoldSize", "FlemmaMeta" },
  stray = { "FlemmaStray", "DiagnosticError" },
  aborted = { "FlemmaAborted", "FlemmaWaiting" },
  spinner = { "FlemmaSpinner", "FlemmaRunning" },
  queued = { "FlemmaQueued", "Normal" },
  queue_note = { "FlemmaQueueNote", "FlemmaRunning" },
}

--- The option `highlights`, for the next colour scheme.
---@type table<string, string|table>?
local latest

---@param overrides? table<string, string|table>
---@return string[] problems overrides with an unknown name, or that Neovim does not accept
function M.apply(overrides)
  latest = overrides
  local problems, defined = {}, {}
  for option, group in pairs(groups) do
    local wanted = overrides and overrides[option]
    local definition = type(wanted) == "string" and { link = wanted } or wanted
    local default = group[2] and { link = group[2], default = true }
    if definition or default then
      local ok, problem = pcall(vim.api.nvim_set_hl, 0, group[1], definition or default)
      defined[group[1]] = definition and ok or nil
      if not ok then
        problems[#problems + 1] = ("`highlights.%s`: %s"):format(option, problem)
        if default then
          vim.api.nvim_set_hl(0, group[1], default)
        end
      end
    end
  end
  require("flemma.view.colours").apply(defined)
  for option in pairs(overrides or {}) do
    if not groups[option] then
      local near = require("flemma.native").call("text", "nearest", { word = option, words = vim.tbl_keys(groups) })
      local hint = near and ("; did you mean `highlights.%s`?"):format(near) or ""
      problems[#problems + 1] = ("unknown option `highlights.%s`%s"):format(option, hint)
    end
  end
  table.sort(problems)
  return problems
end

local group = vim.api.nvim_create_augroup("flemma.highlights", { clear = true })

local function apply_again()
  M.apply(latest)
end

--- A colour scheme clears groups that it does not know.
vim.api.nvim_create_autocmd("ColorScheme", { group = group, callback = apply_again })
--- Without a colour scheme, only the default colours change.
vim.api.nvim_create_autocmd("OptionSet", { group = group, pattern = "background", callback = apply_again })

return M
