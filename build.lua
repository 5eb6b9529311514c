-- lazy.nvim runs this file after it has installed or updated the plugin, if the spec has no `build`. It runs in a coroutine,
-- in which the library must not be loaded, so it is only built here.
local root = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p")))
local build = dofile(vim.fs.joinpath(root, "lua", "flemma", "install", "build.lua"))
build.wait(coroutine.running() and coroutine.yield or nil)
