--- Asks whether the user trusts what a file brings along.
local M = {}

local choices = {
  { answer = "show", text = "Show it, and run nothing" },
  { answer = "trust", text = "Trust this block in this file" },
  { answer = "later", text = "Not now" },
}

--- Asks, and answers the library when the user has chosen.
---@param buf integer
---@param language string of the frontmatter
function M.ask(buf, language)
  local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ":t")
  local what = language == "lua" and "Lua code" or "a policy for tools"
  vim.ui.select(choices, {
    prompt = ("%s begins with %s that was not written here:"):format(name ~= "" and name or "This buffer", what),
    kind = "flemma.trust",
    format_item = function(choice)
      return choice.text
    end,
  }, function(choice)
    local answer = choice and choice.answer or "later"
    require("flemma.native").call("trust", buf, answer == "trust")
    if answer == "show" and vim.api.nvim_buf_is_valid(buf) then
      local win = vim.fn.win_findbuf(buf)[1]
      if win then
        vim.api.nvim_set_current_win(win)
        vim.cmd("normal! m'")
        vim.api.nvim_win_set_cursor(win, { 1, 0 })
      end
    end
  end)
end

return M
