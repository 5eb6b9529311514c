-- Registers the filetype, the command and the <Plug> maps. Nothing else of Flemma is loaded before it is used.
if vim.g.loaded_flemma then
  return
end
vim.g.loaded_flemma = true

vim.filetype.add({ extension = { chat = "chat" } })

vim.api.nvim_create_autocmd("FileType", {
  group = vim.api.nvim_create_augroup("flemma", { clear = true }),
  pattern = "chat",
  desc = "Flemma: take a conversation in hand",
  callback = function(args)
    require("flemma.buffer").attach(args.buf)
  end,
})

vim.api.nvim_create_user_command("Flemma", function(args)
  require("flemma.commands").run(args)
end, {
  desc = "Flemma: send, cancel, run tools, show what goes on",
  nargs = "*",
  range = true,
  complete = function(lead, line)
    return require("flemma.commands").complete(lead, line)
  end,
})

for name, action in pairs({
  ["send"] = "send_or_execute",
  ["cancel"] = "cancel",
  ["tool-execute"] = "execute_at_cursor",
  ["next-message"] = "next_message",
  ["prev-message"] = "prev_message",
}) do
  vim.keymap.set({ "n", "i" }, "<Plug>(flemma-" .. name .. ")", function()
    require("flemma.core")[action]()
  end, { desc = "Flemma: " .. action:gsub("_", " ") })
end
