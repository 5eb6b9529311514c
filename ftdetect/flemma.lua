-- Here as well as in plugin/flemma.lua: plugin managers that load a plugin by filetype read only this folder before.
vim.filetype.add({ extension = { chat = "chat" } })
