--- `:Flemma find`: the conversations that have some words, in the quickfix list.
local M = {}

--- The number of the latest search. Only that one is shown.
local latest = 0

--- Looks for words in the conversations of the project, or of all projects.
---@param words? string
---@param is_all boolean
function M.words(words, is_all)
  local start, otherwise = require("flemma.conversations").start()
  latest = latest + 1
  local number, win = latest, vim.api.nvim_get_current_win()
  local asked = { start = start, otherwise = otherwise, is_all = is_all, words = words or "" }
  require("flemma.native").call("list", "found", asked, function(found, problem)
    if problem then
      require("flemma.notify").say(vim.log.levels.ERROR, problem)
    elseif number == latest then
      local where = is_all and "no conversation has" or "no conversation of this project has"
      require("flemma.conversations.quickfix").show({
        name = "find",
        title = "Flemma: " .. words,
        none = ("%s all of: %s"):format(where, words),
        count = ("%d lines found"):format(#found),
        items = found,
        win = win,
      })
    end
  end)
end

return M
