--- Keeps an error that is about to be explained from asking for Enter.
---
--- On a narrow screen, Neovim's own words take more than one row, and then it waits for a key before anything else is drawn. The
--- error itself is as it would be, and is in `:messages`.
local M = {}

local api = vim.api

---@type string? what the user's 'messagesopt' is, as long as it is another one
local own

---@param value string
local function set(value)
  local ignored = vim.o.eventignore
  vim.o.eventignore = "OptionSet"
  vim.o.messagesopt = value
  vim.o.eventignore = ignored
end

--- Nothing that Neovim says asks for Enter until it waits for the next key or command.
function M.now()
  if own then
    return
  end
  own = vim.o.messagesopt
  set((own:gsub("hit%-enter", "wait:0"):gsub("wait:%d+", "wait:0")))
  local watch
  watch = api.nvim_create_autocmd({ "SafeState", "CmdlineEnter" }, {
    desc = "Flemma: let messages ask for Enter again",
    callback = function()
      api.nvim_del_autocmd(watch)
      set(own)
      own = nil
    end,
  })
end

return M
