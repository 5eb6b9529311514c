-- Registers the filetype, the command and the <Plug> mappings. The rest of Flemma is loaded when it is first used.
if vim.g.loaded_flemma then
  return
end
vim.g.loaded_flemma = true

vim.filetype.add({ extension = { chat = "chat" } })

local group = vim.api.nvim_create_augroup("flemma", { clear = true })

-- The last lines of a conversation may come from a model, and a modeline there would set options. Neovim looks for modelines
-- after it has read a file and the FileType autocommands have run. This runs before that, and does not need the library.
vim.api.nvim_create_autocmd({ "BufReadPre", "BufNewFile" }, {
  group = group,
  pattern = "*.chat",
  desc = "Flemma: no modelines in a conversation",
  callback = function(args)
    vim.bo[args.buf].modeline = false
  end,
})

vim.api.nvim_create_autocmd("FileType", {
  group = group,
  pattern = "chat",
  desc = "Flemma: attach to a conversation",
  callback = function(args)
    vim.bo[args.buf].modeline = false
    require("flemma.buffer").attach(args.buf)
  end,
})

vim.api.nvim_create_autocmd({ "BufReadCmd", "BufFilePost" }, {
  group = group,
  pattern = "flemma://*",
  desc = "Flemma: say that a page is closed that a session brings back",
  callback = function(args)
    require("flemma.buffer.placeholder").fill(args.event, args.buf)
  end,
})

vim.api.nvim_create_user_command("Flemma", function(args)
  require("flemma.commands").run(args)
end, {
  desc = "Flemma: send, cancel, run tools, show the status",
  nargs = "*",
  bang = true,
  range = true,
  complete = function(lead, line)
    return require("flemma.commands").complete(lead, line)
  end,
})

-- Not while Neovim is starting.
vim.schedule(function()
  require("flemma.install.helptags").ensure()
end)

require("flemma.keymaps").plugs()
