-- Options for conversations. They are local. `after/ftplugin/chat.lua` or a FileType autocommand can change them.
if vim.b.did_ftplugin then
  return
end
vim.b.did_ftplugin = true

vim.opt_local.commentstring = "<!-- %s -->"
-- Paragraphs of prose are long lines.
vim.opt_local.linebreak = true
vim.opt_local.breakindent = true
-- A paragraph that is taller than the window would go out of sight as a whole. A value of the user's own counts, which may be
-- the default value.
if vim.api.nvim_get_option_info2("smoothscroll", { scope = "global" }).last_set_sid == 0 then
  vim.opt_local.smoothscroll = true
end

vim.b.undo_ftplugin = "setlocal commentstring< linebreak< breakindent< smoothscroll<"
-- Unless the user has set one for all buffers.
if vim.bo.omnifunc == "" then
  vim.bo.omnifunc = "v:lua.require'flemma.completion'.omnifunc"
  vim.b.undo_ftplugin = vim.b.undo_ftplugin .. " omnifunc<"
end
