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

-- The title in place of a long path, and what goes on, for users who have no status line and no tab line of their own.
if vim.go.statusline == vim.api.nvim_get_option_info2("statusline", {}).default then
  vim.opt_local.statusline = "%<%{%v:lua.require'flemma.statusline'.title()%} %h%m%r%="
    .. "%{%v:lua.require'flemma.statusline'.component()%}  %-14.(%l,%c%V%) %P"
end
if vim.go.tabline == "" then
  vim.go.tabline = "%!v:lua.require'flemma.statusline'.tabs()"
end

-- `:setlocal statusline<` would copy the global value, and not follow it later.
vim.b.undo_ftplugin = "set statusline< | setlocal commentstring< linebreak< breakindent< smoothscroll<"
-- Unless the user has set one for all buffers.
if vim.bo.omnifunc == "" then
  vim.bo.omnifunc = "v:lua.require'flemma.completion'.omnifunc"
  vim.b.undo_ftplugin = vim.b.undo_ftplugin .. " omnifunc<"
end
