-- Options of a conversation. They are local, and `after/ftplugin/chat.lua` or a FileType autocommand can change them.
if vim.b.did_ftplugin then
  return
end
vim.b.did_ftplugin = true

vim.opt_local.commentstring = "<!-- %s -->"
-- Prose is written in long lines.
vim.opt_local.linebreak = true
vim.opt_local.breakindent = true

vim.b.undo_ftplugin = "setlocal commentstring< linebreak< breakindent<"
