--- Looks whether files that are open were changed by a tool.
---
--- `:checktime` asks what to do about a file that was changed on disk and in its buffer. Nothing of ours asks from
--- a callback: files without changes in their buffers are read anew where 'autoread' is set, and of the others the
--- user is told.
local M = {}

local api = vim.api

local words = {
  deleted = "%s is open here, but the file was deleted. `:write` creates it again.",
  conflict = "%s was changed on disk and in its buffer. `:edit!` loads the file, `:write!` keeps the buffer.",
  changed = "%s was changed on disk. `:edit!` loads the file.",
}

--- Looks at every file that is open.
function M.all()
  -- Somebody else who listens says what is to be done, but for a question.
  local is_handled = #api.nvim_get_autocmds({ event = "FileChangedShell" }) > 0
  local news = {}
  -- The last one to be defined has the last word.
  local id = api.nvim_create_autocmd("FileChangedShell", {
    pattern = "*",
    desc = "Flemma: tell, and do not ask",
    callback = function(args)
      local reason, choice = vim.v.fcs_reason, vim.v.fcs_choice
      if choice == "reload" or choice == "edit" then
        return
      end
      -- Neovim does not ask about a file that has only a new time: it takes note of it.
      vim.v.fcs_choice = reason == "time" and "ask" or ""
      if words[reason] and (not is_handled or choice == "ask") then
        news[#news + 1] = words[reason]:format(vim.fn.fnamemodify(args.match, ":~:."))
      end
    end,
  })
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_valid(buf) and api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == "" then
      pcall(vim.cmd, ("silent! %dchecktime"):format(buf))
    end
  end
  pcall(api.nvim_del_autocmd, id)
  for _, message in ipairs(news) do
    require("flemma.notify").say(vim.log.levels.WARN, message)
  end
end

return M
