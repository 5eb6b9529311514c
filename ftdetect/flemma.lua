-- Here as well as in plugin/flemma.lua: plugin managers that load a plugin by filetype only read this folder beforehand.
vim.filetype.add({ extension = { chat = "chat" } })
